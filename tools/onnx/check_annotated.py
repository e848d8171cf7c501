#!/usr/bin/env python3
"""Checks models with notes: onnx takes them, and nothing but notes has changed.

    check_annotated.py [MODEL.onnx ...]

Without models: those of this repository, of the corpus and of installed packages. Needs the
command, as PLIMSOLL or as target/release/plimsoll. Each model is planned and written with notes;
then

- onnx.checker takes it, if it takes the model without notes;
- without the notes it is the same message;
- every node has notes on its outputs that say what the plan as JSON says;
- writing notes into what has notes gives the same bytes.

Exit status 1 if anything is wrong.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

import models

PLIMSOLL = os.environ.get("PLIMSOLL", models.ROOT / "target" / "release" / "plimsoll")
OURS = "plimsoll."


def run(*args):
    """Runs the command; None and what it says if it does not go well."""
    done = subprocess.run([PLIMSOLL, *map(str, args)], capture_output=True)
    if done.returncode != 0:
        return None, done.stderr.decode().strip()
    return done.stdout, None


def is_valid(path):
    """Whether onnx takes a model; weights outside of it need not be there."""
    model = onnx.load(path, load_external_data=False)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return str(error).splitlines()[0]
    return None


def graphs(graph):
    """A graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            inner = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else []
            for body in [*inner, *attribute.graphs]:
                yield from graphs(body)


def strip(model):
    """Takes our notes out, and gives them back by output; not those of names that come twice."""
    notes, twice = {}, set()

    def take(message):
        own = {p.key[len(OURS):]: p.value for p in message.metadata_props
               if p.key.startswith(OURS)}
        kept = [p for p in message.metadata_props if not p.key.startswith(OURS)]
        del message.metadata_props[:]
        message.metadata_props.extend(kept)
        return own

    take(model)
    for graph in graphs(model.graph):
        for named in [*graph.initializer, *graph.input, *graph.output, *graph.value_info]:
            take(named)
        for node in graph.node:
            own = take(node)
            for index, output in enumerate(node.output):
                twice |= {output} & notes.keys()
                behind = f".{index}" if index else ""
                notes[output] = {key[:len(key) - len(behind)]: value for key, value in own.items()
                                 if (key.endswith(behind) if index else "." not in key)}
    return {output: own for output, own in notes.items() if output not in twice}


def disagreements(notes, plan):
    """Values whose notes are not what the plan says."""
    wrong = []
    for value in plan["values"]:
        stored = value.get("role") in ("param", "constant")
        if value["name"] not in notes or (stored and "offset" not in value):
            continue
        if "offset" in value:
            said = {"bank": value["bank"], "offset": str(value["offset"])}
        else:
            said = {"bank": "elided" if value["storage"] == "elided" else "external"}
        if "start" in value:
            said["lifetime_start"] = str(value["start"])
            said["lifetime_end"] = str(value["end"])
            said["memory_group"] = str(value["buffer"])
        if "in_place_of" in value:
            said["inplace"] = "true"
        found = notes[value["name"]]
        if any(found.get(key) != text for key, text in said.items()):
            wrong.append(value["name"])
    return wrong


def check(path, dims, shapes, folder):
    """What is wrong with one model; and how many values have notes."""
    options = ["--order", "given", "--effort", "fast"]
    for name, dim in dims.items():
        options += ["--dim", f"{name}={dim}"]
    for name, shape in shapes.items():
        options += ["--input-shape", f"{name}={','.join(map(str, shape))}"]
    once, twice = folder / "once.onnx", folder / "twice.onnx"
    plan, fault = run("plan", path, *options, "--format", "json")
    if fault:
        return f"no plan: {fault}", 0
    for source, target in [(path, once), (once, twice)]:
        _, fault = run("plan", source, *options, "-o", target)
        if fault:
            return fault, 0
    if once.read_bytes() != twice.read_bytes():
        return "notes on notes change it", 0
    before, after = is_valid(path), is_valid(once)
    if after and not before:
        return f"onnx does not take it: {after}", 0
    model = onnx.load(once, load_external_data=False)
    notes = strip(model)
    original = onnx.load(path, load_external_data=False)
    strip(original)
    if model.SerializeToString(deterministic=True) != original.SerializeToString(deterministic=True):
        return "more than notes has changed", 0
    wrong = disagreements(notes, json.loads(plan))
    if wrong:
        return f"{len(wrong)} values have wrong notes, the first {wrong[0]!r}", 0
    return None, sum(bool(own) for own in notes.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    given = parser.parse_args().models
    cases = [(path, {}, {}) for path in given]
    if not given:
        own = sorted((models.ROOT / "corpus" / "models").glob("*.onnx"))
        cases = [(path, {}, {}) for path in own]
        cases += [*models.corpus(), *models.packaged()]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, dims, shapes in cases:
            fault, noted = check(path, dims, shapes, Path(folder))
            wrong += fault is not None
            print(f"{path.name}: {fault or f'{noted} values with notes'}", flush=True)
    print(f"{len(cases)} models, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
