"""Which of the kernels that were recorded are worth a search, and how much of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from schedsearch.core.errors import UserError
from schedsearch.core.numbers import count, duration
from schedsearch.core.records import Measurement
from schedsearch.deploy.recorded import Called, Counted, merged
from schedsearch.evaluate.roof.roofline import Roof, roof_of
from schedsearch.locks.pin import best_of
from schedsearch.present import format as fmt
from schedsearch.search.reloading import require_tuned
from schedsearch.search.session import subject_of
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.sharing import shares
from schedsearch.search.setup.subject import Subject
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.mirror import mirror

PLANNING = 0.1
"""Of the budget, at most: each kernel takes about a second to look at."""

LEAST_CALL_S = 1e-9
"""Clocks may see nothing of a call."""


@dataclass(frozen=True)
class Planned:
    """A kernel that was called at some sizes: `calls` times, for `recorded_s` seconds each.

    `stored_s` is seconds of a call by the store's best schedule, if it has one.
    """

    options: Options
    subject: Subject
    roof: Roof
    calls: int
    recorded_s: float
    stored_s: float | None

    @property
    def name(self) -> str:
        """The procedure with its sizes."""
        workload = self.subject.workload
        return f"{workload.proc} {fmt.sizes(workload.sizes)}".rstrip()

    @property
    def now_s(self) -> float:
        """Seconds of a call, as far as it has been tuned."""
        return min(self.recorded_s, self.stored_s or self.recorded_s)

    @property
    def distance(self) -> float:
        """From the roofline: the share of a call's time that is more than the least possible."""
        return max(1.0 - self.roof.share(self.now_s), 0.0)

    @property
    def gain_s(self) -> float:
        """Seconds of all calls that a schedule could save at most."""
        return self.calls * self.now_s * self.distance


@dataclass(frozen=True)
class Plan:
    """What is searched, what can gain most first; `refused` says what cannot be tuned, and why;
    `rest` is what there was no time to look at. `until` is when the budget ends
    (`time.monotonic`)."""

    planned: tuple[Planned, ...]
    refused: tuple[str, ...]
    rest: tuple[Counted, ...]
    until: float

    @property
    def shares(self) -> list[float]:
        """Seconds for each, from now on."""
        left = max(self.until - time.monotonic(), 0.0)
        return shares(left, [each.gain_s for each in self.planned])

    def __rich__(self) -> Table:
        """Of what takes so long now: the share of the roofline that is reached, the time that all
        calls could save at most, and the time for the search."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("kernel")
        for title in ("calls", "in all", "a call", "roofline", "to gain", "search"):
            table.add_column(title, justify="right")
        for each, share in zip(self.planned, self.shares, strict=True):
            table.add_row(
                each.name,
                str(each.calls),
                duration(each.calls * each.recorded_s),
                duration(each.now_s),
                f"{1.0 - each.distance:.0%}",
                duration(each.gain_s),
                duration(share) if share else "none",
            )
        return table

    def notes(self) -> list[str]:
        """What the table does not show."""
        found = [f"not tuned: {each}" for each in self.refused]
        if self.rest:
            seconds = sum(each.seconds for each in self.rest)
            found.append(
                f"not looked at, for lack of time: {count(len(self.rest), 'kernel')} with "
                f"{duration(seconds)} of calls; a larger budget has room for them"
            )
        return found

    def as_json(self) -> list[dict[str, Any]]:
        """One object for each kernel; times in seconds."""
        return [
            {
                "proc": each.subject.name,
                "file": str(each.options.file),
                "sizes": dict(each.subject.workload.sizes),
                "calls": each.calls,
                "recorded_s": each.recorded_s,
                "stored_s": each.stored_s,
                "roofline_s": each.roof.least_s,
                "gain_s": each.gain_s,
                "budget_s": share,
            }
            for each, share in zip(self.planned, self.shares, strict=True)
        ]


def make_plan(
    counted: Iterable[Counted],
    options: Options,
    files: Sequence[Path] = (),
    phase: Callable[[str], None] = lambda name: None,
) -> Plan:
    """Look at what took most of the time first. `options` are those of every search, with the
    budget of all together; `files` are executed although this user did not run them (files, or
    directories of them). Raises UserError if nothing was called, or nothing can be tuned."""
    options.budget.check()
    options.check()
    began = time.monotonic()
    looked_until = began + PLANNING * options.budget.seconds
    without_layouts = (replace(c, called=replace(c.called, layouts=())) for c in counted)
    calls = sorted(merged(without_layouts), key=lambda each: -each.seconds)
    planned: list[Planned] = []
    refused: list[str] = []
    rest: list[Counted] = []
    for each in calls:
        if planned and time.monotonic() > looked_until:
            rest.append(each)
            continue
        phase(f"looking at {each.called.proc}")
        try:
            planned.append(_planned(each, options, files, phase))
        except UserError as error:
            refused.append(f"{_name(each.called)}: {error}")
    if not calls:
        raise UserError("no kernel was called while it was recorded: nothing to tune")
    if not planned:
        raise UserError("nothing that was recorded can be tuned\n" + "\n".join(refused))
    planned.sort(key=lambda each: -each.gain_s)
    until = began + options.budget.seconds
    return Plan(tuple(planned), tuple(refused), tuple(rest), until)


def best_stored(store: Store, subject: Subject) -> StoredCandidate | None:
    """The best schedule for a subject here, if one is faster than as written."""
    scope = store.find_scope(subject.workload, subject.target)
    return best_of(store, scope) if scope else None


def _planned(
    counted: Counted, options: Options, files: Sequence[Path], phase: Callable[[str], None]
) -> Planned:
    """Raises UserError if it cannot be tuned."""
    called = counted.called
    file = _file(called, files)
    sizes = dict(called.sizes)
    specialize = options.specialize and bool(sizes)
    own = replace(options, file=file, proc=called.proc, sizes=sizes, specialize=specialize)
    subject = subject_of(own)
    if {name for name, _ in subject.workload.sizes} != sizes.keys():
        raise UserError("its recording lacks sizes of it; record the program again")
    if proc_key(mirror(subject.source.named(called.proc))) != called.key:
        raise UserError(f"it has changed in {file} since it was recorded; record the program again")
    with measuring_slot(phase):
        roof = roof_of(subject.builder, subject.target, subject.work)
    call_s = max(counted.seconds / counted.calls, LEAST_CALL_S)
    return Planned(own, subject, roof, counted.calls, call_s, _stored_s(own, subject))


def _file(called: Called, files: Sequence[Path]) -> Path:
    """Where the procedure is. Raises UserError if it is nowhere, or not to be executed."""
    if not called.file:
        raise UserError(
            "it was not defined in a file, and cannot be written to one; move it to a file of its "
            "own, with what it needs"
        )
    file = Path(called.file)
    if not os.path.isfile(file):  # Path.is_file raises for names that are too long
        raise UserError(f"it was recorded from {file}, which is not there (any more)")
    given = [each.resolve() for each in files]
    if not any(each in (file, *file.parents) for each in given):
        require_tuned(file, "--file")
    return file


def _stored_s(options: Options, subject: Subject) -> float | None:
    if not _exists(options.store):
        return None
    with Store.open(options.store, create=False) as store:
        best = best_stored(store, subject)
    measured: Measurement | None = best.record.measurement if best else None
    return measured.candidate_ns * 1e-9 if measured else None


def _exists(store: Path | str) -> bool:
    return "://" in str(store) or Path(store).exists()


def _name(called: Called) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in called.sizes)
    return f"{called.proc}({sizes})"
