"""How the time of several searches is shared out: a pure function."""

from __future__ import annotations

from collections.abc import Sequence

LEAST_S = 15.0
"""Of one search: it takes two seconds to begin, and its end some more."""


def shares(seconds: float, gains: Sequence[float], least_s: float = LEAST_S) -> list[float]:
    """Seconds for each search, in proportion to what it can gain at most.

    A search that would have less than `least_s` gets nothing, and the others share its time; that
    which can gain most gets what there is. None gets any if nothing can be gained.
    """
    order = sorted((n for n, gain in enumerate(gains) if gain > 0), key=lambda n: -gains[n])
    found = [0.0] * len(gains)
    while len(order) > 1 and seconds * gains[order[-1]] < least_s * sum(gains[n] for n in order):
        order.pop()
    for n in order:
        found[n] = seconds * gains[n] / sum(gains[other] for other in order)
    return found
