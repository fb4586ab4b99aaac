"""Arguments of `tune` and its like, read and checked before anything is loaded or started."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from schedsearch.core.floats import floating_point
from schedsearch.core.given import (
    given_flag,
    given_integer,
    given_number,
    given_paths,
    given_place,
    given_text,
    optional,
    parse_names,
    parse_seconds,
)
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.budget import Budget

_READ: dict[str, Callable[[str, Any], Any]] = {
    "align": given_integer,
    "cache": lambda _, given: Cache(given),
    "cc": partial(optional, given_text),
    "executor": given_text,
    "fp": lambda _, given: floating_point(given),
    "fresh": given_flag,
    "instructions": given_paths,
    "ray_address": partial(optional, given_text),
    "seed": given_integer,
    "specialize": given_flag,
    "store": given_place,
    "strategy": lambda _, given: given,
    "target": lambda option, given: None if given is None else str(given_place(option, given)),
    "threads": given_integer,
    "transforms": lambda _, given: parse_names(given),
    "warm_start": given_flag,
    "workers": partial(optional, given_integer),
}


def read_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Fields of `Options` from what a program gives, by name. Raises UserError, in the words of the
    command, for values of another type, and for names that are not known."""
    return {name: _READ[name](_option(name), value) for name, value in given.items()}


def read_budget(
    budget: float | str, trials: int | None = None, target_speedup: float | None = None
) -> Budget:
    """Raises UserError for what is no time, and for limits that no search can keep."""
    found = Budget(
        parse_seconds(budget),
        optional(given_integer, "--trials", trials),
        optional(given_number, "--target-speedup", target_speedup),
    )
    found.check()
    return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
