"""What `tune` is given is checked before anything starts, as the command's options are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

import schedsearch
from schedsearch.api.exploring import Explored
from schedsearch.cli.parse import parse_seconds
from schedsearch.cli.run import run
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


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    given = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in given if each.default is not each.empty}


def defaults_of_options() -> dict[str, Any]:
    found = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(Options)
    }
    budget = found["budget"]
    return found | {
        "budget": budget.seconds,
        "trials": budget.trials,
        "target_speedup": budget.speedup,
    }


@pytest.mark.parametrize("function", [schedsearch.tune, schedsearch.explore, Explored.search, run])
def test_defaults_are_those_of_the_options(function: Callable[..., Any]) -> None:
    own, wanted = defaults_of(function), defaults_of_options()
    if function is run:
        own["budget"] = parse_seconds(own["budget"])
    if function is Explored.search:
        del own["budget"]  # less: what it goes on from is good already
    common = own.keys() & wanted.keys()
    assert len(common) >= 5
    # Parameters of several values have no default on the command line.
    empty = {name for name in common if not own[name] and not wanted[name]}
    assert {name: own[name] for name in common - empty} == {
        name: wanted[name] for name in common - empty
    }


def test_every_argument_has_an_option() -> None:
    extra = {"name", "progress", "trials", "target_speedup"}
    given = inspect.signature(schedsearch.tune).parameters.keys() - extra
    assert given <= {field.name for field in fields(Options)}
    assert inspect.signature(schedsearch.explore).parameters.keys() <= given | extra
