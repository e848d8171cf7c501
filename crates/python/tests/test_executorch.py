"""The adapters, where torch and ExecuTorch are installed: what is planned is run in ExecuTorch's own runtime."""

import warnings

import pytest

import plimsoll

torch = pytest.importorskip("torch")
exir = pytest.importorskip("executorch.exir")

import plimsoll.executorch  # noqa: E402
import plimsoll.torch  # noqa: E402
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite  # noqa: E402
from executorch.exir.passes import MemoryPlanningPass  # noqa: E402
from executorch.runtime import Runtime  # noqa: E402


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def export(module, inputs):
    return torch.export.export(module.eval().requires_grad_(False), inputs)


def built(module, inputs, algorithm, reorder=False, **options):
    edge = exir.to_edge(export(module, inputs))
    if reorder:
        plimsoll.executorch.reorder(edge)
    planning = MemoryPlanningPass(memory_planning_algo=algorithm, **options)
    return edge.to_executorch(exir.ExecutorchBackendConfig(memory_planning_pass=planning))


def arena(program):
    return sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)


def run(program, inputs, times=2):
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    return [[output.clone() for output in method.execute(list(inputs))] for _ in range(times)]


def both(module, inputs, **options):
    """Arenas of greedy and ours, after both have computed the same bits."""
    theirs = built(module, inputs, MemoryPlanningAlgorithmSuite(), **options)
    ours = built(module, inputs, plimsoll.executorch.planner(), **options)
    for one, other in zip(run(theirs, inputs), run(ours, inputs)):
        assert all(torch.equal(a, b) for a, b in zip(one, other))
    return arena(theirs), arena(ours)


