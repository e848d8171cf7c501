from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypedDict, Union, final

from typing_extensions import Buffer, NotRequired, Unpack

__all__ = [
    "DoesNotFit",
    "Error",
    "Explanation",
    "Fitted",
    "Packing",
    "Plan",
    "Program",
    "Session",
    "__version__",
    "check",
    "command",
    "explain",
    "fit",
    "pack",
    "plan",
    "size_bytes",
]
__version__: str

_Progress = Callable[[str], object]
_Path = Union[str, PathLike[str]]
_Numbers = Union[Sequence[int], Buffer]
_Effort = Literal["fast", "default", "high", "exhaustive"]
_Size = Union[int, str]
_Names = Union[str, Sequence[str]]

class _Serialisable(Protocol):
    def SerializeToString(self) -> bytes: ...

_Model = Union[_Path, bytes, bytearray, memoryview, _Serialisable]

class _PackingOptions(TypedDict, total=False):
    algorithm: str
    threads: int
    time_limit: str

class _ChoiceOptions(_PackingOptions, total=False):
    effort: _Effort
    order: _Path
    align: _Size
    place: _Names
    preset: Literal["inference", "activations"]
    reclaim_inputs: bool
    guard: Union[_Size, Mapping[str, _Size]]
    min_slot: _Size
    in_place: bool
    no_reuse: Union[bool, _Names]
    banks: Sequence[str]
    shared_from: _Path

class _ModelOptions(_ChoiceOptions, total=False):
    dims: Mapping[str, Union[int, str, tuple[int, int]]]
    input_shapes: Mapping[str, Sequence[int]]
    donate: Mapping[str, str]
    state: Mapping[str, str]
    width: str
    sizes: _Path
    kernels: str
    own_bytes: _Names
    strided: _Names
    concat: Literal["copy", "join"]
    budget: _Size

class _PlanOptions(_ModelOptions, total=False):
    near: _Path
    symbol_prefix: str
    tensor_order: _Path

class _ExplainOptions(_ModelOptions, total=False):
    advice: bool

class _FitOptions(_ModelOptions, total=False):
    most_arithmetic: Union[float, str]
    work: int

class _PlacedValue(TypedDict):
    name: str
    bytes: int
    start: int
    end: int
    storage: str
    bank: NotRequired[str]
    offset: NotRequired[int]
    root: NotRequired[str]

class Error(ValueError): ...
class DoesNotFit(Error): ...

@final
class Packing:
    @property
    def arena_bytes(self) -> int: ...
    @property
    def lower_bound_bytes(self) -> int: ...
    @property
    def unshared_bytes(self) -> int: ...
    @property
    def status(self) -> Literal["optimal", "feasible"]: ...
    @property
    def offsets(self) -> Any: ...
    def check(self) -> None: ...
    def save(self, path: _Path) -> None: ...

@final
class Plan:
    @property
    def arena_bytes(self) -> int: ...
    @property
    def lower_bound_bytes(self) -> int: ...
    @property
    def unshared_bytes(self) -> int: ...
    @property
    def status(self) -> Literal["optimal", "feasible"]: ...
    @property
    def schedule(self) -> list[str]: ...
    @property
    def steps(self) -> list[int]: ...
    @property
    def values(self) -> list[_PlacedValue]: ...
    @property
    def offsets(self) -> dict[str, int]: ...
    def offset(self, value: int) -> Union[int, None]: ...
    def verify(self) -> None: ...
    def to_json(self) -> str: ...
    def save(self, path: _Path) -> None: ...
    def _repr_html_(self) -> str: ...

@final
class Explanation:
    @property
    def fits(self) -> bool: ...
    def to_json(self) -> str: ...

@final
class Fitted:
    @property
    def source_arena_bytes(self) -> int: ...
    @property
    def arena_bytes(self) -> int: ...
    @property
    def points(self) -> list[dict[str, Any]]: ...
    def to_json(self) -> str: ...
    def save(self, path: _Path) -> None: ...

