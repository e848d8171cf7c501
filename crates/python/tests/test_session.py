"""Sessions: models that run in the memory that is planned for them."""

import gc
from pathlib import Path

import numpy as np
import pytest

import plimsoll

CORPUS = Path(__file__).parents[3] / "corpus"
SAMPLE = CORPUS / "models" / "sample.onnx"


@pytest.fixture
def image():
    return np.random.default_rng(1).standard_normal((1, 3, 32, 32), np.float32)


@pytest.fixture
def session():
    return plimsoll.Session(SAMPLE)


def test_a_session_tells_what_goes_in_and_out(session):
    assert session.inputs == {"image": ("f32", (1, 3, 32, 32))}
    assert session.outputs == {"classes": ("f32", (1, 10))}
    assert session.arena_bytes > 0 and session.weights_bytes > 31000
    assert repr(session).startswith("<Session: ")


def test_outputs_are_probabilities_that_depend_on_the_input(session, image):
    first = session.run({"image": image})["classes"]
    assert first.shape == (1, 10) and first.dtype == np.float32
    assert first.sum() == pytest.approx(1, abs=1e-6)
    again = session.run({"image": image})["classes"]
    other = session.run({"image": -image})["classes"]
    assert (first == again).all() and not (first == other).all()


def test_copies_stay_and_views_follow_the_arena(session, image):
    copy = session.run({"image": image})["classes"]
    kept = copy.copy()
    view = session.run({"image": image}, copy=False)["classes"]
    assert (view == kept).all() and not view.flags.writeable
    other = session.run({"image": -image})["classes"]
    assert (copy == kept).all() and (view == other).all()
    copy[0] = 0  # A copy is the caller's.


def test_a_view_keeps_its_session_alive(image):
    view = plimsoll.Session(SAMPLE).run({"image": image}, copy=False)["classes"]
    kept = view.copy()
    gc.collect()
    blocks = [np.full(1 << 16, 7.0) for _ in range(64)]
    assert (view == kept).all() and len(blocks) == 64


def test_arrays_are_taken_in_any_layout(session, image):
    expected = session.run({"image": image})["classes"]
    flipped = np.ascontiguousarray(image.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert not flipped.flags.c_contiguous
    assert (session.run({"image": flipped})["classes"] == expected).all()


def test_a_file_its_bytes_and_the_sample_are_the_same(image):
    outputs = [
        plimsoll.Session(model).run({"image": image})["classes"]
        for model in (SAMPLE, SAMPLE.read_bytes(), None)
    ]
    assert (outputs[0] == outputs[1]).all() and (outputs[0] == outputs[2]).all()


def test_dims_are_bound():
    session = plimsoll.Session(CORPUS / "models" / "encoder.onnx", dims={"seq": 5})
    assert all(5 in dims for _, dims in session.inputs.values())


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({}, "nothing is given"),
        ({"image": np.zeros((1, 3, 32, 31), np.float32)}, r"f32 \[1, 3, 32, 31\], where f32 \[1, 3, 32, 32\]"),
        ({"image": np.zeros((1, 3, 32, 32))}, "f64"),
        ({"image": np.zeros((1, 3, 32, 32), complex)}, "elements of type"),
        ({"image": np.zeros((1, 3, 32, 32), np.float32), "x": 1}, "there is no input `x`"),
    ],
)
def test_inputs_that_do_not_fit_are_errors(session, inputs, message):
    with pytest.raises(plimsoll.Error, match=message):
        session.run(inputs)


def test_what_cannot_be_run_is_an_error():
    with pytest.raises(plimsoll.Error, match="seq"):
        plimsoll.Session(CORPUS / "models" / "encoder.onnx")
    with pytest.raises(plimsoll.Error, match="nothing.onnx"):
        plimsoll.Session("nothing.onnx")
    with pytest.raises(TypeError, match="unexpected keyword argument 'place'"):
        plimsoll.Session(SAMPLE, place="all")
