"""Completion in a shell of what a store and the library know.

A shell asks at every TAB, so what takes long to load is loaded only where it is asked for. Nothing
is said of what cannot be read: there is nobody to say it to.
"""

from __future__ import annotations

from collections.abc import Iterator

from typer import Context

from schedsearch.core.errors import UserError
from schedsearch.core.store_name import DEFAULT_STORE

_PER_PROCEDURE = 10

Offered = tuple[str, str]
"""What is typed, and what it is."""


def candidates(context: Context, incomplete: str) -> list[Offered]:
    """The ids of the fastest candidates of each procedure."""
    return [each for each in _candidates(context) if each[0].startswith(incomplete)]


def procedures(context: Context, incomplete: str) -> list[Offered]:
    """The procedures that the store knows."""
    return [each for each in _procedures(context) if each[0].startswith(incomplete)]


def pinnable(context: Context, incomplete: str) -> list[Offered]:
    """Procedures, then candidates."""
    return [*procedures(context, incomplete), *candidates(context, incomplete)]


def transforms(incomplete: str) -> list[str]:
    """Names of transforms: the last one of several, with commas between."""
    from schedsearch.transforms.registry import registry

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in registry() if name.startswith(begun)]


def strategies(incomplete: str) -> list[str]:
    """Names of strategies."""
    from schedsearch.search.strategies.make import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


def caches(incomplete: str) -> list[str]:
    """What `--cache` takes."""
    from schedsearch.evaluate.run.timing import Cache

    return [str(each) for each in Cache if each.startswith(incomplete)]


def _store(context: Context) -> str:
    return str(context.params.get("store") or DEFAULT_STORE)


def _candidates(context: Context) -> Iterator[Offered]:
    from schedsearch.core.numbers import speedup
    from schedsearch.store.database import Store

    try:
        with Store.open(_store(context), create=False) as store:
            for scope in store.scopes():
                name = store.workload(scope).proc
                for each in store.best(scope, _PER_PROCEDURE):
                    measured = each.record.measurement
                    told = f"{name}, {speedup(measured.speedup)}" if measured else name
                    yield str(each.id), told
    except UserError:
        return


def _procedures(context: Context) -> Iterator[Offered]:
    from schedsearch.store.database import Store

    try:
        with Store.open(_store(context), create=False) as store:
            names = (store.workload(scope).proc for scope in store.scopes())
            for name in dict.fromkeys(names):
                yield name, "procedure"
    except UserError:
        return
