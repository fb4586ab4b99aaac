"""Running the command: in this process where only its answer matters, else as users do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from search.worlds import ROOF

from schedsearch.search import baseline, session
from schedsearch.search import other_alignment as elsewhere
from schedsearch.search.engine import ending as closing
from schedsearch.search.engine import plans
from schedsearch.search.engine.confirmation import not_inspected

KERNELS = Path(__file__).parent / "kernels"
MATMUL = KERNELS / "matmul32.py"
COMMAND = (sys.executable, "-m", "schedsearch.cli.main")
SMALL = (
    "--executor",
    "inline",
    "--budget",
    "150",
    "--trials",
    "4",
    "--transforms",
    "reorder,fission",
)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def environment(home: Path) -> dict[str, str]:
    """Of a user who has nothing but this home, and a terminal 80 columns wide."""
    return {
        **os.environ,
        "HOME": str(home),
        "COLUMNS": "80",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def invoke(home: Path, args: Sequence[str | Path]) -> Answer:
    """Run `schedsearch ARGS` in the directory `home`."""
    finished = subprocess.run(
        [*COMMAND, *args],
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return Answer(finished.returncode, finished.stdout, finished.stderr)


def found_much(line: str) -> bool:
    """Whether a line of progress names a best that is faster for certain, whatever the noise."""
    found = re.search(r"searching: best ([\d.]+)x", line)
    return found is not None and float(found[1]) > 2.0


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this process make measurements that need not be good: three rounds each, and a
    roofline that is made up. Nothing is inspected: what `tests/evaluate` shows of sanitizers takes
    seconds each."""
    monkeypatch.setattr(session, "once", lambda *inspected: not_inspected)
    monkeypatch.setattr(baseline, "roof_of", lambda *subject: ROOF)
    for module, name in (
        (plans, "CONFIRM"),
        (plans, "PAIR"),
        (closing, "NOISE"),
        (elsewhere, "PLAN"),
    ):
        short = replace(getattr(module, name), min_rounds=3, max_rounds=3)
        monkeypatch.setattr(module, name, short)
