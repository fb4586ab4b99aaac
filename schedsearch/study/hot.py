"""The hottest loops of a schedule's machine code, with the lines of C and Exo that they come
from."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, UserError
from schedsearch.core.records import Failure, GeneratedC, Workload
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.code.c_lines import Line, c_lines
from schedsearch.evaluate.code.counters import Counters, count
from schedsearch.evaluate.code.hottest import HotLoop, hottest, instructions_of_call
from schedsearch.evaluate.code.listing import disassemble
from schedsearch.evaluate.code.mca import Modelled, modelled
from schedsearch.evaluate.roof.limit import at_roof, limit
from schedsearch.search.reloading import bound
from schedsearch.search.result import Result
from schedsearch.search.setup.subject import builder_of
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.study.schedule import Schedule

MOST = 2
"""Loops that are shown, of those with a good part of the time."""

_GOOD_PART = 0.1
_ANEW = "; `schedsearch run` tunes it anew"


@dataclass(frozen=True)
class Shown:
    """A loop, and what llvm-mca says of it."""

    loop: HotLoop
    model: Modelled


@dataclass(frozen=True)
class Hot:
    """Of one schedule: the loops with most of the time; the lines of its C in what is compiled, of
    which `offset` are before its source; the instructions of a call in all innermost loops, by the
    estimate; what limits it; and whether the machine code is `measured`: the same as without line
    tables."""

    loops: tuple[Shown, ...]
    lines: dict[int, Line]
    offset: int
    instructions: float
    limited: str
    measured: bool


def hot(schedule: Schedule) -> Hot:
    """Compile it as it is measured, and look at its loops. Raises UserError for what the user can
    mend: no compiler, no disassembler, another kind of machine."""
    builder = builder_of(schedule.here)
    try:
        code = schedule.code
    except CodegenError as error:
        raise UserError(f"Exo generates no C for candidate {schedule.id}: {error}") from error
    lines, loops, measured = _machine_code(builder, code, schedule.workload, schedule.state.ast)
    shown = [each for each in loops[:MOST] if each.share >= _GOOD_PART]
    measurement = schedule.stored.record.measurement
    limited = "What limits it is not known: it was not measured."
    if measurement is not None:
        seconds = measurement.candidate_ns * 1e-9
        limited = limit(schedule.roof, seconds, loops[0] if loops else None)
    return Hot(
        tuple(Shown(each, modelled(each.instructions)) for each in shown),
        lines,
        code.header.count("\n") + 1,
        instructions_of_call(loops),
        limited,
        measured,
    )


def limited(result: Result, code: GeneratedC, ast: q.Proc) -> str:
    """What limits the C that a run ended with, and the procedure `ast` that it is of; by the
    roofline alone where that says it, and where the machine code cannot be looked at."""
    best, subject = result.best, result.setting.subject
    seconds = best.measurement.candidate_ns * 1e-9 if best else result.setting.baseline.call_s
    loops: tuple[HotLoop, ...] = ()
    if not at_roof(result.roof, seconds):
        with suppress(UserError):  # no objdump, or a compiler that is gone
            _, loops, _ = _machine_code(subject.builder, code, subject.workload, ast)
    return limit(result.roof, seconds, loops[0] if loops else None)


def _machine_code(
    builder: Builder, code: GeneratedC, workload: Workload, ast: q.Proc
) -> tuple[dict[int, Line], tuple[HotLoop, ...], bool]:
    """The lines of its C, its loops, the hottest first, and whether it is as measured."""
    compiled = builder.with_lines(code, BUILD_TIMEOUT_S)
    if isinstance(compiled, Failure):
        raise UserError(f"its C cannot be compiled: {compiled.message}{_ANEW}")
    image, measured = compiled
    lines = c_lines(code, ast, bound(workload, ast))
    return lines, hottest(disassemble(image), lines), measured


def counters(schedule: Schedule, found: Hot) -> Counters:
    """Of a call, by the best source that this system has. Raises UserError for a schedule that
    was not verified: what counts does not guard against wrong code."""
    record, builder = schedule.stored.record, builder_of(schedule.here)
    if record.measurement is None:
        raise UserError(
            f"candidate {schedule.id} was not verified: `schedsearch explain {schedule.id} "
            "--measure` verifies and times it; then its calls can be counted"
        )
    artifact = builder.build(schedule.code, BUILD_TIMEOUT_S)
    if isinstance(artifact, Failure):
        raise UserError(f"its C cannot be compiled: {artifact.message}{_ANEW}")
    seconds = record.measurement.candidate_ns * 1e-9
    ast = schedule.state.ast
    about = schedule.code, ast, bound(schedule.workload, ast)
    return count(builder, artifact, *about, seconds, found.instructions)
