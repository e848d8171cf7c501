"""Fitting: the same model in less memory."""

import json
from pathlib import Path

import numpy as np
import pytest

import plimsoll

SAMPLE = Path(__file__).parents[3] / "corpus" / "models" / "sample.onnx"


def test_a_fitted_model_has_the_promised_arena_and_the_same_outputs(tmp_path):
    small = tmp_path / "small.onnx"
    fitted = plimsoll.fit(SAMPLE, most_arithmetic=0, output=small)
    assert fitted.source_arena_bytes == 81920
    assert fitted.arena_bytes < 40000
    assert plimsoll.plan(small).arena_bytes == fitted.arena_bytes
    image = np.random.default_rng(1).standard_normal((1, 3, 32, 32), np.float32)
    runs = [plimsoll.Session(model).run({"image": image})["classes"] for model in (SAMPLE, small)]
    assert np.abs(runs[0] - runs[1]).max() <= 1e-5 * np.abs(runs[0]).max()


def test_the_frontier_is_told_and_drawn(tmp_path):
    fitted = plimsoll.fit(SAMPLE)
    points = fitted.points
    assert points == json.loads(fitted.to_json())["points"]
    arenas = [point["arena_bytes"] for point in points]
    assert arenas == sorted(arenas, reverse=True) and arenas[-1] == fitted.arena_bytes
    for name in ("frontier.html", "frontier.svg", "frontier.json", "frontier.txt"):
        fitted.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    assert "arena" in repr(fitted)


def test_a_frontier_is_not_one_model(tmp_path):
    with pytest.raises(plimsoll.Error, match="a frontier is many models"):
        plimsoll.fit(SAMPLE, output=tmp_path / "small.onnx")
    assert not (tmp_path / "small.onnx").exists()


def test_a_budget_that_nothing_meets_does_not_fit(tmp_path):
    with pytest.raises(plimsoll.DoesNotFit, match="does not fit"):
        plimsoll.fit(SAMPLE, budget=64, output=tmp_path / "small.onnx")
    assert not (tmp_path / "small.onnx").exists()


def test_a_budget_is_met():
    assert plimsoll.fit(SAMPLE, budget="64KiB").arena_bytes <= 65536
