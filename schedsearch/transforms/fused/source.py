"""Exo source of fused vector instructions."""

from __future__ import annotations

from functools import cache
from typing import Any

from schedsearch.core import ast as q
from schedsearch.transforms.fused.function import c_function
from schedsearch.transforms.fused.model import Fused, Operand, by_value, strides
from schedsearch.transforms.fused.naming import body_lines, fused_name
from schedsearch.transforms.vectors import define, memory_name, vector_set


@cache
def fused_instruction(fused: Fused) -> Any:
    """The Exo procedure; the same object for equal instructions."""
    memories = {}
    for kind in register_kinds(fused):
        memory = memory_name(kind, fused.lanes)
        memories[memory] = vector_set(kind, fused.lanes)[memory]
    name = fused_name(fused)
    return define(name, fused_source(fused), memories)[name]


def register_kinds(fused: Fused) -> tuple[str, ...]:
    """Element types of the vector memories the instruction uses."""
    return tuple(sorted({op.type for op in fused.operands if op.registers}))


def fused_source(fused: Fused) -> str:
    """Python text that defines the instruction; needs `vectors.IMPORTS` before it, and
    the vector sets of `register_kinds`."""
    name = fused_name(fused)
    params = ["n: size"] if fused.counted else []
    asserts = []
    for uid, op in enumerate(fused.operands):
        params.append(f"x{uid}: {_window(fused, op)} @ {_memory(fused, op)}")
        if op.moves:
            asserts.append(f"    assert stride(x{uid}, {len(op.box) - 1}) == 1")
    code = c_function(fused)
    externs = _externs(fused)
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


def _loops(fused: Fused) -> list[str]:
    lines = [f"for l in seq(0, {'n' if fused.counted else fused.lanes}):"]
    lines += [f"    {line}" for line in body_lines(fused)]
    if fused.copies > 1:
        lines = [f"for v in seq(0, {fused.copies}):", *(f"    {line}" for line in lines)]
    return [f"    {line}" for line in lines]


def _externs(fused: Fused) -> list[str]:
    nodes = (n for s in fused.body for e in q.stmt_exprs(s) for n in q.walk_expr(e))
    return sorted({node.name for node in nodes if isinstance(node, q.Extern)})


def _window(fused: Fused, op: Operand) -> str:
    if not op.box:
        return op.type
    extents = [str(extent) for extent in op.box]
    if op.moves:
        span = op.box[-1] - 1
        extents[-1] = (f"n + {span}" if span else "n") if fused.counted else str(fused.lanes + span)
    return f"[{op.type}][{', '.join(extents)}]"


def _memory(fused: Fused, op: Operand) -> str:
    return memory_name(op.type, fused.lanes) if op.registers else "DRAM"


def _call(fused: Fused) -> str:
    """C text of a call, with Exo's place holders."""
    args = ["{n}"] if fused.counted else []
    for uid, op in enumerate(fused.operands):
        if not op.box:
            args.append(f"*{{x{uid}}}" if by_value(op) else f"{{x{uid}}}")
        else:
            args.append(f"{'' if by_value(op) else '&'}{{x{uid}_data}}")
        args += [f"{{x{uid}}}.strides[{dim}]" for dim in strides(op)]
    return f"{fused_name(fused)}({', '.join(args)});"
