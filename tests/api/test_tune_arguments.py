"""What `tune` is given is checked before anything starts, as the command's options are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options

GEMV = Path(__file__).parents[2] / "examples" / "gemv.py"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0.0}, "above 0"),
        ({"budget": float("nan")}, "above 0"),
        ({"budget": float("inf")}, "above 0"),
        ({"trials": 0}, "--trials 0 is no limit"),
        ({"target_speedup": 0.5}, "above 1"),
        ({"target_speedup": float("nan")}, "above 1"),
        ({"cache": "cold!"}, "unknown: warm, cold"),
        ({"workers": 0}, "--workers 0"),
        ({"workers": -2}, "--workers -2"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        schedsearch.tune(GEMV, store=tmp_path / "s.db", **{"budget": 1.0, **given})


def test_a_session_without_a_search_needs_no_budget(tmp_path: Path) -> None:
    Options(GEMV, None, {}, Budget(0.0), tmp_path / "s.db").check()
