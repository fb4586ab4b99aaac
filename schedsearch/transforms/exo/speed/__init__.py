"""Work that Exo 1.0.0 does again and again, done once, or cheaper. Results stay the same.

`install` puts replacements into Exo's modules; `exo_as_is` takes them out again, so that
tests can compare both. `remembered` keeps answers, `frames` reads Python's stack, `nodes` builds
syntax trees, `decided` answers checks without a solver, `environments` asks what is left with less
text, `unify` finds operands of `replace`, `forwarding` forwards cursors, `simplifying` leaves alone
what is simple.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from schedsearch.transforms.exo.speed import (
    decided,
    environments,
    forwarding,
    frames,
    nodes,
    remembered,
    simplifying,
    unify,
)

Patch = tuple[Any, str, Any]
"""A module or class of Exo, the name of one of its attributes, and the replacement."""


@cache
def _patches() -> tuple[tuple[Patch, ...], tuple[Patch, ...]]:
    """All replacements, and the originals."""
    new = (
        *remembered.patches(),
        *frames.patches(),
        *nodes.patches(),
        *decided.patches(),
        *environments.patches(),
        *unify.patches(),
        *forwarding.patches(),
        *simplifying.patches(),
    )
    return new, tuple((place, name, getattr(place, name)) for place, name, _ in new)


def install() -> None:
    """Make Exo use this package. May be called twice."""
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
