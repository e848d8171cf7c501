#!/usr/bin/env python3
"""How long reading, inferring and planning takes, beside Python's onnx on the same files.

    speed.py

`plan` is the whole of `plimsoll plan --order given --concat copy --effort fast`, the start of the process included;
the best of five. `onnx` is onnx.load and onnx.shape_inference.infer_shapes (strict, with data
propagation), once, without weights; `checker` is onnx.checker.check_model.
"""

import subprocess
import sys
import time

import onnx

import models

PLIMSOLL = models.ROOT / "target" / "release" / "plimsoll"


def seconds(what, times=1):
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        what()
        best = min(best, time.perf_counter() - begin)
    return best


def attempted(what):
    """The time it takes, or the kind of error that ends it."""
    try:
        return f"{1000 * seconds(what):.1f}"
    except Exception as error:  # Whatever it is, it goes into the table.
        return type(error).__name__


def main():
    if not PLIMSOLL.exists():
        sys.exit("build it first: cargo build --release")
    print("| model | nodes | plan, ms | onnx: load and infer, ms | checker, ms |")
    print("|---|---|---|---|---|")
    total = 0.0
    for path, dims, shapes in models.corpus():
        command = [PLIMSOLL, "plan", path, "--order", "given", "--concat", "copy", "--effort", "fast", "--format", "json",
                   *models.arguments(dims, shapes)]
        plan = seconds(lambda: subprocess.run(command, check=True, capture_output=True), 5)
        total += plan
        model = onnx.load(path, load_external_data=False)
        load = seconds(lambda: onnx.load(path, load_external_data=False))
        infer = attempted(lambda: onnx.shape_inference.infer_shapes(
            model, strict_mode=True, data_prop=True))
        check = attempted(lambda: onnx.checker.check_model(model))
        both = f"{1000 * load + float(infer):.1f}" if infer[0].isdigit() else infer
        print(f"| {path.stem} | {len(model.graph.node)} | {1000 * plan:.1f} | {both} | {check} |")
    print(f"\nall: {total:.2f} s")


if __name__ == "__main__":
    main()
