#!/usr/bin/env python3
"""Whole models in our engine, onnxruntime, tract and rten, in one run: CPU time, memory, allocations.

    cd tools/engines/models && cargo build --release --features others && cargo build --release --features ours
    speed.py [--only TEXT]… [--rounds 6] [--engines ours,ort,ort-none,tract,rten] [--threads 1] [--profile] [--nodes N]

One process for each engine has the model loaded; they run in turns, some runs each, so that a busy machine is busy for all.
Time is the least CPU time of a run. *memory* is the most that is in use in a run: the arena and inputs for us, the heap
beyond what was in use before for tract and rten, resident bytes beyond those before the first run for onnxruntime. *more*
is by how many resident bytes our process grows in its runs. Models of packages have their weights, models of the corpus
numbers from a seed. What is not installed is named. The machine's noise is some percent.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "onnx")]
BUILT = HERE / "models" / "target" / "release"

# Package and corpus models of the table; the first one that there is.
MODELS = [
    "ch_ppocr_mobile_v2.0_cls_infer", "standard_v3_3/model", "tv_squeezenet1_1", "tv_mobilenet_v2",
    "tv_efficientnet_b0", "nudenet/320n", "tv_resnet50", "ch_PP-OCRv4_rec_infer.onnx", "ch_PP-OCRv4_det_infer.onnx",
    "hf_whisper_tiny_enc", "hf_bert_base_b1_t128", "tv_vit_b_16", "hf_gpt2_b1_t256", "silero_vad_16k_op15",
]
ENGINES = ["ours", "ort", "ort-none", "tract", "rten"]


class Server:
    """A process that has a model loaded."""

    def __init__(self, engine, model, inputs, threads):
        program = {"ours": [BUILT / "ours"], "tract": [BUILT / "others"], "rten": [BUILT / "others"]}
        command = program.get(engine, [sys.executable, __file__, "--serve"])
        command = list(map(str, command)) + [engine, str(threads), str(model)] + inputs
        environment = dict(os.environ, RTEN_NUM_THREADS=str(threads), RAYON_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, env=environment)
        self.about = self.line()
        self.nanos, self.calls, self.heap, self.resident = math.inf, 0, 0, 0

    def line(self):
        return self.process.stdout.readline().strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.line()

    def run(self, runs):
        answer = self.ask(str(runs)).split()
        if not answer:
            raise RuntimeError("ended")
        nanos, self.calls, heap, resident = map(int, answer)
        self.nanos = min(self.nanos, nanos)
        self.heap, self.resident = max(self.heap, heap), max(self.resident, resident)

    def profile(self, runs):
        self.process.stdin.write(f"profile {runs}\n")
        self.process.stdin.flush()
        calls = []
        while (line := self.line()) not in ("end", ""):
            nanos, op, node = line.split(" ", 2)
            calls.append((int(nanos), op, node))
        return calls

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def serve(engine, threads, path, *inputs):
    """onnxruntime, as the other programs."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    if engine == "ort-none":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    groups = [inputs[at:at + 4] for at in range(0, len(inputs), 4)]
    feeds = {name: np.fromfile(file, dtype).reshape([int(dim) for dim in dims.split(",") if dim])
             for name, dtype, dims, file in groups}
    before = reset_resident()
    session.run(None, feeds)
    first = resident("VmHWM:") - before
    print("ready", flush=True)
    for line in sys.stdin:
        if line.startswith("outputs"):
            for at, output in enumerate(session.run(None, feeds)):
                output.tofile(Path(line.split(" ", 1)[1].strip()) / str(at))
            print("written", flush=True)
            continue
        least = math.inf
        for _ in range(int(line)):
            start = time.process_time_ns()
            session.run(None, feeds)
            least = min(least, time.process_time_ns() - start)
        print(least, 0, 0, max(first, resident("VmHWM:") - before), flush=True)


def resident(field):
    line = next(line for line in open("/proc/self/status") if line.startswith(field))
    return int(line.split()[1]) * 1024


def reset_resident():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return resident("VmRSS:")


def found():
    """The models of the table that there are: name, path, dims, shapes."""
    import models

    everything = list(models.packaged()) + list(models.corpus())
    for wanted in MODELS:
        hits = [entry for entry in everything if wanted in str(entry[0])]
        if hits:
            yield wanted.split("/")[0].removesuffix(".onnx").replace("standard_v3_3", "magika"), hits[0]
        else:
            print(f"not there: {wanted}", file=sys.stderr)


def prepared(path, dims, shapes, folder):
    """The model with numbers for shapes and weights, in a file, and its inputs as arguments."""
    import models
    import onnx
    import values

    model, _ = values.filled(path)
    models.bind(model, dims, shapes)
    feeds = models.feeds(model)
    del model.graph.value_info[:]
    onnx.save(model, folder / "model.onnx")
    inputs = []
    for at, (name, array) in enumerate(feeds.items()):
        file = folder / f"input{at}"
        array.tofile(file)
        inputs += [name, str(array.dtype), ",".join(map(str, array.shape)), str(file)]
    return folder / "model.onnx", inputs


