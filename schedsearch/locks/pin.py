"""Choose schedules of a store to pin, and describe them for the lock file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from schedsearch import __version__
from schedsearch.core.decision import Decision
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC, InstructionSet, Measurement, Outcome, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.evaluate.run.timing import Cache
from schedsearch.locks.entry import Lock, LockedRoof, LockedSpeed, LockedTarget, LockEntry
from schedsearch.locks.format import format_lock
from schedsearch.locks.isolated_replay import NoReplayError, replay_isolated
from schedsearch.locks.kernel import locked_file
from schedsearch.search.lookup import caveats, find_scopes
from schedsearch.search.reloading import differs, load_tuned, require_tuned, require_verified
from schedsearch.search.setup.procedure_file import is_kept
from schedsearch.search.setup.run_summary import RunSummary, roof_of_run
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope, StoredCandidate
from schedsearch.transforms.vector.instruction_sets import (
    given_file,
    load_instructions,
    not_shipped,
)

AMONG = 50
"""The best schedule of a scope is the first confirmed one among so many of its fastest."""


@dataclass(frozen=True)
class Pins:
    """Entries for a lock file; and each schedule that was not pinned, with the reason."""

    entries: tuple[LockEntry, ...]
    skipped: tuple[str, ...] = ()


def pin_best(store: Store, proc: str | None, folder: Path) -> Pins:
    """The best schedule of every scope (of `proc`, if given) that was tuned on this machine's
    CPU, for a lock file in `folder`. Of several for one kernel and kind of target (the file or
    the compiler has changed) it is the latest run's that can be pinned."""
    entries: dict[tuple[Any, ...], LockEntry] = {}
    skipped = []
    for scope in _scopes_here(store, proc):
        workload, target = store.workload(scope), store.target(scope)
        kernel = (Path(workload.source).resolve(), workload.proc, workload.sizes)
        slot = (*kernel, workload.specialized, *LockedTarget.of(target, ()).kind)
        if slot in entries:
            continue
        best = best_of(store, scope)
        try:
            if best is None:
                raise UserError("nothing faster than as written was found")
            entries[slot] = lock_entry(store, best, folder)
        except UnnamedFileError as error:
            assert best is not None, "files are loaded for it"
            typed = shlex.join(["schedsearch", "pin", str(best.id), *error.words])
            skipped.append(f"{workload.proc} of {workload.source}: {error}: {typed}")
        except UserError as error:
            skipped.append(f"{workload.proc} of {workload.source}: {error}")
    return Pins(tuple(entries.values()), tuple(skipped))


def _scopes_here(store: Store, proc: str | None) -> list[Scope]:
    """Scopes of this CPU, the latest first."""
    here = cpu_identity()
    last = {
        scope: store.runs(scope)[-1].id
        for scope in find_scopes(store, proc)
        if (store.target(scope).cpu, store.target(scope).features) == here
    }
    return sorted(last, key=lambda scope: last[scope], reverse=True)


def best_of(store: Store, scope: Scope) -> StoredCandidate | None:
    """The fastest that was confirmed, else the fastest, or what it was shortened to; None if
    nothing is faster than the procedure as written, or the fastest was shown to be the same. In
    the few rounds of a screening lucky ones look faster."""
    fastest = [c for c in store.best(scope, AMONG) if c.record.trace.steps]
    faster = [c for c in fastest if (c.record.speedup or 0.0) > 1.0]
    confirmed = (c for c in faster if _measurement(c).confirmed)
    best = next(confirmed, faster[0] if faster else None)
    if best is not None and _measurement(best).verdict() is Decision.SAME:
        return None
    shorter = {
        summary.minimal_of: summary.best
        for summary in map(RunSummary.of, store.runs(scope))
        if summary.minimal_of
    }
    if best is None or best.trace_key not in shorter:
        return best
    wanted = shorter[best.trace_key]
    found = next((c for c in store.walk(scope) if c.trace_key == wanted), None)
    return found if found and found.record.outcome is Outcome.CORRECT else best


