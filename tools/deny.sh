#!/usr/bin/env bash
# Licences, advisories and duplicates of the dependencies, by cargo-deny and deny.toml.
# Advisories need a database from outside: without a network they are left out, and that is said.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v cargo-deny > /dev/null; then
    echo "cargo-deny is missing: cargo install cargo-deny --locked" >&2
    exit 1
fi
cargo deny check licenses bans sources
cargo deny check advisories || echo "advisories were not checked: see above" >&2
