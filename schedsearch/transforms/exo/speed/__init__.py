"""Work that Exo 1.0.0 does again and again, done once, or cheaper. Results stay the same.

`install` puts replacements into Exo's modules; `exo_as_is` takes them out again, so that
tests can compare both. `remembered` says which answers are kept, `frames` what is needed of
Python's stack, `nodes` how syntax trees are built, `decided` which checks need no solver,
`unify` how operands of `replace` are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from schedsearch.transforms.exo.speed import decided, frames, nodes, remembered, unify

Patch = tuple[Any, str, Any]
"""A module or class of Exo, the name of what is replaced in it, and by what."""


@cache
def _patches() -> tuple[tuple[Patch, ...], tuple[Patch, ...]]:
    """All replacements, and what they replace."""
    new = (
        *remembered.patches(),
        *frames.patches(),
        *nodes.patches(),
        *decided.patches(),
        *unify.patches(),
    )
    return new, tuple((place, name, getattr(place, name)) for place, name, _ in new)


def install() -> None:
    """Make Exo use what is in this package. May be called twice."""
    for place, name, value in _patches()[0]:
        setattr(place, name, value)


@contextmanager
def exo_as_is() -> Iterator[None]:
    """Exo without this package, for as long as the context is open."""
    for place, name, value in _patches()[1]:
        setattr(place, name, value)
    try:
        yield
    finally:
        install()
