"""Exo source of fused vector instructions, and the procedures that it defines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.functions import FUNCTIONS
from schedsearch.frontends.functions import module_text
from schedsearch.transforms.vector.extension import define, execute, vector_set
from schedsearch.transforms.vector.fused.function import c_function
from schedsearch.transforms.vector.fused.joined import Walk, walks
from schedsearch.transforms.vector.fused.joined_function import joined_function
from schedsearch.transforms.vector.fused.model import (
    Fused,
    Operand,
    body_lines,
    by_value,
    fused_name,
    moving,
    place_index,
    strides,
)
from schedsearch.transforms.vector.registers import memory_name


@cache
def fused_instruction(fused: Fused) -> Any:
    """The Exo procedure; the same object for equal instructions."""
    given = {name: _defined(name) for name in functions(fused)}
    for kind in register_kinds(fused):
        memory = memory_name(kind, fused.lanes)
        given[memory] = vector_set(kind, fused.lanes)[memory]
    name = fused_name(fused)
    return define(name, fused_source(fused), given)[name]


@cache
def _defined(name: str) -> Any:
    """A function that is not Exo's; equal to those that modules define."""
    return execute(name, module_text([name]), {})[name]


def functions(fused: Fused) -> list[str]:
    """External functions of the instruction that are not Exo's."""
    return [name for name in _externs(fused) if not FUNCTIONS[name].own]


def register_kinds(fused: Fused) -> tuple[str, ...]:
    """Element types of the vector memories the instruction uses."""
    return tuple(sorted({op.type for op in fused.operands if op.registers}))


def fused_source(fused: Fused) -> str:
    """Python text that defines the instruction; needs `extension.IMPORTS` before it, the
    vector sets of `register_kinds`, and `functions`."""
    name = fused_name(fused)
    params = ["n: size"] if _given_count(fused) else []
    asserts = []
    if fused.counted and register_kinds(fused):
        asserts.append(f"    assert n <= {fused.lanes}")
    for uid, op in enumerate(fused.operands):
        if op.places:
            params += _place_params(uid, op)
            asserts += [f"    assert {condition}" for condition in _bounds(fused, uid, op)]
            continue
        params.append(f"x{uid}: {_window(fused, uid, op)} @ {_memory(fused, op)}")
        for dim in range(op.lane_dim, len(op.box) - 1) if op.inner else ():
            asserts.append(f"    assert stride(x{uid}, {dim}) == {prod(op.box[dim + 1 :])}")
        if op.moves or (fused.row and walks(fused)[uid] is Walk.COLUMN):
            asserts.append(f"    assert stride(x{uid}, {len(op.box) - 1}) == 1")
        if op.moves and fused.row and walks(fused)[uid] is Walk.ALONG:
            asserts.append(f"    assert stride(x{uid}, {len(op.box) - 2}) == {fused.row}")
    code = joined_function(fused) if fused.row else c_function(fused)
    externs = [name for name in _externs(fused) if FUNCTIONS[name].own]
    return "\n".join(
        [
            *([f"from exo.libs.externs import {', '.join(externs)}", "", ""] if externs else []),
            "@instr(",
            f'    "{_call(fused)}",',
            '    """',
            *(f"    {line}" if line else "" for line in code.splitlines()),
            '    """,',
            ")",
            f"def {name}(",
            *(f"    {param}," for param in params),
            "):",
            *asserts,
            *_loops(fused),
            "",
        ]
    )


def _given_count(fused: Fused) -> bool:
    """Whether it is told how many iterations to do."""
    return fused.counted and not fused.length


def _loops(fused: Fused) -> list[str]:
    count = fused.row or fused.length or ("n" if fused.counted else fused.lanes)
    lines = [f"for l in seq(0, {count}):", *(f"    {line}" for line in body_lines(fused))]
    if fused.copies > 1 or fused.row:
        around = "n" if fused.row else fused.copies
        lines = [f"for v in seq(0, {around}):", *(f"    {line}" for line in lines)]
    return [f"    {line}" for line in lines]


def _externs(fused: Fused) -> list[str]:
    parts = (part for stmt in fused.body for part in q.stmt_parts(stmt))
    return sorted({part.name for part in parts if isinstance(part, q.Extern)})


def _window(fused: Fused, uid: int, op: Operand) -> str:
    if not op.box:
        return op.type
    extents = [str(extent) for extent in op.box]
    if fused.row:
        return f"[{op.type}][{', '.join(_of_rows(fused, uid, op))}]"
    if op.moves:
        span = op.box[op.lane_dim] - 1
        counted = _given_count(fused) and not fused.reads_whole(op)
        extents[op.lane_dim] = (
            (f"n + {span}" if span else "n")
            if counted
            else str((fused.length or fused.lanes) + span)
        )
    return f"[{op.type}][{', '.join(extents)}]"


def _of_rows(fused: Fused, uid: int, op: Operand) -> Iterator[str]:
    """The extents of an operand of joined rows."""
    last, walk = len(op.box) - 1, walks(fused)[uid]
    lengths = {
        Walk.FLAT: {last: f"{fused.row} * n"},
        Walk.ROW: {last: "n"},
        Walk.ALONG: {last - 1: "n", last: str(fused.row)},
    }
    for dim, extent in enumerate(op.box):
        length = lengths.get(walk, {}).get(dim)
        if length is None:
            yield str(extent)
        else:
            yield f"{length} + {extent - 1}" if extent > 1 else length


def _place_params(uid: int, op: Operand) -> list[str]:
    """Parameters of an array that is given whole: its sizes, the places, itself."""
    dims = range(len(op.box))
    params = [f"x{uid}_n{dim}: size" for dim in dims]
    params += [
        f"{place_index(uid, place, dim).name}: index" for place in range(op.places) for dim in dims
    ]
    return [*params, f"x{uid}: {op.type}[{', '.join(f'x{uid}_n{dim}' for dim in dims)}] @ DRAM"]


def _bounds(fused: Fused, uid: int, op: Operand) -> list[str]:
    """Asserts on the places, from which Exo sees that the body stays inside the array."""
    length = "n" if fused.counted else str(fused.lanes)
    conditions = []
    for place in range(op.places):
        for dim in range(len(op.box)):
            name = place_index(uid, place, dim).name
            runs = dim == len(op.box) - 1 and moving(fused, uid, place)
            conditions += [f"{name} >= 0", f"{name} + {length if runs else 1} <= x{uid}_n{dim}"]
    return conditions


def _memory(fused: Fused, op: Operand) -> str:
    return memory_name(op.type, fused.lanes) if op.registers else "DRAM"


def _call(fused: Fused) -> str:
    """C text of a call, with Exo's place holders."""
    args = ["{n}"] if _given_count(fused) else []
    for uid, op in enumerate(fused.operands):
        if op.places:
            args += [_pointer(uid, op, place) for place in range(op.places)]
        elif not op.box:
            args.append(f"*{{x{uid}}}" if by_value(op) else f"{{x{uid}}}")
        else:
            args.append(f"{'' if by_value(op) else '&'}{{x{uid}_data}}")
        args += [f"{{x{uid}}}.strides[{dim}]" for dim in strides(op)]
    return f"{fused_name(fused)}({', '.join(args)});"


def _pointer(uid: int, op: Operand, place: int) -> str:
    """C text of a place in an array that is given whole: its rows follow each other."""
    offset = ""
    for dim in range(len(op.box)):
        index = f"{{{place_index(uid, place, dim).name}}}"
        offset = f"({offset}) * {{x{uid}_n{dim}}} + {index}" if offset else index
    return f"&{{x{uid}}}[{offset}]"
