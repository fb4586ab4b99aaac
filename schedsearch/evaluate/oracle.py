"""Inputs of a verification case, and how close outputs must be.

*Integers* mode: inputs are small integers in `[-r, r]`. If everything an output is
computed from is then provably an integer of at most 2^p (p: significand bits of
its type), no operation rounds, whatever the order, and it is compared exactly.
Buffers of integers that do not depend on inexact floats are always exact.

*Floats* mode, and integers mode without that proof: the error bound of
probabilistic rounding analysis (Higham and Mary, "A new approach to probabilistic
rounding error analysis", SISC 41(5), 2019): with n roundings,

    |computed - true| <= lambda sqrt(n) u * sum |terms|,   lambda = 8,

which fails with probability below 2 n exp(-lambda^2 / 2) (1e-9 for n = 4096).
Reference and candidate may both be off, hence twice that. `magnitude` bounds n
and sum |terms|. Where it cannot (division, values that feed themselves), the
largest expected magnitude of the buffer (plus the inputs', since results near zero
come from cancellation) stands for the sum, and the number of writes of an element
for n: a heuristic, the only one here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from schedsearch.core import ast as q
from schedsearch.evaluate.binding import Binding
from schedsearch.evaluate.effects import (
    control_values,
    read_buffers,
    writes,
    written_buffers,
)
from schedsearch.evaluate.inline import inline_calls
from schedsearch.evaluate.magnitude import INTEGER_MAX, Bound, Place, analyse

_LAMBDA = 8.0
_INTEGER_RANGES = (8, 4, 2, 1)


class Mode(StrEnum):
    INTEGERS = "integers"
    FLOATS = "floats"
    POSITIVE = "positive floats"


class Fill(StrEnum):
    POISON = "poison"
    INTEGERS = "integers"
    FLOATS = "floats"


@dataclass(frozen=True)
class Data:
    """One buffer of a case: how it is filled and how it is compared.

    Elements are drawn uniformly from `[lo, hi]`. The tolerance is
    `absolute + relative * max|expected|`; both are 0 for an exact comparison.
    """

    fill: Fill
    lo: float
    hi: float
    written: bool
    absolute: float = 0.0
    relative: float = 0.0


@dataclass(frozen=True)
class Oracle:
    """How one binding is tested in one mode; `data` by argument name."""

    mode: Mode
    exact: bool
    data: tuple[tuple[str, Data], ...]
    config: tuple[float, float]


def oracle(proc: q.Proc, binding: Binding, mode: Mode) -> Oracle:
    """Inputs and tolerances for `proc` (not inlined) with this binding."""
    proc = inline_calls(proc)
    analysis = _Analysis(proc, binding, mode)
    reads, written = read_buffers(proc), written_buffers(proc)
    data = []
    for arg in proc.args:
        if arg.type in q.CONTROL_TYPES:
            continue
        fill, lo, hi = analysis.inputs(arg)
        if arg.var not in reads and arg.var in written:
            fill = Fill.POISON
        absolute, relative = analysis.tolerance(arg) if arg.var in written else (0.0, 0.0)
        data.append((arg.var.name, Data(fill, lo, hi, arg.var in written, absolute, relative)))
    return Oracle(mode, analysis.exact, tuple(data), analysis.float_range)


class _Analysis:
    """Chooses the widest input ranges with which most outputs are exact."""

    def __init__(self, proc: q.Proc, binding: Binding, mode: Mode) -> None:
        self.proc = proc
        self.values = control_values(proc, binding)
        self.mode = mode
        kinds = {stmt.type for stmt in q.walk(proc.body) if isinstance(stmt, q.Assign | q.Reduce)}
        kinds |= {arg.type for arg in proc.args} - set(q.CONTROL_TYPES)
        ranges = [(float(r), False) for r in _INTEGER_RANGES]
        # Full range only where no float is converted to an integer: that overflow
        # is undefined, while conversion between integers wraps.
        if mode is not Mode.INTEGERS and kinds <= INTEGER_MAX.keys():
            ranges.insert(0, (1.0, True))
        self.integer_range, self.full = max(ranges, key=self._exact_outputs)
        self.bounds = self._bounds()
        self.exact = all(self.bounds[buf].exact for buf in written_buffers(proc))

    def _exact_outputs(self, choice: tuple[float, bool]) -> int:
        """How many outputs are exact with these ranges; -1 if full range may overflow."""
        self.integer_range, self.full = choice
        bounds = self._bounds()
        exact = [bounds[buf].exact for buf in written_buffers(self.proc)]
        return -1 if self.full and not all(exact) else sum(exact)

    @property
    def float_range(self) -> tuple[float, float]:
        match self.mode:
            case Mode.INTEGERS:
                return (-self.integer_range, self.integer_range)
            case Mode.FLOATS:
                return (-1.0, 1.0)
            case Mode.POSITIVE:
                return (0.5, 1.5)

    def inputs(self, arg: q.Arg) -> tuple[Fill, float, float]:
        """Fill and range of an argument's elements."""
        if arg.type not in INTEGER_MAX:
            fill = Fill.INTEGERS if self.mode is Mode.INTEGERS else Fill.FLOATS
            return fill, *self.float_range
        top = float(INTEGER_MAX[arg.type])
        unsigned = arg.type.startswith("u")
        if self.full and arg.type != "i32":
            return Fill.INTEGERS, 0.0 if unsigned else -top, top if unsigned else top - 1
        return Fill.INTEGERS, 0.0 if unsigned else -self.integer_range, self.integer_range

    def _bounds(self) -> dict[Place, Bound]:
        start: dict[Place, Bound] = {}
        for arg in self.proc.args:
            if arg.type not in q.CONTROL_TYPES:
                fill, lo, hi = self.inputs(arg)
                bound = Bound(max(abs(lo), abs(hi)), exact=fill is Fill.INTEGERS)
                start[arg.var] = bound.stored(arg.type)
        config = Bound(self.float_range[1], exact=self.mode is Mode.INTEGERS)
        return analyse(self.proc, self.values, start, config)

    def tolerance(self, arg: q.Arg) -> tuple[float, float]:
        """Absolute and relative tolerance of an output."""
        bound = self.bounds[arg.var]
        if bound.exact:
            return 0.0, 0.0
        # A rounding difference may move a float across an integer's border.
        least = 1.0 if arg.type in INTEGER_MAX else 0.0
        if math.isfinite(bound.size) and math.isfinite(bound.depth):
            factor = 2 * _LAMBDA * math.sqrt(bound.depth) * bound.unit
            return max(factor * bound.size, least), 0.0
        hits = sum(write.hits for write in writes(self.proc, self.values))
        relative = 2 * _LAMBDA * math.sqrt(hits) * bound.unit
        return max(relative * self.float_range[1], least), relative
