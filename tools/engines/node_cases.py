#!/usr/bin/env python3
"""Writes corpus/nodes: small models of one operator, with inputs and what onnxruntime makes of them.

    node_cases.py [FOLDER]

Each case is a folder of `model.onnx`, `in.npz` and `out.npz`. Numbers come from a seed; onnxruntime runs without its
optimisations. `cargo test` runs every case.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))
import models  # noqa: E402

RNG = np.random.default_rng(7)


def reals(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def halves(*dims):
    return RNG.standard_normal(dims).astype(np.float16)


def integers(dtype, least, most, *dims):
    return RNG.integers(least, most, dims).astype(dtype)


def number(dtype, value):
    return np.array(value, dtype)


def case(name, op, inputs, outputs=1, stored=(), opset=17, domain="", **attributes):
    """A case: inputs by name, some of which are stored in the model."""
    made = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, list(inputs), made, domain=domain, **attributes)
    present = {key: array for key, array in inputs.items() if array is not None}
    node.input[:] = [key if array is not None else "" for key, array in inputs.items()]
    typed = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for key, array in present.items() if key not in stored]
    kept = [numpy_helper.from_array(present[key], key) for key in stored]
    results = [onnx.ValueInfoProto(name=key) for key in made]
    graph = helper.make_graph([node], name, typed, results, kept)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    feeds = {key: array for key, array in present.items() if key not in stored}
    session = models.session(model)
    found = session.run(None, feeds)
    for value, array in zip(model.graph.output, found):
        value.CopyFrom(helper.make_tensor_value_info(
            value.name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    return name, model, feeds, dict(zip(made, found))


def cases():
    u8, i8, i64 = np.uint8, np.int8, np.int64
    one = lambda x: np.array([x], np.float32)  # noqa: E731
    image = reals(1, 4, 7, 6)
    yield case("conv_strided", "Conv", {"x": image, "w": reals(5, 4, 3, 3), "b": reals(5)}, strides=[2, 1], pads=[1, 0, 1, 2])
    yield case("conv_depthwise", "Conv", {"x": image, "w": reals(4, 1, 3, 3)}, stored=["w"], group=4, pads=[1, 1, 1, 1])
    yield case("conv_transposed", "ConvTranspose", {"x": image, "w": reals(4, 3, 3, 2)}, strides=[2, 2], output_padding=[1, 0])
    yield case("pool_average_ceil", "AveragePool", {"x": image}, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
    yield case("pool_max_indices", "MaxPool", {"x": image}, 2, kernel_shape=[2, 2], strides=[2, 2])
    yield case("gemm_transposed", "Gemm", {"a": reals(5, 3), "b": reals(4, 5), "c": reals(4)}, transA=1, transB=1, alpha=0.5, beta=2.0)
    yield case("matmul_broadcast", "MatMul", {"a": reals(2, 1, 3, 4), "b": reals(3, 4, 5)})
    yield case("matmul_halves", "MatMul", {"a": halves(3, 4), "b": halves(4, 5)}, stored=["b"])
    yield case("add_halves", "Add", {"a": halves(3, 4), "b": halves(4)})
    yield case("cast_halves", "Cast", {"x": reals(9)}, to=TensorProto.FLOAT16)
    yield case("softmax_axis", "Softmax", {"x": reals(3, 4, 5)}, axis=1)
    yield case("layer_norm", "LayerNormalization", {"x": reals(2, 3, 8), "s": reals(8), "b": reals(8)}, axis=-1)
    yield case("instance_norm", "InstanceNormalization", {"x": image, "s": reals(4), "b": reals(4)})
    yield case("gelu_erf", "Erf", {"x": reals(20)})
    yield case("where_broadcast", "Where", {"c": RNG.integers(0, 2, (3, 1)).astype(bool), "a": reals(3, 4), "b": reals(4)})
    yield case("gather_negative", "Gather", {"x": reals(5, 3), "i": np.array([[0, -1], [2, 4]], i64)}, axis=0)
    yield case("gather_nd", "GatherND", {"x": reals(3, 4, 2), "i": np.array([[0, 1], [2, -1]], i64)})
    yield case("scatter_nd", "ScatterND", {"x": reals(5, 2), "i": np.array([[4], [1]], i64), "u": reals(2, 2)})
    yield case("top_k", "TopK", {"x": reals(3, 6), "k": np.array([2], i64)}, 2, stored=["k"], axis=1)
    yield case("one_hot", "OneHot", {"i": np.array([1, -1, 7], i64), "d": number(i64, 4), "v": one(0).repeat(2)}, stored=["d"], axis=-1)
    yield case("cumulative_sum", "CumSum", {"x": reals(3, 4), "a": number(i64, 1)}, stored=["a"], reverse=1, exclusive=1)
    yield case("trilu_upper", "Trilu", {"x": reals(4, 5), "k": number(i64, 1)}, stored=["k"], upper=1)
    yield case("mod_floats", "Mod", {"a": reals(8), "b": reals(8)}, fmod=1)
    yield case("shift_left", "BitShift", {"a": integers(u8, 0, 200, 6), "b": integers(u8, 0, 7, 6)}, direction="LEFT")
    yield case("pad_reflect", "Pad", {"x": reals(3, 4), "p": np.array([1, 2, 0, 1], i64)}, stored=["p"], mode="reflect")
    yield case("resize_linear", "Resize", {"x": image, "r": None, "s": np.array([1, 1, 2, 1.5], np.float32)}, stored=["s"], mode="linear")
    yield case("resize_cubic", "Resize", {"x": image, "r": None, "s": None, "z": np.array([1, 4, 5, 9], i64)}, stored=["z"], mode="cubic")
    yield case("reduce_l2", "ReduceL2", {"x": reals(3, 4, 5)}, axes=[0, 2], keepdims=0)
    yield case("einsum_batched", "Einsum", {"a": reals(2, 3, 4), "b": reals(2, 5, 4)}, equation="bij,bkj->bki")
    yield case("einsum_dots", "Einsum", {"a": reals(2, 3, 3)}, equation="...ii->...i")
    grid = np.clip(reals(1, 3, 5, 2), -1.2, 1.2)
    for mode in ["bilinear", "nearest", "bicubic"]:
        for padding in ["zeros", "border", "reflection"]:
            yield case(f"grid_{mode}_{padding}", "GridSample", {"x": image, "g": grid}, mode=mode, padding_mode=padding)
    yield case("lstm_both_ways", "LSTM", {"x": reals(3, 2, 4), "w": reals(2, 12, 4), "r": reals(2, 12, 3), "b": reals(2, 24)}, 3, hidden_size=3, direction="bidirectional")
    yield case("gru_reset", "GRU", {"x": reals(3, 2, 4), "w": reals(1, 9, 4), "r": reals(1, 9, 3), "b": reals(1, 18)}, 2, hidden_size=3, linear_before_reset=1)
    yield case("quantize_axis", "QuantizeLinear", {"x": reals(3, 4), "s": np.abs(reals(3)) / 10 + np.float32(0.01), "z": integers(i8, -9, 9, 3)}, axis=0)
    yield case("dequantize_i32", "DequantizeLinear", {"x": integers(np.int32, -99, 99, 6), "s": number(np.float32, 0.1)})
    yield case("dynamic_quantize", "DynamicQuantizeLinear", {"x": reals(3, 5)}, 3)
    x, w = integers(u8, 0, 255, 1, 4, 6, 5), integers(i8, -100, 100, 6, 2, 3, 3)
    yield case("conv_integer", "ConvInteger", {"x": x, "w": integers(u8, 0, 255, 3, 4, 3, 3), "z": number(u8, 128)}, pads=[1, 1, 1, 1])
    yield case("conv_quantized", "QLinearConv", {
        "x": x, "xs": number(np.float32, 0.02), "xz": number(u8, 120), "w": w, "ws": np.abs(reals(6)) / 50 + np.float32(0.001),
        "wz": np.zeros(6, i8), "ys": number(np.float32, 0.3), "yz": number(u8, 100), "b": integers(np.int32, -500, 500, 6)},
        group=2, strides=[2, 1], pads=[1, 1, 0, 1])
    yield case("matmul_integer", "MatMulInteger", {"a": integers(u8, 0, 255, 3, 4), "b": integers(i8, -9, 99, 4, 5), "az": number(u8, 99)})
    yield case("matmul_quantized", "QLinearMatMul", {
        "a": integers(u8, 0, 255, 2, 3, 4), "as": number(np.float32, 0.01), "az": number(u8, 110), "b": integers(u8, 0, 255, 4, 5),
        "bs": number(np.float32, 0.02), "bz": number(u8, 130), "ys": number(np.float32, 0.05), "yz": number(u8, 128)})
    quantized = {"a": integers(u8, 0, 255, 3, 4), "as": number(np.float32, 0.02), "az": number(u8, 100)}
    yield case("add_quantized", "QLinearAdd", quantized | {
        "b": integers(u8, 0, 255, 4), "bs": number(np.float32, 0.03), "bz": number(u8, 90),
        "ys": number(np.float32, 0.05), "yz": number(u8, 128)}, domain="com.microsoft")
    yield case("sigmoid_quantized", "QLinearSigmoid", quantized | {"ys": number(np.float32, 1 / 256), "yz": number(u8, 0)},
               domain="com.microsoft")


def body(name, given, made, *nodes, kept=()):
    """A body: what it is given and makes by name, `*n` for reals of so many elements."""
    def typed(key):
        key, _, dims = key.partition("*")
        of = {"number": TensorProto.INT64, "go": TensorProto.BOOL, "goes": TensorProto.BOOL}.get(key, TensorProto.FLOAT)
        return helper.make_tensor_value_info(key, of, [int(dims)] if dims else [])

    nodes = [helper.make_node(op, ins.split(), outs.split(), **attributes) for op, ins, outs, attributes in nodes]
    kept = [numpy_helper.from_array(array, key) for key, array in kept]
    return helper.make_graph(nodes, name, [typed(key) for key in given], [typed(key) for key in made], kept)


def rounds():
    """Bodies that run again and again."""
    trips = number(np.int64, 4)
    add = ("Add", "s r", "t", {})
    real = ("Cast", "number", "r", {"to": TensorProto.FLOAT})
    counted = body("counted", ["number", "go", "s*3"], ["go", "t*3", "t*3"], real, add)
    yield case("loop_counted", "Loop", {"m": trips, "c": None, "x": reals(3)}, 2, stored=["m"], body=counted)
    limit = [("limit", number(np.float32, 30))]
    doubled = body("doubled", ["number", "go", "s*3"], ["goes", "t*3"], ("Add", "s s", "t", {}),
                   ("ReduceL2", "t", "l", {"keepdims": 0}), ("Less", "l limit", "goes", {}), kept=limit)
    yield case("loop_condition", "Loop", {"m": number(np.int64, 99), "c": number(bool, True), "x": reals(3)}, body=doubled)
    yield case("loop_none", "Loop", {"m": number(np.int64, 9), "c": number(bool, False), "x": reals(3)}, body=doubled)
    swapped = body("swapped", ["number", "go", "a*3", "b*3"], ["go", "b*3", "t*3"], ("Sub", "a b", "t", {}))
    yield case("loop_swapped", "Loop", {"m": number(np.int64, 5), "c": None, "x": reals(3), "y": reals(3)}, 2, body=swapped)
    inner = body("inner", ["number", "go", "u*3"], ["go", "v*3", "v*3"], ("Add", "u s", "v", {}))
    nested = body("nested", ["number", "go", "s*3"], ["go", "t*3", "w"], ("Loop", "three go s", "t all", {"body": inner}),
                  ("ReduceMean", "all", "w", {"keepdims": 0}), kept=[("three", number(np.int64, 3))])
    yield case("loop_nested", "Loop", {"m": number(np.int64, 2), "c": number(bool, True), "x": reals(3)}, 2, stored=["m", "c"], body=nested)
    summed = body("summed", ["s*2", "e*2"], ["t*2", "p*2"], ("Add", "s e", "t", {}), ("Mul", "t e", "p", {}))
    yield case("scan_rows", "Scan", {"s": reals(2), "x": reals(5, 2)}, 2, body=summed, num_scan_inputs=1)
    yield case("scan_columns_back", "Scan", {"s": reals(2), "x": reals(2, 5)}, 2, body=summed, num_scan_inputs=1,
               scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1], scan_output_directions=[1])


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "corpus" / "nodes"
    for name, model, feeds, found in itertools.chain(cases(), rounds()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / name / "model.onnx")
        np.savez(folder / name / "in.npz", **feeds)
        np.savez(folder / name / "out.npz", **found)


if __name__ == "__main__":
    main()
