"""Programs that are declared step by step."""

import json

import pytest

import plimsoll


def chain():
    program = plimsoll.Program(title="chain")
    x = program.add_value(1024, name="x", role="input")
    a = program.add_value(4096, name="a", dtype="f32", shape="[1024]")
    b = program.add_value(4096, name="b", output=True)
    program.add_step("conv", op="conv", reads=[x], writes=[a])
    relu = program.add_step("relu", reads=[a], writes=[b])
    return program, a, b, relu


def test_what_may_be_overwritten_is():
    program, a, b, relu = chain()
    assert program.plan().arena_bytes == 8192
    program.may_overwrite(relu, b, a)
    plan = program.plan()
    assert (plan.arena_bytes, plan.offset(a), plan.offset(b)) == (4096, 0, 0)
    assert program.plan(in_place=False).arena_bytes == 8192
    program, a, b, relu = chain()
    program.must_overwrite(relu, b, a)
    assert program.plan(in_place=False).arena_bytes == 4096


def test_a_plan_of_a_program_answers_like_one_of_a_model(tmp_path):
    program, a, b, relu = chain()
    plan = program.plan()
    assert plan.offset(0) is None, "an input is the caller's memory"
    assert plan.offsets == {"a": plan.offset(a), "b": plan.offset(b)}
    assert (plan.schedule, plan.steps, plan.status) == (["conv", "relu"], [0, 1], "optimal")
    assert [value["name"] for value in plan.values] == ["x", "a", "b"]
    assert json.loads(plan.to_json())["options"]["order"] == "best"
    assert plan.verify() is None
    for form in ["json", "tsv", "html", "trace.json", "h", "rs"]:
        plan.save(tmp_path / f"plan.{form}")
    assert "chain" in (tmp_path / "plan.html").read_text()
    assert repr(plan) == "<Plan: 2 steps, 3 values, arena 8192 bytes, bound 8192, optimal>"
    assert repr(program) == "<Program: 2 steps, 3 values>"
    with pytest.raises(plimsoll.Error, match="only models are explained"):
        plimsoll.explain(plan)
    with pytest.raises(KeyError):
        plan.offset(3)


def branches():
    """Two branches that are both begun before either is finished."""
    program = plimsoll.Program()
    big = [program.add_value(1024), program.add_value(1024)]
    small = [program.add_value(64), program.add_value(64)]
    out = program.add_value(64, output=True)
    for value in big:
        program.add_step(writes=[value])
    for source, value in zip(big, small):
        program.add_step(reads=[source], writes=[value])
    program.add_step(reads=small, writes=[out])
    return program


def test_a_better_order_is_found():
    program = branches()
    given, best = program.plan(order="given"), program.plan()
    assert (given.steps, given.arena_bytes) == ([0, 1, 2, 3, 4], 2112)
    assert best.arena_bytes == 1152
    assert best.steps != given.steps and sorted(best.steps) == given.steps


def test_windows_scratch_parts_and_views_are_declared():
    def arena(declare):
        program = plimsoll.Program()
        a, b, c = (program.add_value(1024, output=last) for last in (False, False, True))
        program.add_step(writes=[a])
        program.add_step(reads=[a], writes=[b])
        program.add_step(reads=[b], writes=[c])
        declare(program, a)
        return program.plan(order="given").arena_bytes

    assert arena(lambda program, a: None) == 2048
    assert arena(lambda program, a: program.reads(1, a, until=2)) == 3072
    assert arena(lambda program, a: program.reads(1, a, until="end")) == 3072
    assert arena(lambda program, a: program.reads(2, a, bytes=(0, 512))) == 2560
    assert arena(lambda program, a: program.scratch(2, 4096)) == 6144
    assert arena(lambda program, a: program.writes(2, 2, since=1)) == 3072
    assert arena(lambda program, a: program.after(2, 0)) == 2048


def test_a_cache_survives_and_a_view_is_in_its_root():
    program = plimsoll.Program()
    cache = program.add_value(4096, storage="persistent", role="param", donated=True)
    row = program.add_value(256, view_of=cache, view_offset=512)
    out = program.add_value(4096, output=True)
    program.add_step("append", writes=[row])
    program.add_step("read", reads=[cache], writes=[out])
    plan = program.plan()
    assert plan.offset(row) == plan.offset(cache) + 512
    assert plan.arena_bytes == 8192


def test_steps_without_an_order_share_less():
    def arena(execution):
        program = plimsoll.Program(execution)
        values = [program.add_value(bytes, output=bytes == 64) for bytes in (1024, 1024, 1024, 64)]
        program.add_step(writes=[values[0]])
        program.add_step(reads=[values[0]], writes=[values[1]])
        program.add_step(writes=[values[2]])
        program.add_step(reads=[values[1], values[2]], writes=[values[3]])
        return program.plan(order="given").arena_bytes

    assert arena("in-order") == 2112
    assert arena("partial") == 3072


def test_a_capacity_is_kept():
    program, *_ = chain()
    assert program.plan(banks=["arena=8KiB"]).arena_bytes == 8192
    with pytest.raises(plimsoll.DoesNotFit, match='2 do not fit together: "a" \\(4096 bytes\\), "b"'):
        program.plan(banks=["arena=8191"])


@pytest.mark.parametrize(
    ("declare", "error", "words"),
    [
        (lambda p: p.add_value(1, role="guest"), plimsoll.Error, 'unknown role "guest"; known are temporary'),
        (lambda p: p.add_value(1, storage="attic"), plimsoll.Error, 'unknown storage "attic"'),
        (lambda p: p.add_value(1, row_bytes=1), plimsoll.Error, "belong together"),
        (lambda p: p.add_value(-1), OverflowError, ""),
        (lambda p: p.reads(7, 0), IndexError, "there is no step 7"),
        (lambda p: p.reads(0, 0, until="noon"), plimsoll.Error, 'noon is neither a step nor "end"'),
        (lambda p: p.plan(dims={"n": 1}), TypeError, "unexpected keyword argument 'dims'"),
        (lambda p: p.plan(order="random"), plimsoll.Error, "invalid value 'random' for '--order"),
        (lambda p: p.plan(no_reuse=["Conv"]), plimsoll.Error, "--no-reuse"),
        (lambda p: (p.add_step(reads=[9]), p.plan()), plimsoll.Error, "9"),
        (lambda p: plimsoll.Program("backwards"), plimsoll.Error, 'unknown execution "backwards"'),
    ],
)
def test_what_is_wrong_is_an_error(declare, error, words):
    program, *_ = chain()
    with pytest.raises(error) as raised:
        declare(program)
    assert words in str(raised.value)
