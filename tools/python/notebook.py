"""Runs the notebook of the docs and keeps its output: `python tools/python/notebook.py`.

Wants nbclient, ipykernel, numpy and plimsoll-planner. Nothing is written that is not the same in every run.
"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "plimsoll.ipynb"

notebook = nbformat.read(NOTEBOOK, as_version=4)
NotebookClient(notebook, kernel_name="python3", record_timing=False, resources={"metadata": {"path": ROOT}}).execute()
notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
for cell in notebook.cells:
    cell.metadata = {}
nbformat.write(notebook, NOTEBOOK)
