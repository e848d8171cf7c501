#!/usr/bin/env bash
# Builds the wheel in an environment of its own, and tests it there. Wants Python 3.9 or later, and PyPI.
set -euo pipefail
cd "$(dirname "$0")/../.."

env=target/python
if ! python3 -m venv "$env"; then
    echo "python3 is missing, or its module venv: the Python package cannot be tested" >&2
    exit 1
fi
pip="$env/bin/python -m pip --quiet --disable-pip-version-check"
if ! $pip install numpy pytest mypy typing_extensions; then
    echo "PyPI cannot be reached: the Python package cannot be tested" >&2
    exit 1
fi
$pip install --no-deps --force-reinstall ./crates/python
"$env/bin/python" -m pytest --quiet crates/python/tests
