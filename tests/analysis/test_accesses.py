"""What is listed is what is accessed."""

from __future__ import annotations

from schedsearch.analysis.accesses import (
    Access,
    accesses,
    placed,
    read_buffers,
    written_buffers,
)
from schedsearch.analysis.conditions import holds
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q

from .execution import Event, execute, few
from .programs import programs


def is_of(access: Access, event: Event) -> bool:
    if access.buf not in event.arrays or access.writes != event.writes:
        return False
    try:
        at = tuple(q.evaluate_affine(index, event.values.__getitem__) for index in access.idx)
    except KeyError:  # an index in a loop that has not run
        return False
    return at_element(event, access.buf, at)


def at_element(event: Event, buf: q.Var, at: tuple[int, ...]) -> bool:
    array = event.arrays[buf]
    inside = all(0 <= index < extent for index, extent in zip(at, array.shape, strict=True))
    return inside and bool(array[at] == event.element)


def test_every_access_of_an_inlined_procedure_is_listed_with_what_is_around_it() -> None:
    for program in programs():
        inlined = inline_calls(program.proc)
        if any(isinstance(s, q.WriteConfig) for s in q.walk(inlined.body)):
            continue
        listed = list(placed(inlined.body))
        for event in few(execute(inlined, program.sizes), 50):
            running = tuple(loop for loop, _ in event.running)
            assert any(
                access.loops == running
                and all(holds(c, event.values) == outcome for c, outcome in access.conditions)
                and is_of(access, event)
                for access in listed
            )


def test_every_access_of_a_procedure_is_listed() -> None:
    for program in programs():
        listed = list(accesses(program.proc.body))
        opaque = {access.buf for access in listed if not access.idx and access.writes}
        for event in few([event for event in program.events if not event.called], 50):
            behind = {buf for buf in opaque if event.element in event.arrays.get(buf, ())}
            usual = [a for a in listed if a.buf not in opaque]
            assert behind or any(is_of(access, event) for access in usual)


def test_buffers_that_are_written_and_read() -> None:
    for program in programs():
        inlined = inline_calls(program.proc)
        arrays = {arg.var for arg in inlined.args if arg.type not in q.CONTROL_TYPES}
        for event in few(execute(inlined, program.sizes), 50):
            own = {b for b in arrays if b in event.arrays and event.element in event.arrays[b]}
            assert own <= (written_buffers if event.writes else read_buffers)(inlined.body)
