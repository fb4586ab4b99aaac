"""What must hold of a store whatever happened to who wrote it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from faults.driving import Committed
from schedsearch.core.records import Outcome
from schedsearch.search.engine.plans import SCREEN
from schedsearch.store.database import Store
from schedsearch.store.views import Scope

GOOD = (Outcome.CORRECT, Outcome.DUPLICATE)


@dataclass(frozen=True)
class Found:
    """What a search that exhausts its space leaves, whichever of two equal schedules it met
    first: states by AST, and speed-ups by machine code. `expanded` are those of the good: a
    failure is expanded if that comes before it is known."""

    states: frozenset[str]
    expanded: frozenset[str]
    failures: frozenset[tuple[str, Outcome]]
    speedups: frozenset[tuple[str, float]]


def check(path: Path, committed: Iterable[Committed]) -> None:
    """The store opens, is sound, and nothing that was committed is missing."""
    with Store.open(path, create=False) as store:
        stored = {(s, c.trace_key): c for s in store.scopes() for c in store.load(s)}
    measured: Counter[tuple[Scope, str]] = Counter()
    for commit in committed:
        scope = commit.scope
        for key in commit.candidates:
            assert (scope, key) in stored, f"candidate {key} is lost"
        if (key := commit.expanded) is not None:
            assert stored[scope, key].expanded, f"the expansion of {key} is lost"
        if (key := commit.settled) is not None:
            assert stored[scope, key].record.outcome is not None, f"the outcome of {key} is lost"
        if (key := commit.measured) is not None:
            measured[scope, key] += 1
    for place, count in measured.items():
        assert len(stored[place].measurements) >= count, f"a measurement of {place[1]} is lost"
    sound(path)


def sound(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def found(store: Store, scope: Scope) -> Found:
    tree = store.load(scope)
    legal = [c for c in tree if c.record.keys.ast is not None]
    return Found(
        frozenset(c.record.keys.ast or "" for c in legal),
        frozenset(
            c.record.keys.ast or "" for c in legal if c.expanded and c.record.outcome in GOOD
        ),
        frozenset(
            (c.record.keys.ast or c.record.trace.steps[-1].arg("name"), c.record.outcome)
            for c in tree
            if c.record.outcome not in (None, *GOOD)
        ),
        frozenset(
            (c.record.keys.binary or "", round(m.speedup.value, 6))
            for c in tree
            if c.record.outcome is Outcome.CORRECT
            for m in c.measurements
        ),
    )


def screened_once(store: Store, scope: Scope) -> None:
    """No machine code that was screened was screened again (what is to be the anchor is
    measured once more, in more rounds)."""
    screenings: Counter[str] = Counter()
    for c in store.load(scope):
        rounds = [len(m.rounds) for m in c.measurements if m.kind == SCREEN.kind]
        screenings[c.record.keys.binary or ""] += rounds.count(SCREEN.min_rounds)
    assert max(screenings.values(), default=0) <= 1, screenings.most_common(3)
