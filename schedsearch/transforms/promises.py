"""What rewrites promise before they are carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from schedsearch.core.trace import Kind, Rewrite
from schedsearch.transforms.children import Child
from schedsearch.transforms.registry import normalises

UNKNOWN_GAIN = 0.3
"""The log gain assumed of a transform that was never tried."""
ILLEGAL_GAIN = -1.0


@dataclass
class _Mean:
    """Starts at a prior, which has the weight of one value."""

    total: float
    number: int = 1

    def add(self, value: float) -> None:
        self.total, self.number = self.total + value, self.number + 1

    @property
    def value(self) -> float:
        return self.total / self.number


class Promises:
    """What rewrites promise before they are carried out: the mean gain that the cost estimate
    predicted for those of their kind, at other nodes, and for their transform."""

    def __init__(self) -> None:
        self._kinds: dict[Kind, _Mean] = {}
        self._transforms: dict[str, _Mean] = {}

    def learn(self, child: Child) -> None:
        """A second schedule with the same query AST says nothing: it has no prediction."""
        gain = ILLEGAL_GAIN if child.outcome is not None else child.predicted
        if gain is None:
            return
        rewrite = child.rewrite
        self._transforms.setdefault(rewrite.transform, _Mean(UNKNOWN_GAIN)).add(gain)
        prior = self._transforms[rewrite.transform].value
        self._kinds.setdefault(rewrite.kind, _Mean(prior)).add(gain)

    def of(self, rewrite: Rewrite) -> float:
        """The expected log speed-up over the parent."""
        known = self._kinds.get(rewrite.kind) or self._transforms.get(rewrite.transform)
        return known.value if known else UNKNOWN_GAIN

    def ranked(self, rewrites: Sequence[Rewrite]) -> list[Rewrite]:
        """What brings a procedure to its normal form first; then in turn the most promising one
        and the next of another transform: what opens a way promises nothing itself."""
        normal = sorted(filter(normalises, rewrites), key=normalises)
        by_transform: dict[str, list[Rewrite]] = {}
        for rewrite in rewrites:
            by_transform.setdefault(rewrite.transform, []).append(rewrite)
        turns = [each for row in zip_longest(*by_transform.values()) for each in row if each]
        best = sorted(turns, key=self.of, reverse=True)
        pairs = zip(best, turns, strict=True)
        return list(dict.fromkeys([*normal, *(each for pair in pairs for each in pair)]))
