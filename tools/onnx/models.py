"""Real models for the scripts here: where they are, how they are run, what is put in."""

import os
import sys
import sysconfig
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

SITE = Path(sysconfig.get_paths()["purelib"])
BACKEND = SITE / "onnx" / "backend" / "test" / "data"
ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("PLIMSOLL_CORPUS", ROOT.parent / "shared" / "corpus"))

# Models of packages: file, dims for symbols, shapes for inputs that have none.
PACKAGED = [
    ("magika/models/standard_v3_3/model.onnx", {}, {"bytes": [1, 2048]}),
    ("nudenet/320n.onnx", {}, {"images": [1, 3, 320, 320]}),
    ("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {}, {"x": [1, 3, 320, 320]}),
    ("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {}, {"x": [1, 3, 48, 320]}),
    ("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {}, {"x": [1, 3, 48, 192]}),
    ("silero_vad/data/silero_vad_16k_op15.onnx", {},
     {"input": [1, 576], "state": [2, 1, 128]}),
    ("silero_vad/data/silero_vad_16k_sequence.onnx", {"sequence_length": 4}, {}),
    ("silero_vad/data/silero_vad_op18_ifless.onnx", {},
     {"input": [1, 576], "state": [2, 1, 128]}),
    ("silero_vad/data/silero_vad_half.onnx", {}, {"input": [1, 576], "state": [2, 1, 128]}),
    ("silero_vad/data/silero_vad_openvino_16k.onnx", {}, {}),
    ("silero_vad/data/silero_vad.onnx", {}, {"input": [1, 576], "state": [2, 1, 128]}),
]

# Models of the corpus with symbols, and what these stand for.
DYNAMIC = {
    "dyn_bert_base": {"batch": 2, "seq": 64},
    "dyn_mobilenet_v2": {"batch": 2},
    "dyn_resnet50": {"batch": 2, "height": 224, "width": 224},
    "pkg_magika__model": {"unk__214": 2},
    "pkg_rapidocr-onnxruntime__ch_PP-OCRv4_det_infer": {
        "p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 320, "p2o.DynamicDimension.2": 320},
}


def packaged():
    """The models of packages that are installed, with dims and shapes of inputs."""
    for name, dims, shapes in PACKAGED:
        path = SITE / name
        if path.exists():
            yield path, dims, shapes
        else:
            print(f"not installed: {name}", file=sys.stderr)
    light = sorted((BACKEND / "light").glob("*.onnx"))
    if not light:
        print("the models of onnx's backend tests are not installed", file=sys.stderr)
    for path in light:
        yield path, {}, {}


def corpus():
    """The models of the corpus."""
    paths = sorted((CORPUS / "models").glob("*.onnx"))
    if not paths:
        print(f"no corpus at {CORPUS}; set PLIMSOLL_CORPUS", file=sys.stderr)
    for path in paths:
        yield path, DYNAMIC.get(path.stem, {}), {}


def load(path):
    """The model, with zeros for weights whose file is not there."""
    model = onnx.load(path, load_external_data=False)
    tensors = list(model.graph.initializer)
    stack = [model.graph]
    while stack:
        graph = stack.pop()
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    tensors.append(attribute.t)
                if attribute.type == onnx.AttributeProto.GRAPH:
                    stack.append(attribute.g)
                    tensors.extend(attribute.g.initializer)
    for tensor in tensors:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        tensor.raw_data = bytes(int(np.prod(tensor.dims, dtype=np.int64)) * dtype.itemsize)
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]
    return model


def bind(model, dims, shapes):
    """Writes numbers into the shapes of the inputs."""
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in weights:
            continue
        shape = value.type.tensor_type.shape
        if value.name in shapes:
            del shape.dim[:]
            for dim in shapes[value.name]:
                shape.dim.add().dim_value = dim
        for dim in shape.dim:
            if dim.HasField("dim_param"):
                if dim.dim_param not in dims:
                    raise RuntimeError(f"`{dim.dim_param}` of input `{value.name}` is not bound")
                dim.dim_value = dims[dim.dim_param]
    return model


def session(model):
    """A session that runs the model as it is, on one thread."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Weights in another layout are multiplied in another order.
    options.add_session_config_entry("session.disable_prepacking", "1")
    bytes_ = model if isinstance(model, bytes) else model.SerializeToString()
    return ort.InferenceSession(bytes_, options, providers=["CPUExecutionProvider"])


def feeds(model, seed=0):
    """Something to put in: small numbers, the same every time."""
    rng = np.random.default_rng(seed)
    weights = {tensor.name for tensor in model.graph.initializer}
    made = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        of = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(of.elem_type)
        shape = [dim.dim_value for dim in of.shape.dim]
        if value.name == "sr":
            made[value.name] = np.full(shape, 16000, dtype)
        elif np.issubdtype(dtype, np.floating):
            made[value.name] = rng.standard_normal(shape).astype(dtype)
        elif dtype == np.bool_:
            made[value.name] = np.ones(shape, dtype)
        else:
            made[value.name] = rng.integers(0, 2, shape).astype(dtype)
    return made


def arguments(dims, shapes):
    """The same as options of the command line."""
    listed = []
    for name, dim in dims.items():
        listed += ["--dim", f"{name}={dim}"]
    for name, shape in shapes.items():
        listed += ["--input-shape", f"{name}={','.join(map(str, shape))}"]
    return listed
