#!/usr/bin/env python3
"""Runs models inside the planned arena, with onnxruntime's own kernels.

    prove_plan.py [--kernels strided] [MODEL.onnx ...]

Every node is a session of its own, its inputs and outputs bound to one array of bytes at the places
of the plan; what is a view is not run at all, what is in place is bound to the same bytes twice. The
outputs have to be those of onnxruntime's own run, bit by bit. Then the same with a plan in which
every life ends as it begins, whose outputs have to be different. Without models: those of
installed packages. onnxruntime's kernels know no strides: a strided view is gathered before the
node that reads it, and scattered behind the one that writes it. Needs:

    cargo build --release -p plimsoll-cli && cargo build --release -p plimsoll-onnx --example shapes

A model whose outputs are the same with a wrong plan (all weights equal, say) proves nothing and is
not counted. Exit status 1 if a plan is wrong, or if nothing is proven.
"""

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import models

PLIMSOLL = models.ROOT / "target" / "release" / "plimsoll"
SHAPES = models.ROOT / "target" / "release" / "examples" / "shapes"

# Constants up to this size become part of a node's model: some kernels want to see them.
SMALL = 1 << 16


def run_tool(*command, **more):
    run = subprocess.run(command, capture_output=True, text=True, **more)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return run.stdout


class Planned:
    """A model, its plan, and memory to run it in."""

    def __init__(self, path, dims, shapes, kernels):
        options = models.arguments(dims, shapes)
        self.path, self.options = path, [*options, "--kernels", kernels]
        self.model = models.bind(models.load(path), dims, shapes)
        self.facts = json.loads(run_tool(SHAPES, path, *options))
        self.plan = json.loads(run_tool(PLIMSOLL, "plan", path, "--format", "json", *self.options))
        self.feeds = models.feeds(self.model)
        self.sessions = {}
        self.nodes, self.makers, self.fixed = {}, {}, {}
        self.collect(self.model.graph)

    def collect(self, graph):
        """The nodes and weights of a graph and of the bodies in it."""
        self.fixed.update((t.name, numpy_helper.to_array(t)) for t in graph.initializer)
        for node in graph.node:
            self.makers.update((output, node) for output in node.output)
            name = plain = node.name or next((output for output in node.output if output), "")
            number = 1
            while name in self.nodes:  # As the reader tells equal names apart.
                number += 1
                name = f"{plain}#{number}"
            self.nodes[name] = node
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    self.collect(attribute.g)

    def can_run(self):
        """Whether every step is a node that runs for itself: a branch that is known is put in place
        of its node, and all others are not for here."""
        values = {value["name"]: value for value in self.plan["values"]}
        for step in self.plan["schedule"]:
            node = self.nodes.get(step)
            if node is None:
                return False
            if node.op_type in ("If", "Loop", "Scan") and not is_view(node, values):
                return False
        return True

    def reference(self):
        names = [output.name for output in self.model.graph.output]
        return dict(zip(names, models.session(self.model).run(names, self.feeds)))

    def array_of(self, name, buffer):
        """A tensor at the beginning of a buffer."""
        fact = self.facts[name]
        dtype, dims = np.dtype(fact["numpy"]), fact["dims"]
        count = int(np.prod(dims, dtype=np.int64))
        return buffer[:count * dtype.itemsize].view(dtype).reshape(dims)

    def session(self, name, inputs):
        """The session of one node; small constants are inside of it."""
        if name not in self.sessions:
            node = self.nodes[name]
            said = lambda tensor, array: helper.make_tensor_value_info(
                tensor, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            inner, outer = {}, {}
            for tensor, array in inputs.items():
                constant = tensor in self.fixed and array.nbytes <= SMALL
                (inner if constant else outer)[tensor] = array
            graph = helper.make_graph(
                [node], "one",
                [said(tensor, array) for tensor, array in outer.items()],
                [onnx.ValueInfoProto(name=output) for output in node.output if output],
                [numpy_helper.from_array(dense(a), t) for t, a in inner.items()])
            one = helper.make_model(graph, opset_imports=self.model.opset_import)
            one.ir_version = self.model.ir_version
            one.functions.extend(self.model.functions)
            self.sessions[name] = models.session(one), list(outer)
        return self.sessions[name]

    def run(self, plan):
        """The outputs, from an arena full of poison."""
        sizes = {bank["name"]: bank["bytes"] for bank in plan["banks"]}
        banks = {name: aligned(size) for name, size in sizes.items()}
        values = {value["name"]: value for value in plan["values"]}
        arrays, strided = dict(self.fixed), {}
        arrays.update(self.feeds)
        for name, value in values.items():
            if "offset" in value and "row_bytes" in value:
                strided[name] = rows_of(banks[value["bank"]][value["offset"]:], value)
            elif "offset" in value:
                place = banks[value["bank"]][value["offset"]:value["offset"] + value["bytes"]]
                arrays[name] = self.array_of(name, place)
        for name in plan["schedule"]:
            node = self.nodes[name]
            outputs = [output for output in node.output if output]
            if is_view(node, values):
                for output in outputs:
                    if output not in arrays and output not in strided:  # Of something outside of the arena.
                        of = arrays[values[output]["root"]].reshape(-1).view(np.uint8)
                        of = of[values[output].get("root_offset", 0):]
                        if "row_bytes" in values[output]:
                            strided[output] = rows_of(of, values[output])
                        else:
                            arrays[output] = self.array_of(output, of)
                continue
            for tensor in filter(strided.__contains__, [*node.input, *outputs]):
                arrays[tensor] = self.array_of(tensor, strided[tensor].reshape(-1).copy())
            inputs = {tensor: self.need(tensor, arrays) for tensor in node.input if tensor}
            session, outer = self.session(name, inputs)
            binding = session.io_binding()
            for tensor in outer:
                array = dense(inputs[tensor])
                binding.bind_input(tensor, "cpu", 0, array.dtype, array.shape, address(array))
            for tensor in outputs:
                array = arrays[tensor]
                binding.bind_output(tensor, "cpu", 0, array.dtype, array.shape, address(array))
            session.run_with_iobinding(binding)
            for tensor in filter(strided.__contains__, outputs):
                strided[tensor][:] = arrays[tensor].reshape(-1).view(np.uint8).reshape(strided[tensor].shape)
        for output in filter(strided.__contains__, (o.name for o in self.model.graph.output)):
            arrays[output] = self.array_of(output, strided[output].reshape(-1).copy())
        return {o.name: np.array(self.need(o.name, arrays)) for o in self.model.graph.output}

    def need(self, name, arrays):
        """A tensor that is there, or that is computed once, before any run."""
        if name in arrays:
            return arrays[name]
        if name not in self.fixed:
            node = self.makers[name]
            given = {t: self.need(t, arrays) for t in node.input if t}
            graph = helper.make_graph(
                [node], "once",
                [helper.make_tensor_value_info(
                    t, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for t, a in given.items()],
                [onnx.ValueInfoProto(name=output) for output in node.output if output])
            one = helper.make_model(graph, opset_imports=self.model.opset_import)
            one.ir_version = self.model.ir_version
            made = models.session(one).run(None, given)
            self.fixed.update(zip([output for output in node.output if output], made))
        arrays[name] = self.fixed[name]
        return arrays[name]

    def shortened(self):
        """The plan with every life as short as can be, packed again."""
        rows = run_tool(PLIMSOLL, "plan", self.path, "--format", "csv", *self.options)
        rows = list(csv.DictReader(io.StringIO(rows)))
        old = [int(row["offset"]) for row in rows]
        for row in rows:
            row["upper"] = int(row["lower"]) + 1
            del row["offset"]
            row.pop("gaps", None)
        problem = io.StringIO()
        writer = csv.DictWriter(problem, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
        solved = run_tool(PLIMSOLL, "solve", "-", "--format", "json", input=problem.getvalue())
        new = {row["id"]: row["offset"] for row in json.loads(solved)["offsets"]}
        plan = json.loads(json.dumps(self.plan))
        for value in plan["values"]:
            if "offset" in value:
                buffer = value["buffer"]
                value["offset"] += new[rows[buffer]["id"]] - old[buffer]
        return plan


def is_view(node, values):
    """Whether all that a node makes are bytes of something that it reads. What is made in its place
    in something larger is written there."""
    def span(name):
        value = values[name]
        begin = value.get("root_offset", 0)
        return value.get("root", name), begin, begin + hull(value)

    read = [name for name in node.input if name]
    for graph in (a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH):
        read += [output.name for output in graph.output]
    spans = [span(name) for name in read if name in values]

    def is_part(name):
        root, begin, end = span(name)
        return any(root == of and lo <= begin and end <= hi for of, lo, hi in spans)

    return all(is_part(output) for output in node.output if output)


def hull(value):
    """The bytes from the first of a value to its last."""
    if "row_bytes" not in value:
        return value["bytes"]
    return value["bytes"] // value["row_bytes"] * value["pitch_bytes"] - value["pitch_bytes"] + value["row_bytes"]


def rows_of(place, value):
    """The bytes of a strided view."""
    shape = value["bytes"] // value["row_bytes"], value["row_bytes"]
    return np.lib.stride_tricks.as_strided(place, shape, (value["pitch_bytes"], 1))


def aligned(size):
    """So many bytes of poison, on a line of their own."""
    raw = np.full(size + 64, 0xFF, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin:begin + size]


def dense(array):
    """The same in one stretch; numpy's own function makes lists of scalars."""
    return array if array.flags.c_contiguous else array.copy()


def address(array):
    return array.ctypes.data


def equal(mine, theirs):
    return all(
        mine[name].dtype == theirs[name].dtype and mine[name].shape == theirs[name].shape
        and mine[name].tobytes() == theirs[name].tobytes() for name in theirs)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default="standard", help="what the kernels can do, as `plimsoll plan` has it")
    parser.add_argument("models", nargs="*", type=Path)
    args = parser.parse_args()
    for tool in [PLIMSOLL, SHAPES]:
        if not tool.exists():
            sys.exit(f"{tool.name} is not built; see --help")
    listed = [(path, {}, {}) for path in args.models] or list(models.packaged())
    passed, failed, silent, skipped = 0, 0, 0, 0
    for path, dims, shapes in listed:
        try:
            planned = Planned(path, dims, shapes, args.kernels)
        except RuntimeError as error:
            print(f"{path.stem:40} skipped: {str(error).splitlines()[-1][:120]}")
            skipped += 1
            continue
        if not planned.can_run():
            print(f"{path.stem:40} skipped: it has control flow that is not known")
            skipped += 1
            continue
        theirs = planned.reference()
        right = equal(planned.run(planned.plan), theirs)
        caught = not equal(planned.run(planned.shortened()), theirs)
        shared = sum("in_place_of" in v for v in planned.plan["values"])
        views = sum("root" in v for v in planned.plan["values"])
        strided = sum("row_bytes" in v for v in planned.plan["values"])
        print(f"{path.stem:40} {planned.plan['arena_bytes']:12} bytes, "
              f"{len(planned.plan['schedule']):5} steps, {shared:4} in place, {views:4} views, {strided:3} strided: "
              f"{'equal' if right else 'DIFFERENT'}; lives cut short: "
              f"{'different' if caught else 'EQUAL'}", flush=True)
        passed += right and caught
        failed += not right
        silent += right and not caught
    print(f"{passed} models proven, {failed} wrong, {silent} that cannot tell a wrong plan from a right one, "
          f"{skipped} skipped")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
