"""Sizes at which all of a kernel's code runs: chosen from its own loops and conditions.

A schedule's branches and tails depend on control values alone (Exo has no conditions on data),
so that its query AST says which of them a call runs. Sizes, indices and numbers of the
configuration are chosen so that each has every residue around the kernel's tiles, lies below, at
and beyond its tiles and thresholds and the timed value, booleans so that each is true and false
meanwhile; for blocks that are still not run z3 is asked for values that do, or a proof that there
are none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from schedsearch.analysis.conditions import holds
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine, show_expr
from schedsearch.evaluate.arguments.binding import (
    Binding,
    control_values,
    near,
    verification_bindings,
)
from schedsearch.evaluate.arguments.constraints import Constraints, Undecided
from schedsearch.evaluate.oracle.counts import Count, counts

_NUMBERS = ("size", "index", "int")
_LARGEST_TILE = 256
# Larger ones, up to that, are passed by one size at a time.
_MOST_OF_A_TILE = 4096
# Small tiles have all residues tried; larger ones those at either end and around their half.
_SMALL_TILE = 16
# Iterations of a loop looked at for one call, at its ends: z3 is asked for what only others run.
_ENDS = 4


@dataclass(frozen=True)
class Reach:
    """Calls to verify a kernel with, besides those of every kernel; the blocks that none of these
    calls runs although some call would; and how many blocks are `dead`, at most: no call runs
    them. `counts`: how many elements instructions may be given."""

    bindings: tuple[Binding, ...] = ()
    unreached: tuple[str, ...] = ()
    dead: int = 0
    counts: Mapping[str, frozenset[Count]] = field(default_factory=dict)


Within = tuple[q.For | tuple[q.Expr, bool], ...]


@dataclass(frozen=True)
class _Block:
    """A body of a loop or a branch; `within` are the loops and conditions that lead to it, with
    the outcome of each condition."""

    text: str
    within: Within


class Reacher:
    """Chooses calls for the schedules of one procedure, that is timed with `timed`.

    `affordable` says which calls may be verified, `largest` which may be if a block is run by no
    smaller one. Blocks that only others would run are unreached.
    """

    def __init__(
        self,
        general: q.Proc,
        timed: Binding,
        affordable: Callable[[Binding], bool],
        largest: Callable[[Binding], bool],
    ) -> None:
        self.general, self.timed = general, timed
        self.affordable, self.largest = affordable, largest
        kinds = Constraints(general).kinds
        self.numbers = sorted(name for name, kind in kinds.items() if kind in _NUMBERS)
        self.flags = sorted(name for name, kind in kinds.items() if kind == "bool")
        self._sized = "size" in kinds.values()  # otherwise calls cost about the same
        self._usual = verification_bindings(general, timed, lambda call: False) if kinds else ()
        self._known: dict[tuple[tuple[str, int], ...], Binding | None] = {}

    def reach(self, kernel: q.Proc) -> Reach:
        """The calls for one schedule."""
        given, own = counts(kernel), [*_of_kernel(kernel.body)]
        kernel = inline_calls(kernel)
        if not self.numbers and not self.flags:
            # No other call would run more, of the C of instructions neither.
            return Reach(dead=sys.maxsize)
        values = dict((*self.timed.values, *self.timed.config))
        timed = {name: values[name] for name in self.numbers}
        spread = _spread(kernel, timed) if timed else iter([{}])
        found = filter(None, map(self._near, _with_flags(spread, self.flags)))
        chosen = list(dict.fromkeys(found))
        blocks = list(_blocks(kernel.body, ()))
        left = set(range(len(blocks)))
        for binding in (self.timed, *self._usual, *chosen):
            if left:
                run = _Run(left, control_values(kernel, binding))
                run.block(kernel.body, 0)
                left -= run.found
        unreached, dead = [], 0
        for at in sorted(left):
            witness = self._witness(kernel, blocks[at])
            if isinstance(witness, Binding) and (self.largest(witness) or not self._sized):
                chosen.append(witness)
            elif witness is None:
                dead += own[at]
            else:
                unreached.append(f"`{blocks[at].text}`, which is run with {witness}")
        return Reach(tuple(dict.fromkeys(chosen)), tuple(unreached), dead, given)

    def _near(self, wanted: Mapping[str, int]) -> Binding | None:
        """The call with these sizes, or as near as the asserts allow; None beyond means."""
        key = tuple(sorted(wanted.items()))
        if key not in self._known:
            binding = near(self.general, wanted)
            self._known[key] = binding if self.affordable(binding) else None
        return self._known[key]

    def _witness(self, kernel: q.Proc, block: _Block) -> Binding | str | None:
        """A call that runs the block; None if there is none, a text if that is not known."""
        try:
            values = Constraints(kernel).witness(block.within)
        except Undecided:
            return "sizes that z3 does not find"
        return None if values is None else near(self.general, values)


# -- which sizes ---------------------------------------------------------------------------


def _spread(kernel: q.Proc, timed: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Combinations in which each size takes all its values, the others meanwhile others."""
    tiles, large, thresholds = _landmarks(kernel)
    values = _values(tiles, thresholds)
    step = max(len(values) // len(timed), 1)
    for turn in range(len(values)):
        yield {name: values[(turn + step * at) % len(values)] for at, name in enumerate(timed)}
    small = {name: 3 + at % 4 for at, name in enumerate(timed)}
    some = {name: 17 + at % 4 for at, name in enumerate(timed)}
    for turn, value in enumerate(_around(large)):
        yield from ({**(some if turn % 2 else small), name: value} for name in timed)
    for name, value in timed.items():
        yield from (
            {**small, name: near} for near in (value - 1, value + 1, 2 * value) if near >= 1
        )


def _with_flags(
    spread: Iterator[Mapping[str, int]], flags: Sequence[str]
) -> Iterator[Mapping[str, int]]:
    """Each combination with flags, the first of which is once true and once false; the others
    by turns, so that all of few flags meet."""
    for turn, wanted in enumerate(spread):
        for first in (1, 0) if flags else ():
            others = {name: (turn + first) >> at & 1 for at, name in enumerate(flags[1:])}
            yield {**wanted, flags[0]: first, **others}
        if not flags:
            yield wanted


def _landmarks(kernel: q.Proc) -> tuple[set[int], set[int], set[int]]:
    """Divisors and constant extents of the kernel's control code, also large ones, and constants
    that it compares with."""
    tiles, thresholds = {2}, set[int]()
    for stmt in q.walk(kernel.body):
        if isinstance(stmt, q.For) and stmt.extent is not None:
            tiles.add(stmt.extent)
        for part in q.stmt_parts(stmt):
            if isinstance(part, q.FloorDiv | q.Mod):
                tiles.add(part.den)
            if isinstance(part, q.Affine) and isinstance(stmt, q.For | q.If):
                thresholds.add(abs(part.const))
    return (
        {tile for tile in tiles if 1 < tile <= _LARGEST_TILE},
        {tile for tile in tiles if _LARGEST_TILE < tile <= _MOST_OF_A_TILE},
        {limit for limit in thresholds if 1 < limit <= 4 * _LARGEST_TILE},
    )


def _values(tiles: set[int], thresholds: set[int]) -> list[int]:
    """Few values, which have all residues of interest, below the tile and beyond twice of it."""
    wanted: set[tuple[int, int, int]] = set()
    for tile in tiles:
        for residue in _residues(tile):
            wanted |= {(tile, residue, 0), (tile, residue, 2)} - {(tile, 0, 0)}
    values = {1} | {limit + side for limit in thresholds for side in (-1, 0, 1)}
    wanted -= {found for value in values for found in _shows(value, tiles)}
    shown = {value: _shows(value, tiles) & wanted for value in range(1, 3 * max(tiles) + 1)}
    while wanted:
        best = max(shown, key=lambda value: (len(shown[value] & wanted), -value))
        found = shown.pop(best) & wanted
        if not found:
            break
        values.add(best)
        wanted -= found
    return sorted(value for value in values if value >= 1)


def _around(tiles: set[int]) -> list[int]:
    """Values just below each tile, and beyond twice of it, with the residues of interest."""
    found = list[int]()
    for tile in sorted(tiles, reverse=True):
        below, beyond = {(tile, tile - 1, 0)}, {(tile, rest, 2) for rest in _residues(tile)}
        for value in (tile - 1, *(2 * tile + rest for rest in sorted(_residues(tile)))):
            if (below | beyond) & _shows(value, {tile}) - _shown(found, tile):
                found.append(value)
    return found


def _shown(values: Sequence[int], tile: int) -> set[tuple[int, int, int]]:
    return set[tuple[int, int, int]]().union(*(_shows(value, {tile}) for value in values))


def _residues(tile: int) -> set[int]:
    if tile <= _SMALL_TILE:
        return set(range(tile))
    half = tile // 2
    return {0, 1, 2, 3, half - 1, half, half + 1, tile - 2, tile - 1}


def _shows(value: int, tiles: set[int]) -> set[tuple[int, int, int]]:
    """The residue of each tile; 0 if the value is below it, 2 if it is at least twice as large."""
    return {
        (tile, value % tile, 0 if value < tile else 2)
        for tile in tiles
        if value < tile or value >= 2 * tile
    }


# -- which blocks a call runs ----------------------------------------------------------------


def _blocks(body: tuple[q.Stmt, ...], within: Within) -> Iterator[_Block]:
    """Every body of a loop or branch, in the order of the text."""
    for stmt in body:
        match stmt:
            case q.For():
                inside = (*within, stmt)
                lo, hi = show_affine(stmt.lo), show_affine(stmt.hi)
                yield _Block(f"for {stmt.iter.name} in seq({lo}, {hi})", inside)
                yield from _blocks(stmt.body, inside)
            case q.If():
                for branch, outcome in ((stmt.body, True), (stmt.orelse, False)):
                    if branch:
                        inside = (*within, (stmt.cond, outcome))
                        word = "if" if outcome else "else of if"
                        yield _Block(f"{word} {show_expr(stmt.cond)}", inside)
                        yield from _blocks(branch, inside)
            case _:
                pass


def _of_kernel(body: tuple[q.Stmt, ...], own: bool = True) -> Iterator[bool]:
    """By block, once calls are resolved, whether it is one of Exo's C: instructions have their
    own."""
    for stmt in body:
        if isinstance(stmt, q.Call):
            yield from _of_kernel(stmt.proc.body, own and stmt.proc.instr is None)
        for block in q.blocks(stmt):
            if block:
                yield own
                yield from _of_kernel(block, own)


@dataclass
class _Run:
    """Runs the control code of a call, as far as blocks are left that it has not run."""

    left: set[int]
    values: dict[q.Atom, int]
    found: set[int] = field(default_factory=set)

    def block(self, body: tuple[q.Stmt, ...], at: int) -> int:
        """Run `body`, whose first block has this number; the number after its last one."""
        for stmt in body:
            match stmt:
                case q.For():
                    at = self.loop(stmt, at)
                case q.If():
                    at = self.branches(stmt, at)
                case q.WriteConfig() if isinstance(stmt.rhs, q.Affine):
                    field = q.ConfigField(stmt.config, stmt.field)
                    self.values[field] = self.value(stmt.rhs)
                case _:
                    pass
        return at

    def loop(self, loop: q.For, at: int) -> int:
        after = at + 1 + _count(loop.body)
        lo, hi = self.value(loop.lo), self.value(loop.hi)
        if lo >= hi:
            return after
        self.found.add(at)
        inside = set(range(at + 1, after))
        ends = (*range(lo, hi)[:_ENDS], *range(lo, hi)[_ENDS:][-_ENDS:])
        for value in ends:
            if not (self.left - self.found) & inside:
                break
            self.values[loop.iter] = value
            self.block(loop.body, at + 1)
        return after

    def branches(self, stmt: q.If, at: int) -> int:
        middle = at + 1 + _count(stmt.body)
        after = middle + (1 + _count(stmt.orelse) if stmt.orelse else 0)
        if holds(stmt.cond, self.values):
            self.found.add(at)
            self.block(stmt.body, at + 1)
        elif stmt.orelse:
            self.found.add(middle)
            self.block(stmt.orelse, middle + 1)
        return after

    def value(self, value: q.Affine) -> int:
        return q.evaluate_affine(value, self.values.__getitem__)


def _count(body: tuple[q.Stmt, ...]) -> int:
    """Blocks in `body`."""
    return sum(1 + _count(block) for stmt in body for block in q.blocks(stmt))
