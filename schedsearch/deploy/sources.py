"""Where schedules come from: given to a kernel, in use, tuned in this process, a lock, a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from schedsearch.core.errors import UserError
from schedsearch.core.numbers import count
from schedsearch.core.records import Measurement, Outcome, Target, Workload
from schedsearch.core.store_name import STORE as STORE
from schedsearch.core.store_name import without_password
from schedsearch.core.trace import AS_WRITTEN, Trace
from schedsearch.deploy.choose import Offer, Source
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.locks.entry import LockedRoof, LockEntry
from schedsearch.locks.place import find_lock, read_lock
from schedsearch.present import format as fmt
from schedsearch.search.setup.subject import cache_dir

TUNE = "SCHEDSEARCH_TUNE"
"""The variable that says for how many seconds a kernel is tuned on its first use."""

_BEST = 3
"""Schedules of a search that are offered: the fastest may not replay with other versions."""


class Tuned(Protocol):
    """A schedule with what is known of it: a result of `tune`, a candidate of `open`."""

    @property
    def trace(self) -> Trace: ...
    @property
    def measurement(self) -> Measurement | None: ...
    @property
    def workload(self) -> Workload: ...
    @property
    def target(self) -> Target: ...
    @property
    def roof(self) -> Roof | None: ...


@dataclass(frozen=True, eq=False)
class Using:
    """Schedules in use: the last ones named come first."""

    offers: tuple[Offer, ...]


USING: ContextVar[Using | None] = ContextVar("schedsearch_using", default=None)

_tuned_here: list[Offer] = []


@contextmanager
def using(*schedules: Tuned) -> Iterator[None]:
    """Kernels that are called within run these schedules, where they fit: results of `tune`, or
    candidates of `open`. What other threads and tasks call is not affected. Raises UserError for
    schedules that are not verified."""
    before = USING.get()
    own = tuple(map(offered, schedules))
    token = USING.set(Using((*own, *(before.offers if before else ()))))
    try:
        yield
    finally:
        USING.reset(token)


def remember(schedule: Tuned) -> None:
    """Let kernels of this process, called for sizes that are new to them, know a schedule."""
    _tuned_here.append(offered(schedule))


def offered(schedule: Tuned) -> Offer:
    """Raises UserError for a schedule that is not verified, and for what is no schedule."""
    if not hasattr(schedule, "measurement") or not hasattr(schedule, "trace"):
        raise UserError(
            "a schedule is a result of `schedsearch.tune` or a candidate of `schedsearch.open`, "
            f"not {type(schedule).__name__}"
        )
    measured = schedule.measurement
    outcome = getattr(schedule, "outcome", Outcome.CORRECT)
    if measured is None or outcome is not Outcome.CORRECT:
        raise UserError(
            f"a schedule of {schedule.workload.proc} is not verified and timed, so no kernel runs "
            "it: tune it, or take a candidate of `schedsearch best`"
        )
    name = f"{fmt.kernel(schedule.workload)}, {count(len(schedule.trace), 'rewrite')}"
    # A result of `tune` has none: it was verified by this process, with these versions.
    keys = getattr(schedule, "keys", None)
    code = keys.code if keys else None
    return _offer(
        name, schedule.workload, schedule.trace, code, schedule.target, measured, schedule.roof
    )


@dataclass(frozen=True)
class Sources:
    """All sources for one procedure, which is defined in `file`. A lock and a store are read once,
    when they are needed."""

    proc: str
    file: Path
    use: Tuned | None
    lock: Path | None
    store: Path | str | None

    def __call__(self, now: Using | None) -> Iterator[Source]:
        """In their order; `now`: what is in use."""
        if self._given:
            yield Source("use=", self._given)
        yield Source("schedsearch.using", self.used(now))
        yield Source("this process", self._own(tuple(reversed(_tuned_here))))
        yield self._locked
        yield self._stored

    def used(self, now: Using | None) -> tuple[Offer, ...]:
        """Those in use that are for this procedure."""
        return self._own(now.offers) if now else ()

    def _own(self, offers: tuple[Offer, ...]) -> tuple[Offer, ...]:
        return tuple(offer for offer in offers if offer.workload.proc == self.proc)

    @cached_property
    def _given(self) -> tuple[Offer, ...]:
        return (offered(self.use),) if self.use else ()

    @cached_property
    def _locked(self) -> Source:
        path = self.lock or find_lock(self.file if self.file.exists() else Path())
        if path is None:
            return Source("schedules.lock")
        try:
            entries = read_lock(path).entries
        except UserError as error:
            if self.lock:
                raise
            return Source(str(path), problem=str(error))
        own = (entry for entry in entries if entry.workload.proc == self.proc)
        return Source(str(path), tuple(_of_lock(path, entry) for entry in own))

    @property
    def where(self) -> Path | str | None:
        """The store. What is tuned on first use has one in the cache directory if no other is
        named."""
        default = cache_dir() / "first-use.sqlite" if os.environ.get(TUNE) else None
        return self.store or os.environ.get(STORE) or default

    @cached_property
    def _stored(self) -> Source:
        where = self.where
        if not where or (isinstance(where, Path) and where != self.store and not where.exists()):
            return Source("store")
        name = without_password(str(where))
        try:
            return Source(name, tuple(offers_of_store(where, self.proc)))
        except UserError as error:
            if self.store:
                raise
            return Source(f"{STORE}={name}", problem=str(error))


def _of_lock(path: Path, entry: LockEntry) -> Offer:
    target, speed = entry.target, entry.speed
    folder = path.resolve().parent
    return Offer(
        f"{entry.name}, {path.name}",
        entry.workload,
        entry.trace,
        entry.keys.code,
        target.cpu,
        target.isa,
        _builder_of(entry.trace, target),
        target.threads,
        target.fp,
        tuple(replace(e, path=str(folder / e.path) if e.path else "") for e in target.instructions),
        speed.call_ns * 1e-9,
        speed.ratio,
        speed.roof,
    )


def offers_of_store(where: Path | str, proc: str) -> Iterator[Offer]:
    """Its best schedules for a procedure: those that are faster than the procedure as written; if
    none is, that, as it was built for the search. Raises UserError as opening it does."""
    from schedsearch.search.lookup import stored_roof
    from schedsearch.store.database import Store  # a lock alone needs no database library

    with Store.open(where, create=False) as store:
        for scope in store.scopes():
            workload = store.workload(scope)
            if workload.proc != proc:
                continue
            roof = stored_roof(store, scope)
            ranked = store.best(scope, _BEST)
            faster = list(takewhile(lambda each: each.record.trace != AS_WRITTEN, ranked))
            for place, best in enumerate(faster or ranked[:1]):
                measured = best.record.measurement
                assert measured is not None, "it is ranked by one"
                trace, code = best.record.trace, best.record.keys.code
                name = f"candidate {best.id} of {store.name}"
                target = store.target_of(best)
                found = _offer(name, workload, trace, code, target, measured, roof)
                yield replace(found, place=place)


def _offer(
    name: str,
    workload: Workload,
    trace: Trace,
    code_key: str | None,
    target: Target,
    measured: Measurement,
    roof: Roof | None,
) -> Offer:
    seconds = measured.candidate_ns * 1e-9
    return Offer(
        name,
        workload,
        trace,
        code_key,
        target.cpu,
        target.isa,
        _builder_of(trace, target),
        target.threads,
        target.fp,
        target.instructions,
        seconds,
        measured.speedup,
        LockedRoof(roof.share(seconds), roof.name) if roof and roof.least_s else None,
    )


def _builder_of(trace: Trace, target: Any) -> Any:
    """The compiler that builds a schedule."""
    kind = trace.build.compiler
    known = (target.compiler, *target.other_compilers)
    return next((each for each in known if each.kind == kind), target.compiler)
