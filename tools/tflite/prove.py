#!/usr/bin/env python3
"""Proves planned `.tflite` files in the interpreter of TensorFlow Lite Micro itself.

For every model: `plimsoll plan MODEL -o planned.tflite` with the ways below, and then the interpreter runs the
original and the planned file on the same random inputs, three times. Outputs have to be equal bit for bit, and the
bytes at the head of the arena and the smallest arena that is accepted must not grow. What the interpreter takes is
held against what plimsoll simulated. As a control, a plan with one wrong offset has to give other outputs, or none.

    tools/tflite/prove.py --plimsoll target/release/plimsoll MODEL.tflite…

Needs numpy and the interpreter: `pip install --pre tflite-micro`. Installs nothing.
"""

import argparse
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

RUNS = 3
MOST_ARENA = 64 << 20
STEP = 16

WAYS = [
    ("plan", []),
    ("in place", ["--kernels", "tflm"]),
    ("best order", ["--kernels", "tflm", "--order", "best"]),
]


def interpreter(path, arena):
    from tflite_micro import runtime

    return runtime.Interpreter.from_file(path, arena_size=arena)


def head_and_tail(of):
    """What the interpreter prints of its arena, by way of the file descriptor that it prints to."""
    with tempfile.TemporaryFile() as said:
        sys.stdout.flush()
        kept = [os.dup(1), os.dup(2)]
        try:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            of.print_allocations()
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
        said.seek(0)
        text = said.read().decode()
    return [int(re.search(rf"allocation {part} (\d+) bytes", text)[1]) for part in ("head", "tail")]


def is_accepted(path, arena):
    """In a process of its own, since some kernels do not survive a lack of memory."""
    child = os.fork()
    if child == 0:
        try:
            interpreter(path, arena)
        except Exception:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def smallest_arena(path, most):
    least = 0
    while most - least > STEP:
        middle = (least + most) // 2 // STEP * STEP
        if is_accepted(path, middle):
            most = middle
        else:
            least = middle
    return most


def random_input(rng, details):
    import numpy

    dtype = numpy.dtype(details["dtype"])
    shape = tuple(details["shape"])
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    info = numpy.iinfo(dtype)
    if dtype.itemsize > 2:
        # Counts and indices: some models count up to them, or down from them.
        return rng.integers(max(info.min, -100), 100, shape, dtype=dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def inputs_and_outputs(path):
    """How many of each: the interpreter does not say, and takes indices."""
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    with open(path, "rb") as file:
        graph = schema.Model.GetRootAsModel(file.read(), 0).Subgraphs(0)
    return graph.InputsLength(), graph.OutputsLength()


def work(path, with_arena):
    """Runs a file, and says what came out of it."""
    import numpy

    inputs, outputs = inputs_and_outputs(path)
    runs = interpreter(path, MOST_ARENA)
    digests = []
    rng = numpy.random.default_rng(1)
    for _ in range(RUNS):
        for index in range(inputs):
            runs.set_input(random_input(rng, runs.get_input_details(index)), index)
        runs.invoke()
        made = [numpy.asarray(runs.get_output(index)).tobytes() for index in range(outputs)]
        digests.append(hashlib.sha256(b"".join(made)).hexdigest())
    head, tail = head_and_tail(runs)
    arena = smallest_arena(path, head + tail + 65536) if with_arena else None
    print(json.dumps({"outputs": digests, "head": head, "tail": tail, "arena": arena}))


def worked(path, with_arena=True):
    """The same in a process of its own, since a wrong plan may end it."""
    args = [sys.executable, __file__, "--work", path] + ([] if with_arena else ["--no-arena"])
    done = subprocess.run(args, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        return None
    return json.loads(lines[-1])


def plan_bytes(data):
    """Where the offsets of the plan are in a file, and how many."""
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    model = schema.Model.GetRootAsModel(data, 0)
    for index in range(model.MetadataLength()):
        note = model.Metadata(index)
        if note.Name() == b"OfflineMemoryAllocation":
            plan = model.Buffers(note.Buffer()).DataAsNumpy().tobytes()
            return data.find(plan) + 12, len(plan) // 4 - 3
    return None


def control(path, expected):
    """Whether a wrong offset shows: each in turn is moved to 0, until one does."""
    with open(path, "rb") as file:
        data = file.read()
    found = plan_bytes(data)
    if found is None:
        return None
    at, count = found
    offsets = struct.unpack_from(f"<{count}i", data, at)
    for index, offset in enumerate(offsets):
        if offset <= 0:
            continue
        wrong = bytearray(data)
        struct.pack_into("<i", wrong, at + 4 * index, 0)
        with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
            file.write(wrong)
            file.flush()
            made = worked(file.name, with_arena=False)
        if made is None or made["outputs"] != expected:
            return True
    return False


def prove(plimsoll, path, folder, controls):
    # Packages have models of the same name.
    name = os.sep.join(os.path.abspath(path).split(os.sep)[-3:])
    original = worked(path)
    if original is None:
        print(f"{name}\tthe interpreter does not run it")
        return True
    fine = True
    for way, args in WAYS:
        planned = os.path.join(folder, "planned.tflite")
        done = subprocess.run(
            [plimsoll, "plan", path, *args, "-o", planned], capture_output=True, text=True
        )
        if done.returncode != 0:
            print(f"{name}\t{way}\tnot planned: {done.stderr.strip()}")
            fine = False
            continue
        made = worked(planned)
        if made is None:
            print(f"{name}\t{way}\tthe interpreter does not run it\tWRONG")
            fine = False
            continue
        told = [int(number) for number in re.findall(r"(\d+) (?:bytes|before)", done.stderr)]
        checks = {
            "outputs differ": made["outputs"] == original["outputs"],
            "a larger head": made["head"] <= original["head"],
            "a larger arena": made["arena"] <= original["arena"],
            "simulated otherwise": made["head"] in told,
        }
        wrong = [fault for fault, holds in checks.items() if not holds]
        fine = fine and not wrong
        if way == WAYS[0][0]:
            controls.append(control(planned, original["outputs"]))
        print(
            f"{name}\t{way}\thead {original['head']} -> {made['head']}\t"
            f"arena {original['arena']} -> {made['arena']}\t{', '.join(wrong) or 'equal'}",
            flush=True,
        )
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plimsoll", default="target/release/plimsoll")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-arena", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="+", metavar="MODEL.tflite")
    args = parser.parse_args()
    try:
        import numpy  # noqa: F401
        import tflite_micro  # noqa: F401
    except ImportError as error:
        sys.exit(f"prove.py: {error}: pip install numpy, and pip install --pre tflite-micro")
    if args.work:
        work(args.models[0], not args.no_arena)
        return
    with tempfile.TemporaryDirectory() as folder:
        controls = []
        results = [prove(args.plimsoll, model, folder, controls) for model in args.models]
    # Where outputs hardly depend on inputs, nothing shows.
    tried = [shown for shown in controls if shown is not None]
    print(f"a wrong offset shows in {sum(tried)} of {len(tried)} models")
    sys.exit(0 if all(results) and (any(tried) or not tried) else 1)


if __name__ == "__main__":
    main()
