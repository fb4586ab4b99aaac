"""Limits of a machine's cores, for 1, 2, 4, ... threads: rooflines without a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from schedsearch.core.records import Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.roof.peak import Peaks, measure_peaks
from schedsearch.evaluate.roof.traffic import Streams

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
        sizes = _sizes(target.cache_bytes, threads)
        mixes = [mix for size in sizes.values() for mix in _mixes(size)]
        peaks, rates = measure_peaks(builder, replace(target, threads=threads), mixes)
        yield Limits(threads, peaks, dict(zip(product(sizes, WAYS), rates, strict=True)))


def thread_counts(cores: int) -> tuple[int, ...]:
    """Powers of two, and all."""
    powers = (1 << power for power in range(cores.bit_length()))
    return tuple(sorted({*powers, cores}))


def _sizes(cache_bytes: tuple[int, ...], threads: int) -> dict[str, int]:
    """Bytes in use by level; threads share the last cache, and have the others each."""
    *own, last = cache_bytes
    sizes = {f"L{number}": threads * size // 2 for number, size in enumerate(own, 1)}
    return sizes | {f"L{len(cache_bytes)}": last // 2, "memory": MEMORY_PER_CACHE * last}


def _mixes(size: int) -> tuple[Streams, ...]:
    """As `WAYS`."""
    return Streams(size, 0, 0), Streams(0, size, 0), Streams(size // 2, size // 2, 0)
