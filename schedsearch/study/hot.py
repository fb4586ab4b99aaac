"""The hottest loops of a schedule's machine code, with the lines of C and Exo that they come
from."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.core.errors import CodegenError, UserError
from schedsearch.core.records import Failure
from schedsearch.evaluate.code.c_lines import Line, c_lines
from schedsearch.evaluate.code.counters import Counters, count
from schedsearch.evaluate.code.hottest import HotLoop, hottest, instructions_of_call
from schedsearch.evaluate.code.listing import disassemble
from schedsearch.evaluate.code.mca import Modelled, modelled
from schedsearch.evaluate.roof.limit import limit
from schedsearch.search.reloading import bound
from schedsearch.search.setup.subject import builder_of
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.study.schedule import Schedule

MOST = 2
"""Loops that are shown, of those with a good part of the time."""

_GOOD_PART = 0.1


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
    compiled = builder.with_lines(code, BUILD_TIMEOUT_S)
    if isinstance(compiled, Failure):
        raise UserError(f"its C cannot be compiled: {compiled.message}")
    image, measured = compiled
    ast = schedule.state.ast
    lines = c_lines(code, ast, bound(schedule.workload, ast))
    loops = hottest(disassemble(image), lines)
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
        raise UserError(f"its C cannot be compiled: {artifact.message}")
    seconds = record.measurement.candidate_ns * 1e-9
    ast = schedule.state.ast
    about = schedule.code, ast, bound(schedule.workload, ast)
    return count(builder, artifact, *about, seconds, found.instructions)