UNARY = (
    "abs acos asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 neg reciprocal relu "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
BINARY = "add atan2 div fmod maximum minimum mul pow remainder sub".split()
SHAPES = [((4, 64), (4, 64)), ((4, 64), (64,)), ((1, 64), (4, 64)), ((4, 1), (4, 64))]


def every_op(x, y):
    """Every op of the table, each on a tensor of its own that nobody else needs."""
    functional = torch.nn.functional
    ops = [getattr(torch, name) for name in UNARY]
    ops += [functional.elu, functional.gelu, functional.hardtanh, functional.leaky_relu]
    ops += [lambda x: torch.acosh(x + 1), lambda x: torch.clamp(x, 0.2, 0.7), lambda x: x**3]
    ops += [lambda x: torch.bitwise_not((x * 9).to(torch.int32) + 1)]
    ops += [lambda x: torch.logical_not(torch.logical_and(x > 0.5, x < 0.7))]
    ops += [lambda x: torch.where(x > 0.5, x * 2, x * 3)]
    results = [op(x * (1 + index / 1000)) for index, op in enumerate(ops)]
    for name in BINARY:
        for shapes in SHAPES:
            a, b = (source[: shape[0], :] if len(shape) == 2 else source[0] for source, shape in zip((x, y), shapes))
            a, b = (t[:, :1] if shape[-1] == 1 else t for t, shape in zip((a, b), shapes))
            results.append(getattr(torch, name)(a * 1.5, b * 2.5))
    return results


def test_every_op_of_the_table_computes_the_same_in_place():
    inputs = (torch.rand(4, 64) * 0.8 + 0.1, torch.rand(4, 64) * 0.8 + 0.1)
    planner = plimsoll.executorch.planner()
    ours, theirs = (
        built(Function(every_op), inputs, algorithm) for algorithm in (planner, MemoryPlanningAlgorithmSuite())
    )
    for one, other in zip(run(theirs, inputs), run(ours, inputs)):
        for index, (a, b) in enumerate(zip(one, other)):
            assert torch.equal(a, b), f"output {index}"
    assert len(one) == len(UNARY) + 10 + len(BINARY) * len(SHAPES)
    assert arena(ours) < arena(theirs)


def test_a_chain_is_in_the_bytes_of_its_input():
    inputs = (torch.rand(1024),)
    theirs, ours = both(Function(lambda x: torch.tanh(torch.relu(torch.sigmoid(x)))), inputs)
    assert (theirs, ours) == (8192, 4096)


def test_a_condition_is_not_overwritten():
    inputs = (torch.rand(256), torch.rand(256))
    module = Function(lambda a, b: torch.where(a > b, a * 2, b * 3) + 1)
    theirs, ours = both(module, inputs)
    assert ours < theirs


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.norm.running_mean.uniform_()

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def test_a_batch_norm_is_in_place():
    theirs, ours = both(Normed(), (torch.rand(1, 3, 16, 16),))
    assert (theirs, ours) == (2 * 8192 + 3072 - 3072, 8192 + 3072)


class Cache(torch.nn.Module):
    """Adds what it is given to a cache, and gives the sum of that."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(8, 64))

    def forward(self, x, position):
        self.cache.index_copy_(0, position, x)
        return torch.relu(self.cache.sum(0, keepdim=True) * 2)


def test_a_cache_survives_from_run_to_run():
    programs = [
        built(Cache(), (torch.rand(1, 64), torch.tensor([0])), algorithm)
        for algorithm in (MemoryPlanningAlgorithmSuite(), plimsoll.executorch.planner())
    ]
    methods = [Runtime.get().load_program(program.buffer).load_method("forward") for program in programs]
    total = torch.zeros(64)
    for position in range(8):
        x = torch.rand(1, 64)
        one, other = (method.execute([x, torch.tensor([position])])[0].clone() for method in methods)
        total += x[0]
        assert torch.equal(one, other)
        assert torch.allclose(one[0], total * 2)


def test_bodies_of_control_flow_are_planned():
    def branches(x):
        return torch.cond(x.sum() > 0, lambda x: torch.relu(x) * 2, lambda x: torch.sin(x) - 1, (x * 1.0,)) + 1

    for x in (torch.rand(64), -torch.rand(64)):
        theirs, ours = both(Function(branches), (x,))
        assert ours <= theirs


def test_what_is_not_to_be_planned_is_not():
    inputs = (torch.rand(1024),)
    module = Function(lambda x: torch.relu(torch.sigmoid(x)))
    outside = both(module, inputs, alloc_graph_input=False, alloc_graph_output=False)
    assert outside[1] == 4096 <= outside[0]


def test_a_limit_is_kept_at_export():
    inputs = (torch.rand(1024),)
    module = Function(lambda x: torch.cumsum(torch.relu(x), 0))
    assert arena(built(module, inputs, plimsoll.executorch.planner(limits={1: "8KiB"}))) == 8192
    with pytest.raises(plimsoll.DoesNotFit):
        built(module, inputs, plimsoll.executorch.planner(limits={1: 8191}))


class Crossed(torch.nn.Module):
    """Two large branches that are both begun before either is finished."""

    def forward(self, x):
        a, b = x.repeat(64, 1), (x + 1).repeat(64, 1)
        return a.sum(0) + b.sum(0)


def test_a_better_order_computes_the_same():
    inputs = (torch.rand(1, 256),)
    given = built(Crossed(), inputs, plimsoll.executorch.planner())
    better = built(Crossed(), inputs, plimsoll.executorch.planner(), reorder=True)
    assert arena(better) < arena(given) * 0.6
    assert torch.equal(run(given, inputs)[0][0], run(better, inputs)[0][0])


def test_weights_that_are_computed_in_every_run_get_a_hint():
    linear = torch.nn.Linear(64, 64)
    with pytest.warns(UserWarning, match="computed from weights in every run"):
        built(linear, (torch.rand(1, 64),), plimsoll.executorch.planner())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*computed from weights.*")
        built(linear, (torch.rand(1, 64),), plimsoll.executorch.planner(hints=False))


def test_an_exported_program_is_planned_without_executorch(tmp_path):
    plan = plimsoll.torch.plan(export(Normed(), (torch.rand(1, 3, 16, 16),)))
    assert plan.verify() is None
    assert plan.arena_bytes == 2 * 8192
    assert plan.schedule[0].startswith("conv2d")
    plan.save(tmp_path / "map.html")
    assert "relu" in (tmp_path / "map.html").read_text()


def test_views_are_parts_of_what_they_are_views_of():
    module = Function(lambda x: (x * 2).view(4, 64)[1:3].transpose(0, 1) + 1)
    plan = plimsoll.torch.plan(export(module, (torch.rand(256),)), in_place=False)
    assert plan.offsets["slice_1"] == plan.offsets["mul"] + 256
    assert plan.offsets["transpose"] == plan.offsets["slice_1"]
    assert plan.arena_bytes == 1280, "the rows that nobody needs any more are written over"


class Caches(torch.nn.Module):
    """States that are each updated and read, one after the other; `reads_old` reads what they were at the end."""

    def __init__(self, reads_old):
        super().__init__()
        self.reads_old = reads_old
        for name in ("a", "b", "c", "d"):
            self.register_buffer(name, torch.zeros(4, 256))

    def forward(self, x):
        total, first = x.sum(), self.a.sum() if self.reads_old else 0
        old = self.a + 0 if self.reads_old else None
        for state in (self.a, self.b, self.c, self.d):
            state.copy_(torch.roll(state, 1, 0) + x)
            total = total + state.sum()
        return total + first + (old.sum() if self.reads_old else 0)


def test_new_states_do_not_wait_for_the_end():
    inputs = (torch.rand(4, 256),)
    late, early = (
        built(Caches(False), inputs, plimsoll.executorch.planner(early_write_back=early)) for early in (False, True)
    )
    for one, other in zip(run(late, inputs, 3), run(early, inputs, 3)):
        assert torch.equal(one[0], other[0])
    # Four states of 4096 bytes stay; late, four new ones are there at the end, early, one after the other.
    assert arena(late) - arena(early) >= 2 * 4096


def test_a_state_is_not_written_before_its_old_one_is_read():
    inputs = (torch.rand(4, 256),)
    theirs = built(Caches(True), inputs, MemoryPlanningAlgorithmSuite())
    ours = built(Caches(True), inputs, plimsoll.executorch.planner())
    runs = [run(program, inputs, 3) for program in (theirs, ours)]
    assert [torch.equal(a[0], b[0]) for a, b in zip(*runs)] == [True] * 3
    assert runs[0][0][0] != runs[0][1][0], "the states change"
