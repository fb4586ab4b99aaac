"""What a shell is offered at TAB, and what the quick commands do not load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .invoke import environment

HEAVY = ("exo", "ray", "alembic", "pandas", "plotly", "z3", "torch", "IPython", "pycparser", "lark")


def complete(home: Path, words: str) -> list[str]:
    asked = {"_SCHEDSEARCH_COMPLETE": "complete_bash", "COMP_WORDS": f"schedsearch {words}"}
    asked["COMP_CWORD"] = str(len(f"x {words}".split(" ")) - 1)
    said = subprocess.run(
        [sys.executable, "-m", "schedsearch"],
        cwd=home,
        env=environment(home) | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.split()


@pytest.mark.normal
def test_commands_strategies_and_transforms(tmp_path: Path) -> None:
    assert complete(tmp_path, "re") == ["replay", "report"] or complete(tmp_path, "re") == [
        "report",
        "replay",
    ]
    assert complete(tmp_path, "run m.py --strategy b") == ["best-first"]
    assert complete(tmp_path, "run m.py --transforms split,reord") == [
        "split,reorder",
        "split,reorder_stmts",
    ]
    assert complete(tmp_path, "show 1") == []  # no store


@pytest.mark.normal
def test_candidates_and_procedures_of_the_store(tuned: Path) -> None:
    assert complete(tuned, "best mat") == ["matmul32"]
    ids = complete(tuned, "show ")
    assert ids
    assert all(each.isdecimal() for each in ids)


def loaded_by(home: Path, *words: str) -> set[str]:
    script = (
        "import sys; from schedsearch.__main__ import main\n"
        f"sys.argv = {['schedsearch', *words]!r}\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    said = subprocess.run(
        [sys.executable, "-c", script],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(said.stderr.split())


@pytest.mark.normal
@pytest.mark.parametrize("command", ["list", "best", "show"])
def test_looking_at_results_loads_no_exo(tuned: Path, command: str) -> None:
    loaded = loaded_by(tuned, command, *(["1"] if command == "show" else []))
    assert "sqlalchemy" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.normal
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_needs_no_store_loads_no_database_library(tmp_path: Path, option: str) -> None:
    loaded = loaded_by(tmp_path, option)
    assert "typer" in loaded
    assert not loaded & {*HEAVY, "sqlalchemy", "numpy"}
    assert os.listdir(tmp_path) == []
