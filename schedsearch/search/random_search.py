"""Random search: the baseline every other strategy has to beat.

Each step either expands a random known node or measures a random known child,
in equal parts while both are possible.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from schedsearch.search.strategy import Action, Event, Expand, Expanded, Measure, Measured


@dataclass
class RandomSearch:
    """`root` is the key of the unscheduled procedure."""

    root: str
    seed: int = 0
    _expandable: list[str] = field(default_factory=list)
    _measurable: list[str] = field(default_factory=list)
    _done: set[Action] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._expandable.append(self.root)

    def ask(self, n: int) -> list[Action]:
        actions: list[Action] = []
        while len(actions) < n and (self._expandable or self._measurable):
            # One expansion gives many children, so most steps measure.
            expand = not self._measurable or (self._expandable and self._random.random() < 0.1)
            key = self._draw(self._expandable if expand else self._measurable)
            action: Action = Expand(key) if expand else Measure(key)
            if action not in self._done:
                self._done.add(action)
                actions.append(action)
        return actions

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._done.add(Expand(event.key))
                for child in event.children:
                    self._measurable.append(child.key)
                    self._expandable.append(child.key)
            case Measured():
                self._done.add(Measure(event.key))

    def _draw(self, keys: list[str]) -> str:
        index = self._random.randrange(len(keys))
        keys[index], keys[-1] = keys[-1], keys[index]
        return keys.pop()
