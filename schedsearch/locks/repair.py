"""Repair a locked schedule whose procedure has changed since.

The trace is fitted to today's procedure step by step (`transforms/fit.py`); a search
starts from what applies, and its winner is the entry's new schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.alignment import ALLOCATED
from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.evaluate.run.timing import Cache
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.kernel import (
    Where,
    foreign_to,
    locked_sets,
    locked_subject,
)
from schedsearch.locks.pin import lock_entry
from schedsearch.locks.result import not_here
from schedsearch.search.result import Listener, Result
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.subject import Subject
from schedsearch.store.database import Store
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.fit import Step, fitted, refit
from schedsearch.transforms.replay import Replayer


@dataclass(frozen=True)
class Drift:
    """The fate of each step of an entry's trace on today's procedure."""

    entry: LockEntry
    subject: Subject
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Repaired:
    """`entry` is the new one, None if nothing faster than the procedure as written was found.
    `reused`: its schedule is the part of the old one that applies."""

    result: Result
    entry: LockEntry | None
    reused: bool


def drift(entry: LockEntry, root: Path, where: Where) -> Drift | None:
    """How an entry of the lock file in `root` fits today's source; None if it is as locked: the
    same procedure, and the same C. Raises CheckEnded and UserError as `load_locked`, and
    CheckEnded for entries of other kinds of machines: repair them there."""
    subject = locked_subject(entry, root, where)
    if foreign := foreign_to(entry.target, subject.target):
        raise not_here(foreign)
    replayer = Replayer(subject.procedure, fp=subject.target.fp)
    if subject.workload.proc_key == entry.workload.proc_key and _as_locked(entry, replayer):
        return None
    return Drift(entry, subject, tuple(refit(replayer, subject.target, entry.trace)))


def _as_locked(entry: LockEntry, replayer: Replayer) -> bool:
    try:
        state = replayer.state(entry.trace)
        code = generate_c(state.procedure, state.build)
    except (ReplayError, CodegenError):
        return False
    return (ast_key(state.ast, state.build), code.key) == (entry.keys.ast, entry.keys.code)


def repair(
    found: Drift, root: Path, where: Where, store: Path | str, budget: Budget, listener: Listener
) -> Repaired:
    """Search from what applies, for as long as `budget` says, and describe the winner for the
    lock file in `root`. Results are stored in `store`. Raises UserError as `tune` does."""
    entry, own = found.entry, found.entry.workload
    start = fitted(found.steps)
    options = Options(
        root / own.source,
        own.proc,
        own.fixed if own.specialized else dict(own.sizes),
        budget,
        store,
        cc=where.cc or (None if entry.target.other_compilers else entry.target.compiler.kind),
        target=where.target or entry.target.isa,
        instructions=locked_sets(entry.target, root, where),
        executor="inline",
        fp=entry.target.fp,
        threads=entry.target.threads,
        specialize=bool(own.specialized),
        cache=Cache(entry.speed.cache),
        align=entry.target.align or ALLOCATED,
        first=(start,) if start.steps else (),
    )
    result = tune(options, listener)
    if result.best is None:
        return Repaired(result, None, reused=False)
    setting = result.setting
    with Store.open(store, create=False) as opened:
        candidates = opened.walk(setting.scope)
        best = next((c for c in candidates if c.trace_key == result.best.key), None)
        if best is None:
            raise UserError(f"{opened.name} was changed by somebody else; repair again")
        new = lock_entry(opened, best, root)
    return Repaired(result, new, reused=result.best.trace == start)