def lock_entry(
    store: Store, candidate: StoredCandidate, folder: Path, file: Path | None = None
) -> LockEntry:
    """The entry of a candidate for a lock file in `folder`. Replays the candidate.

    Raises UserError if the candidate is not verified, does not replay to the same C from
    today's source (`file`, else where it was), or if a file is none that `check` would load.
    """
    require_verified(candidate)
    trace = candidate.record.trace
    if not trace.steps:
        raise UserError(
            f"candidate {candidate.id} is the procedure as written: nothing to pin; "
            "`schedsearch best` lists schedules"
        )
    workload, target = store.workload(candidate.scope), store.target_of(candidate)
    source, procedure = load_tuned(workload, file)
    sets = tuple(_locked_set(each, folder) for each in target.instructions)
    name = _named(source.path, folder)
    code = _as_recorded(procedure, candidate.record, target.fp)
    return LockEntry(
        replace(workload, source=name, source_sha=source.sha, signature=()),
        LockedTarget.of(target, sets),
        trace,
        replace(candidate.record.keys, binary=None),
        _speed(store, candidate),
        __version__,
        caveats(store, candidate.scope, code),
        code,
    )


def changes(before: LockEntry, after: LockEntry) -> list[str]:
    """The differences of a new entry from the old one of its slot, in words."""
    if format_lock(Lock((before,))) == format_lock(Lock((after,))):
        return []
    target = [
        each.name.replace("_", " ")
        for each in fields(LockedTarget)
        if getattr(before.target, each.name) != getattr(after.target, each.name)
    ]
    words = {
        "schedule": before.trace != after.trace,
        "procedure": before.workload.proc_key != after.workload.proc_key,
        "C": before.trace == after.trace and before.keys.code != after.keys.code,
        **dict.fromkeys(target, True),
    }
    return [word for word, differs in words.items() if differs] or ["measurement"]


def _locked_set(record: InstructionSet, folder: Path) -> InstructionSet:
    """A set without a path if it comes with schedsearch; else the user's file, loaded if needed."""
    if not not_shipped([record]):
        return replace(record, path="")
    path = given_file(record)
    if path is None:
        path = Path(record.path)
        require_tuned(path, "--instructions")
        if load_instructions(path) != record:
            raise UserError(f"{path} has changed since it was tuned with; tune again")
    return replace(record, path=_named(path, folder))


def _as_recorded(procedure: Any, record: TuningRecord, fp: FloatingPoint) -> GeneratedC:
    """The C of a candidate that replays as it did. Raises UserError if it does not."""
    try:
        found = replay_isolated(procedure, record.trace, fp=fp)
    except NoReplayError as error:
        raise UserError(str(error)) from error
    if found.ast_key != record.keys.ast:
        raise differs("schedule")
    if found.code.key != record.keys.code:
        raise differs("C")
    return found.code


def _named(path: Path, folder: Path) -> str:
    """A Python file as a lock in `folder` names it: seen from there, with `/`. It has to be one
    that `check` executes because a lock says so."""
    if is_kept(path):
        raise UserError(
            f"{path.name} is in the cache: locks have files of yours. Write the module where "
            "the lock is (`schedsearch lower FILE --out MODULE.py`), and run that"
        )
    try:
        name = path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        raise UserError(
            f"{path} is not below {folder.resolve()}, where the lock file is: paths in it stay "
            "below it, so that they mean the same everywhere. Choose another place with --lock"
        ) from None
    try:
        locked_file(folder, name)
    except UserError as error:
        raise UserError(f"`schedsearch check` would refuse this entry: {error}") from error
    return name


def _measurement(candidate: StoredCandidate) -> Measurement:
    assert candidate.record.measurement is not None, "it was verified and timed"
    return candidate.record.measurement


def _speed(store: Store, candidate: StoredCandidate) -> LockedSpeed:
    measurement, scope = _measurement(candidate), candidate.scope
    timed = [
        each
        for each in store.timeline(scope)
        if each.candidate_id == candidate.id and each.kind == measurement.kind
    ][-1]
    run = next(run for run in store.runs(scope) if run.id == timed.run_id)
    ratio = measurement.speedup
    if not ratio.bounded:
        root = store.find(scope, [Trace().key])[0]
        raise UserError(
            f"nothing links the timings of candidate {candidate.id} to the procedure as written. "
            f"`schedsearch compare {root.id} {candidate.id} --measure` does that"
        )
    return LockedSpeed(
        ratio,
        len(measurement.rounds),
        measurement.confirmed,
        dict(measurement.host).get("cache", Cache.WARM),
        measurement.candidate_ns,
        timed.at.date(),
        _noise(run),
        _roof(run, measurement.candidate_ns * 1e-9),
    )


def _noise(run: Run) -> float | None:
    noise = RunSummary.of(run).noise
    return abs(noise.ratio.value - 1.0) if noise else None


def _roof(run: Run, seconds: float) -> LockedRoof | None:
    roof = roof_of_run(run)
    return LockedRoof(roof.share(seconds), roof.name) if roof and roof.least_s else None
