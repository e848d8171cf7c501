#!/usr/bin/env bash
# Plans every model and graph of ../shared/corpus with sets of options, and verifies each plan, believing
# what it says of the model and (--strict) not. Counts plans that are rejected, and bounds above arenas:
# both have to be none. What cannot be planned at all with some options is listed, and is no complaint.
#
#     cargo build --release && tools/roundtrip.sh
#
# PLIMSOLL names another binary, CORPUS another folder, ONLY a part of the names of the files that are
# taken. Without the folder it says so.
set -euo pipefail
cd "$(dirname "$0")/.."

plimsoll=${PLIMSOLL:-${CARGO_TARGET_DIR:-target}/release/plimsoll}
corpus=${CORPUS:-../shared/corpus}

if [[ ! -d $corpus/models ]]; then
    echo "$corpus/models is not there: nothing was planned"
    exit 0
fi

# What both commands are told, then what only `plan` is told.
sets=(
    "|"
    "|--order given --concat copy"
    "|--order fast --effort fast --place all"
    "--kernels strided|--effort fast"
    "--kernels views --align 1|--order fast"
    "--kernels copying --width four|--order fast --no-in-place"
    "--width half-wide --guard 128|--place all --min-slot 64 --order fast"
    "--align 16|--preset inference --reclaim-inputs --order fast --bank sram=1MiB,buffer=256KiB --bank dram"
    "|--no-reuse --order fast"
)

# The dims of models whose shapes are open.
dims_of() {
    case $(basename "$1") in
        dyn_bert_base.onnx) echo "--dim batch=2 --dim seq=64" ;;
        dyn_mobilenet_v2.onnx) echo "--dim batch=2" ;;
        dyn_resnet50.onnx) echo "--dim batch=2 --dim height=224 --dim width=224" ;;
        pkg_magika__model.onnx) echo "--dim unk__214=2" ;;
        *) echo "" ;;
    esac
}

answers=$(mktemp -d)
trap 'rm -r "$answers"' EXIT
number() { { grep -m1 -oE "\"$1\": [0-9]+" "$answers/plan.json" || true; } | grep -oE '[0-9]+$' || true; }

planned=0 rejected=0 above=0 unplanned=0
for file in "$corpus"/models/*.onnx "$corpus"/graphs/*.json; do
    [[ $file == *"${ONLY:-}"* ]] || continue
    read -ra dims <<<"$(dims_of "$file")"
    for set in "${sets[@]}"; do
        read -ra both <<<"${set%%|*}"
        read -ra own <<<"${set#*|}"
        name="$(basename "$file") ${both[*]:-} ${own[*]:-}"
        if ! "$plimsoll" plan "$file" "${dims[@]}" "${both[@]}" "${own[@]}" -o "$answers/plan.json" \
            2>"$answers/error"; then
            if grep -q "verifier rejects" "$answers/error"; then
                rejected=$((rejected + 1))
                echo "REJECTED by the planner itself: $name"
            else
                unplanned=$((unplanned + 1))
                echo "no plan: $name: $(head -c 200 "$answers/error")"
            fi
            continue
        fi
        planned=$((planned + 1))
        for how in "" "--strict ${dims[*]:-} ${both[*]:-}"; do
            read -ra how <<<"$how"
            if ! "$plimsoll" verify "$file" "$answers/plan.json" "${how[@]}" >"$answers/verdict" 2>&1; then
                rejected=$((rejected + 1))
                echo "REJECTED: $name (${how[*]:-})"
                head -n 3 "$answers/verdict"
            fi
        done
        arena=$(number arena_bytes)
        for bound in lower_bound_bytes schedule_lower_bound_bytes; do
            value=$(number $bound)
            if [[ -n $value && $value -gt $arena ]]; then
                above=$((above + 1))
                echo "ABOVE: $name: $bound $value, arena $arena"
            fi
        done
    done
done

echo "$planned plans, $rejected rejected, $above bounds above the arena; $unplanned without a plan"
[[ $planned -gt 0 && $rejected -eq 0 && $above -eq 0 ]]
