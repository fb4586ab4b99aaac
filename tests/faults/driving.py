"""A search in a process of its own, which says what it has committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from search.worlds import start

from faults.spaces import space
from schedsearch.core.records import Outcome, TuningRecord
from schedsearch.search.engine.driver import Search
from schedsearch.search.strategies.make import make_strategy
from schedsearch.store.database import Store
from schedsearch.store.views import Scope


@dataclass(frozen=True)
class Committed:
    """What a store must have from now on, by trace key in its scope."""

    scope: Scope
    candidates: tuple[str, ...] = ()
    expanded: str | None = None
    settled: str | None = None
    measured: str | None = None


@dataclass(frozen=True)
class Best:
    """What a search named the best in the end: its machine code, None if there is none."""

    binary: str | None
    speedup: float


class SayingStore:
    """Tells what was written after each transaction; else, a store."""

    def __init__(self, store: Store, tell: Callable[[Committed], None]) -> None:
        self._store, self._tell = store, tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def add_root(self, scope: Scope, run_id: int, record: TuningRecord) -> bool:
        added = self._store.add_root(scope, run_id, record)
        key = record.trace.key
        self._tell(Committed(scope, (key,), settled=key, measured=key if added else None))
        return added

    def add_expansion(
        self,
        scope: Scope,
        run_id: int,
        parent: str,
        children: Sequence[TuningRecord],
        stage_s: Mapping[str, float],
        *,
        whole: bool = True,
    ) -> bool:
        added = self._store.add_expansion(scope, run_id, parent, children, stage_s, whole=whole)
        keys = tuple(c.trace.key for c in children)
        self._tell(Committed(scope, keys, expanded=parent if whole else None))
        return added

    def add_replay(
        self,
        scope: Scope,
        run_id: int,
        steps: Sequence[TuningRecord],
        stage_s: Mapping[str, float],
    ) -> None:
        self._store.add_replay(scope, run_id, steps, stage_s)
        self._tell(Committed(scope, tuple(step.trace.key for step in steps)))

    def record(self, scope: Scope, run_id: int, record: TuningRecord) -> Outcome | None:
        outcome = self._store.record(scope, run_id, record)
        key = record.trace.key
        self._tell(
            Committed(
                scope,
                (key,),
                settled=key if record.outcome is not None else None,
                measured=key if record.measurement is not None else None,
            )
        )
        return outcome


@dataclass(frozen=True)
class Plan:
    """Which search: the seed of its space and strategy, and the procedure's name."""

    seed: int
    strategy: str
    states: int = 24
    proc: str = "mm"


def begin(store: Any, plan: Plan, interrupt_at: int | None = None) -> Search:
    return start(
        store,
        space(plan.seed, plan.states),
        strategy=make_strategy(plan.strategy),
        seed=plan.seed,
        interrupt_at=interrupt_at,
        proc=plan.proc,
    )


def best_of(search: Search) -> Best:
    best = search.ledger.best
    binary = best and search.ledger.tree.nodes[best.key].keys.binary
    return Best(binary, round(search.ledger.best_speedup, 9))  # sums in another order


def drive(path: Path, plan: Plan, tell: Connection) -> None:
    """Search until the space is exhausted; the last message is Best."""
    with Store.open(path) as store:
        search = begin(SayingStore(store, tell.send), plan)
        search.run()
        tell.send(best_of(search))
