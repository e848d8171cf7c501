#!/usr/bin/env python3
"""How much memory a run takes, page by page: whether it is what the plan says.

    cd tools/engines/models && cargo build --release --features ours
    memory.py [--only TEXT]… [--runs 5] [--threads 1] [--pages]

A process makes a session, and is looked at before its first run and after its last. Pages are counted as the kernel
lists them in /proc/PID/smaps, which walks the tables of pages and is exact, where the sums in /proc/PID/status are not on
every kernel. *anonymous* pages are memory of the process itself: heap, stacks, data of the binary that were written. All
others are of files: code, and what was not written of the binary's data.

*grown* is by how much anonymous memory grows from before the first run to after the last, *code* by how much pages of files
do: code that is called for the first time. What there is beyond arena, inputs and weights is told in two parts: *tables* is
heap that is in use, such as the steps and the plan of the session; *free* is all else that is resident, such as pages that the
allocator keeps of what was in use while the session was made. *most* is the most that was resident by then, code included. --pages
tells which mappings grow.
"""

import argparse
import collections
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "onnx")]
import speed  # noqa: E402


def mappings(pid):
    """Resident bytes of each mapping: anonymous ones, and those of files."""
    found = collections.defaultdict(lambda: [0, 0])
    name, rss = "", 0
    for line in open(f"/proc/{pid}/smaps"):
        fields = line.split()
        if not fields[0].endswith(":"):
            name = fields[5] if len(fields) > 5 else "anonymous"
        elif fields[0] == "Rss:":
            rss = int(fields[1]) * 1024
        elif fields[0] == "Anonymous:":
            anonymous = int(fields[1]) * 1024
            found[name][0] += anonymous
            found[name][1] += rss - anonymous
    return found


def total(pages, at):
    return sum(counts[at] for counts in pages.values())


def most_resident(pid):
    line = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def measured(entry, args, folder):
    """The pages before the first run and after the last, and what the session says of itself."""
    model, inputs = speed.prepared(*entry, folder)
    server = speed.Server("ours", model, inputs, args.threads)
    if not server.about.startswith("ready"):
        return server.about, None
    pid = server.process.pid
    made, before = most_resident(pid), mappings(pid)
    server.run(args.runs)
    after = mappings(pid)
    parts = {key: speed.about(server, key) for key in ("arena", "inputs", "constants", "packed", "heap")}
    server.end()
    return parts, (made, before, after)


def kib(count):
    return f"{count / 1024:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pages", action="store_true", help="which mappings grow")
    args = parser.parse_args()
    print("| model, KiB | arena and inputs | weights | grown | code | tables | free | most |")
    print("|---|---|---|---|---|---|---|---|")
    for name, entry in speed.found():
        if args.only and not any(text in str(entry[0]) or text in name for text in args.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            parts, pages = measured(entry, args, Path(folder))
        if pages is None:
            print(f"{name}: {parts[:110] or 'does not load'}", file=sys.stderr)
            continue
        made, before, after = pages
        own, weights = parts["arena"] + parts["inputs"], parts["constants"] + parts["packed"]
        anonymous = total(after, 0)
        grown = [total(after, at) - total(before, at) for at in (0, 1)]
        cells = [own, weights, *grown, parts["heap"] - own - weights, anonymous - parts["heap"], made]
        print(f"| {name} | " + " | ".join(map(kib, cells)) + " |", flush=True)
        if args.pages:
            for mapping, (own, files) in after.items():
                was = before.get(mapping, [0, 0])
                if [own, files] != was:
                    print(f"    {mapping}: anonymous {kib(own - was[0])}, files {kib(files - was[1])}")


if __name__ == "__main__":
    main()
