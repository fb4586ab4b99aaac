"""What is listed is what is accessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.analysis.accesses import (
    Access,
    accesses,
    placed,
    read_buffers,
    writes_all,
    written_buffers,
)
from schedsearch.analysis.conditions import holds
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

from .execution import Event, execute, few
from .programs import programs

pytestmark = pytest.mark.normal


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


def test_what_is_said_to_be_written_whole_is() -> None:
    said = 0
    for program in programs():
        inlined = inline_calls(program.proc)
        events = execute(inlined, program.sizes)
        for arg in inlined.args:
            if arg.type in q.CONTROL_TYPES or not writes_all(inlined, arg):
                continue
            said += 1
            own = next(e.arrays[arg.var] for e in events if arg.var in e.arrays)
            written = {event.element for event in events if event.writes}
            assert {int(each) for each in own.reshape(-1)} <= written
    assert said > 10


@pytest.mark.parametrize(
    ("lines", "all_of_it"),
    [
        (("for i in seq(0, n):", "    for j in seq(0, 4):", "        y[i, j] = 0.0"), True),
        (("for j in seq(0, 4):", "    for i in seq(0, n):", "        y[i, j] += 1.0"), True),
        (("for i in seq(1, n):", "    for j in seq(0, 4):", "        y[i, j] = 0.0"), False),
        (("for i in seq(0, n):", "    for j in seq(0, 3):", "        y[i, j] = 0.0"), False),
        (("for i in seq(0, n):", "    y[i, 0] = 0.0"), False),
        (("for i in seq(0, 4):", "    if i < n:", "        y[i, i] = 0.0"), False),
        (
            (
                "for i in seq(0, n):",
                "    for j in seq(0, 4):",
                "        if i < 2:",
                "            y[i, j] = 0.0",
            ),
            False,
        ),
    ],
)
def test_what_is_written_whole(lines: tuple[str, ...], all_of_it: bool, tmp_path: Path) -> None:
    head = "from __future__ import annotations\nfrom exo import proc\n\n\n@proc\n"
    text = f"{head}def f(n: size, y: f32[n, 4]):\n" + "".join(f"    {line}\n" for line in lines)
    (path := tmp_path / "written.py").write_text(text)
    meaning = mirror(load_source(path).procs["f"])
    assert writes_all(meaning, meaning.args[1]) == all_of_it
