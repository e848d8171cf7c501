#!/usr/bin/env python3
"""Fits models, and runs them beside the originals in onnxruntime.

    fit.py [--most-arithmetic PERCENT] [--no-run] [MODEL.onnx ...]

Without models: those of the corpus. Needs the command, as PLIMSOLL or as target/release/plimsoll. Weights
that a model only names are filled with seeded numbers. Then

- onnx.checker takes the rewritten model, with its shape inference;
- `plan` of the rewritten model has the arena that `fit` promised, or less;
- outputs differ by at most 1e-5 of the largest, with graph optimisations off and on;
- memory is the growth of the highest resident size during a run, without onnxruntime's arena and patterns;
- time is processor time, the least of five runs on one thread.

Prints a table. Exit status 1 if anything is wrong; a model that cannot be run says why.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

import models

PLIMSOLL = os.environ.get("PLIMSOLL", models.ROOT / "target" / "release" / "plimsoll")

# A run in a process of its own: arrays in, arrays and what it took out.
RUNNER = """
import ctypes, sys, time
import numpy as np, onnxruntime as ort
model, inputs, outputs, level = sys.argv[1:]
options = ort.SessionOptions()
options.enable_cpu_mem_arena = options.enable_mem_pattern = False
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feeds = dict(np.load(inputs))
def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
# What the session has freed would be used again, unseen.
ctypes.CDLL(None).malloc_trim(0)
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")
found = session.run(None, feeds)
peak = status("VmHWM") - before
times = []
for _ in range(5):
    start = time.process_time()
    session.run(None, feeds)
    times.append(time.process_time() - start)
np.savez(outputs, *found)
print(peak, min(times))
"""


def filled(path, dims, shapes, folder):
    """The model with numbers for weights that are not there and for dims, in a folder with its inputs."""
    model = onnx.load(path, load_external_data=False)
    outside = {tensor.name for tensor in model.graph.initializer if tensor.external_data}
    model = models.bind(models.load(path), dims, shapes)
    rng = np.random.default_rng(0)
    for tensor in model.graph.initializer:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.name in outside and np.issubdtype(dtype, np.floating):
            size = tuple(tensor.dims)
            # Norms need scales around 1, products rows that keep the scale.
            fan = 1 if len(size) == 1 else size[0] if len(size) == 2 else int(np.prod(size[1:]))
            numbers = rng.standard_normal(size) / np.sqrt(max(fan, 1))
            numbers = np.abs(numbers) + 0.5 if len(size) == 1 else numbers
            tensor.raw_data = numbers.astype(dtype).tobytes()
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "inputs.npz", **models.feeds(model))
    return folder / "model.onnx"


def ran(model, folder, level):
    """Outputs, highest memory and time of a run."""
    command = [sys.executable, "-c", RUNNER, model, folder / "inputs.npz", folder / "out.npz", level]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1][:120])
    peak, seconds = done.stdout.split()
    outputs = np.load(folder / "out.npz")
    return [outputs[key] for key in outputs.files], int(peak), float(seconds)


def distance(before, after):
    """The largest difference of outputs, relative to the largest of each."""
    worst = 0.0
    for one, other in zip(before, after, strict=True):
        if one.dtype.kind != "f":
            worst = max(worst, float(not np.array_equal(one, other)))
        elif one.size:
            scale = max(float(np.abs(one).max()), 1e-30)
            worst = max(worst, float(np.abs(one - other).max()) / scale)
    return worst


def checked(path, dims, shapes, percent, runs):
    """A row of the table, and what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, small = filled(path, dims, shapes, folder), folder / "small.onnx"
        command = [PLIMSOLL, "fit", model, "--most-arithmetic", f"{percent}%", "-o", small, "-o", folder / "fit.json"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            return None, [done.stderr.strip()]
        fit = json.loads((folder / "fit.json").read_text())
        point = fit["points"][fit["chosen"]]
        faults = []
        onnx.checker.check_model(str(small), full_check=True)
        plan = subprocess.run([str(PLIMSOLL), "plan", str(small), "--format", "json"], capture_output=True, text=True)
        planned = json.loads(plan.stdout)["arena_bytes"]
        if planned > point["arena_bytes"]:
            faults.append(f"plan has {planned}, fit promised {point['arena_bytes']}")
        row = [fit["source"]["arena_bytes"], planned, point["extra_percent"], point["nodes"]]
        if runs:
            for level in ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]:
                before, peak, seconds = ran(model, folder, level)
                after, small_peak, small_seconds = ran(small, folder, level)
                apart = distance(before, after)
                if apart > 1e-5:
                    faults.append(f"outputs are {apart:.1e} apart with {level}")
                if level == "ORT_DISABLE_ALL":
                    row += [apart, peak, small_peak, seconds, small_seconds]
        return row, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most-arithmetic", default="0", metavar="PERCENT")
    parser.add_argument("--no-run", action="store_true", help="plan and check only")
    parser.add_argument("models", nargs="*", type=Path)
    args = parser.parse_args()
    wrong = False
    print("| model | arena | fitted | of it | arithmetic | nodes | apart | memory | fitted | time |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for path, dims, shapes in [(path, {}, {}) for path in args.models] or models.corpus():
        try:
            row, faults = checked(path, dims, shapes, args.most_arithmetic, not args.no_run)
        except (ValueError, RuntimeError, onnx.checker.ValidationError) as error:
            row, faults = None, [str(error).splitlines()[0]]
        cells = [path.stem]
        if row:
            arena, fitted, extra, nodes, *measured = row
            cells += [arena, fitted, f"{fitted / max(arena, 1):.2f}", f"{extra:+.1f} %", nodes]
            if measured:
                apart, peak, small, seconds, small_seconds = measured
                cells += [f"{apart:.0e}", peak, small, f"{small_seconds / max(seconds, 1e-9):.2f}"]
        print("| " + " | ".join(map(str, cells + faults)) + " |", flush=True)
        wrong |= bool(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