def chain(count, folder):
    """A model of so many nodes that have next to nothing to do, and its input as arguments."""
    import onnx

    names = [f"t{at}" for at in range(count + 1)]
    nodes = [onnx.helper.make_node("Softmax", [a], [b], axis=1) for a, b in zip(names, names[1:])]
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2])
    graph = onnx.helper.make_graph(nodes, "chain", [value(names[0])], [value(names[-1])])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "model.onnx")
    np.array([[0.25, 0.75]], np.float32).tofile(folder / "input0")
    return folder / "model.onnx", ["t0", "float32", "1,2", str(folder / "input0")]


def per_node(args, folder):
    """What a node costs beside what it computes: a chain of softmaxes of two numbers, by nodes."""
    model, inputs = chain(args.nodes, folder)
    for engine in args.engines:
        server = Server(engine, model, inputs, args.threads)
        if not server.about.startswith("ready"):
            print(f"{engine}: {server.about[:110]}")
            continue
        for _ in range(args.rounds):
            server.run(10)
        print(f"{engine}: {server.nanos / args.nodes:.0f} ns a node, {args.nodes} nodes", flush=True)
        server.end()


def distance(folder, engine):
    """The worst element of the first output, as a part of the largest of onnxruntime's."""
    expected = np.fromfile(folder / "ort-none" / "0", np.float32)
    got = np.fromfile(folder / engine / "0", np.float32)
    if expected.shape != got.shape:
        return "other"
    scale = np.nanmax(np.abs(expected)) or 1.0
    return f"{np.nanmax(np.abs(expected - got)) / scale:.0e}"


def about(server, key):
    pairs = dict(part.split("=") for part in server.about.split() if "=" in part)
    return int(pairs.get(key, 0))


def measured(name, entry, args, folder):
    """One row for each engine, and the ratios of our time to theirs."""
    model, inputs = prepared(*entry, folder)
    servers, rows = {}, {}
    for engine in args.engines:
        server = Server(engine, model, inputs, args.threads)
        if server.about.startswith("ready"):
            servers[engine] = server
        else:
            print(f"{name}: {engine} {server.about[:110] or 'does not load'}", file=sys.stderr)
    for round_ in range(args.rounds):
        for server in servers.values():
            fastest = server.nanos if server.nanos < math.inf else 3e8
            server.run(1 if round_ == 0 else max(2, min(50, int(1e8 / fastest))))
    for engine, server in servers.items():
        memory = about(server, "arena") + about(server, "inputs") or server.heap or server.resident
        (folder / engine).mkdir(exist_ok=True)
        server.ask(f"outputs {folder / engine}")
        far = distance(folder, engine) if "ort-none" in servers and "ort-none" in rows or engine == "ort-none" else "-"
        rows[engine] = (server.nanos / 1e6, memory / 1e6, server.calls, server.resident, far)
    if args.profile and "ours" in servers:
        told(servers["ours"].profile(10))
    for server in servers.values():
        server.end()
    return rows


def told(calls):
    """Where our time goes."""
    total = sum(nanos for nanos, _, _ in calls)
    ops = {}
    for nanos, op, _ in calls:
        ops.setdefault(op, []).append(nanos)
    for op, times in sorted(ops.items(), key=lambda item: -sum(item[1]))[:12]:
        print(f"    {sum(times) / 1e6:8.3f} ms {100 * sum(times) / total:5.1f} % {len(times):5} {op}")
    for nanos, op, node in sorted(calls, reverse=True)[:14]:
        print(f"    {nanos / 1e6:8.3f} ms {op} {node[-70:]}")


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=ENGINES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="where our time goes")
    parser.add_argument("--nodes", type=int, help="a chain of so many nodes instead of models")
    args = parser.parse_args()
    args.engines.sort(key=["ort-none", "ours", "ort", "tract", "rten"].index)
    if args.nodes:
        with tempfile.TemporaryDirectory() as folder:
            return per_node(args, Path(folder))
    print("| model | " + " | ".join(f"{engine} ms" for engine in args.engines) + " | "
          + " | ".join(f"{engine} MB" for engine in args.engines) + " | allocations | more | far |")
    ratios = {engine: [] for engine in args.engines}
    for name, entry in found():
        if args.only and not any(text in str(entry[0]) or text in name for text in args.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(name, entry, args, Path(folder))
        cell = lambda at, form: " | ".join(format(rows[e][at], form) if e in rows else "–" for e in args.engines)
        counts = "/".join(str(rows[e][2]) for e in args.engines if e in rows and not e.startswith("ort"))
        more = rows["ours"][3] if "ours" in rows else 0
        far = "/".join(rows[e][4] for e in args.engines if e in rows and e != "ort-none")
        print(f"| {name} | {cell(0, '.2f')} | {cell(1, '.2f')} | {counts} | {more} | {far} |", flush=True)
        for engine in args.engines:
            if engine in rows and "ours" in rows:
                ratios[engine].append(rows["ours"][0] / rows[engine][0])
    for engine in args.engines:
        if engine != "ours" and ratios[engine]:
            print(f"our time over {engine}'s: geometric mean {mean(ratios[engine]):.2f}, "
                  f"worst {max(ratios[engine]):.2f}, of {len(ratios[engine])} models")


if __name__ == "__main__":
    main()
