#!/usr/bin/env python3
"""How far `plimsoll run` and onnxruntime are from the same model in double precision.

    doubles.py NAME... [--plimsoll target/release/plimsoll]

For models where two runs in single precision differ by more than rounding is thought to explain. Every tensor of the
model becomes one of doubles; each node is run by onnxruntime, and by numpy where onnxruntime has no such kernel.
Told is the worst element of each output as a part of the largest, of this project, and of onnxruntime without and with
its optimisations.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parent))
import values  # noqa: E402
from values import models  # noqa: E402


def doubled(model):
    """The model with doubles for floats."""
    model = onnx.ModelProto.FromString(model.SerializeToString())

    def tensor(proto):
        if proto.data_type == TensorProto.FLOAT:
            proto.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(proto).astype(np.float64), proto.name))

    def visit(graph):
        for value in [*graph.input, *graph.output]:
            if value.type.tensor_type.elem_type == TensorProto.FLOAT:
                value.type.tensor_type.elem_type = TensorProto.DOUBLE
        del graph.value_info[:]
        for proto in graph.initializer:
            tensor(proto)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    tensor(attribute.t)
                if attribute.type == onnx.AttributeProto.GRAPH:
                    visit(attribute.g)
                if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                    attribute.i = TensorProto.DOUBLE
            if node.op_type == "Constant":
                for attribute in list(node.attribute):
                    if attribute.name in ("value_float", "value_floats"):
                        data = np.array(helper.get_attribute_value(attribute), np.float64)
                        del node.attribute[:]
                        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(data)))

    visit(model.graph)
    return model


def convolved(node, x, w, bias=None):
    """A convolution of two dims of space or one, for which onnxruntime has no kernel of doubles."""
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    rank = x.ndim - 2
    strides, dilations = given.get("strides", [1] * rank), given.get("dilations", [1] * rank)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations)]
    pads = list(given.get("pads", [0] * 2 * rank))
    auto = given.get("auto_pad", b"NOTSET")
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        total = [max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(x.shape[2:], strides, reach)]
        less, more = [t // 2 for t in total], [t - t // 2 for t in total]
        pads = less + more if auto == b"SAME_UPPER" else more + less
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:])])
    axes = tuple(range(2, 2 + rank))
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    every = tuple(slice(None, None, s) for s in strides), tuple(slice(None, None, d) for d in dilations)
    seen = seen[(slice(None), slice(None), *every[0], *every[1])]
    groups, made = given.get("group", 1), []
    for inputs, weights in zip(np.split(seen, groups, 1), np.split(w, groups, 0)):
        over = [1, *range(2 + rank, 2 + 2 * rank)]
        made.append(np.moveaxis(np.tensordot(inputs, weights, (over, list(range(1, 2 + rank)))), -1, 1))
    y = np.concatenate(made, 1)
    return y if bias is None else y + bias.reshape(1, -1, *[1] * rank)


# What onnxruntime has no kernels of doubles for, and the reference none that is right.
OWN = {
    "Conv": convolved,
    "GlobalMaxPool": lambda _, x: x.max(tuple(range(2, x.ndim)), keepdims=True),
    "GlobalAveragePool": lambda _, x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
}


def precise(model, feeds):
    """What the model computes in double precision, node by node."""
    model = doubled(model)
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    known |= {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feeds.items()}
    for node in model.graph.node:
        if node.op_type in OWN:
            known[node.output[0]] = OWN[node.op_type](node, *[known[name] for name in node.input if name])
            continue
        taken = {name: known[name] for name in dict.fromkeys(node.input) if name}
        typed = lambda name: helper.make_tensor_value_info(  # noqa: E731
            name, helper.np_dtype_to_tensor_dtype(known[name].dtype), known[name].shape)
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "one", [typed(name) for name in taken], outputs)
        alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=min(model.ir_version, 10))
        try:
            made = models.session(alone).run(None, taken)
        except Exception:
            made = ReferenceEvaluator(alone).run(None, taken)
        known |= dict(zip([name for name in node.output if name], made))
    return [known[output.name] for output in model.graph.output]


def optimised(model, feeds):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def ours(path, dims, shapes, missing, feeds, names, args):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.savez(folder / "feeds.npz", **feeds)
        command = [args.plimsoll, "run", str(path), "--order", "fast", "-o", str(folder / "out.npz")]
        command += models.arguments(dims, shapes)
        for name in feeds:
            command += ["--input", f"{name}={folder / 'feeds.npz'}"]
        command += ["--random-weights", str(values.SEED)] if missing else []
        subprocess.run(command, check=True, capture_output=True)
        with np.load(folder / "out.npz") as found:
            return [found[name] for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--plimsoll", default=str(values.ROOT / "target" / "release" / "plimsoll"))
    args = parser.parse_args()
    for path, dims, shapes in list(models.packaged()) + list(models.corpus()):
        if not any(name in str(path) for name in args.names):
            continue
        model, missing = values.filled(path)
        models.bind(model, dims, shapes)
        feeds = models.feeds(model)
        names = [output.name for output in model.graph.output]
        truth = precise(model, feeds)
        runs = {
            "plimsoll": ours(path, dims, shapes, missing, feeds, names, args),
            "onnxruntime": models.session(model).run(None, feeds),
            "onnxruntime, optimised": optimised(model, feeds),
        }
        for at, name in enumerate(names):
            if truth[at].dtype != np.float64 or not truth[at].size:
                continue
            scale = np.abs(truth[at]).max()
            told = [f"{who} {np.abs(found[at] - truth[at]).max() / scale:.2e}" for who, found in runs.items()]
            print(f"{path.stem}: `{name}`, largest {scale:.3g}: off by", ", ".join(told), flush=True)


if __name__ == "__main__":
    main()
