#!/usr/bin/env python3
"""What fused steps are worth in `plimsoll run`: time and arena of every model with and without them.

    fused.py [--plimsoll target/release/plimsoll] [--only TEXT]… [--runs 5] [--rounds 2]

Both ways run in turns. The time of a run is the sum over its calls of the least that each took in all runs (`--trace`): a
call is short, so that on a busy machine some of its runs are undisturbed. Arenas are those of `run`, with the scratch of
kernels, without inputs. Models of packages have their weights, models of the corpus numbers from a seed.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "onnx"))
import models  # noqa: E402


def has_weights(path):
    """Whether the weights of a model are with it."""
    model = models.onnx.load(path, load_external_data=False)
    external = models.onnx.TensorProto.EXTERNAL
    return all(tensor.data_location != external for tensor in model.graph.initializer)


class Way:
    """One way to run a model."""

    def __init__(self, command):
        self.command, self.calls, self.arena = command, None, 0

    def run(self, folder):
        trace = folder / "trace.json"
        done = subprocess.run(self.command + ["--trace", str(trace)], capture_output=True, text=True, timeout=1800)
        if done.returncode:
            raise RuntimeError((done.stderr.splitlines() or ["ended"])[0])
        self.arena = int(re.search(r"arena +(\d+) bytes", done.stdout)[1])
        taken = [event["dur"] for event in json.loads(trace.read_text())["traceEvents"]]
        self.calls = [min(pair) for pair in zip(taken, self.calls or taken)]

    def millis(self):
        return sum(self.calls) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plimsoll", default=str(ROOT / "target" / "release" / "plimsoll"))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    print("| model | one by one, ms | fused, ms | ratio | arena one by one | arena fused |")
    print("|---|---:|---:|---:|---:|---:|")
    ratios = []
    for path, dims, shapes in list(models.packaged()) + list(models.corpus()):
        if args.only and not any(text in str(path) for text in args.only):
            continue
        command = [args.plimsoll, "run", str(path), "--runs", str(args.runs)] + models.arguments(dims, shapes)
        command += [] if has_weights(path) else ["--random-weights", "1"]
        alone, fused = Way(command + ["--no-fuse"]), Way(command)
        try:
            with tempfile.TemporaryDirectory() as folder:
                for _ in range(args.rounds):
                    fused.run(Path(folder))
                    alone.run(Path(folder))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            continue
        ratios.append(fused.millis() / alone.millis())
        print(f"| {path.stem} | {alone.millis():.2f} | {fused.millis():.2f} | {ratios[-1]:.2f} "
              f"| {alone.arena} | {fused.arena} |", flush=True)
    if ratios:
        print(f"\n{len(ratios)} models, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
              f"worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
