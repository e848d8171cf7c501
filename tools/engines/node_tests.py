#!/usr/bin/env python3
"""Runs the node tests of onnx with `plimsoll run`, and counts.

    node_tests.py [--plimsoll target/release/plimsoll] [--only TEXT] [--list]

A test passes if every output is within 1e-4 of the largest that is expected, 1e-3 for numbers of 16 bits. It is refused if the model is: an operator
or a type without a kernel, a size that depends on data, or something that is not a tensor. Where axes, shapes or other
small integers are inputs, sizes depend on them: such a test is run once more with these stored in the model.
"""

import argparse
import collections
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"


def arrays(folder, kind, values):
    """The arrays of a data set, by the names that the model has for them; None if they are no tensors."""
    found = {}
    for at, value in enumerate(values):
        path = folder / f"{kind}_{at}.pb"
        if not path.exists() or not value.type.HasField("tensor_type"):
            return None
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        try:
            array = numpy_helper.to_array(tensor)
        except Exception:  # a type that numpy has not
            return None
        if array.dtype == object or array.dtype.kind not in "fiub":
            return None
        found[value.name] = array
    return found


# Tests whose expected numbers are written with four digits.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad"}
# What is said where a size depends on an input.
DEPENDS = ("depend on data", "not known before the run", "have to be given")


def stored(model, inputs):
    """The model with small integers of its inputs, and scales, stored in it; None if it has none."""
    decides = {name for name, array in inputs.items()
               if array.ndim < 2 and (array.dtype.kind in "iu" or array.dtype == np.float32 and array.size <= 5)}
    kept = [value for value in model.graph.input if value.name not in decides]
    if not decides or not kept:
        return None
    model.graph.initializer.extend(numpy_helper.from_array(inputs.pop(name), name) for name in decides)
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model


def run(case, args, folder):
    model = onnx.load(case / "model.onnx")
    data = case / "test_data_set_0"
    inputs, outputs = arrays(data, "input", model.graph.input), arrays(data, "output", model.graph.output)
    if inputs is None or outputs is None:
        return "refused", "not a tensor of numbers"
    np.savez(folder / "out.npz", **outputs)
    rounded = case.name in ROUNDED or any(array.dtype == np.float16 for array in outputs.values())
    verdict, why = attempt(case / "model.onnx", inputs, args, folder, rounded)
    if verdict == "refused" and any(text in why for text in DEPENDS) and stored(model, inputs):
        onnx.save(model, folder / "model.onnx")
        verdict, why = attempt(folder / "model.onnx", inputs, args, folder, rounded)
        verdict = "stored" if verdict == "passed" else verdict
    return verdict, why


def attempt(path, inputs, args, folder, rounded):
    np.savez(folder / "in.npz", **inputs)
    command = [args.plimsoll, "run", str(path), "--order", "given", "--tolerance", "1e-3" if rounded else "1e-4",
               "--expect", str(folder / "out.npz"), "--check"]
    for name, array in inputs.items():
        command += ["--input", f"{name}={folder / 'in.npz'}"]
        if array.shape:
            command += ["--input-shape", f"{name}={','.join(map(str, array.shape))}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode == 0:
        return "passed", ""
    if done.returncode == 1:
        return "failed", next((line for line in lines if "not as expected" in line or line.startswith("call")), lines[-1])
    if done.returncode == 2:
        return "refused", "; ".join(lines)
    return "failed", "; ".join(lines[-3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plimsoll", default=str(ROOT / "target" / "release" / "plimsoll"))
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="list what is refused too")
    args = parser.parse_args()
    counts = collections.Counter()
    for case in sorted(DATA.glob("test_*")):
        if args.only not in case.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                verdict, why = run(case, args, Path(folder))
            except Exception as error:
                verdict, why = "failed", f"{type(error).__name__}: {error}"
        counts[verdict] += 1
        if verdict == "failed" or (args.list and verdict == "refused"):
            print(f"{verdict:8} {case.name}: {why.strip()[-200:]}", flush=True)
    passed = counts["passed"] + counts["stored"]
    covered = passed + counts["failed"]
    print(f"{passed} of {covered} that are covered pass, {counts['stored']} of them with sizes stored; "
          f"{counts['refused']} are refused")


if __name__ == "__main__":
    main()
