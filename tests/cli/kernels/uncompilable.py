# ruff: noqa: F821
"""A procedure that calls an instruction whose C no compiler takes."""

from __future__ import annotations

from exo import instr, proc


@instr("{y_data} = no_such_instruction({x_data};")
def broken(y: [f32][1], x: [f32][1]):
    y[0] = x[0]


@proc
def uses_broken(y: f32[16], x: f32[16]):
    for i in seq(0, 16):
        broken(y[i : i + 1], x[i : i + 1])
