"""Plans the memory of ExecuTorch programs: in place, in a better order, and verified.

>>> from executorch.exir import ExecutorchBackendConfig              # doctest: +SKIP
>>> from executorch.exir.passes import MemoryPlanningPass            # doctest: +SKIP
>>> edge = plimsoll.executorch.reorder(to_edge(exported))            # doctest: +SKIP
>>> edge.to_executorch(ExecutorchBackendConfig(                      # doctest: +SKIP
...     memory_planning_pass=MemoryPlanningPass(memory_planning_algo=plimsoll.executorch.planner())))

What ExecuTorch declares (specs, what each node reads and writes, pools, alignment, views, mutable buffers)
becomes a `plimsoll.Program`. That is planned and verified, and the offsets are written back into the specs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Optional, Union

from ._plimsoll import Error, Plan, Program, size_bytes
from .torch import Declared, name_of, op_of, reordered

try:
    from executorch.exir import memory
    from executorch.exir.memory_planning import (
        _is_inplace_node,
        _is_mutable_buffer,
        _is_out_var_node,
        filter_nodes,
        get_node_tensor_specs,
    )
    from executorch.exir.operator.convert import get_out_args_from_opoverload
except ImportError as error:
    raise ImportError("plimsoll.executorch needs ExecuTorch: pip install executorch torch") from error

#: Ops whose kernels, portable and optimised, compute each element of the output from the elements of the
#: inputs at the same place (or from one that is broadcast, which is never overwritten), and read it before
#: they write. So the output may be in the bytes of an input of the same type, shape and order of dims.
#: The tests run each of them both ways.
IN_PLACE = frozenset(
    "aten::" + name
    for name in (
        # one tensor
        "abs acos acosh asin asinh atan atanh bitwise_not ceil clamp cos cosh elu erf exp expm1 floor gelu "
        "hardtanh leaky_relu log log10 log1p log2 logical_not neg reciprocal relu round rsqrt sigmoid sign "
        "sin sinh sqrt tan tanh trunc "
        # two, either of which may be broadcast
        "add atan2 bitwise_and bitwise_or bitwise_xor div fmod logical_and logical_or logical_xor maximum "
        "minimum mul pow remainder rsub sub "
        # three: the condition is of another type
        "where"
    ).split()
)
#: Ops that do so with their first output and their first input alone: what else they read has other shapes.
IN_PLACE_OF_FIRST = frozenset({"aten::_native_batch_norm_legit_no_training"})
# Not there, though elementwise in torch: clone and _to_copy (memcpy onto itself is undefined), masked_fill,
# hardsigmoid and hardswish (they are decomposed before), gelu's and silu's backward (training), and whatever
# goes over its input twice, as softmax and the norms do.


def planner(
    in_place: bool = True,
    effort: Any = "default",
    limits: Optional[Mapping[int, Union[int, str]]] = None,
    hints: bool = True,
    early_write_back: bool = True,
) -> "Planner":
    """An algorithm for `MemoryPlanningPass(memory_planning_algo=…)`.

    `in_place`: outputs may take over the bytes of inputs where `IN_PLACE` has the op. `effort`: how long to
    search for a packing, as in `plimsoll.pack`. `limits`: how large the pool of a mem_id may be; what does not
    fit is `plimsoll.DoesNotFit`, at export and not on the device. `hints`: warn of weights that are computed
    in the arena in every run and could be folded. `early_write_back`: mutable buffers, such as caches, get their
    new state as soon as nobody reads the old one any more, and not at the end of the program, where ExecuTorch
    puts it: new states do not wait in the arena.
    """
    return Planner(in_place, effort, dict(limits or {}), hints, early_write_back)


def reorder(program: Any, **options: Any) -> Any:
    """Moves the nodes of an edge program (an EdgeProgramManager or an ExportedProgram) to an order in which
    less is alive at once, and gives it back. What it computes stays the same."""
    if hasattr(program, "methods"):
        for method in sorted(program.methods):
            reorder(program.exported_program(method), **options)
        return program
    declared = Declared(
        program.graph, program.graph_signature, is_view=_becomes_view, may_overwrite=_overwritten
    )
    plan = declared.program.plan(place=["inputs", "outputs"], reclaim_inputs=True, **options)
    reordered(program.graph, [declared.steps[step] for step in plan.steps])
    program.graph_module.recompile()
    return program


def _overwritten(node: Any) -> list[Any]:
    """What the first output of a node may be written over, if it is of the same type, shape and order."""
    name = name_of(node)
    if name in IN_PLACE:
        return filter_nodes(node.args)  # type: ignore[no-any-return]
    return [node.args[0]] if name in IN_PLACE_OF_FIRST else []


def _becomes_view(node: Any) -> bool:
    return name_of(node) == "aten::view_copy"


class Planner:
    """A memory planning algorithm. After it has run, `plans` has the plan of each graph and pool."""

    __name__ = "plimsoll"

    def __init__(
        self,
        in_place: bool,
        effort: Any,
        limits: dict[int, Union[int, str]],
        hints: bool,
        early_write_back: bool,
    ) -> None:
        self.in_place, self.effort, self.limits, self.hints = in_place, effort, limits, hints
        self.early_write_back = early_write_back
        #: One for each graph and mem_id, in the order of planning: to be asked, saved and shown.
        self.plans: list[Plan] = []

    def __call__(
        self, alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> list[int]:
        specs = list(specs)
        for spec in specs:
            spec.realign(alignment)
        if self.early_write_back:
            _write_back_early(graph_module.graph, graph_signature)
        reserved = list(getattr(graph_module, "input_mem_buffer_sizes", None) or [])
        pools = sorted({1, *(spec.mem_id or 1 for spec in specs)})
        sizes = [0] * (max([pools[-1], len(reserved) - 1]) + 1)
        for pool in range(1, len(sizes)):
            own = [spec for spec in specs if (spec.mem_id or 1) == pool]
            # Bodies of control flow have the first bytes of a pool for themselves.
            base = reserved[pool] if pool < len(reserved) else 0
            base += -base % alignment
            graph = _Graph(graph_module, graph_signature, own, self.in_place)
            plan = graph.plan(alignment, self.effort, self.limits.get(pool), base + extra_padding)
            graph.write_back(plan, pool, base)
            sizes[pool] = base + plan.arena_bytes + (extra_padding if own else 0)
            self.plans.append(plan)
        if self.hints:
            _hint(graph_module, specs)
        return sizes


def _write_back_early(graph: Any, signature: Any) -> None:
    """Moves each node that gives a mutable buffer its new state to where the state is made and nobody reads the
    old one any more."""
    nodes = list(graph.nodes)
    for buffer in [node for node in nodes if _is_mutable_buffer(node, signature)]:
        (spec,) = _specs(buffer) or (None,)
        touching = [n for n in nodes if any(_is_part(s, spec) for m in (n, *n.all_input_nodes) for s in _specs(m))]
        touching = [node for node in touching if node.op == "call_function"]
        if not touching or name_of(touching[-1]) != "aten::copy_" or touching[-1].args[0] is not buffer:
            continue
        *others, copy = touching
        latest = max([*others, *copy.all_input_nodes], key=nodes.index)
        if latest.op == "call_function":
            latest.append(copy)


def _is_part(spec: Any, of: Any) -> bool:
    """Whether a spec has bytes of another."""
    while spec is not None and spec is not of:
        spec = _root(spec.storage_base) if spec.storage_base is not None else None
    return spec is not None


class _Graph:
    """What the nodes of a graph do to the specs of one pool."""

    def __init__(self, graph_module: Any, signature: Any, specs: list[Any], in_place: bool) -> None:
        self.program = Program(title="ExecuTorch")
        self.values: dict[Any, int] = {}
        self.specs = specs
        nodes = list(graph_module.graph.nodes)
        owners = _owners(nodes)
        inputs = {s for n in nodes if n.op == "placeholder" for s in _specs(n)}
        state = {s for n in nodes if _is_mutable_buffer(n, signature) for s in _specs(n)}
        outputs = {s for n in nodes if n.op == "output" for source in filter_nodes(n.args) for s in _specs(source)}
        stale = _stale(nodes)
        for spec in specs:
            if _root(spec) not in stale:
                self._add(spec, owners, inputs, state, outputs)
        for spec, real in stale.items():
            if real in self.values:
                self.values[spec] = self.values[real]
        # Bodies of control flow begin with what is not theirs: nothing is in place there.
        names = [spec.arg.name for spec in signature.input_specs if hasattr(spec.arg, "name")]
        is_whole = [node.name for node in nodes if node.op == "placeholder"] == names
        for node in nodes:
            if node.op == "call_function" and node.target not in _NO_STEPS:
                self._step(node, in_place and is_whole)

    def _add(self, spec: Any, owners: Any, inputs: Any, state: Any, outputs: Any) -> int:
        root = _root(spec)
        if root in self.values:
            return self.values[root]
        if root.storage_base is not None:
            base = self._add(root.storage_base, owners, inputs, state, outputs)
            view = {"view_of": base, "view_offset": root.storage_base_offset}
        else:
            view = {}
        is_state = root in state and not view
        role: Any = "param" if is_state else "input" if root in inputs and not view else "temporary"
        self.values[root] = self.program.add_value(
            root.allocated_memory,
            name=owners.get(root, "spec"),
            role=role,
            storage="persistent" if is_state else "arena",
            donated=is_state,
            output=root in outputs and not is_state,
            dtype=str(root.dtype).replace("torch.", ""),
            shape=str(list(root.shape)),
            **view,
        )
        return self.values[root]

    def _step(self, node: Any, in_place: bool) -> None:
        made = _specs(node)
        out = set()
        if _is_out_var_node(node):
            out = {node.kwargs[name] for name in get_out_args_from_opoverload(node.target)}
        sources = [n for n in filter_nodes([*node.args, *node.kwargs.values()]) if n not in out]
        read = list(dict.fromkeys(spec for source in sources for spec in _specs(source)))
        writes = [self.values[spec] for spec in made if spec in self.values]
        reads = [self.values[spec] for spec in read if spec in self.values]
        step = self.program.add_step(
            node.name, op=name_of(node), reads=reads, writes=list(dict.fromkeys(writes))
        )
        if in_place and not _is_inplace_node(node):
            for source in dict.fromkeys(_overwritten(node)):
                self._overwrite(step, node, source)

    def _overwrite(self, step: int, node: Any, source: Any) -> None:
        made, read = get_node_tensor_specs(node)[0], get_node_tensor_specs(source)[0]
        output, taken = self.values.get(_root(made)), self.values.get(_root(read))
        if output is not None and taken is not None and output != taken and _is_like(made, read):
            self.program.may_overwrite(step, output, taken)

    def plan(self, alignment: int, effort: Any, limit: Any, beside: int) -> Plan:
        options: dict[str, Any] = {}
        if limit is not None:
            options["banks"] = [f"pool={size_bytes(limit) - beside}"]
        return self.program.plan(
            order="given",
            effort=effort,
            align=alignment,
            place=["inputs", "params", "outputs"],
            reclaim_inputs=True,
            **options,
        )

    def write_back(self, plan: Plan, pool: int, base: int) -> None:
        for spec in self.specs:
            offset = plan.offset(self.values[_root(spec)])
            if offset is None:
                raise Error(f"{spec}: has no place")
            spec.mem_id, spec.mem_offset, spec.mem_obj_id = pool, base + offset, None


#: What takes no time: memory is named, taken apart or given back.
_NO_STEPS = (memory.alloc, memory.view, memory.free, __import__("operator").getitem)


def _root(spec: Any) -> Any:
    """The spec that has the bytes of a view."""
    while hasattr(type(spec), "_run_guards"):
        spec = spec._base
    return spec


def _specs(node: Any) -> list[Any]:
    return [_root(spec) for spec in get_node_tensor_specs(node) or () if spec is not None]


def _stale(nodes: list[Any]) -> dict[Any, Any]:
    """What the output node still has of ops that work in place: no memory, but that of what they change."""
    stale = {}
    for node in nodes:
        sources = filter_nodes(node.args) if node.op == "output" else []
        made = [spec for source in sources for spec in _specs(source)]
        for told, real in zip(_specs(node), made):
            if told is not real and len(made) == len(_specs(node)):
                stale[told] = real
    return stale


def _owners(nodes: list[Any]) -> dict[Any, str]:
    """What to call each spec: the node that computes it."""
    owners: dict[Any, str] = {}
    for node in nodes:
        if node.op == "placeholder" or (node.op == "call_function" and node.target not in _NO_STEPS):
            for spec in _specs(node):
                owners.setdefault(spec, node.name)
    return owners


def _is_like(one: Any, other: Any) -> bool:
    """Whether an element of one is where the same element of the other is, whatever the sizes are in a run."""
    same = all(getattr(one, key) == getattr(other, key) for key in ("dtype", "shape", "dim_order"))
    return same and one.is_static_shape_tensor and other.is_static_shape_tensor


def _hint(graph_module: Any, specs: list[Any]) -> None:
    """Warns of what is computed from constants alone, in every run."""
    planned = {_root(spec) for spec in specs}
    folded: list[tuple[int, str]] = []
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or op_of(node) is None:
            continue
        sources = [n for n in filter_nodes(node.args) if _specs(n)]
        made = [spec for spec in _specs(node) if spec in planned]
        if made and sources and all(spec.const for n in sources for spec in _specs(n)):
            folded.append((sum(spec.allocated_memory for spec in made), node.name))
    if folded:
        total, largest = sum(size for size, _ in folded), max(folded)
        warnings.warn(
            f"{len(folded)} tensors of {total} bytes are computed from weights in every run, the largest by "
            f"{largest[1]} ({largest[0]} bytes): fold them before, as with "
            "executorch.exir.passes.constant_prop_pass",
            stacklevel=4,
        )
