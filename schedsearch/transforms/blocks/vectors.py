"""Loops over whole vector registers: what the vectorising composites and register blocks share."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from schedsearch.analysis.ranges import ranges_at, trips
from schedsearch.analysis.walkers import next_path
from schedsearch.core import ast as q
from schedsearch.core.alignment import ALLOCATED
from schedsearch.core.errors import RewriteError
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.read_again import read_again
from schedsearch.transforms.blocks.skewing import may_be_long
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import At, Op, OpArg, Steps
from schedsearch.transforms.vector.fused.model import alignable
from schedsearch.transforms.vector.fused.recognise import fuse, operands_of
from schedsearch.transforms.vector.fused.shifted import shared_rows

TAILS: dict[str, dict[str, OpArg]] = {
    "none": {"perfect": True},
    "cut": {"tail": "cut"},
    "masked": {"tail": "cut"},
}
"""What `divide_loop` is told for each way to treat the last iterations."""

LONG = 16
"""Of shorter loops more time goes to what comes before than is gained."""


def worth_aligning(
    proc: q.Proc, loop: q.For, lanes: int, target: Target, least: int = LONG
) -> bool:
    """Whether a loop is so long that its first iterations may be carried out apart, most of its
    registers might lie in two cache lines, and it waits for them: not for functions."""
    if target.vector_bits <= 8 * max(target.align, ALLOCATED) or _has_functions(loop):
        return False
    if trips(loop, ranges_at(proc, loop.path[:-1]))[1] < least * lanes:
        return False
    return may_be_long(proc, loop.path, loop.hi - loop.lo, least * lanes)


def _has_functions(loop: q.For) -> bool:
    """Whether its terms have functions that processors have no instruction for, or divisions."""
    exprs = (expr for stmt in q.walk(loop.body) for expr in q.stmt_exprs(stmt))
    for node in (node for expr in exprs for node in q.walk_expr(expr)):
        if isinstance(node, q.Extern):
            known = FUNCTIONS.get(node.name)
            if known is None or not known.instruction:
                return True
        if isinstance(node, q.BinOp) and node.op == "/" and not isinstance(node.rhs, q.Const):
            return True
    return False


def use_instruction(
    p: Cursors,
    path: q.Path,
    lanes: int,
    counted: bool,
    whole: bool = False,
    chains: int = 1,
    parts: int = 1,
    in_turn: bool = False,
    spare: bool = False,
    in_order: bool = False,
    once: bool = False,
    aligned: bool = False,
    shifted: bool = False,
    ahead: bool = False,
    together: bool = False,
) -> Steps:
    """Make the loop at `path` an instruction. `spare`: what registers hold beyond its iterations is
    of no use. `in_order`: sums are added up as it is written. `once`: it has no loop
    over registers, if it needs one at most. `aligned`: its first iterations are those before a
    register that is aligned. `shifted`: what neighbours read is loaded once. `ahead`: rows that
    were read before are in the cache, and the next ones are asked for. `together`: the loop is over
    rows, and it goes along all of them."""
    loop = p.ast.by_path[path]
    assert isinstance(loop, q.For)
    fused = fuse(p.ast, loop, lanes, counted, whole, chains, parts, in_turn, once, together)
    if fused is None:
        raise RewriteError("the divided loop has no vector form")
    if aligned and not alignable(fused):
        raise RewriteError("there is no array whose registers could be aligned")
    if shifted and not (aligned and shared_rows(fused)):
        raise RewriteError("there is no row that neighbours share")
    next_rows = operands_of(loop, read_again(p.ast, loop)) if ahead else ()
    if ahead and not (next_rows and alignable(fused)):
        raise RewriteError("there is no row that was read before")
    new = replace(fused, spare=spare, in_order=in_order, aligned=aligned, shifted=shifted)
    new = replace(new, ahead=next_rows)
    yield from p.do("replace", At(path), new)


def divide_loop(
    p: Cursors, held: Cursor, factor: int, names: tuple[str, str], lanes: int, tail: str
) -> Steps:
    """Divide a loop that starts at 0, and do with its last iterations what `tail` says."""
    loop = p.stmt(held)
    assert isinstance(loop, q.For)
    # What is left of a loop of unknown length may be nothing, which an instruction's `n: size`
    # may not be.
    guarded = tail == "masked" and loop.extent is None
    how: dict[str, OpArg] = {"tail": "cut_and_guard"} if guarded else TAILS[tail]
    yield from p.do("divide_loop", held, factor, names, **how)
    if tail == "masked":
        rest = next_path(p.path(held))
        yield from use_instruction(p, (*rest, 0) if guarded else rest, lanes, counted=True)


def running_from_zero(
    p: Cursors, path: q.Path, least: int = 1
) -> Generator[Op | None, Any, q.Path]:
    """Make the loop at `path` one that runs at least once, or `least` times, with a loop beside it
    for the case that it does not, and that starts at 0. Returns its place. Raises RewriteError if
    it never runs so often."""
    loop = p.ast.by_path[path]
    assert isinstance(loop, q.For)
    length = loop.hi - loop.lo
    if trips(loop, ranges_at(p.ast, path[:-1]))[0] < least:
        if length.is_const:
            raise RewriteError(f"the loop does not run {least} times")
        condition = f"{show_affine(length - length.const)} > {least - 1 - length.const}"
        yield from p.do("specialize", At(path), (condition,))
        path = (*path, 0)
    if loop.lo != q.Affine(0):
        yield from p.do("shift_loop", p.at(path), 0)
    return path
