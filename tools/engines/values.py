#!/usr/bin/env python3
"""Compares what `plimsoll run` computes with onnxruntime, model by model.

    values.py [--plimsoll target/release/plimsoll] [--only TEXT] [--tolerance 1e-5] [--check]

Models of packages run with their weights, models of the corpus with numbers from a seed, which are made here
by the same arithmetic as in crates/run/src/seeded.rs. onnxruntime runs without its optimisations, on one thread. An
output is right if its worst element is within the tolerance, as a part of the largest that is expected.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "onnx"))
import models  # noqa: E402

SEED = 1
MASK = (1 << 64) - 1


def hashed(name):
    """FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def mixed(x):
    """The step of SplitMix64."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def weight(seed, name, dims, dtype):
    """What a weight is that is not there."""
    count = int(np.prod(dims, dtype=np.int64))
    with np.errstate(over="ignore"):
        start = mixed(np.uint64((seed ^ hashed(name)) & MASK))
        bits = mixed(start + np.arange(count, dtype=np.uint64))
    if not np.issubdtype(dtype, np.floating):
        return (bits >> np.uint64(63)).astype(dtype).reshape(dims)
    if len(dims) < 2:
        centre, half = 1.0, 0.5
    elif len(dims) == 2:
        centre, half = 0.0, np.sqrt(3.0 / max(np.sqrt(float(dims[0]) * dims[1]), 1.0))
    else:
        centre, half = 0.0, np.sqrt(3.0 / max(float(np.prod(dims[1:], dtype=np.float64)), 1.0))
    unit = (bits >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1.0
    return (centre + half * unit).astype(dtype).reshape(dims)


def filled(path):
    """The model, with numbers from the seed for weights that are not there; and whether any are not."""
    model = onnx.load(path, load_external_data=False)
    missing = False
    stack, tensors = [model.graph], []
    while stack:
        graph = stack.pop()
        tensors.extend((tensor.name, tensor) for tensor in graph.initializer)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    name = node.output[0] if node.op_type == "Constant" else attribute.t.name
                    tensors.append((name, attribute.t))
                if attribute.type == onnx.AttributeProto.GRAPH:
                    stack.append(attribute.g)
    for name, tensor in tensors:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        missing = True
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        tensor.raw_data = weight(SEED, name, list(tensor.dims), dtype).tobytes()
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]
    return model, missing


def compared(path, dims, shapes, args, folder):
    """The last line that says whether outputs are right, and whether they are."""
    model, missing = filled(path)
    models.bind(model, dims, shapes)
    feeds = models.feeds(model)
    session = models.session(model)
    names = [output.name for output in session.get_outputs()]
    expected = dict(zip(names, session.run(None, feeds)))
    np.savez(folder / "feeds.npz", **feeds)
    np.savez(folder / "expected.npz", **expected)
    command = [args.plimsoll, "run", str(path), "--order", "fast", "--expect", str(folder / "expected.npz"),
               "--tolerance", str(args.tolerance)]
    command += models.arguments(dims, shapes)
    for name in feeds:
        command += ["--input", f"{name}={folder / 'feeds.npz'}"]
    command += ["--random-weights", str(SEED)] if missing else []
    command += ["--check"] if args.check else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line]
    told = [line for line in lines if "as expected" in line]
    if done.returncode == 2 or not told:
        return done.returncode, "; ".join(lines[:1]), lines
    worst = max(told, key=lambda line: float(line.rsplit(" of the largest", 1)[0].rsplit(" ", 1)[1]))
    return done.returncode, worst.strip(), lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plimsoll", default=str(ROOT / "target" / "release" / "plimsoll"))
    parser.add_argument("--only", default="")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--most-mb", type=float, default=1e9, help="leave out models with more weights")
    args = parser.parse_args()
    counts = {"right": 0, "wrong": 0, "refused": 0}
    for path, dims, shapes in list(models.packaged()) + list(models.corpus()):
        if args.only not in str(path):
            continue
        start = time.time()
        try:
            with tempfile.TemporaryDirectory() as folder:
                status, told, lines = compared(path, dims, shapes, args, Path(folder))
        except Exception as error:  # onnxruntime does not run it, or takes too long
            print(f"skipped  {path.stem}: {type(error).__name__} {str(error).splitlines()[0][:100]}", flush=True)
            continue
        verdict = {0: "right", 1: "wrong"}.get(status, "refused")
        counts[verdict] += 1
        more = lines[1:6] if verdict == "refused" else []
        print(f"{verdict:8} {path.stem}: {told} ({time.time() - start:.1f} s)", *more, sep="\n    ", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    main()
