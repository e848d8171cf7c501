#!/usr/bin/env python3
"""What each way to lower the load is worth, on all models and graphs of the corpus.

    steps.py [--check]

Arenas in bytes: every tensor its own buffer, in file order; with views; with in-place; with concats
joined; in the best order. Then the bound of any order, onnxruntime's blocks from the corpus' models.tsv,
and how long the last takes, the start of the process included. With --check: exit status 1 if a step
makes a model worse.
"""

import csv
import json
import statistics
import subprocess
import sys
import time

import models

PLIMSOLL = models.ROOT / "target" / "release" / "plimsoll"

STEPS = [
    ("own", ["--kernels", "copying", "--order", "given"]),
    ("views", ["--kernels", "views", "--order", "given"]),
    ("in place", ["--order", "given", "--concat", "copy"]),
    ("concats", ["--order", "given"]),
    ("order", []),
]


def plan(path, options):
    begin = time.perf_counter()
    run = subprocess.run([PLIMSOLL, "plan", path, "--format", "json", *options],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return json.loads(run.stdout), time.perf_counter() - begin


def show(value):
    return f"{value:,}".replace(",", " ") if value is not None else ""


def number(text):
    return int(text) if text else None


def main():
    if not PLIMSOLL.exists():
        sys.exit("build it first: cargo build --release")
    with open(models.CORPUS / "models.tsv", newline="") as file:
        known = {row["model"]: row for row in csv.DictReader(file, delimiter="\t")}
    listed = list(models.corpus())
    listed += [(path, {}, {}) for path in sorted((models.CORPUS / "graphs").glob("*.json"))]
    print("| model | " + " | ".join(name for name, _ in STEPS)
          + " | any order | onnxruntime, plain | optimised | ms |")
    print("|---|" + "---:|" * (len(STEPS) + 4))
    worse, ratios, above, above_optimised, optimised = [], [], [], [], 0
    for path, dims, shapes in listed:
        options = models.arguments(dims, shapes)
        arenas = []
        for _, step in STEPS:
            result, seconds = plan(path, [*options, *step])
            arenas.append(result["arena_bytes"])
        if any(after > before for before, after in zip(arenas, arenas[1:])):
            worse.append(path.stem)
        row = known.get(path.stem, {})
        own = number(row.get("load_own")) or number(row.get("load_own_ortbasic"))
        blocks = [number(row.get("ort_block_noopt")), number(row.get("ort_block_opt"))]
        if own:
            ratios.append(arenas[-1] / own)
        if blocks[0] and arenas[-1] > blocks[0]:
            above.append(path.stem)
        if blocks[1]:
            optimised += 1
            if arenas[-1] > blocks[1]:
                above_optimised.append(path.stem)
        print(f"| {path.stem} | " + " | ".join(map(show, arenas))
              + f" | {show(result.get('schedule_lower_bound_bytes'))} | {show(blocks[0])} "
              f"| {show(blocks[1])} | {1000 * seconds:.0f} |", flush=True)
    print(f"\nworse by a step: {', '.join(worse) or 'none'}")
    print(f"median of arena / LOAD with nothing shared: {statistics.median(ratios):.3f}")
    print(f"above onnxruntime's plain block: {', '.join(above) or 'none'}")
    print(f"above its optimised block: {len(above_optimised)} of {optimised}: "
          f"{', '.join(above_optimised) or 'none'}")
    sys.exit("--check" in sys.argv and bool(worse))


if __name__ == "__main__":
    main()
