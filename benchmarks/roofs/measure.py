"""Plain loops against the rooflines that the product measures for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, TimingKind
from schedsearch.evaluate.roof.roofline import Roof, measure_roof
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.subject import Subject, bench_of, load_subject
from schedsearch.search.workers.core_sharing import measuring_slot

KERNELS = Path(__file__).parent / "kernels.py"
NAMES = ("fill", "total", "dot", "copy", "add", "scal", "axpy", "swap")

PLAN = TimingPlan(kind=TimingKind.NOISE, min_rounds=6, max_rounds=6)
_FLOAT = 4
_SOME = 1024  # elements: scalars do not count


@dataclass(frozen=True)
class Place:
    """Where a kernel's arrays are: `footprint` bytes together, part of a level."""

    name: str
    footprint: int


@dataclass(frozen=True)
class Reached:
    """One kernel, compiled as written, at one place."""

    kernel: str
    place: str
    seconds: float
    roof: Roof

    @property
    def share(self) -> float:
        return self.roof.share(self.seconds)

    @property
    def exceeded(self) -> bool:
        return self.roof.exceeded(self.seconds)


def places(cache_bytes: Sequence[int]) -> list[Place]:
    """An eighth, half and most of the first level; half of the others; twice the last."""
    first, *others = cache_bytes
    found = [Place(f"L1 / {part}", first // part) for part in (8, 2)]
    found.append(Place("L1 7/8", 7 * first // 8))
    found += [Place(f"L{number} / 2", size // 2) for number, size in enumerate(others, 2)]
    return [*found, Place("memory", 2 * max(cache_bytes))]


def compare(kernels: Sequence[str]) -> Iterator[Reached]:
    """Each kernel at each place of this machine; some seconds each.

    Raises UserError if one cannot be timed.
    """
    for kernel in kernels:
        for place in places(_load(kernel, 1).target.cache_bytes):
            subject = load(kernel, place)
            with measuring_slot():
                seconds, roof = measure(subject)
            yield Reached(kernel, place.name, seconds, roof)


def load(kernel: str, place: Place) -> Subject:
    """The kernel with arrays that are as large together."""
    vectors = _load(kernel, _SOME).work.streams.footprint // (_SOME * _FLOAT)
    return _load(kernel, place.footprint // (vectors * _FLOAT))


def _load(kernel: str, length: int) -> Subject:
    return load_subject(KERNELS, kernel, {"n": length}, None)


def measure(subject: Subject) -> tuple[float, Roof]:
    """Seconds of a call as written, and the better one of the rooflines before and after it."""
    roof = measure_roof(subject.builder, subject.target, subject.work)
    with tempfile.TemporaryDirectory() as scratch:
        bench = bench_of(subject, Path(scratch, "bench"))
        result = bench.time_baseline(PLAN).result
    if isinstance(result, Failure):
        raise UserError(f"{subject.name} cannot be timed here: {result.message}")
    roof = roof.highest(measure_roof(subject.builder, subject.target, subject.work))
    return result.candidate_ns * 1e-9, roof
