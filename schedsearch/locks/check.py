"""Check the entries of a lock file (`schedsearch check`): are they right, and as fast as pinned?

Today's compiler compiles both the C that the schedule gives on today's source and the pinned C.
The same machine code is as fast. Other machine code is timed, interleaved with the pinned one; if
the times do not tell, instructions are counted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.lasting import caveats
from schedsearch.core.records import Artifact, Failure, Outcome
from schedsearch.core.text_file import read_text
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.runner import was_killed
from schedsearch.evaluate.run.timing import Cache
from schedsearch.locks import guard
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.guard import TOLERANCE, by_count, by_time
from schedsearch.locks.kernel import LockedKernel, Where, load_locked
from schedsearch.locks.result import Checked, CheckEnded, Instructions, Status, Visit
from schedsearch.locks.verifying import built, make_bench, verify
from schedsearch.search.against import compare_with_peers
from schedsearch.search.caches import in_use
from schedsearch.search.verified import place_of, recall
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot

Tell = Callable[[str], None]


@dataclass(frozen=True)
class CheckOptions:
    """How a lock file in the directory `root` is checked.

    `timing`: check speeds, too. `tolerance`: the slowdown that passes, relative to the pinned C.
    `against`: peers to time correct kernels against.
    """

    root: Path
    where: Where = field(default_factory=Where)
    timing: bool = True
    tolerance: float = TOLERANCE
    against: tuple[str, ...] = ()


def check(entries: Sequence[LockEntry], options: CheckOptions, tell: Tell) -> Iterator[Checked]:
    """Check the entries in their order. `tell` hears about progress."""
    with in_use():
        for number, entry in enumerate(entries, 1):
            tell(f"{number} of {len(entries)}: {entry.name}")
            begin = time.monotonic()
            found = _checked(entry, options, tell)
            line = _line(entry, options.root)
            yield replace(found, line=line, seconds=time.monotonic() - begin)


def _checked(entry: LockEntry, options: CheckOptions, tell: Tell) -> Checked:
    try:
        kernel = load_locked(entry, options.root, options.where)
    except CheckEnded as end:
        return Checked(entry, end.status, str(end), end.notes)
    except UserError as error:
        return Checked(entry, Status.ERROR, str(error))
    found = Checked(entry, Status.PASSED, "", kernel.notes)
    try:
        found = _compared(kernel, found, options, tell)
    except CheckEnded as end:
        return replace(found, status=end.status, summary=str(end))
    if not options.against:
        return found
    try:
        beside = compare_with_peers(kernel.subject, kernel.code, options.against, tell)
    except UserError as error:
        return replace(found, notes=(*found.notes, f"not compared with peers: {error}"))
    return replace(found, against=tuple(beside))


def _compared(kernel: LockedKernel, found: Checked, options: CheckOptions, tell: Tell) -> Checked:
    """Compare a kernel with the pinned one. Raises CheckEnded if the check ends early."""
    subject, tolerance = kernel.subject, options.tolerance
    today = built(subject.builder, kernel.code)
    pinned = subject.builder.build(kernel.pinned, BUILD_TIMEOUT_S) if kernel.pinned else None
    same = isinstance(pinned, Artifact) and pinned.binary_key == today.binary_key
    bench = None
    verified = recall(place_of(subject, today))
    if verified is None:
        tell(f"verifying {kernel.entry.name}")
        bench = _bench(kernel)
        today, verified = verify(bench, subject, kernel.kernel, today)
    own = (*verified.caveats, *caveats(kernel.code))
    right = f"right in {verified.cases} cases"
    found = replace(found, same=same, notes=(*_caveats(kernel.entry, own), *found.notes))
    if same:
        return replace(found, summary=f"the same machine code as pinned; {right}")
    if not options.timing:
        return replace(found, summary=f"{right}; not timed")
    if pinned is None:
        what = "the C is another one than was pinned, which this lock file does not have"
        return replace(found, status=Status.INCONCLUSIVE, summary=f"{right}; {what}")
    bench = bench or _bench(kernel)
    failure = pinned if isinstance(pinned, Failure) else bench.verify(pinned)
    if failure is not None:
        return replace(found, status=Status.ERROR, summary=_no_measure(failure))
    assert isinstance(pinned, Artifact), "it is no failure"
    return _timed(found, bench, today, pinned, tolerance, tell)


def _no_measure(failure: Failure) -> str:
    """Why the pinned C cannot serve as the measure. The compiler's message is not shown: it quotes
    the pinned text, which may include any file."""
    if was_killed(failure):
        return f"what compiles and verifies the pinned C was {failure.message}"
    if failure.outcome is Outcome.COMPILE_ERROR:
        return "the pinned C does not compile here: pin again"
    return f"the pinned C is not right here, pin again: {failure.outcome}: {failure.message}"


def _bench(kernel: LockedKernel) -> Bench:
    return make_bench(kernel.subject, Cache(kernel.entry.speed.cache))


def _caveats(entry: LockEntry, today: tuple[str, ...]) -> list[str]:
    """The caveats that came or went since the entry was pinned."""
    gone = [f"caveat of the lock that does not hold any more: {each}" for each in entry.caveats]
    new = [f"caveat that the lock does not have: {each}" for each in today]
    return [
        *(line for line, each in zip(new, today, strict=True) if each not in entry.caveats),
        *(line for line, each in zip(gone, entry.caveats, strict=True) if each not in today),
    ]


def _timed(
    found: Checked, bench: Bench, today: Artifact, pinned: Artifact, tolerance: float, tell: Tell
) -> Checked:
    """Compare today's C with the pinned one by times, else by instructions."""
    plan = guard.plan(found.entry.speed.call_ns * 1e-9)
    anchor, least = Anchor(pinned, pinned.code_key), 1.0 / (1.0 + tolerance)
    waited = 0.0

    def visit() -> Visit | None:
        nonlocal waited
        begin = time.monotonic()
        with measuring_slot(tell):
            waited += time.monotonic() - begin
            result = bench.evaluate(today, plan, anchor).result
        if not isinstance(result, Failure):
            return guard.visit_of(result)
        if result.outcome is Outcome.TIMEOUT or was_killed(result):
            return None  # verified code: the machine is too busy or has no memory
        what = f"not right every time: {result.outcome}: {result.message}"
        raise CheckEnded(Status.WRONG, what)

    tell(f"timing {found.entry.name}")
    visits = guard.attempt(visit, least, lambda: time.monotonic() - waited)
    status, summary = Status.INCONCLUSIVE, "it could not be timed: every attempt took too long"
    if visits:
        timing = guard.summary(visits, least)
        status, summary = by_time(timing, guard.judge(visits, least))
        found = replace(found, timing=timing, visits=tuple(visits))
    if status is Status.INCONCLUSIVE:
        tell(f"counting instructions of {found.entry.name}")
        counts = bench.count(today, pinned)
        if isinstance(counts, Failure):
            why = f"instructions could not be counted: {counts.message}"
            return replace(found, status=status, summary=summary, notes=(why, *found.notes))
        found = replace(found, instructions=Instructions(*counts), notes=(summary, *found.notes))
        status, summary = by_count(Instructions(*counts), tolerance)
    return replace(found, status=status, summary=summary)


def _line(entry: LockEntry, root: Path) -> int:
    """The line where the procedure begins in its file, 0 if it is not found."""
    try:
        lines = read_text(root / entry.workload.source).splitlines()
    except UserError:
        return 0
    definition = re.compile(rf"\s*def {re.escape(entry.workload.proc)}\b")
    return next((n for n, line in enumerate(lines, 1) if definition.match(line)), 0)
