"""Checks the entries of a lock file: right, and as fast as locked (`schedsearch check`)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from schedsearch.core.checked import Checked, Status, Timing, Visit
from schedsearch.core.errors import BaselineError, UserError
from schedsearch.core.lockfile import LockEntry
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome
from schedsearch.evaluate.bench import Anchor, Bench
from schedsearch.evaluate.runner import was_killed
from schedsearch.evaluate.timing import Cache
from schedsearch.search import guard
from schedsearch.search.building import BUILD_TIMEOUT_S, reacher_of
from schedsearch.search.caches import in_use
from schedsearch.search.findings import finding
from schedsearch.search.guard import TOLERANCE, Verdict
from schedsearch.search.locked_kernel import (
    LockedKernel,
    LostError,
    NotHereError,
    Where,
    load_locked,
)
from schedsearch.search.subject import bench_of
from schedsearch.search.turns import measuring_slot

PAUSES_S = (10.0, 30.0)
"""An alarm must repeat after each of these pauses: machines are slow for seconds at a time."""


def _unknown(code_key: str) -> GeneratedC | None:
    return None


@dataclass(frozen=True)
class Options:
    """How a lock file in the directory `root` is checked.

    `timing`: speeds too; `tolerance`: what a ratio may be below the locked interval,
    relative; `pauses_s` before a measurement is repeated; `known` finds C by its code_key.
    """

    root: Path
    where: Where = field(default_factory=Where)
    timing: bool = True
    tolerance: float = TOLERANCE
    pauses_s: tuple[float, ...] = PAUSES_S
    known: Callable[[str], GeneratedC | None] = _unknown


@dataclass
class _Pending:
    """An entry that is right, while its speed is being measured."""

    number: int
    kernel: LockedKernel
    bench: Bench
    artifact: Artifact
    least: float
    line: int
    verdicts: list[Verdict] = field(default_factory=list)
    attempts: list[tuple[Visit, ...]] = field(default_factory=list)
    timing: Timing | None = None
    seconds: float = 0.0
    measured_at: float = 0.0

    @property
    def settled(self) -> bool:
        """Nothing more is learnt from another attempt."""
        last = self.verdicts[-1]
        return last is Verdict.HOLDS or (last is Verdict.OPEN and self.kernel.as_locked)

    def judged(self) -> Checked:
        found = finding(self.kernel, self.timing, self.verdicts, self.line)
        return replace(found, seconds=self.seconds, attempts=tuple(self.attempts))


class _WrongError(Exception):
    """The kernel does not do what it should; the message says what it did."""


def check(
    entries: Sequence[LockEntry], options: Options, tell: Callable[[str], None]
) -> Iterator[tuple[int, Checked]]:
    """The place of an entry in `entries`, and what was found of it, as soon as it is known.

    What was slower than locked is measured again at the end. `tell` hears what is going on.
    """
    with in_use():
        yield from _check(entries, options, tell)


def _check(
    entries: Sequence[LockEntry], options: Options, tell: Callable[[str], None]
) -> Iterator[tuple[int, Checked]]:
    waiting: list[_Pending] = []
    for number, entry in enumerate(entries):
        tell(f"{number + 1} of {len(entries)}: {entry.name}")
        begin = time.monotonic()
        found = _correct(number, entry, options)
        if isinstance(found, _Pending):
            done = _measure(found, begin, tell)
            if done is None and not found.settled:
                waiting.append(found)
                continue
            yield number, done or found.judged()
        else:
            yield number, replace(found, seconds=time.monotonic() - begin)
    for pause in options.pauses_s:
        for pending in tuple(waiting):
            rest = pending.measured_at + pause - time.monotonic()
            if rest > 0:
                tell(f"again in {rest:.0f} s: {pending.kernel.entry.name}")
                time.sleep(rest)
            tell(f"again: {pending.kernel.entry.name}")
            done = _measure(pending, time.monotonic(), tell)
            if done is not None or pending.settled:
                waiting.remove(pending)
                yield pending.number, done or pending.judged()
    for pending in waiting:
        yield pending.number, pending.judged()


def _correct(number: int, entry: LockEntry, options: Options) -> Checked | _Pending:
    """Everything but its speed; whatever else is to be timed."""
    try:
        kernel = load_locked(entry, options.root, options.where, options.known)
    except NotHereError as error:
        return Checked(entry, Status.SKIPPED, str(error))
    except LostError as error:
        return Checked(
            entry, Status.REGRESSION, str(error), error.notes, line=_line(entry, options)
        )
    except UserError as error:
        return Checked(entry, Status.ERROR, str(error))
    subject, line = kernel.subject, _line(entry, options)

    def result(status: Status, summary: str) -> Checked:
        return Checked(entry, status, summary, kernel.notes, line=line)

    artifact = subject.builder.build(kernel.code, BUILD_TIMEOUT_S)
    if isinstance(artifact, Failure) and was_killed(artifact):
        return result(Status.ERROR, f"the compiler was {artifact.message}")
    if isinstance(artifact, Failure):
        return result(Status.REGRESSION, f"its C does not compile: {artifact.message}")
    try:
        bench = bench_of(subject, cache=Cache(entry.speed.cache))
    except BaselineError as error:
        return result(Status.WRONG, str(error))
    except UserError as error:
        return result(Status.ERROR, str(error))
    found = reacher_of(bench).reach(kernel.kernel)
    if found.unreached:
        blocks = "; ".join(found.unreached[:3])
        return result(Status.ERROR, f"not verified: no affordable call runs {blocks}")
    artifact = replace(artifact, calls=found.bindings)
    if (failure := bench.verify(artifact)) is not None and was_killed(failure):
        return result(Status.ERROR, f"the process that verifies it was {failure.message}")
    if failure is not None:
        return result(Status.WRONG, f"{failure.outcome}: {failure.message}")
    right = f"right in {len(bench.for_kernel(artifact).cases)} cases"
    if kernel.foreign:
        return result(Status.SKIPPED, f"{right}; {kernel.foreign}")
    if not options.timing:
        return result(Status.PASSED, f"{right}; not timed")
    least = guard.least_ratio(entry.speed, options.tolerance)
    return _Pending(number, kernel, bench, artifact, least, line)


def _measure(pending: _Pending, begin: float, tell: Callable[[str], None]) -> Checked | None:
    """One attempt more; a result if the kernel turns out to be wrong after all."""
    bench, kernel = pending.bench, pending.kernel
    speed = kernel.entry.speed
    plan = guard.plan(bench.call_ns[-1] * 1e-9)
    anchor = Anchor(bench.baseline, bench.baseline.code_key)

    def visit() -> Visit | None:
        with measuring_slot(lambda holder: tell(f"waiting for {holder} to end its measurement")):
            found = bench.evaluate(pending.artifact, plan, anchor).result
        if not isinstance(found, Failure):
            return guard.visit_of(found)
        if found.outcome is Outcome.TIMEOUT or was_killed(found):
            return None  # it was verified: the machine is too busy, or has no memory
        raise _WrongError(f"{found.outcome}: {found.message}")

    try:
        visits = guard.attempt(visit, speed, pending.least, kernel.as_locked)
    except _WrongError as error:
        what = f"not right every time: {error}"
        return Checked(kernel.entry, Status.WRONG, what, kernel.notes, line=pending.line)
    finally:
        pending.measured_at = time.monotonic()
        pending.seconds += pending.measured_at - begin
    pending.attempts.append(tuple(visits))
    pending.verdicts.append(guard.judge(visits, speed, pending.least, kernel.as_locked))
    pending.timing = guard.summary(visits, pending.least) if visits else None
    return None


def _line(entry: LockEntry, options: Options) -> int:
    """Where the procedure begins in its file, 0 if that is not found."""
    try:
        lines = (options.root / entry.workload.source).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    definition = re.compile(rf"\s*def {re.escape(entry.workload.proc)}\b")
    return next((n for n, line in enumerate(lines, 1) if definition.match(line)), 0)
