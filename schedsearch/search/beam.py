"""Beam search: measure every child of the beam, keep the best `width`, repeat.

The classic of autotuners without a cost model (tinygrad's BEAM, Halide 2019).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Container

from schedsearch.search.strategy import Event, Expanded, Measured

WIDTH = 4


class Beam:
    """`root` is the key of the unscheduled procedure; `width` nodes survive a level."""

    def __init__(self, root: str, seed: int, width: int = WIDTH) -> None:
        self.width = width
        self._random = random.Random(seed)
        self._children: dict[str, list[str]] = {}
        self._speedup: dict[str, float | None] = {}
        self._variants: set[str] = set()
        self._to_expand: deque[str] = deque()
        self._to_measure: deque[str] = deque()
        self._enter([root])

    def ask_measure(self, n: int) -> list[str]:
        self._advance()
        return self._take(self._to_measure, self._speedup, n)

    def ask_expand(self, n: int) -> list[str]:
        self._advance()
        return self._take(self._to_expand, self._children, n)

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                if event.key in self._children:
                    return
                keys = [child.key for child in event.children]
                self._variants.update(child.key for child in event.children if child.variant)
                self._random.shuffle(keys)
                self._children[event.key] = keys
                if event.key in self._beam:
                    self._to_measure.extend(keys)
            case Measured():
                self._speedup[event.key] = event.speedup

    @staticmethod
    def _take(queue: deque[str], known: Container[str], n: int) -> list[str]:
        keys: list[str] = []
        while queue and len(keys) < n:
            key = queue.popleft()
            if key not in known:
                keys.append(key)
        return keys

    def _enter(self, beam: list[str]) -> None:
        self._beam = beam
        for key in beam:
            if key in self._children:
                self._to_measure.extend(self._children[key])
            else:
                self._to_expand.append(key)

    def _advance(self) -> None:
        """Go down as long as the level is complete: one that was resumed may be already."""
        while self._beam and self._complete():
            children = [child for key in self._beam for child in self._children[key]]
            ranked = [(self._speedup[child], child) for child in children]
            # Variants of one schedule would fill the beam; the next level has its own.
            good = sorted(
                ((s, c) for s, c in ranked if s is not None and c not in self._variants),
                reverse=True,
            )
            self._enter([child for _, child in good[: self.width]])

    def _complete(self) -> bool:
        """Everything in the beam is expanded, and every child measured."""
        return all(
            key in self._children and all(child in self._speedup for child in self._children[key])
            for key in self._beam
        )
