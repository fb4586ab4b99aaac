"""The notebooks run from top to bottom in a real kernel, with small kernels and short searches."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

SEARCH = {"budget": 5, "trials": 2, "executor": "inline"}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(path, as_version=4)
    for name, value in {
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "NOTEBOOK_N": "64",
        "NOTEBOOK_SEARCH": json.dumps(SEARCH),
        "NOTEBOOK_SPACES": str(ROOT / "benchmarks/spaces"),
        "NOTEBOOK_SEEDS": "3",
    }.items():
        monkeypatch.setenv(name, value)
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": tmp_path}})
    client.execute()  # raises with the cell that failed
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert last.outputs, "the last cell shows something"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """Numbers belong to the machine they were measured on, and differences stay readable."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
