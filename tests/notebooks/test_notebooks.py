"""The notebooks run from top to bottom in a real kernel, with small kernels and short searches."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

SMALL = {
    "N": 64,
    "SEARCH": {"budget": 150, "trials": 2, "executor": "inline"},
    "SPACES": ROOT / "benchmarks/spaces",
    "SEEDS": 3,
}
"""Parameters for a test. The rest of a notebook does not know that it is tested."""


def parameters(notebook: NotebookNode) -> NotebookNode:
    """The cell that says what a reader may change: tagged as papermill expects it."""
    [found] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    return found


def assigned(cell: NotebookNode) -> dict[str, str]:
    """Names that a cell of assignments gives values, as texts."""
    found = {}
    for stmt in ast.parse(cell.source).body:
        assert isinstance(stmt, ast.Assign)
        [target] = stmt.targets
        found[ast.unparse(target)] = ast.unparse(stmt.value)
    return found


def inject(notebook: NotebookNode) -> None:
    """Give the parameters other values after their cell, as papermill does."""
    cell = parameters(notebook)
    values = {name: SMALL[name] for name in assigned(cell)}
    text = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    place = notebook.cells.index(cell) + 1
    notebook.cells.insert(place, new_code_cell(f"from pathlib import PosixPath\n{text}"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(path, as_version=4)
    inject(notebook)
    for name, value in {"PYTHONPATH": ROOT, "HOME": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": tmp_path}})
    client.execute()  # raises with the cell that failed
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert last.outputs, "the last cell shows something"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_notebook_shows_how_it_is_tested(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert assigned(parameters(notebook)).keys() <= SMALL.keys()
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    for word in ("environ", "json.loads", "NOTEBOOK_", "pytest", "test"):
        assert word not in code


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """Numbers belong to the machine they were measured on, and differences stay readable."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
