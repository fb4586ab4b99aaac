"""The files of a schedule, for its users to keep: what commands and objects write alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.lasting import caveats
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Trace
from schedsearch.present import format as fmt
from schedsearch.present.files import (
    DEFAULT_FORMATS,
    Kernel,
    schedule_notes,
    write_schedule,
)
from schedsearch.search.lookup import stored_elsewhere, verification
from schedsearch.search.reloading import require_verified
from schedsearch.search.result import Result
from schedsearch.study.schedule import Schedule, schedule_json
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.replay import Replayer


@dataclass(frozen=True)
class Exported:
    """The files, the C in them and the procedure that it is of, and what their user has to know
    (`transforms/contract.py`)."""

    paths: tuple[Path, ...]
    code: GeneratedC
    ast: q.Proc
    caveats: tuple[str, ...]


def export_result(result: Result, out: Path | None) -> Exported:
    """The best, or the procedure as written where nothing is faster; only its C without `out`.
    Raises UserError if `out` cannot be written."""
    subject = result.setting.subject
    trace = result.best.trace if result.best else Trace()
    state = Replayer(subject.procedure).state(trace)
    claim = fmt.claim(result.best.measurement) if result.best else fmt.AS_WRITTEN
    code = generate_c(state.procedure, state.build)
    if out is None:
        return Exported((), code, state.ast, caveats(code))
    verdict = result.setting.baseline.agreement.verdict
    notes = schedule_notes(claim, verdict, subject.target, state.build, subject.workload)
    kernel = Kernel(state.ast, code, subject.target, verdict, result.elsewhere)
    paths = write_schedule(out, subject.source, subject.workload, trace, kernel, notes)
    return Exported(tuple(paths), code, state.ast, caveats(code))


def export_schedule(
    schedule: Schedule,
    out: Path,
    formats: Sequence[str] = DEFAULT_FORMATS,
    compiling: Callable[[GeneratedC], Target] | None = None,
) -> Exported:
    """A stored schedule, whose store is open. `compiling` returns another target that its C
    compiles for. Raises UserError if the schedule is not verified, or does not replay, or if `out`
    cannot be written."""
    require_verified(schedule.stored)
    checked = verification(schedule.store, schedule.scope)
    elsewhere = stored_elsewhere(schedule.store, schedule.stored)
    workload, target, state = schedule.workload, schedule.target, schedule.state
    measurement = schedule.stored.record.measurement
    assert measurement is not None, "it was verified"
    code = schedule.generate()
    claim = fmt.claim(measurement) if schedule.trace.steps else fmt.AS_WRITTEN
    notes = schedule_notes(claim, checked.verdict, target, state.build, workload)
    if compiling is not None:
        elsewhere, target = None, compiling(code)
        notes.append(f"compiles for {fmt.target(target)}; neither verified nor timed there")
    kernel = Kernel(state.ast, code, target, checked.verdict, elsewhere)
    data = schedule_json(schedule, code) if "json" in formats else None
    source, trace = schedule.source, schedule.trace
    paths = write_schedule(out, source, workload, trace, kernel, notes, formats, data)
    return Exported(tuple(paths), code, state.ast, (*checked.caveats, *caveats(code)))
