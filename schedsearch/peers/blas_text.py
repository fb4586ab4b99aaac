"""The text of a contraction as one call of a BLAS routine, by `scipy.linalg.blas`.

Its routines are Fortran's: they get transposed views, so nothing is copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.core import ast as q
from schedsearch.peers.array_text import factors
from schedsearch.peers.arraywise import Access, NotArraywise, Program, Update

_LETTERS = {"f32": "s", "f64": "d"}


def blas_text(program: Program) -> str:
    """Python that defines `prepare`, as `array_text`. Raises NotArraywise if the procedure is not
    one call of gemm, gemv, ger, dot or axpy."""
    if program.temporaries or len(program.steps) != 1 or not isinstance(program.steps[0], Update):
        raise _none(program, "it has several statements")
    update = program.steps[0]
    buffers = {access.buffer.kind for access in (update.target, *update.accesses.values())}
    kind = update.target.buffer.kind
    if buffers != {kind} or kind not in _LETTERS:
        raise _none(program, "BLAS has but f32 and f64")
    terms = list(factors(update.value))
    if None in terms:
        raise _none(program, "its value is no product")
    accesses = [update.accesses[term] for term in terms if isinstance(term, q.Read)]
    arrays = [access for access in accesses if access.vars]
    if not all(_whole(access, update) for access in (update.target, *arrays)):
        raise _none(program, "it takes parts of arrays")
    if any(access.idx for access in accesses if not access.vars):
        raise _none(program, "it takes elements of arrays")
    scale = [access.buffer.name for access in accesses if not access.vars]
    scale += [repr(float(term.value)) for term in terms if isinstance(term, q.Const)]
    alpha = f"alpha={' * '.join(scale)}, " if scale else ""
    line = _call(program, update, arrays, _LETTERS[kind], alpha)
    arguments = ", ".join(buffer.name for buffer in program.arguments)
    lines = ["from scipy.linalg import blas", "", "", f"def prepare({arguments}):"]
    return "\n".join([*lines, "    def call():", f"        {line}", "", "    return call", ""])


def _call(
    program: Program, update: Update, arrays: Sequence[Access], letter: str, alpha: str
) -> str:
    target, out = update.target.vars, update.target.buffer.name
    beta = "beta=1.0, " if update.adds else ""
    match [len(each.vars) for each in arrays], len(target), len(update.summed):
        case [2, 2], 2, 1:
            row, column = target
            left, right = arrays
            if row not in left.vars:
                left, right = right, left
            if row not in left.vars or column not in right.vars or column in left.vars:
                raise _none(program, "its indices are not those of a product of matrices")
            # Turned: C^T = B^T A^T.
            parts = [
                _operand(right, column, "a", "trans_a"),
                _operand(left, update.summed[0], "b", "trans_b"),
            ]
            rest = f"{alpha or 'alpha=1.0, '}{', '.join(parts)}, "
            return f"blas.{letter}gemm({rest}{beta}c={out}.T, overwrite_c=True)"
        case (([2, 1] | [1, 2]), 1, 1):
            matrix, vector = sorted(arrays, key=lambda each: -len(each.vars))
            if vector.vars != update.summed or set(matrix.vars) != {*target, *update.summed}:
                raise _none(program, "its indices are not those of a matrix and a vector")
            part, x = _operand(matrix, target[0], "a", "trans"), vector.buffer.name
            rest = f"{alpha or 'alpha=1.0, '}{part}, x={x}, "
            return f"blas.{letter}gemv({rest}{beta}y={out}, overwrite_y=True)"
        case [1, 1], 0, 1 if not alpha:
            x, y = (each.buffer.name for each in arrays)
            sign = "+=" if update.adds else "="
            return f"{out}[...] {sign} blas.{letter}dot({x}, {y})"
        case [1, 1], 2, 0 if update.adds and arrays[0].vars != arrays[1].vars:
            row, column = target
            rows, columns = sorted(arrays, key=lambda each: target.index(each.vars[0]))
            names = f"x={columns.buffer.name}, y={rows.buffer.name}"
            rest = f"{alpha or 'alpha=1.0, '}{names}, a={out}.T"
            return f"blas.{letter}ger({rest}, overwrite_a=True)"
        case [1], 1, 0 if update.adds:
            factor = alpha.removeprefix("alpha=").removesuffix(", ") or "1.0"
            return f"blas.{letter}axpy({arrays[0].buffer.name}, {out}, a={factor})"
    raise _none(program, "it is none of gemm, gemv, ger, dot and axpy")


def _operand(access: Access, first: q.Var, name: str, option: str) -> str:
    """A matrix whose first index is to be `first`; rows of C are Fortran's columns."""
    turned = f", {option}=True" if access.vars[0] == first else ""
    return f"{name}={access.buffer.name}.T{turned}"


def _whole(access: Access, update: Update) -> bool:
    """All of an array."""
    return all(
        index.start == q.Affine()
        and index.step == 1
        and index.var
        and update.extent(index.var) == n
        for index, n in zip(access.idx, access.buffer.shape, strict=True)
    )


def _none(program: Program, reason: str) -> NotArraywise:
    return NotArraywise(f"{program.name} is no call of one BLAS routine: {reason}")
