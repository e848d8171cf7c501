#!/usr/bin/env python3
"""The arenas of the corpus in file order, beside those of others, as a table for docs/compare.md.

    table.py [--check]

Columns of others are those of the corpus' models.tsv. With --check: exit status 1 if an arena is
above 1.001 times the LOAD that views and in-place leave by the simple rule of the table, or above
onnxruntime's block.
"""

import csv
import json
import subprocess
import sys
import time

import models

PLIMSOLL = models.ROOT / "target" / "release" / "plimsoll"


def number(text):
    return int(text) if text else None


def show(value):
    return f"{value:,}".replace(",", " ") if value is not None else ""


def main():
    if not PLIMSOLL.exists():
        sys.exit("build it first: cargo build --release")
    with open(models.CORPUS / "models.tsv", newline="") as file:
        known = {row["model"]: row for row in csv.DictReader(file, delimiter="\t")}
    print("| model | steps | LOAD, nothing shared | LOAD, simple rule | onnxruntime's block | arena "
          "| bound | static | ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    above = []
    for path, dims, shapes in models.corpus():
        options = models.arguments(dims, shapes)
        begin = time.perf_counter()
        run = subprocess.run([PLIMSOLL, "plan", path, "--order", "given", "--concat", "copy", "--format", "json", *options],
                             capture_output=True, text=True)
        milliseconds = 1000 * (time.perf_counter() - begin)
        row = known[path.stem]
        own = number(row["load_own"]) or number(row["load_own_ortbasic"])
        rules = [number(row["load_merged_simple"]), number(row["load_merged_ortbasic"])]
        rules = [rule for rule in rules if rule is not None]
        simple, block = max(rules, default=None), number(row["ort_block_noopt"])
        if run.returncode != 0:
            print(f"| {path.stem} | {run.stderr.strip().splitlines()[0][:90]} |")
            above.append(path.stem)
            continue
        plan = json.loads(run.stdout)
        arena = plan["arena_bytes"]
        over = [name for name, limit in [("simple rule", simple and simple * 1.001),
                                         ("onnxruntime", block)] if limit and arena > limit]
        if over:
            above.append(f"{path.stem} ({', '.join(over)})")
        print(f"| {path.stem} | {len(plan['schedule'])} | {show(own)} | {show(simple)} | {show(block)} "
              f"| {show(arena)} | {show(plan['lower_bound_bytes'])} | {show(plan['static_bytes'])} "
              f"| {milliseconds:.0f} |")
    print(f"\nabove: {', '.join(above) or 'none'}")
    sys.exit("--check" in sys.argv and bool(above))


if __name__ == "__main__":
    main()
