#!/usr/bin/env bash
# Packs every problem of ../shared/corpus/problems and asks two checkers about each answer, as CSV
# and as JSON: `plimsoll check`, and an independent one in Python that is kept beside the corpus.
#
#     cargo build --release && tools/check_against_python.sh
#
# PLIMSOLL names another binary. Without that folder there is nothing to do, and it says so.
set -euo pipefail
cd "$(dirname "$0")/.."

plimsoll=${PLIMSOLL:-${CARGO_TARGET_DIR:-target}/release/plimsoll}
problems=../shared/corpus/problems
python_checker=../shared/tools/check_packing.py

if [[ ! -d $problems || ! -f $python_checker ]]; then
    echo "$problems or $python_checker is not there: nothing was checked"
    exit 0
fi

answers=$(mktemp -d)
trap 'rm -r "$answers"' EXIT
checked=0
wrong=0
while IFS= read -r problem; do
    for form in csv json; do
        answer=$answers/answer.$form
        "$plimsoll" solve "$problem" -o "$answer"
        checked=$((checked + 1))
        if ! ours=$("$plimsoll" check "$problem" "$answer"); then
            echo "$problem ($form): plimsoll check: $ours"
            wrong=$((wrong + 1))
        fi
        if ! theirs=$(python3 "$python_checker" "$problem" "$answer"); then
            echo "$problem ($form): Python checker: $theirs"
            wrong=$((wrong + 1))
        fi
        # Both say how large the arena is, each in its own words.
        ours=$(sed -E 's/^valid: arena ([0-9]+).*/\1/' <<< "$ours")
        theirs=$(sed -E 's/^valid: arena ([0-9]+).*/\1/' <<< "$theirs")
        if [[ $ours != "$theirs" ]]; then
            echo "$problem ($form): arena $ours or $theirs?"
            wrong=$((wrong + 1))
        fi
    done
done < <(find -L "$problems" -name '*.csv' | sort)

echo "$checked answers checked, $wrong complaints"
[[ $checked -gt 0 && $wrong -eq 0 ]]
