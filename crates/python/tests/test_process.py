"""What a process sees: the command, Ctrl-C, threads, progress, docs and types."""

import doctest
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import plimsoll
from plimsoll import _plimsoll

PACKAGE = Path(__file__).parents[1]


def run(*arguments, **options):
    command = [sys.executable, "-m", "plimsoll", *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


def hard_problem(count=2000):
    """Buffers at random, which are searched for as long as they are let."""
    chance = random.Random(7)
    starts = [chance.randrange(1000) for _ in range(count)]
    ends = [start + chance.randrange(1, 200) for start in starts]
    return [chance.randrange(1, 100_000) for _ in range(count)], starts, ends


def test_the_command_is_there_with_its_exit_status(tmp_path):
    assert run("plan").returncode == 0
    assert "arena        81920 bytes" in run("plan").stdout
    no = run("plan", "--budget", "1KiB")
    assert (no.returncode, "over budget" in no.stderr or "over budget" in no.stdout) == (1, True)
    bad = run("plan", "missing.onnx")
    assert bad.returncode == 2
    assert bad.stderr == "plimsoll: missing.onnx: cannot open: No such file or directory (os error 2)\n"
    assert run("plan", "--nonsense").returncode == 2
    version = run("--version")
    assert (version.returncode, version.stdout) == (0, f"plimsoll {plimsoll.__version__}\n")


def test_the_script_is_the_same_command():
    script = Path(sys.executable).with_name("plimsoll")
    done = subprocess.run([script, "solve"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, run("solve").stdout)


def test_ctrl_c_interrupts(tmp_path):
    source = "import plimsoll, test_process as t; print('go', flush=True); plimsoll.pack(*t.hard_problem(), effort='exhaustive')"
    child = subprocess.Popen(
        [sys.executable, "-c", source], cwd=Path(__file__).parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "go\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_other_threads_run_and_progress_is_told():
    counted, lines = [0], []

    class Enough(Exception):
        pass

    def progress(line):
        lines.append(line)
        if len(lines) == 5:
            raise Enough

    def count(until):
        while not until.is_set():
            counted[0] += 1
            time.sleep(0.001)

    done = threading.Event()
    thread = threading.Thread(target=count, args=(done,), daemon=True)
    thread.start()
    with pytest.raises(Enough):
        plimsoll.pack(*hard_problem(), effort="exhaustive", progress=progress)
    done.set()
    thread.join()
    assert counted[0] > 20, "the interpreter was free"
    assert all(line.startswith("best ") and "bound" in line for line in lines), lines


def test_docstrings_are_true():
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner()
    seen = []
    for name in ["pack", "check", "plan", "explain", "fit", "Program", "Session"]:
        for case in finder.find(getattr(_plimsoll, name), name, module=False):
            runner.run(case)
            seen.extend([name] if case.examples else [])
    assert set(seen) == {"pack", "check", "plan", "explain", "fit", "Program", "Session"}
    assert doctest.testmod(plimsoll).attempted > 0
    assert runner.summarize().failed == 0
    assert doctest.testfile(str(PACKAGE / "README.md"), module_relative=False).failed == 0


def test_types_are_those_of_the_stubs():
    mypy = subprocess.run([sys.executable, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml", "-p", "plimsoll"], capture_output=True, text=True)
    assert mypy.returncode == 0, mypy.stdout
    names = subprocess.run([sys.executable, "-m", "mypy.stubtest", "plimsoll._plimsoll", "--ignore-disjoint-bases"], capture_output=True, text=True)
    assert names.returncode == 0, names.stdout
