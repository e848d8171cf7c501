"""Plans programs of `torch.export`: from fx nodes and their fake tensors to a plan and its map.

>>> import plimsoll.torch                                                     # doctest: +SKIP
>>> plimsoll.torch.plan(torch.export.export(module, inputs)).save("map.html")  # doctest: +SKIP

Weights and buffers are outside the arena, inputs too unless `place` says otherwise. A view (by the schema of
its op) is a part of what it is a view of; an elementwise op (by its tag) may work in place where type, shape
and strides are the same. Sizes that are symbols count as in the example inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Optional, Union

from ._plimsoll import Error, Plan, Program

try:
    import torch
    from torch import fx
except ImportError as error:
    raise ImportError("plimsoll.torch needs torch: pip install torch") from error

#: Ops that give a view only if they can: whether one did is seen by its strides.
_PERHAPS_VIEWS = {"aten::reshape", "aten::contiguous", "aten::to", "aten::flatten", "aten::_to_copy"}


def plan(exported: "torch.export.ExportedProgram", **options: Any) -> Plan:
    """Plans an exported program. The options are those of `plimsoll.Program.plan`."""
    return Declared(exported.graph, exported.graph_signature).program.plan(**options)


def op_of(node: fx.Node) -> Any:
    """The op of a node: an OpOverload, below whatever wraps it; None if it is something else."""
    for target in (node.target, getattr(node.target, "_op", None)):
        if isinstance(target, torch._ops.OpOverload):
            return target
    return None


def name_of(node: fx.Node) -> str:
    """The name of the op of a node, as in `aten::add`."""
    op = op_of(node)
    return str(op._schema.name) if op is not None else str(node.target)


def overwritten(node: fx.Node) -> list[fx.Node]:
    """What the first output of a node may be written over: the inputs of an elementwise op."""
    op = op_of(node)
    return node.all_input_nodes if op is not None and torch.Tag.pointwise in op.tags else []


def views(node: fx.Node) -> bool:
    """Whether what a node makes is a view of its first argument, by the schema of its op."""
    op = op_of(node)
    if op is None or len(op._schema.returns) == 0:
        return False
    infos = [one.alias_info for one in op._schema.returns]
    if any(info is None or info.is_write for info in infos):
        return False
    if name_of(node) not in _PERHAPS_VIEWS:
        return True
    source, made = node.all_input_nodes[0].meta["val"], node.meta["val"]
    return bool(source.dtype == made.dtype and source.is_contiguous() and made.is_contiguous())


class Declared:
    """A graph as a `plimsoll.Program`: one step for each node that computes."""

    def __init__(
        self,
        graph: fx.Graph,
        signature: Any,
        *,
        is_view: Callable[[fx.Node], bool] = views,
        may_overwrite: Callable[[fx.Node], list[fx.Node]] = overwritten,
    ) -> None:
        self.program = Program(title=str(getattr(graph.owning_module, "_get_name", lambda: "graph")()))
        #: The nodes that are steps, by number.
        self.steps: list[fx.Node] = []
        #: The numbers of the values of nodes.
        self.values: dict[fx.Node, list[int]] = {}
        self._user_inputs = set(signature.user_inputs)
        self._outputs = {node for out in graph.find_nodes(op="output") for node in out.all_input_nodes}
        self._tensors: dict[int, torch.Tensor] = {}
        for node in graph.nodes:
            if node.op == "placeholder":
                self._add_placeholder(node)
            elif node.op == "call_function":
                self._add_node(node, is_view, may_overwrite)

    def _add_placeholder(self, node: fx.Node) -> None:
        role = "input" if node.name in self._user_inputs else "param"
        self._add_values(node, role=role, storage="arena" if role == "input" else "external")

    def _add_node(
        self,
        node: fx.Node,
        is_view: Callable[[fx.Node], bool],
        may_overwrite: Callable[[fx.Node], list[fx.Node]],
    ) -> None:
        sources = [source for source in node.all_input_nodes if source in self.values]
        if getattr(node.target, "__name__", "") == "getitem":
            index = node.args[1]
            assert isinstance(index, int)
            self.values[node] = [self.values[sources[0]][index]] if sources else []
            return
        if is_view(node) and sources and self.values[sources[0]]:
            self._add_values(node, view_of=self.values[sources[0]][0])
            return
        made = self._add_values(node)
        read = [value for source in sources for value in self.values[source]]
        step = self.program.add_step(node.name, op=name_of(node), reads=list(dict.fromkeys(read)), writes=made)
        self.steps.append(node)
        for source in may_overwrite(node):
            for value in self.values.get(source, [])[:1]:
                if _is_like(self._tensors[value], self._tensors[made[0]]):
                    self.program.may_overwrite(step, made[0], value)

    def _add_values(self, node: fx.Node, view_of: Optional[int] = None, **said: Any) -> list[int]:
        made = []
        for tensor in tensors(node.meta.get("val")):
            told = dict(said, output=node in self._outputs)
            if view_of is not None:
                root = self._tensors[view_of]
                told.update(view_of=view_of, view_offset=_offset(root, tensor, node))
            dtype, shape = str(tensor.dtype).replace("torch.", ""), str(list(tensor.shape))
            value = self.program.add_value(_bytes(tensor), name=node.name, dtype=dtype, shape=shape, **told)
            self._tensors[value] = tensor
            made.append(value)
        self.values[node] = made
        return made


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of what a node makes."""
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in tensors(one)]
    return [value] if isinstance(value, torch.Tensor) else []


def number(size: Union[int, "torch.SymInt"]) -> int:
    """A size; of a symbol, what it is in the example inputs."""
    if isinstance(size, int):
        return size
    hint = size.node.hint
    if hint is None:
        raise Error(f"{size} has no value in the example inputs")
    return int(hint)


def _bytes(tensor: torch.Tensor) -> int:
    """The bytes from the first to the last element."""
    sizes = [number(size) for size in tensor.shape]
    if 0 in sizes:
        return 0
    strides = [number(stride) for stride in tensor.stride()]
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides))
    return (last + 1) * int(tensor.element_size())


def _offset(root: torch.Tensor, part: torch.Tensor, node: fx.Node) -> int:
    """Where a part begins in its root, in bytes."""
    first = number(part.storage_offset()) - number(root.storage_offset())
    offset = first * int(part.element_size())
    if offset < 0 or offset + _bytes(part) > _bytes(root):
        raise Error(f"{node.name}: is no part of what it is a view of")
    return offset


def _is_like(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(one.dtype == other.dtype and one.shape == other.shape and one.stride() == other.stride())


def reordered(graph: fx.Graph, steps: Iterable[fx.Node]) -> None:
    """Moves nodes so that these run in this order; what only takes apart follows what it takes apart."""
    (output,) = graph.find_nodes(op="output")
    moved: set[fx.Node] = set()

    def move(node: fx.Node) -> None:
        for source in node.all_input_nodes:
            if source.op == "call_function" and source not in moved:
                move(source)
        if node not in moved:
            moved.add(node)
            output.prepend(node)

    for node in steps:
        move(node)
    for node in list(graph.nodes):
        if node.op == "call_function":
            move(node)
    graph.lint()
