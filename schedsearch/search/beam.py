"""Beam search: measure every child of the beam, keep the best `width`, repeat.

The classic of autotuners without a cost model (tinygrad's BEAM, Halide 2019). Nodes
that a replay found compete for the next level, whatever their depth.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque

from schedsearch.core.trace import Trace
from schedsearch.search.strategy import ChildInfo, Event, Expanded, Measured, Predicted, Replayed

WIDTH = 4


class Beam:
    """`root` is the key of the unscheduled procedure; `width` nodes survive a level."""

    def __init__(self, root: str, seed: int, width: int = WIDTH) -> None:
        self.width = width
        self._random = random.Random(seed)
        self._children: dict[str, list[str]] = {}
        self._speedup: dict[str, float | None] = {}
        self._variants: set[str] = set()
        self._replayed: set[str] = set()
        self._entered: set[str] = set()
        self._early: defaultdict[str, list[ChildInfo]] = defaultdict(list)
        self._to_expand: deque[str] = deque()
        self._to_measure: deque[str] = deque()
        self._asked_to_expand: set[str] = set()
        self._asked_to_measure: set[str] = set()
        self._enter([root])

    def ask_measure(self, n: int) -> list[str]:
        self._advance()
        return self._take(self._to_measure, self._asked_to_measure, n)

    def ask_expand(self, n: int) -> list[str]:
        self._advance()
        return self._take(self._to_expand, self._asked_to_expand, n)

    def ask_replay(self, n: int) -> list[Trace]:
        return []

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._asked_to_expand.add(event.key)
                self._add_children(event)
            case Replayed():
                self._add_replayed(event)
            case Measured():
                self._asked_to_measure.add(event.key)
                self._speedup[event.key] = event.speedup
            case Predicted():
                pass

    def _add_children(self, event: Expanded) -> None:
        if event.key in self._children:
            return
        children = (*event.children, *self._early.pop(event.key, ()))
        self._variants.update(child.key for child in children if child.variant)
        keys = [child.key for child in children]
        self._random.shuffle(keys)
        self._children[event.key] = keys
        if event.key in self._beam:
            self._to_measure.extend(keys)

    def _add_replayed(self, event: Replayed) -> None:
        for parent, child in event.chain:
            if parent not in self._children:
                self._early[parent].append(child)
                continue
            self._children[parent].append(child.key)
            if child.variant:
                self._variants.add(child.key)
            if parent in self._beam:
                self._to_measure.append(child.key)
        if event.key is not None:
            self._replayed.add(event.key)
            self._to_measure.appendleft(event.key)

    @staticmethod
    def _take(queue: deque[str], asked: set[str], n: int) -> list[str]:
        keys: list[str] = []
        while queue and len(keys) < n:
            key = queue.popleft()
            if key not in asked:
                asked.add(key)
                keys.append(key)
        return keys

    def _enter(self, beam: list[str]) -> None:
        self._beam = beam
        self._entered.update(beam)
        for key in beam:
            if key in self._children:
                self._to_measure.extend(self._children[key])
            else:
                self._to_expand.append(key)

    def _advance(self) -> None:
        """Go down as long as the level is complete: one that was resumed may be already."""
        while self._complete():
            children = {child for key in self._beam for child in self._children[key]}
            rivals = (children | self._replayed) - self._entered
            ranked = [(self._speedup.get(key), key) for key in rivals]
            # Variants of one schedule would fill the beam; the next level has its own.
            good = sorted(
                ((s, c) for s, c in ranked if s is not None and c not in self._variants),
                reverse=True,
            )
            self._enter([key for _, key in good[: self.width]])
            self._replayed.difference_update(self._beam)
            if not self._beam:
                return

    def _complete(self) -> bool:
        """Everything in the beam is expanded, and every child measured."""
        return all(
            key in self._children and all(child in self._speedup for child in self._children[key])
            for key in self._beam
        )
