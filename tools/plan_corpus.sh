#!/usr/bin/env bash
# Plans every graph of ../shared/corpus/graphs, verifies each plan, and prints a table: file, arena,
# lower bound, their ratio, and the seconds that `plimsoll plan` takes from start to end.
#
#     cargo build --release && tools/plan_corpus.sh
#
# PLIMSOLL names another binary, GRAPHS another folder. Without the folder it says so.
set -euo pipefail
cd "$(dirname "$0")/.."

plimsoll=${PLIMSOLL:-${CARGO_TARGET_DIR:-target}/release/plimsoll}
graphs=${GRAPHS:-../shared/corpus/graphs}

if [[ ! -d $graphs ]]; then
    echo "$graphs is not there: nothing was planned"
    exit 0
fi

answers=$(mktemp -d)
trap 'rm -r "$answers"' EXIT
number() { grep -m1 -oE "\"$1\": [0-9]+" "$answers/plan.json" | grep -oE '[0-9]+$'; }

planned=0
wrong=0
printf '%-32s %14s %14s %8s %8s\n' file arena bound ratio seconds
for graph in "$graphs"/*.json; do
    start=$(date +%s%N)
    "$plimsoll" plan "$graph" -o "$answers/plan.json"
    end=$(date +%s%N)
    arena=$(number arena_bytes)
    bound=$(number lower_bound_bytes)
    awk -v file="$(basename "$graph")" -v arena="$arena" -v bound="$bound" -v ns=$((end - start)) \
        'BEGIN { printf "%-32s %14s %14s %8.5f %8.3f\n", file, arena, bound, arena / bound, ns / 1e9 }'
    planned=$((planned + 1))
    if ! verdict=$("$plimsoll" verify "$graph" "$answers/plan.json"); then
        echo "$verdict"
        wrong=$((wrong + 1))
    fi
done

echo "$planned plans verified, $wrong complaints"
[[ $planned -gt 0 && $wrong -eq 0 ]]
