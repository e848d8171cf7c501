#!/usr/bin/env python3
"""Compares every shape that is inferred with the one that onnxruntime makes.

    check_shapes.py [--backend] [MODEL.onnx ...]

Without models: those of the corpus and of installed packages. With --backend: the node tests of
onnx, whose outputs are recorded. Needs target/release/examples/shapes:

    cargo build --release -p plimsoll-onnx --example shapes

A known dim has to be equal, a limit not less; what is not known is counted. Exit status 1 if
anything is wrong.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import numpy_helper

import models

SHAPES = models.ROOT / "target" / "release" / "examples" / "shapes"


def inferred(path, options):
    """What we say of each tensor: name to (dtype, dims), or the error."""
    run = subprocess.run([SHAPES, path, *options], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip()
    return json.loads(run.stdout), None


def fits(dims, real):
    """Whether dims allow a real shape: numbers, "<=n", or "?"."""
    if dims is None:
        return True
    if len(dims) != len(real):
        return False
    for dim, size in zip(dims, real):
        if isinstance(dim, int) and dim != size:
            return False
        if isinstance(dim, str) and dim.startswith("<=") and size > int(dim[2:]):
            return False
    return True


def is_static(dims):
    return dims is not None and all(isinstance(dim, int) for dim in dims)


def is_limited(dims):
    return dims is not None and all(dim != "?" for dim in dims)


def real_shapes(model, names, feeds, chunk=256):
    """What onnxruntime makes of each tensor."""
    shapes = {}
    own = {output.name for output in model.graph.output}
    for start in range(0, len(names), chunk):
        part = names[start:start + chunk]
        probe = onnx.ModelProto()
        probe.CopyFrom(model)
        probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in part if name not in own)
        session = models.session(probe)
        for name, value in zip(part, session.run(part, feeds)):
            if hasattr(value, "shape"):
                shapes[name] = (value.dtype, value.shape)
    return shapes


def check_model(path, dims, shapes):
    model = models.bind(models.load(path), dims, shapes)
    facts, error = inferred(path, models.arguments(dims, shapes))
    if facts is None:
        print(f"{path.stem:60} {error}")
        return False
    names = [name for node in model.graph.node for name in node.output if name]
    real = real_shapes(model, names, models.feeds(model))
    wrong = [name for name in real if not fits(facts[name]["dims"], real[name][1])]
    for name in wrong[:5]:
        print(f"  {name}: said {facts[name]['dims']}, is {list(real[name][1])}")
    static = sum(is_static(facts[name]["dims"]) for name in names)
    limited = sum(is_limited(facts[name]["dims"]) for name in names) - static
    print(f"{path.stem:60} {len(names):5} tensors {static:5} static {limited:4} limited "
          f"{len(names) - static - limited:4} open {len(wrong):3} wrong")
    return not wrong


def with_operands(folder, data, temporary):
    """A test's model with its short inputs, which say shapes, stored in it; and options for the rest."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    options = []
    stored = {tensor.name for tensor in model.graph.initializer}
    for index, value in enumerate(list(model.graph.input)):
        file = data / f"input_{index}.pb"
        if not value.type.HasField("tensor_type") or not file.exists() or value.name in stored:
            continue
        tensor = onnx.TensorProto.FromString(file.read_bytes())
        numeric = tensor.data_type not in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED)
        if numeric and len(tensor.dims) < 2 and len(numpy_helper.to_array(tensor).reshape(-1)) <= 16:
            tensor.name = value.name
            model.graph.initializer.append(tensor)
        else:
            options += ["--input-shape", f"{value.name}={','.join(map(str, tensor.dims))}"]
    path = temporary / "model.onnx"
    onnx.save(model, path)
    return model, path, options


def check_backend():
    """The node tests: the outputs that are recorded against the inferred ones."""
    counts = {"equal": 0, "limited": 0, "open": 0, "refused": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as temporary:
        for data in sorted(models.BACKEND.glob("*/*/test_data_set_*")):
            folder = data.parent
            model, path, options = with_operands(folder, data, Path(temporary))
            facts, error = inferred(path, options)
            if facts is None:
                counts["refused"] += 1
                print(f"refused  {folder.name}: {error.splitlines()[-1] if error else ''}")
                continue
            for index, output in enumerate(model.graph.output):
                file = data / f"output_{index}.pb"
                if not output.type.HasField("tensor_type") or not file.exists():
                    continue
                tensor = onnx.TensorProto.FromString(file.read_bytes())
                kind = compared(facts[output.name]["dims"], list(tensor.dims))
                counts[kind] += 1
                if kind in ("open", "wrong"):
                    print(f"{kind:8} {folder.name}: {output.name}: said "
                          f"{facts[output.name]['dims']}, is {list(tensor.dims)}")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return counts["wrong"] == 0


def compared(dims, real):
    if not fits(dims, real):
        return "wrong"
    if is_static(dims):
        return "equal"
    return "limited" if is_limited(dims) else "open"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", action="store_true")
    parser.add_argument("models", nargs="*", type=Path)
    args = parser.parse_args()
    if not SHAPES.exists():
        sys.exit("build it first: cargo build --release -p plimsoll-onnx --example shapes")
    if args.backend:
        sys.exit(not check_backend())
    listed = [(path, {}, {}) for path in args.models] or [*models.corpus(), *models.packaged()]
    begin = time.time()
    right = [check_model(*model) for model in listed]
    print(f"{sum(right)} of {len(right)} models right, {time.time() - begin:.0f} s")
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
