"""Plans of models: every way in, every way out, and what is wrong."""

import json
import warnings
from pathlib import Path

import pytest

import plimsoll

CORPUS = Path(__file__).parents[3] / "corpus"
CHAIN = b"plim 1\ninput x: f32[256]\na = relu(x)\nb = relu(a)\noutput b\n"


class Proto:
    """What an onnx.ModelProto is to us."""

    def __init__(self, content):
        self.content = content

    def SerializeToString(self):
        return self.content


@pytest.fixture(scope="module")
def plan():
    return plimsoll.plan()


def test_the_sample_is_planned(plan):
    assert (plan.arena_bytes, plan.lower_bound_bytes, plan.status) == (81920, 81920, "optimal")
    assert plan.unshared_bytes == 303376
    assert plan.offsets["stem.p"] == 65536
    assert "image" not in plan.offsets, "inputs are the caller's memory"
    assert plan.schedule[:3] == ["stem", "stem.relu", "stem.pool"]
    assert sorted(plan.steps) == list(range(15))
    assert plan.verify() is None


def test_values_are_those_of_the_json(plan):
    told = json.loads(plan.to_json())
    assert told["format"] == "plimsoll.plan/1"
    assert plan.values == told["values"]
    assert plan.arena_bytes == told["arena_bytes"]
    placed = {value["name"]: value["offset"] for value in plan.values if "offset" in value}
    assert plan.offsets == placed
    ends = [value["offset"] + value["bytes"] for value in plan.values if "offset" in value]
    assert max(ends) == plan.arena_bytes


def test_a_file_its_bytes_and_a_proto_have_the_same_plan():
    path = CORPUS / "models" / "encoder.onnx"
    plans = [
        plimsoll.plan(model, dims={"seq": 16})
        for model in (path, str(path), path.read_bytes(), bytearray(path.read_bytes()), Proto(path.read_bytes()))
    ]
    assert len({(plan.arena_bytes, str(plan.offsets), str(plan.schedule)) for plan in plans}) == 1


def test_dims_may_be_ranges():
    path = CORPUS / "models" / "encoder.onnx"
    at_most = plimsoll.plan(path, dims={"seq": 16})
    ranged = plimsoll.plan(path, dims={"seq": (1, 16)})
    assert json.loads(ranged.to_json())["options"]["dims"] == {"seq": "1..16"}
    assert ranged.arena_bytes >= at_most.arena_bytes


def test_text_and_training_graphs_are_planned():
    assert plimsoll.plan(CHAIN).arena_bytes == 1024
    assert plimsoll.plan(memoryview(CHAIN), in_place=False).arena_bytes == 2048
    graph = next((CORPUS / "graphs").glob("*.plim"))
    plimsoll.plan(graph).verify()


def test_options_mean_what_they_mean_to_the_command():
    assert plimsoll.plan(CHAIN, kernels="copying").arena_bytes == 2048
    assert plimsoll.plan(CHAIN, no_reuse=True).arena_bytes == 2048
    assert plimsoll.plan(CHAIN, no_reuse=["relu:0-0"]).arena_bytes == 2048
    assert plimsoll.plan(CHAIN, place=["inputs", "outputs"]).arena_bytes == 2048
    assert plimsoll.plan(CHAIN, guard={"outputs": 64}).arena_bytes == 2112
    assert plimsoll.plan(CHAIN, banks=["sram=4KiB,align=16", "dram"]).values[1]["bank"] == "sram"
    assert plimsoll.plan(CHAIN, order="given", budget="1KiB").arena_bytes == 1024


def test_the_same_model_has_the_same_plan():
    assert plimsoll.plan().to_json() == plimsoll.plan().to_json()


def test_what_is_wrong_is_said_in_the_words_of_the_command(tmp_path):
    cases = [
        (("missing.onnx",), {}, "missing.onnx: cannot open: No such file or directory"),
        ((b"plim 1\nx = ?\n",), {}, "the model:2:"),
        ((b"\x08\xff",), {}, "the model: "),
        ((CHAIN,), {"kernels": "own"}, "invalid value 'own' for '--kernels <NAME>'"),
        ((CHAIN,), {"dims": {"n": 1}}, "the model: has neither symbolic dims nor inputs without a shape, so no dims can be given"),
        ((CORPUS / "models" / "encoder.onnx",), {}, "(give it with --dim NAME=N"),
        ((CHAIN,), {"no_reuse": ["Conv"]}, '--no-reuse: no node is of kind "Conv"'),
        ((CHAIN,), {"algorithm": "list"}, "a list of algorithms is no plan"),
        ((CHAIN,), {"in_place": 3}, "in_place: cannot be 3"),
    ]
    for arguments, options, words in cases:
        with pytest.raises(plimsoll.Error) as error:
            plimsoll.plan(*arguments, **options)
        assert words in str(error.value), str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="a model is a path, bytes or an onnx.ModelProto, not int"):
        plimsoll.plan(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bugdet'"):
        plimsoll.plan(bugdet=3)


def test_over_budget_is_an_exception_of_its_own():
    with pytest.raises(plimsoll.DoesNotFit, match="over budget: the arena has 1024 bytes, the budget is 1000"):
        plimsoll.plan(CHAIN, budget=1000)
    with pytest.raises(plimsoll.DoesNotFit):
        plimsoll.plan(CHAIN, banks=["sram=512"])


FORMS = ["json", "tsv", "csv", "svg", "html", "plim", "trace.json", "h", "rs", "txt", "onnx"]


@pytest.mark.parametrize("form", FORMS)
def test_a_plan_is_saved_in_every_form(tmp_path, plan, form):
    plan.save(tmp_path / f"plan.{form}")
    assert (tmp_path / f"plan.{form}").stat().st_size > 100


def test_what_cannot_be_saved_is_an_error(tmp_path, plan):
    with pytest.raises(plimsoll.Error, match="unknown extension; known are .txt, .json"):
        plan.save(tmp_path / "plan.xyz")
    with pytest.raises(plimsoll.Error, match="is not an ONNX model"):
        plimsoll.plan(CHAIN).save(tmp_path / "plan.onnx")
    path = tmp_path / "chain.plim"
    path.write_bytes(CHAIN)
    with pytest.raises(plimsoll.Error, match="is read by this command, and is not written over"):
        plimsoll.plan(path).save(path)
    assert path.read_bytes() == CHAIN


def test_a_terminal_shows_the_summary_and_a_notebook_the_map(plan):
    assert "arena        81920 bytes (80 KiB)" in repr(plan)
    assert "\x1b" not in repr(plan)
    page = plan._repr_html_()
    assert page.startswith('<iframe sandbox="allow-scripts"')
    inside = page[page.index("srcdoc=") + 8 :]
    assert inside.count('"') == 1, "the page is one attribute"
    assert "stem.pool" in inside


def test_a_model_and_its_plan_are_explained(plan):
    explanation = plimsoll.explain(plan)
    assert "stem.a" in repr(explanation) and "\x1b" not in repr(explanation)
    assert json.loads(explanation.to_json())["arena_bytes"] == 81920
    assert explanation.fits
    assert plimsoll.explain(CHAIN, budget=1024).fits
    assert not plimsoll.explain(CHAIN, budget=16).fits
    assert repr(plimsoll.explain(plan, advice=False)) != repr(explanation)


def test_nothing_is_said_beside_the_answer(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plimsoll.plan()
    assert capfd.readouterr() == ("", "")
