"""The bandwidth of each level of memory, for pictures of a roofline.

A call of its own measures these, only where they are shown. In the call that measures a roof, more
arrays would take time from the roof's own, which then reads too low: by up to 5 % in L1.
"""

from __future__ import annotations

import math

from schedsearch.core.records import Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.roof.peak import level_sizes, measure_peaks
from schedsearch.evaluate.roof.roofline import level
from schedsearch.evaluate.roof.traffic import Streams

Ceilings = tuple[tuple[str, float], ...]
"""GB/s (loaded plus stored, of all threads together) by level: `L1`, ..., `memory`."""

_MOST_BYTES, _OF_L2, _MOST_OF_MEMORY = 16 << 20, 4, 256 << 20
"""Filling arrays takes longer than all else, so no more of the last cache is in use than tells it
from the second (`_OF_L2` times that one), and memory beyond a very large cache is left out."""


def measure_ceilings(builder: Builder, target: Target, streams: Streams) -> Ceilings:
    """Bandwidths of the same mix of loads and stores in the levels where `streams` is not: that
    one's is the roof's. Half of small caches is in use. Takes about a second.

    Raises UserError if they cannot be measured here.
    """
    if not streams.footprint:
        return ()
    sizes = level_sizes(target.cache_bytes, target.threads)
    most = max(_MOST_BYTES, _OF_L2 * target.threads * target.cache_bytes[:2][-1])
    levels = {name: min(size, most) for name, size in sizes.items() if name != "memory"}
    if sizes.get("memory", math.inf) <= _MOST_OF_MEMORY:
        levels["memory"] = sizes["memory"]
    levels.pop(level(streams.footprint, target), None)
    mixes = [streams.scaled(size) for size in levels.values()]
    return tuple(zip(levels, measure_peaks(builder, target, mixes)[1], strict=True))