@final
class Session:
    def __new__(
        cls,
        model: Union[_Model, None] = None,
        *,
        dims: Mapping[str, int] = ...,
        input_shapes: Mapping[str, Sequence[int]] = ...,
        order: Literal["given", "fast", "best"] = ...,
        random_weights: int = ...,
    ) -> Session: ...
    @property
    def inputs(self) -> dict[str, tuple[str, tuple[int, ...]]]: ...
    @property
    def outputs(self) -> dict[str, tuple[str, tuple[int, ...]]]: ...
    @property
    def arena_bytes(self) -> int: ...
    @property
    def weights_bytes(self) -> int: ...
    def run(self, inputs: dict[str, Any], *, copy: bool = True) -> dict[str, Any]: ...

@final
class Program:
    def __new__(
        cls, execution: Literal["in-order", "partial", "queues"] = "in-order", *, title: str = "program"
    ) -> Program: ...
    def add_value(
        self,
        bytes: int,
        *,
        name: Union[str, None] = None,
        role: Literal["temporary", "input", "param", "constant"] = "temporary",
        storage: Literal["arena", "persistent", "external", "shared"] = "arena",
        align: Union[int, None] = None,
        guard: int = 0,
        output: bool = False,
        donated: bool = False,
        elided: bool = False,
        view_of: Union[int, None] = None,
        view_offset: int = 0,
        row_bytes: Union[int, None] = None,
        row_stride: Union[int, None] = None,
        dtype: str = "",
        shape: str = "",
    ) -> int: ...
    def add_step(
        self,
        name: Union[str, None] = None,
        *,
        op: str = "",
        reads: Sequence[int] = ...,
        writes: Sequence[int] = ...,
        queue: int = 0,
        after: Sequence[int] = ...,
        flows_from: Sequence[int] = ...,
    ) -> int: ...
    def reads(
        self,
        step: int,
        value: int,
        *,
        bytes: Union[tuple[int, int], None] = None,
        until: Union[int, Literal["end"], None] = None,
    ) -> None: ...
    def writes(
        self,
        step: int,
        value: int,
        *,
        bytes: Union[tuple[int, int], None] = None,
        since: Union[int, None] = None,
        until: Union[int, Literal["end"], None] = None,
    ) -> None: ...
    def may_overwrite(self, step: int, output: int, input: int) -> None: ...
    def must_overwrite(self, step: int, output: int, input: int) -> None: ...
    def scratch(self, step: int, bytes: int, align: int = 64) -> None: ...
    def after(self, step: int, earlier: int) -> None: ...
    def plan(
        self, *, progress: Union[_Progress, None] = None, **options: Unpack[_ChoiceOptions]
    ) -> Plan: ...

def pack(
    sizes: _Numbers,
    starts: _Numbers,
    ends: _Numbers,
    align: int = 1,
    capacity: Union[int, None] = None,
    effort: _Effort = "default",
    *,
    progress: Union[_Progress, None] = None,
    **options: Unpack[_PackingOptions],
) -> Packing: ...
def check(
    sizes: _Numbers,
    starts: _Numbers,
    ends: _Numbers,
    offsets: _Numbers,
    align: int = 1,
    capacity: Union[int, None] = None,
) -> list[str]: ...
def plan(
    model: Union[_Model, None] = None,
    *,
    progress: Union[_Progress, None] = None,
    **options: Unpack[_PlanOptions],
) -> Plan: ...
def explain(
    model: Union[_Model, Plan, None] = None,
    *,
    progress: Union[_Progress, None] = None,
    **options: Unpack[_ExplainOptions],
) -> Explanation: ...
def fit(
    model: Union[_Model, None] = None,
    *,
    output: Union[_Path, None] = None,
    progress: Union[_Progress, None] = None,
    **options: Unpack[_FitOptions],
) -> Fitted: ...
def size_bytes(size: _Size) -> int: ...
def command(arguments: Sequence[_Path]) -> int: ...
