"""Scalars that iterations hand on, several of them: filters with their history in variables.

```
o = b0 * x[j] + z1
z1 = b1 * x[j] + z2 - a1 * o
z2 = b2 * x[j] - a2 * o
y[j] = o
```

Each is a `State`. What an iteration makes of it is computed from what all of them were before it:
of those that are known already, by any expression; of itself, by a factor or a minimum or maximum,
as in `recurrences.py`; and of one other that waits for it, by factors that stay. `x2 = x1`, and
`x1 = x[j]` after it, are states, too. Others that need each other are a linear `System`: rotations,
filters of third order, trackers of a place and its speed; or those of alignments with affine gaps
(`Gap`). What iterations before left in arrays (`y[j - 1]`, where `y[j]` is written) is a state like
a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.floats import FloatingPoint
from schedsearch.transforms.vector.fused.affine_gaps import Gap, gap, gap_of_two
from schedsearch.transforms.vector.fused.iterations import becomes
from schedsearch.transforms.vector.fused.linear import (
    LARGEST_POWER,
    SMALLEST_POWER,
    grows,
    known,
    number,
    split,
    varies,
)
from schedsearch.transforms.vector.fused.recurrences import Recurrence, recurrence
from schedsearch.transforms.vector.fused.running_extremes import Extreme, by_extreme

MOST_STATES = 4
"""Of a system: its work grows with the square of their number."""


@dataclass(frozen=True)
class Partner:
    """A state that waits for another one: it becomes `free + back * (the other)`. The other one
    becomes `across` times it, and more."""

    read: q.Read
    across: q.Expr
    back: q.Expr
    free: q.Expr | None


@dataclass(frozen=True)
class State:
    """A scalar that an iteration makes `free + factor * itself`, plus what its partner adds.
    Without a factor it is `free` alone. No `free` is 0. `varies`, `extreme`, `open`, `beyond`,
    `limit` and `scale` are those of a `Recurrence`."""

    read: q.Read
    free: q.Expr | None
    factor: q.Expr | None = None
    partner: Partner | None = None
    varies: bool = False
    extreme: Extreme = ""
    open: q.Expr | None = None
    beyond: bool = False
    limit: q.Expr | None = None
    scale: q.Expr | None = None

    @property
    def follows(self) -> bool:
        """Whether it needs only others."""
        return self.factor is None and not self.extreme

    @property
    def scans(self) -> bool:
        return self.varies or bool(self.extreme) or self.read.type in INTEGERS

    @property
    def second(self) -> q.Expr | None:
        """The factor of what the state was two iterations before."""
        if self.partner is None:
            return None
        return q.BinOp("*", self.partner.across, self.partner.back, "")

    @property
    def known(self) -> bool:
        return known(self.factor, self.second, self.read.type)

    @property
    def places(self) -> tuple[q.Read, ...]:
        return (self.read, self.partner.read) if self.partner else (self.read,)


@dataclass(frozen=True)
class System:
    """Several states that need each other: an iteration makes `free[i]` of each, plus the sum of
    `matrix[i][j]` times what the others were. None is 0."""

    places: tuple[q.Read, ...]
    matrix: tuple[tuple[q.Expr | None, ...], ...]
    free: tuple[q.Expr | None, ...]

    @property
    def read(self) -> q.Read:
        return self.places[0]

    @property
    def known(self) -> bool:
        """Whether its factors are numbers, whose powers do not grow, nor vanish in a register."""
        powers = _powers(self.matrix, abs)
        least = 2.0 ** SMALLEST_POWER[self.read.type]
        return powers is not None and not ((powers > 0) & (powers < least)).any()


@dataclass(frozen=True)
class States:
    """Those of a loop; each is computed from ones before it."""

    each: tuple[State | System | Gap, ...]

    @property
    def scans(self) -> bool:
        """Whether any is computed as in `scans.py` or `systems.py`."""
        return any(not isinstance(each, State) or each.scans for each in self.each)

    @property
    def contract(self) -> FloatingPoint:
        whole = all(state.read.type in INTEGERS for state in self.each)
        return FloatingPoint.STRICT if whole else FloatingPoint.FAST

    @property
    def places(self) -> tuple[q.Read, ...]:
        return tuple(read for state in self.each for read in state.places)

    @property
    def buffers(self) -> frozenset[q.Var]:
        return frozenset(read.buf for read in self.places)


def law(body: Sequence[q.Stmt], along: q.Var) -> Recurrence | States | None:
    """How iterations of a loop need those before them, if linearly; None if otherwise."""
    return recurrence(body, along) or handed_on(body, along)


def handed_on(body: Sequence[q.Stmt], along: q.Var) -> States | None:
    """The states of a loop; None if there are none, or they have no order."""
    made = becomes(body, along)
    if made is None:
        return None
    after, changed = made
    found: list[State | System | Gap] = []
    left = dict(after)
    while left:
        state: State | System | Gap | None = next(_next_states(left, changed, along), None)
        if state is None:
            state = _system(left, changed | {along})
        if state is None:
            return None
        found.append(state)
        for read in state.places:
            del left[read]
    return States(tuple(found)) if found else None


def _next_states(
    left: Mapping[q.Read, q.Expr], changed: frozenset[q.Var], along: q.Var
) -> Iterator[State | Gap]:
    """States that need none of those that are left but themselves, or a partner."""
    needs = {read: {each for each in reads(value) if each in left} for read, value in left.items()}
    for read, value in left.items():
        if not needs[read]:
            yield State(read, value)
    for read, value in left.items():
        if needs[read] == {read} and (state := _alone(read, value, changed | {along})):
            yield state
    for read, value in left.items():
        for other, whole in left.items():
            if other == read or needs[other] != {read} or needs[read] - {read} != {other}:
                continue
            if (state := _pair(read, value, other, whole, changed, along)) is not None:
                yield state
    for read, value in left.items():
        for other, whole in left.items():
            if other == read or not needs[read] | needs[other] <= {read, other}:
                continue
            if found := _steady(gap_of_two(read, value, other, whole), changed | {along}):
                yield found


def _steady(found: Gap | None, changing: frozenset[q.Var]) -> Gap | None:
    """None if its costs differ from iteration to iteration."""
    return None if found and any(varies(each, changing) for each in found.costs) else found


def _alone(read: q.Read, value: q.Expr, changing: frozenset[q.Var]) -> State | Gap | None:
    """A state that needs itself and no other that is not known."""
    if (parts := split(value, read)) is None:
        chosen = by_extreme(value, read, read.type)
        if chosen is None:
            return _steady(gap(read, value), changing)
        if chosen.scale is not None and varies(chosen.scale, changing):
            return None
        own = chosen.factor is not None and varies(chosen.factor, changing)
        how = (chosen.extreme, chosen.open, chosen.beyond, chosen.limit, chosen.scale)
        return State(read, chosen.free, chosen.factor, None, own, *how)
    factor, free = parts
    if factor is None:
        return None
    own = varies(factor, changing)
    if not own and read.type not in INTEGERS and grows(factor, None):
        return None
    return State(read, free, factor, varies=own)


def _pair(
    read: q.Read,
    value: q.Expr,
    other: q.Read,
    whole: q.Expr,
    changed: frozenset[q.Var],
    along: q.Var,
) -> State | None:
    """Two states, of which the `other` one needs what `read` was."""
    if read.type in INTEGERS:
        return None
    back = _split(whole, read, changed, along)
    across = _split(value, other, changed, along)
    if back is None or across is None:
        return None
    factor: q.Expr = q.Const(0.0, "")
    free = across[1]
    if free is not None and read in reads(free):
        own = _split(free, read, changed, along)
        if own is None:
            return None
        factor, free = own
    state = State(read, free, factor, Partner(other, across[0], back[0], back[1]))
    return None if grows(factor, state.second) else state


def _system(left: Mapping[q.Read, q.Expr], changing: frozenset[q.Var]) -> System | None:
    """The fewest states that need no others."""
    closed = {read: _needed(read, left) for read in left}
    fewest = min(closed.values(), key=len)
    places = tuple(read for read in left if read in fewest)
    if not 1 < len(places) <= MOST_STATES or places[0].type in INTEGERS:
        return None
    matrix, free = [], []
    for read in places:
        rest: q.Expr | None = left[read]
        row = list[q.Expr | None]()
        for other in places:
            parts = split(rest, other) if rest else (None, None)
            if parts is None or (parts[0] and varies(parts[0], changing)):
                return None
            row.append(parts[0])
            rest = parts[1]
        matrix.append(tuple(row))
        free.append(rest)
    if _powers_grow(matrix):
        return None
    return System(places, tuple(matrix), tuple(free))


def _powers_grow(matrix: Sequence[Sequence[q.Expr | None]]) -> bool:
    """Whether it is known that elements of the matrix's powers do."""
    powers = _powers(matrix)
    return powers is not None and not np.abs(powers).max() <= LARGEST_POWER


def _powers(
    matrix: Sequence[Sequence[q.Expr | None]], of: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> np.ndarray | None:
    """The first 16 powers of a matrix of numbers, or of their sizes, in which nothing cancels. In a
    type that has the powers of all f64."""
    numbers = [[0.0 if each is None else number(each) for each in row] for row in matrix]
    if any(each is None for row in numbers for each in row):
        return None
    powers = [of(np.array(numbers, np.longdouble))]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(15):
            powers.append(powers[0] @ powers[-1])
    return np.array(powers)


def _needed(read: q.Read, left: Mapping[q.Read, q.Expr]) -> frozenset[q.Read]:
    """A state and all that it waits for."""
    found, new = set[q.Read](), {read}
    while new:
        found |= new
        new = {each for one in new for each in reads(left[one]) if each in left} - found
    return frozenset(found)


def _split(
    value: q.Expr, read: q.Read, changed: frozenset[q.Var], along: q.Var
) -> tuple[q.Expr, q.Expr | None] | None:
    """A value as `free + factor * read`; None if the factor does not stay."""
    found = split(value, read)
    if found is None or found[0] is None or varies(found[0], changed | {along}):
        return None
    return found[0], found[1]
