"""npbench's functions, from start to end, on a checkout of two functions of our own."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.frontends.npbench_cases import compared, infos
from benchmarks.frontends.npbench_speed import NUMBA, NUMPY, OURS, UNTUNED, Terms, rows, show
from benchmarks.suite.contenders import ROOT
from schedsearch.core.errors import UserError

NAMES = ("scaled", "counted")

MODULES = {
    "": "import numpy as np\n\n\ndef initialize(N):\n    return np.arange(float(N)), np.zeros(N)\n",
    "_numpy": "def scaled(A, B):\n    B[:] += 2 * A\n    return B.sum()\n",
    "_numba_n": "def scaled(A, B):\n    B += 2 * A\n    return B.sum()\n",
    "_numba_np": "def scaled(A, B):\n    B[:] = 2 * A\n    B[3] = 7\n    return (2 * A).sum()\n",
    "_numba_npr": "import nothing_so_called\n",
    "_numba_o": "def scaled(A, B):\n    B += 2 * A\n",
}
"""A function with numba versions: one is right, one writes other values, one cannot be loaded, one
returns nothing."""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Numba's versions are plain Python: what they are does not matter."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    info = {
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A", "B"]},
        "input_args": ["A", "B"],
        "parameters": {"S": {"N": 5000}},
    }
    (tmp_path / "bench_info").mkdir()
    counting = {"": MODULES[""], "_numpy": "import numpy as np\n\n\ndef counted(A, B):\n"}
    counting["_numpy"] += "    return np.histogram(A, 3)[0]\n"
    for name, modules in zip(NAMES, (MODULES, counting), strict=True):
        own = info | {"relative_path": name, "module_name": name, "func_name": name}
        (tmp_path / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": own}))
        folder = tmp_path / "npbench" / "benchmarks" / name
        folder.mkdir(parents=True)
        for end, text in modules.items():
            (folder / f"{name}{end}.py").write_text(text)
    return tmp_path


@pytest.mark.normal
def test_functions_are_tuned_and_timed_and_go_on(checkout: Path, tmp_path: Path) -> None:
    # So long that a schedule is found on a busy machine too.
    terms = Terms(checkout, "S", 15.0, tmp_path / "results")
    scaled, counted = found = list(rows(NAMES, terms))
    assert (scaled["error"], scaled["tuning"], scaled["numba"]) == ("", "", "n")
    assert scaled["seconds"].keys() == {OURS, UNTUNED, NUMPY, NUMBA}
    assert all(each > 0 for each in scaled["seconds"].values())
    assert scaled["missing"].keys() == {"np", "npr", "o"}
    assert scaled["missing"]["np"].startswith("error ")
    assert "candidate" in scaled["ran"]
    assert counted["error"].startswith("refused: ")
    assert "np.histogram" in counted["error"]
    text = StringIO()
    show(Console(file=text, width=200), found)
    assert "scaled: not numba's np: error" in text.getvalue()
    assert "geometric mean over numba: " in text.getvalue()
    before = terms.place("scaled").row.stat().st_mtime_ns
    assert next(rows(NAMES, terms)) == scaled
    assert terms.place("scaled").row.stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_peer_that_ends_the_process_does_not_end_the_row(checkout: Path, tmp_path: Path) -> None:
    folder = checkout / "npbench" / "benchmarks" / "scaled"
    (folder / "scaled_numba_op.py").write_text("import os\n\nos._exit(9)\n")
    [row] = rows(["scaled"], Terms(checkout, "S", 4.0, tmp_path / "results"))
    assert row["seconds"].keys() == {OURS, UNTUNED, NUMPY}
    assert "exit code 9" in row["missing"][NUMBA]


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checkout of npbench"):
        infos(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "found", "typed", "wrong"),
    [
        ([np.ones(3)], [np.ones(3)], True, False),
        (np.ones(3), np.ones(3, np.float32), True, True),
        (np.ones(3), np.ones(3, np.float32), False, False),
        (np.array([1.0, np.inf]), np.array([1.0, np.inf]), True, False),
        (np.array([1.0, np.nan]), np.array([1.0, 0.0]), True, True),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf]), True, True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.001]), True, True),
        (None, 1.0, True, True),
    ],
)
def test_results_are_compared(wanted: object, found: object, typed: bool, wrong: bool) -> None:
    assert bool(compared(wanted, found, typed=typed)[1]) == wrong
