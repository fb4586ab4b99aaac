"""Which schedule runs, of those that are known: a pure function.

Sources are asked in their order, and the first with a schedule that fits decides. Of its schedules
those of this processor and compiler come first, then those of the nearest sizes, then the best by
the source's own ranking, then the fastest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2
from pathlib import Path

from schedsearch.core.floats import FloatingPoint
from schedsearch.core.isa import KNOWN
from schedsearch.core.records import Compiler, InstructionSet, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.locks.entry import LockedRoof


@dataclass(frozen=True)
class Offer:
    """A verified schedule that a source has. `name` says which, for people.

    `code_key` is that of the C that was verified (None: whatever the trace gives). It was measured
    on processors called `cpu`, with code for `isa` by `compiler`. `call_s` is seconds of one call
    at the sizes of `workload`, `speedup` over the procedure as written; `roof` says which share of
    the machine's limit that is, None if it was not measured. `place` is the one that its source
    gives it among those of the same workload and target, 0 for the best.
    """

    name: str
    workload: Workload
    trace: Trace
    code_key: str | None
    cpu: str
    isa: str
    compiler: Compiler
    threads: int
    fp: FloatingPoint
    instructions: tuple[InstructionSet, ...]
    call_s: float
    speedup: Estimate
    roof: LockedRoof | None
    place: int = 0

    @property
    def files(self) -> tuple[Path, ...]:
        """Of instruction sets of the user's own."""
        return tuple(Path(each.path) for each in self.instructions if each.path)


@dataclass(frozen=True)
class Source:
    """Schedules from one place; `problem` says why there are none, if that is to be said."""

    name: str
    offers: tuple[Offer, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Request:
    """What is called: a procedure with sizes, on this machine (`features` of its processor).
    For the choice patch levels of compilers do not count, nor does it matter how many cores there
    are: only what time is expected hangs on `cores`.

    `failed` are offers that were chosen before and could not be loaded, with the reasons.
    """

    proc: str
    proc_key: str
    sizes: Mapping[str, int]
    cpu: str
    features: frozenset[str]
    compilers: tuple[Compiler, ...]
    failed: Mapping[Offer, str]
    cores: int


@dataclass(frozen=True)
class Passed:
    """What was passed over, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Choice:
    """The schedule that runs (`offer`; None: the procedure as written), and why."""

    offer: Offer | None
    source: str
    why: str
    passed: tuple[Passed, ...]

    def call_s(self, request: Request) -> float | None:
        """Expected seconds of a call: as measured on this kind of machine, at these sizes, with a
        core for each thread. None if it was not."""
        if self.offer is None or distance(request, self.offer):
            return None
        if self.offer.threads > request.cores:
            return None
        return self.offer.call_s if measured_here(request, self.offer) else None


def choose(request: Request, sources: Iterable[Source]) -> Choice:
    """The schedule for a request. Sources after the one that decides are not looked at."""
    passed: list[Passed] = []
    for source in sources:
        if source.problem:
            passed.append(Passed(source.name, source.problem))
        fitting = []
        for offer in source.offers:
            if reason := misfit(request, offer):
                passed.append(Passed(offer.name, reason))
            else:
                fitting.append(offer)
        if fitting:
            best, *others = sorted(fitting, key=lambda offer: _rank(request, offer))
            passed += [Passed(other.name, _behind(request, best, other)) for other in others]
            return Choice(best, source.name, _why(request, best), tuple(passed))
    return Choice(None, "", "no schedule is known that fits", tuple(passed))


def misfit(request: Request, offer: Offer) -> str:
    """Why an offer cannot serve a request; empty if it can."""
    own = offer.workload
    if offer in request.failed:
        return request.failed[offer]
    if own.proc != request.proc:
        return f"of another procedure, {own.proc}"
    if not own.specialized and own.proc_key != request.proc_key:
        return "of another text of the procedure"
    for name, value in own.fixed.items():
        if request.sizes.get(name) != value:
            return f"for {name}={value} only"
    if all(offer.compiler.kind != each.kind for each in request.compilers):
        return f"built by {offer.compiler.kind}, which is not on PATH"
    if missing := sorted(_needs(offer) - request.features):
        return f"needs a CPU with {', '.join(missing)}"
    return ""


def measured_here(request: Request, offer: Offer) -> bool:
    """Whether it was measured on this kind of processor, as built by a compiler of this release."""
    built = (offer.compiler.kind, offer.compiler.release)
    known = [(each.kind, each.release) for each in request.compilers]
    return offer.cpu == request.cpu and built in known


def distance(request: Request, offer: Offer) -> float:
    """How far the sizes are that it was measured at: the sum of the logs of the ratios. It may be
    far off and still is right: verified schedules hold for all sizes that they leave open."""
    then = dict(offer.workload.sizes)
    pairs = [(value, then.get(name, value)) for name, value in request.sizes.items()]
    return sum(abs(log2(max(now, 1) / max(before, 1))) for now, before in pairs)


def _needs(offer: Offer) -> frozenset[str]:
    isa = next((each for each in KNOWN if each.name == offer.isa), None)
    if isa is None:
        return frozenset({f"instruction set {offer.isa}"})
    sets = {each.name for each in offer.instructions}
    return isa.needs.union(*(needs for name, needs in isa.instructions if name in sets))


def _rank(request: Request, offer: Offer) -> tuple[bool, float, int, float, str]:
    """Places before times: those of one store are from different minutes, and of candidates that
    were raced and not confirmed the luckiest has the least."""
    return (
        not measured_here(request, offer),
        distance(request, offer),
        offer.place,
        offer.call_s,
        offer.trace.key,
    )


def _why(request: Request, offer: Offer) -> str:
    near = distance(request, offer)
    sizes = ", ".join(f"{name}={value}" for name, value in offer.workload.sizes)
    at = f"the nearest sizes ({sizes})" if near else "these sizes"
    where = "this kind of machine" if measured_here(request, offer) else _where(offer)
    return f"measured at {at}, on {where}"


def _behind(request: Request, best: Offer, other: Offer) -> str:
    first, second = _rank(request, best), _rank(request, other)
    if first[0] != second[0]:
        return f"measured on {_where(other)}"
    if first[1] != second[1]:
        return "measured at sizes that are further off"
    return "not the best of its store" if first[2] != second[2] else "slower"


def _where(offer: Offer) -> str:
    return f"{offer.cpu} {offer.isa}, {offer.compiler.kind} {offer.compiler.release}"
