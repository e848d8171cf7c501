"""The Python of the guide, run as it is shown there."""

import doctest
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_guide_is_true(tmp_path, monkeypatch):
    shutil.copy(ROOT / "corpus/models/sample.onnx", tmp_path / "net.onnx")
    monkeypatch.chdir(tmp_path)
    guide = doctest.testfile(str(ROOT / "docs/guides/python.md"), module_relative=False)
    assert guide.failed == 0 and guide.attempted > 25
    assert (tmp_path / "map.html").exists()
