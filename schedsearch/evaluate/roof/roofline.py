"""The roofline of a procedure: how fast it could be on this machine (Williams et al., CACM 2009).

Two limits, each measured: the peaks of the operations' types (multiply-adds; functions and
divisions, which multiply-adds may overlap), and the bandwidth of moving just what a call has to
load, store and update, in arrays as large as the procedure's own. Neither depends on a schedule, so
no schedule is faster, unless something is measured or counted wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from schedsearch.core.records import Target
from schedsearch.evaluate.roof.kinds import spoken, unit_of

if TYPE_CHECKING:  # a stored roofline needs none of what measures one
    from schedsearch.evaluate.build.builder import Builder
    from schedsearch.evaluate.roof.work import Work

DOUBTFUL = 1.05
"""A speed above this times the roofline is beyond the roofline's own error."""

_GIGA = 1e9


@dataclass(frozen=True)
class Roof:
    """Least seconds of one call: `compute_s` by its `operations`, `memory_s` by its traffic.

    `bandwidth` is of the procedure's own mix of loads and stores, in GB/s, `level` where
    its arrays fit (`L1`, ..., `memory`); `peak` of its operations, in GOP/s, `kind` the
    type that takes most of the time (empty if there are none; `f32 min` of minima and maxima,
    `f32 expf` of a function). `rates`: the peak of each type alone; none in old records. All are
    of `threads` together.
    """

    compute_s: float
    memory_s: float
    peak: float
    kind: str
    bandwidth: float
    level: str
    threads: int = 1
    rates: tuple[tuple[str, float], ...] = ()

    @property
    def least_s(self) -> float:
        return max(self.compute_s, self.memory_s)

    @property
    def limit(self) -> str:
        """`compute` or `memory`: the one of the two that binds."""
        return "compute" if self.compute_s > self.memory_s else "memory"

    @property
    def name(self) -> str:
        """`f32 multiply-add peak, 214 GFLOP/s`; `f32 expf peak, 4.9 G/s`"""
        team = f"{self.threads} threads" if self.threads > 1 else ""
        if self.limit == "compute":
            peak = f"{spoken(self.kind)} peak" + (team and f" of {team}")
            if self.of_functions:
                return f"{peak}, {dict(self.rates).get(self.kind, self.peak):.3g} G/s"
            return f"{peak}, {self.peak:.0f} {self.unit}"
        moved = f"{self.level} bandwidth of its loads and stores" + (team and f" by {team}")
        return f"{moved}, {self.bandwidth:.3g} GB/s"

    @property
    def of_functions(self) -> bool:
        """Whether functions, divisions or roots take most of the time of its operations."""
        return unit_of(self.kind) != "arithmetic"

    def computing_s(self, work: Work) -> float:
        """Least seconds of the operations of a part of the procedure."""
        if not self.peak:
            return 0.0
        return _longest(work.ops, {kind: self.peak for kind, _ in work.ops} | dict(self.rates))[0]

    @property
    def unit(self) -> str:
        """Of `peak`."""
        return "GFLOP/s" if self.kind.startswith("f") else "GOP/s"

    def share(self, seconds: float) -> float:
        """The share of the roofline that a call of `seconds` reaches; 1 is all of it."""
        return self.least_s / seconds

    def exceeded(self, seconds: float) -> bool:
        """Whether that is more than there is: an error of measuring or counting."""
        return self.share(seconds) > DOUBTFUL

    def highest(self, other: Roof) -> Roof:
        """The better of two measurements for the same work: a disturbance only lowers them."""
        memory = self if self.memory_s <= other.memory_s else other
        compute = self if self.compute_s <= other.compute_s else other
        return Roof(
            compute.compute_s,
            memory.memory_s,
            compute.peak,
            compute.kind,
            memory.bandwidth,
            self.level,
            self.threads,
            compute.rates,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Roof:
        rates = tuple((str(kind), float(rate)) for kind, rate in data.get("rates", ()))
        return Roof(**{**data, "rates": rates})


@cache
def roof_of(builder: Builder, target: Target, work: Work) -> Roof:
    """The roofline, measured once in this process."""
    return measure_roof(builder, target, work)


def measure_roof(builder: Builder, target: Target, work: Work) -> Roof:
    """The roofline now (about a second). Raises UserError if it cannot be measured here."""
    from schedsearch.evaluate.roof.functions import measured_kinds
    from schedsearch.evaluate.roof.peak import measure_peaks

    moves = work.streams.footprint > 0
    kinds = measured_kinds(work.ops)
    more = (kinds, work.functions) if kinds else ()
    peaks, bandwidths = measure_peaks(builder, target, [work.streams] if moves else [], *more)
    bandwidth = bandwidths[0] if moves else 0.0
    rates = tuple((kind, peaks.rate(kind)) for kind, _ in work.ops)
    compute_s, kind = _longest(work.ops, dict(rates))
    return Roof(
        compute_s,
        work.bytes / bandwidth / _GIGA if moves else 0.0,
        work.flops / compute_s / _GIGA if compute_s else 0.0,
        kind,
        bandwidth,
        level(work.streams.footprint, target),
        target.threads,
        rates,
    )


def _longest(ops: Iterable[tuple[str, float]], rates: Mapping[str, float]) -> tuple[float, str]:
    """Seconds of the unit that takes longest, and the type that takes most of them. Units overlap:
    64-bit divisions leave room for eight times as many multiply-adds, exponentials for some."""
    units: dict[str, dict[str, float]] = {}
    for kind, count in ops:
        units.setdefault(unit_of(kind), {})[kind] = count / rates[kind] / _GIGA
    longest = max(units.values(), key=lambda kinds: sum(kinds.values()), default={"": 0.0})
    return sum(longest.values()), max(longest, key=longest.__getitem__)


def level(footprint: int, target: Target) -> str:
    """Where `footprint` bytes fit: `L1`, `L2`, ... or `memory`; threads have L1 and L2 each."""
    for number, size in enumerate(target.cache_bytes, 1):
        own = target.threads if number < len(target.cache_bytes) else 1
        if footprint <= size * own:
            return f"L{number}"
    return "memory"
