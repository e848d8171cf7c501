#!/usr/bin/env python3
"""Takes one rule away at a time, and looks whether a test sees it.

    tools/mutants/run.py                 all of table.toml; goes on where it was stopped
    tools/mutants/run.py --only ID ...   some of them, whether or not they were run before
    tools/mutants/run.py --list          what there is
    tools/mutants/run.py --check         only whether each of them still applies

The tree is copied to a folder of its own, with a target folder of its own, and changed only there.
An entry of the table whose text is not there exactly once, or that does not build, is an error, so
that the table cannot rot. Exit status: 0 if every mutant is killed (or is known to change nothing),
1 if one survives, 2 if the table is wrong.
"""

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).resolve().parent / "table.toml"
KEYS = {"id", "file", "old", "new", "test", "means"}
# Narrow tests need little optimisation, and most of the time goes into building.
PROFILE = [
    "profile.test.debug=0",
    "profile.test.opt-level=1",
    "profile.test.package.plimsoll.opt-level=0",
]


def main():
    # Who is told to end leaves nothing running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    arguments = parsed()
    mutants = read_table()
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant['id']:34} {mutant['means']}")
        print(f"{len(mutants)} mutants")
        return 0
    faults = [fault for mutant in mutants for fault in misfits(mutant)]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults or arguments.check:
        return 2 if faults else 0
    chosen = choose(mutants, arguments.only)
    bench = Bench(Path(arguments.folder), arguments.seconds)
    return report(chosen, {m["id"]: bench.judge(m, bool(arguments.only)) for m in chosen})


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="ID", help="these mutants")
    parser.add_argument("--list", action="store_true", help="show the table")
    parser.add_argument("--check", action="store_true", help="build and run nothing")
    parser.add_argument("--seconds", type=int, default=300, help="the longest that tests may run")
    folder = Path(tempfile.gettempdir()) / "plimsoll-mutants"
    parser.add_argument("--folder", default=folder, help="where the copy and the results are kept")
    return parser.parse_args()


def read_table():
    mutants = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]
    ids = set()
    for mutant in mutants:
        missing = KEYS - mutant.keys()
        extra = mutant.keys() - KEYS - {"equivalent"}
        if missing or extra or mutant["id"] in ids:
            sys.exit(f"{TABLE}: {mutant.get('id')}: keys {sorted(missing | extra)}, or the id twice")
        ids.add(mutant["id"])
    return mutants


def choose(mutants, only):
    unknown = set(only or []) - {mutant["id"] for mutant in mutants}
    if unknown:
        sys.exit(f"there is no mutant {', '.join(sorted(unknown))}")
    return [mutant for mutant in mutants if not only or mutant["id"] in only]


def misfits(mutant):
    """Why a mutant does not apply."""
    path = ROOT / mutant["file"]
    times = path.read_text(encoding="utf-8").count(mutant["old"]) if path.exists() else 0
    if times != 1:
        yield f"{mutant['id']}: does not apply: its text is {times} times in {mutant['file']}"


class Bench:
    """The copy of the tree, and what was found in it."""

    def __init__(self, folder, seconds):
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"somebody else is at work in {folder}")
        self.tree, self.seconds = folder / "tree", seconds
        self.results_file = folder / "results.json"
        self.env = os.environ | {"CARGO_TARGET_DIR": str(folder / "target")}
        self.sources = copy_tree(self.tree)
        self.results = {}
        if self.results_file.exists():
            self.results = json.loads(self.results_file.read_text(encoding="utf-8"))

    def judge(self, mutant, again):
        """What becomes of a mutant: from earlier, if nothing has changed since."""
        self.must_pass(mutant["test"])
        key = fingerprint(self.sources, json.dumps(mutant, sort_keys=True))
        if again or key not in self.results:
            self.results[key] = self.verdict(mutant)
            self.save()
        print(f"{self.results[key]:14} {mutant['id']:34} {mutant['means']}", flush=True)
        return self.results[key]

    def verdict(self, mutant):
        path = self.tree / mutant["file"]
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        try:
            if self.cargo(mutant["test"], building=True) != 0:
                return "does not build"
            return "survived" if self.cargo(mutant["test"]) == 0 else "killed"
        finally:
            path.write_text(text, encoding="utf-8")

    def must_pass(self, test):
        """Tests that fail by themselves kill nothing."""
        key = fingerprint(self.sources, test)
        if key not in self.results:
            if self.cargo(test, building=True) != 0 or self.cargo(test) != 0:
                sys.exit(f"without any change this fails: cargo test {test}")
            self.results[key] = "passes"
            self.save()

    def cargo(self, test, building=False):
        """The exit status; tests that take too long count as failed."""
        words = test.split(" -- ")[0] + " --no-run" if building else test
        profile = [word for setting in PROFILE for word in ("--config", setting)]
        command = ["cargo", "test", "--quiet", *profile, *words.split()]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = subprocess.Popen(
            command, cwd=self.tree, env=self.env, start_new_session=True, **quiet
        )
        try:
            return running.wait(None if building else self.seconds)
        except subprocess.TimeoutExpired:
            return 1
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()

    def save(self):
        self.results_file.write_text(json.dumps(self.results, indent=1), encoding="utf-8")


def copy_tree(tree):
    """Copies what belongs to the repository; what is the same stays, and is not built again."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    names = sorted(name for name in set(names.split("\0")) if name and (ROOT / name).is_file())
    tree.mkdir(parents=True, exist_ok=True)
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if str(path.relative_to(tree)) not in names:
            path.unlink()
    sources = hashlib.sha256()
    for name in names:
        content, copy = (ROOT / name).read_bytes(), tree / name
        if name.endswith((".rs", ".toml", ".lock")):
            sources.update(name.encode() + b"\0" + content)
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy)
    return sources.hexdigest()


def fingerprint(sources, what):
    return hashlib.sha256(f"{sources}\0{what}".encode()).hexdigest()


def report(mutants, verdicts):
    survived, wrong = [], []
    for mutant in mutants:
        verdict, equivalent = verdicts[mutant["id"]], mutant.get("equivalent")
        if verdict == "does not build":
            wrong.append(mutant["id"])
        elif verdict == "survived" and not equivalent:
            survived.append(mutant["id"])
        elif verdict == "killed" and equivalent:
            wrong.append(mutant["id"])
    killed = sum(verdict == "killed" for verdict in verdicts.values())
    same = sum("equivalent" in mutant for mutant in mutants)
    print(f"\n{killed} of {len(mutants)} killed; {same} are known to change nothing")
    for name, ids in [("survived", survived), ("the table is wrong about", wrong)]:
        if ids:
            print(f"{name}: {', '.join(ids)}")
    return 2 if wrong else 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
