#!/usr/bin/env python3
"""What fitting makes of models: arenas of `plan` and of `fit`, and the processor time of the search.

    fitted.py [MODEL.onnx ...]

Without models: those of the corpus. Needs the command, as PLIMSOLL or as target/release/plimsoll. Prints a table
and the median of what is left of the arena of `plan`. Models that `plan` does not take are left out, with the reason.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import models

PLIMSOLL = os.environ.get("PLIMSOLL", models.ROOT / "target" / "release" / "plimsoll")


def fitted(path, dims):
    """The frontier of a model, and the seconds of processor time that it took."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "frontier.json"
        command = [PLIMSOLL, "fit", path, "--frontier", "-o", found]
        for name, size in dims.items():
            command += ["--dim", f"{name}={size}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        if done.returncode != 0:
            raise ValueError(done.stderr.strip().splitlines()[0])
        return json.loads(found.read_text()), seconds


def smallest(frontier, percent):
    """The smallest point for at most so much more arithmetic."""
    points = [point for point in frontier["points"] if point["extra_percent"] <= percent]
    return min(points, key=lambda point: point["arena_bytes"])


def main():
    cases = [(Path(path), {}, {}) for path in sys.argv[1:]] or list(models.corpus())
    ratios = {0: [], 5: []}
    print("| model | plan | at 0 % | of it | at 5 % | of it | arithmetic | nodes | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for path, dims, _ in cases:
        try:
            frontier, seconds = fitted(path, dims)
        except ValueError as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            continue
        arena = frontier["source"]["arena_bytes"]
        cells = [path.stem, arena]
        for percent, known in ratios.items():
            point = smallest(frontier, percent)
            known.append(point["arena_bytes"] / max(arena, 1))
            cells += [point["arena_bytes"], f"{known[-1]:.2f}"]
        cells += [f"{point['extra_percent']:+.1f} %", point["nodes"], f"{seconds:.1f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    for percent, known in ratios.items():
        if known:
            print(f"median of {len(known)} at {percent} %: {statistics.median(known):.3f}")


if __name__ == "__main__":
    main()
