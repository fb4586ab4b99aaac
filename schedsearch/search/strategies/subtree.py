"""A strategy that searches one part of a tree: what follows a schedule."""

from __future__ import annotations

from schedsearch.core.trace import Trace
from schedsearch.search.strategies.protocol import Event, Expanded, Measured, Replayed, Strategy


class Subtree:
    """Tells `inner`, whose root is `start`, of what follows `start` and nothing else, as if that
    were the unscheduled procedure: speed-ups are over it.

    `start` has to be told as measured before what follows it. What equals a schedule elsewhere
    in the tree belongs there.
    """

    def __init__(self, inner: Strategy, start: Trace) -> None:
        self._inner, self._start = inner, start.key
        self._keys = {start.key}
        self._speedup = 1.0

    def ask_measure(self, n: int) -> list[str]:
        return self._inner.ask_measure(n)

    def ask_expand(self, n: int) -> list[str]:
        return self._inner.ask_expand(n)

    def tell(self, event: Event) -> None:
        match event:
            case Expanded() if event.key in self._keys:
                self._keys.update(child.key for child in event.children)
                self._inner.tell(event)
            case Replayed():
                self._replayed(event)
            case Measured() if event.key == self._start:
                self._speedup = event.speedup or self._speedup
            case Measured() if event.key in self._keys:
                over = None if event.speedup is None else event.speedup / self._speedup
                self._inner.tell(Measured(event.key, over))
            case _:
                pass  # elsewhere

    def _replayed(self, event: Replayed) -> None:
        chain = []
        for parent, child in event.chain:
            if parent in self._keys:
                self._keys.add(child.key)
                chain.append((parent, child))
        if chain:
            self._inner.tell(Replayed(tuple(chain), event.key if event.key in self._keys else None))
