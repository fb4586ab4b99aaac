"""Measured limits of the cores that kernels run on: multiply-add peaks, those of functions, and the
bandwidth of moving given amounts of memory; of those that a target has, or of 1, 2, 4, ...
threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import cycle, islice, product

from schedsearch.core.errors import UserError
from schedsearch.core.records import Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.host import measuring_cores
from schedsearch.evaluate.build.process import run_group
from schedsearch.evaluate.build.runtime_text import runtime_source
from schedsearch.evaluate.roof.functions import function_libraries
from schedsearch.evaluate.roof.kinds import Functions
from schedsearch.evaluate.roof.traffic import Streams

_COMPILE_S = 60.0
_RUN_S = 60.0
_SCALAR_BYTES = 8  # one register without vectors: an f64, two f32
# Memory beyond the caches is as fast at any size; this many times the largest of them.
_BEYOND = 4
_LEAST_BEYOND = 64 << 20
_LEAST_OF_FIRST = 4  # a quarter of the first level


@dataclass(frozen=True)
class Peaks:
    """Multiply-add peaks of the target's threads together, in GOP/s, by element type; `i8`
    is of products of bytes summed in 32 bits. `f32_min`, ... are of sums and their minima,
    `functions` are values of functions (`f32 expf`), in 1e9 a second."""

    f16: float
    f32: float
    f64: float
    i32: float
    i8: float
    f32_min: float = 0.0
    f64_min: float = 0.0
    i32_min: float = 0.0
    functions: tuple[tuple[str, float], ...] = field(default=(), kw_only=True)

    def rate(self, kind: str) -> float:
        """For operations of a type (`Work.ops`); 16-bit integers are held against bytes, functions
        that nothing measured against multiply-adds."""
        if own := dict(self.functions).get(kind):
            return own
        minima = {"f32": self.f32_min, "f64": self.f64_min, "i32": self.i32_min}
        kind, _, extreme = kind.partition(" ")
        if extreme == "min" and minima.get(kind):
            return minima[kind]
        by_type = {"f16": self.f16, "f64": self.f64, "i32": self.i32}
        narrow = {"i8": self.i8, "ui8": self.i8, "ui16": self.i8}
        return (by_type | narrow).get(kind, self.f32)


_PEAKS = len(fields(Peaks)) - 1


def measure_peaks(
    builder: Builder,
    target: Target,
    mixes: Sequence[Streams],
    kinds: tuple[str, ...] = (),
    own: Functions = (),
) -> tuple[Peaks, tuple[float, ...]]:
    """Peaks, those of the functions `kinds` too, and the bandwidth in GB/s (loaded plus stored)
    for each of `mixes`; about a second, the best of several attempts.

    A function is measured as each compiler makes it, and in our `own` code, with its arguments in
    L1, whichever is fastest.

    A mix is moved again and again, so that what fits a cache is measured there, in each of
    several ways (runtime/streams.h), whichever is fastest.

    Raises UserError if the calibration cannot be built or run here.
    """
    lane_bytes = max(target.vector_bits // 8, _SCALAR_BYTES)
    source = "\n".join(
        [
            f"#define LANE_BYTES {lane_bytes}",
            runtime_source("peak.c"),
        ]
    )
    # Products are added by one instruction, which harnesses must not do.
    program = builder.executable(
        {"peak.c": source, "streams.h": runtime_source("streams.h")},
        _COMPILE_S,
        ("-ffp-contract=fast",),
    )
    sizes = [f"{size:.0f}" for mix in mixes for size in _scaled(mix, target)]
    usable = measuring_cores(target.threads)  # as kernels have
    cores = [str(core) for core in islice(cycle(usable), target.threads)]
    libraries = list(function_libraries(builder, target, kinds, own, _COMPILE_S)) if kinds else []
    functions = [str(len(kinds)), str(len(libraries)), *map(str, libraries)]
    finished = run_group([program, str(len(cores)), *cores, *functions, *sizes], timeout_s=_RUN_S)
    numbers = finished.stdout.split() if finished and finished.code == 0 else []
    if len(numbers) != _PEAKS + len(kinds) + len(mixes):
        cause = f"it ended with {finished.code}" if finished else f"no end after {_RUN_S:g} s"
        raise UserError(
            f"the calibration of this machine's peaks failed: {cause}. "
            "Is memory short, or the machine very busy? Free it and run again."
        )
    rates = tuple(map(float, numbers))
    values = zip(kinds, rates[_PEAKS:], strict=False)
    return Peaks(*rates[:_PEAKS], functions=tuple(values)), rates[_PEAKS + len(kinds) :]


def _scaled(mix: Streams, target: Target) -> tuple[float, float, float]:
    """The amount of each kind to move. Small amounts are scaled up, so that the beginning and end
    of a loop do not count; amounts beyond the caches are scaled down."""
    least = target.threads * target.cache_bytes[0] / _LEAST_OF_FIRST
    most = max(_BEYOND * max(target.cache_bytes), _LEAST_BEYOND)
    factor = min(max(1.0, least / mix.footprint), most / mix.footprint)
    return mix.read * factor, mix.written * factor, mix.updated * factor


MEMORY_PER_CACHE = 4
"""Arrays this many times larger than the largest cache are in memory."""

WAYS = ("load", "store", "copy")


@dataclass(frozen=True)
class Limits:
    """Of `threads` together: multiply-add peaks, and GB/s (loaded plus stored) by level
    (`L1`, ..., `memory`) and way of moving."""

    threads: int
    peaks: Peaks
    bandwidths: Mapping[tuple[str, str], float]


def measure_limits(builder: Builder, target: Target) -> Iterator[Limits]:
    """Measure one count of threads after the other, about two seconds each. Half of each cache is
    in use, by each thread its own. Raises UserError if they cannot be measured here.
    """
    for threads in thread_counts(target.cores):
        sizes = level_sizes(target.cache_bytes, threads)
        mixes = [mix for size in sizes.values() for mix in _mixes(size)]
        peaks, rates = measure_peaks(builder, replace(target, threads=threads), mixes)
        yield Limits(threads, peaks, dict(zip(product(sizes, WAYS), rates, strict=True)))


def thread_counts(cores: int) -> tuple[int, ...]:
    """Powers of two, and all."""
    powers = (1 << power for power in range(cores.bit_length()))
    return tuple(sorted({*powers, cores}))


def level_sizes(cache_bytes: tuple[int, ...], threads: int) -> dict[str, int]:
    """Bytes in use by level; threads share the last cache, and have the others each."""
    *own, last = cache_bytes
    sizes = {f"L{number}": threads * size // 2 for number, size in enumerate(own, 1)}
    return sizes | {f"L{len(cache_bytes)}": last // 2, "memory": MEMORY_PER_CACHE * last}


def _mixes(size: int) -> tuple[Streams, ...]:
    """As `WAYS`."""
    return Streams(size, 0, 0), Streams(0, size, 0), Streams(size // 2, size // 2, 0)
