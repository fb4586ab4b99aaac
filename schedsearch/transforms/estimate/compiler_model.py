"""How C compilers optimise a loop by themselves, as far as a cost estimate needs it.

gcc 12 and clang 19, `-O3 -march=native -ffast-math`, unless the build says otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.overwritten import overwritten
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import element_bits
from schedsearch.core import ast as q
from schedsearch.core.build import PEEL
from schedsearch.core.records import Target
from schedsearch.transforms.estimate.statements import Element, loads

UNROLLED = 8
"""Compilers unroll innermost loops of constant length up to about this."""
AUTO_BITS = 256
"""Vectors that compilers choose of their own accord, where they have longer ones."""
ALIAS_CHECKS = 10
"""Pairs of pointers that gcc compares before a vectorised loop, at most
(`vect-max-version-for-alias-checks`); clang draws the line near it."""


def is_cautious(target: Target) -> bool:
    """Whether this is gcc at -O2, which vectorises only loops that need no code beside the vector
    loop, and unrolls nothing."""
    build = target.build
    if build.options != "-O2":
        return False
    compiler = target.compiler_for(build)
    return compiler is not None and compiler.kind == "gcc"


def auto_lanes(loop: q.For, target: Target) -> int:
    """Lanes of the vectors that the compiler would use for a loop that it vectorises; 0 if
    none."""
    wide = target.build.options in ("-mprefer-vector-width=512", PEEL)
    bits = target.vector_bits if wide else min(target.vector_bits, AUTO_BITS)
    width = max(bits // element_bits(loop.body), 1)
    if is_cautious(target) and (loop.extent is None or loop.extent % width):
        return 0
    return width


def unrolls(loop: q.For, target: Target) -> bool:
    """Whether the compiler unrolls a loop completely."""
    return loop.extent is not None and loop.extent <= UNROLLED and not is_cautious(target)


def may_overlap(proc: q.Proc, target: Target) -> frozenset[q.Var]:
    """Arrays that the compiler thinks may overlap: arguments, unless declared otherwise."""
    if target.build.restrict:
        return frozenset()
    return frozenset(arg.var for arg in proc.args if arg.shape)


def vectorisable(loop: q.For, scalars: Container[q.Var], pointers: Collection[q.Var]) -> bool:
    """Whether a compiler would vectorise `loop`: only simple statements, writes that
    move by one element per iteration or reduce into a scalar, reads by one or none. Elements of
    f16 are converted one by one, and what reads an element that it may overwrite runs in its order.

    `pointers` are arrays that may overlap, as far as the compiler knows. If there are none,
    it may keep an array element that does not move as a scalar; if there are, it compares
    their addresses before the loop, unless there are too many.
    """
    if not all(isinstance(stmt, q.Assign | q.Reduce | q.Alloc | q.Pass) for stmt in loop.body):
        return False
    if overwritten(loop):
        return False
    local = {stmt.buf for stmt in loop.body if isinstance(stmt, q.Alloc)}
    read: set[Element] = set()
    stores: set[Element] = set()
    for stmt in loop.body:
        if isinstance(stmt, q.Assign | q.Reduce):
            if "f16" in (stmt.type, *(each.type for each in reads(stmt.rhs))):
                return False
            moves = stride((stmt.buf, stmt.idx), loop.iter)
            alone = stmt.buf in scalars or (not pointers and moves == 0)
            reduces = alone and reduction(stmt) is not None
            if moves != 1 and stmt.buf not in local and not reduces:
                return False
            read.update(loads(stmt))
            stores.add((stmt.buf, stmt.idx))
    if any(stride(access, loop.iter) not in (0, 1) for access in read):
        return False
    return bool(loop.body) and _alias_checks(read, stores, pointers) <= ALIAS_CHECKS


def _alias_checks(read: set[Element], stores: set[Element], pointers: Collection[q.Var]) -> int:
    """Pairs of a store and another access to an array that may overlap its own."""
    written = [buf for buf, _ in stores if buf in pointers]
    only_read = [buf for buf, _ in read - stores if buf in pointers]
    against_loads = sum(a != b for a in written for b in only_read)
    return against_loads + sum(a != b for a in written for b in written) // 2


def stride(access: Element, var: q.Var) -> int | None:
    """Elements an access moves per step of `var`: 0, 1, 2 (further), None (not affine)."""
    _, idx = access
    for position, index in enumerate(idx):
        step = index.coefficient(var)
        if step == 0 and q.mentions(index, var):
            return None
        if step and position < len(idx) - 1:
            return 2
        if step:
            return min(abs(step), 2)
    return 0
