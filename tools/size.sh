#!/usr/bin/env bash
# The stripped release binary is not larger than this many bytes: people download it.
#
#     cargo build --release && tools/size.sh
set -euo pipefail
cd "$(dirname "$0")/.."
most=8000000
bytes=$(stat -c %s "${CARGO_TARGET_DIR:-target}/release/plimsoll")
echo "target/release/plimsoll has $bytes bytes, at most $most"
[[ $bytes -le $most ]]
