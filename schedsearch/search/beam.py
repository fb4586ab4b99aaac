"""Beam search: measure every child of the beam, keep the best `width`, repeat.

The classic of autotuners without a cost model (tinygrad's BEAM, Halide 2019).
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from schedsearch.search.strategy import Action, Event, Expand, Expanded, Measure, Measured


@dataclass
class Beam:
    """`root` is the key of the unscheduled procedure; `width` nodes survive a level."""

    root: str
    seed: int = 0
    width: int = 4
    _beam: list[str] = field(default_factory=list)
    _children: dict[str, list[str]] = field(default_factory=dict)
    _speedup: dict[str, float | None] = field(default_factory=dict)
    _queue: deque[Action] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._enter([self.root])

    def ask(self, n: int) -> list[Action]:
        actions: list[Action] = []
        while len(actions) < n:
            if self._queue:
                action = self._queue.popleft()
                if not self._known(action):
                    actions.append(action)
            elif not self._next_level():
                break
        return actions

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                keys = [child.key for child in event.children]
                self._random.shuffle(keys)
                self._children[event.key] = keys
                if event.key in self._beam:
                    self._queue.extend(Measure(key) for key in keys)
            case Measured():
                self._speedup[event.key] = event.speedup

    def _known(self, action: Action) -> bool:
        known = self._children if isinstance(action, Expand) else self._speedup
        return action.key in known

    def _enter(self, beam: list[str]) -> None:
        self._beam = beam
        for key in beam:
            if key in self._children:
                self._queue.extend(Measure(child) for child in self._children[key])
            else:
                self._queue.append(Expand(key))

    def _next_level(self) -> bool:
        """Move to the next level if this one is complete; False if there is none yet."""
        if any(key not in self._children for key in self._beam):
            return False
        children = [child for key in self._beam for child in self._children[key]]
        if not children or any(child not in self._speedup for child in children):
            return False
        ranked = [(self._speedup[child], child) for child in children]
        good = sorted(((s, c) for s, c in ranked if s is not None), reverse=True)
        if not good:
            return False
        self._enter([child for _, child in good[: self.width]])
        return True
