#!/usr/bin/env python3
"""Takes one rule away at a time, and looks whether a test sees it.

    tools/mutants/run.py                 all of table.toml; goes on where it was stopped
    tools/mutants/run.py --only ID ...   some of them, whether or not they were run before
    tools/mutants/run.py --list          what there is
    tools/mutants/run.py --check         only whether each of them still applies

The tree is copied to a folder of its own, with a target folder of its own, and changed only there.
An entry of the table whose text is not there exactly once, that does not build, or whose tests are
none, is an error, so that the table cannot rot. Exit status: 0 if every mutant is killed (or is
known to change nothing), 1 if one survives, 2 if the table is wrong.

All mutants are in one build, with a switch that is read when the tests are run (switchboard.py);
the two that cannot be switched are built one by one. When they were 95, all took three and a half minutes of
processor time, and seven to ten by the clock on two cores that others were using too.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import switchboard

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).resolve().parent / "table.toml"
KEYS = {"id", "file", "old", "new", "test", "means"}
# Level 0 builds faster, and runs the random tests five times as long.
PROFILE = [
    "profile.test.debug=0",
    "profile.test.opt-level=1",
    "profile.test.incremental=true",
]


def test_files(name):
    """The tests of that name: a file, a folder of several, or a module of the folder `it`."""
    for form in (f"*/tests/{name}.rs", f"*/tests/{name}/main.rs", f"*/tests/it/{name}.rs", f"*/tests/it/{name}/mod.rs"):
        yield from (ROOT / "crates").glob(form)


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
    chosen = sorted(choose(mutants, arguments.only), key=lambda mutant: command(mutant))
    bench = Bench(Path(arguments.folder), arguments.seconds, mutants)
    return report(chosen, {m["id"]: bench.judge(m, bool(arguments.only)) for m in chosen})


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="ID", help="these mutants")
    parser.add_argument("--list", action="store_true", help="show the table")
    parser.add_argument("--check", action="store_true", help="build and run nothing")
    parser.add_argument("--seconds", type=int, default=120, help="the longest that tests may run")
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


def sources(suffix):
    """The files whose path ends so: crates/verify/src/order.rs is verify/order.rs."""
    paths = sorted((ROOT / "crates").glob("*/src/**/*.rs"))
    return [path for path in paths if ("/" + short(path)).endswith("/" + suffix)]


def short(path):
    crate, _, *rest = path.relative_to(ROOT / "crates").parts
    return "/".join([crate, *rest])


def source(mutant):
    """The one file that a mutant changes, from the top of the tree."""
    holds = [p for p in sources(mutant["file"]) if mutant["old"] in p.read_text(encoding="utf-8")]
    return holds[0].relative_to(ROOT)


def misfits(mutant):
    """Why a mutant does not apply."""
    texts = [path.read_text(encoding="utf-8") for path in sources(mutant["file"])]
    times = sum(text.count(mutant["old"]) for text in texts)
    if times != 1:
        yield f"{mutant['id']}: does not apply: its text is {times} times in {mutant['file']}"
    for name in binaries(mutant["test"])[0]:
        found = len(list(test_files(name)))
        if not name.endswith("lib") and found != 1:
            yield f"{mutant['id']}: there are {found} files tests/{name}.rs"


def binaries(test):
    """The names of the test binaries, and the filters."""
    names, _, filters = test.partition(": ")
    return names.split(), filters.split()


def command(mutant):
    """What `cargo test` is given."""
    names, filters = binaries(mutant["test"])
    crate = source(mutant).parts[1]
    words = []
    for name in names:
        if name.endswith("lib"):
            words += ["-p", package(name.removesuffix("lib").rstrip("/") or crate), "--lib"]
        else:
            (path,) = test_files(name)
            parts = path.relative_to(ROOT / "crates").parts
            binary = "it" if parts[2] == "it" else name
            words += ["-p", package(parts[0]), "--test", binary]
            if binary == "it":
                filters = [f"{name}::{word}" for word in filters or [""]]
    # A module that has become a crate is no longer part of the names of its tests.
    return [*words, "--", *(word.removeprefix(f"{crate}::") for word in filters)]


def package(crate):
    manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8")
    return tomllib.loads(manifest)["package"]["name"]


class Bench:
    """The copy of the tree with the switches, and what was found in it."""

    def __init__(self, folder, seconds, mutants):
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"somebody else is at work in {folder}")
        self.tree, self.seconds = folder / "tree", seconds
        self.results_file = folder / "results.json"
        self.env = os.environ | {"CARGO_TARGET_DIR": str(folder / "target")}
        self.numbers = {mutant["id"]: number for number, mutant in enumerate(mutants, 1)}
        files = repository_files()
        self.sources = digest(files)
        self.switched = add_switches(files, mutants)
        write_tree(self.tree, files)
        self.results = {}
        if self.results_file.exists():
            self.results = json.loads(self.results_file.read_text(encoding="utf-8"))

    def judge(self, mutant, again):
        """What becomes of a mutant: from earlier, if nothing has changed since."""
        words = command(mutant)
        self.must_pass(words)
        key = fingerprint(self.sources, json.dumps(mutant, sort_keys=True))
        if again or key not in self.results:
            self.results[key] = self.verdict(mutant, words)
            self.save()
        verdict, by = self.results[key]
        print(f"{verdict:14} {mutant['id']:34} {mutant['means']}{by}", flush=True)
        return verdict

    def verdict(self, mutant, words):
        number = self.numbers[mutant["id"]]
        if number in self.switched:
            return self.tested(words, number)
        path = self.tree / source(mutant)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        try:
            built = self.cargo(words, building=True)[0] == 0
            return self.tested(words, 0) if built else ("does not build", "")
        finally:
            path.write_text(text, encoding="utf-8")

    def tested(self, words, number):
        status, said = self.cargo(words, number)
        return ("survived", "") if status == 0 else ("killed", killers(said))

    def must_pass(self, words):
        """Tests that fail by themselves kill nothing, and neither do none."""
        key = fingerprint(self.sources, " ".join(words))
        if key not in self.results:
            status, said = self.cargo(words, building=True)
            if status == 0:
                status, said = self.cargo(words)
            if status != 0:
                sys.exit(f"{said}\nwith every switch off this fails: cargo test {' '.join(words)}")
            if not re.search(r"^running [1-9]", said, re.MULTILINE):
                sys.exit(f"this runs no test: cargo test {' '.join(words)}")
            self.results[key] = "passes"
            self.save()

    def cargo(self, words, number=0, building=False):
        """The exit status and what was printed; tests that take too long count as failed."""
        words = [*words[: words.index("--")], "--no-run"] if building else words
        profile = [word for setting in PROFILE for word in ("--config", setting)]
        cargo = ["cargo", "test", "--no-fail-fast", *profile, *words]
        with tempfile.TemporaryFile() as said:
            running = subprocess.Popen(
                cargo,
                cwd=self.tree,
                env=self.env | {switchboard.VARIABLE: str(number)},
                start_new_session=True,
                stdout=said,
                stderr=said if building else subprocess.DEVNULL,
            )
            try:
                status = running.wait(None if building else self.seconds)
            except subprocess.TimeoutExpired:
                status = 1
            finally:
                if running.poll() is None:
                    os.killpg(running.pid, signal.SIGKILL)
                    running.wait()
            said.seek(0)
            return status, said.read().decode(errors="replace")

    def save(self):
        self.results_file.write_text(json.dumps(self.results, indent=1), encoding="utf-8")


def killers(said):
    """How many tests fail, and one of them."""
    failed = re.findall(r"^test (.*) \.\.\. FAILED$", said, re.MULTILINE)
    others = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f" [{failed[0]}{others}]" if failed else " [takes too long, or ends early]"


def repository_files():
    """What belongs to the repository: the content by name."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    names = sorted(name for name in set(names.split("\0")) if name and (ROOT / name).is_file())
    return {name: (ROOT / name).read_bytes() for name in names}


def digest(files):
    sources = hashlib.sha256()
    for name, content in files.items():
        if not name.startswith(("docs/", "tools/")):
            sources.update(name.encode() + b"\0" + content)
    return sources.hexdigest()


def add_switches(files, mutants):
    """Changes the files of mutants; the numbers of those that have a switch."""
    by_file, numbers = {}, set()
    for number, mutant in enumerate(mutants, 1):
        name = source(mutant).as_posix()
        by_file.setdefault(name, []).append((number, mutant["old"], mutant["new"]))
    for name, changes in by_file.items():
        text, switched = switchboard.switched(files[name].decode(), changes)
        files[name] = text.encode()
        numbers |= switched
    for crate in {"/".join(name.split("/")[:3]) for name in by_file}:
        files[f"{crate}/lib.rs"] += switchboard.SWITCH.encode()
    return numbers


def write_tree(tree, files):
    """What is the same stays, and is not built again."""
    tree.mkdir(parents=True, exist_ok=True)
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if path.relative_to(tree).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        copy = tree / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)


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
