"""A strategy that searches one part of a tree: what follows a schedule."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.core.trace import Trace
from schedsearch.search.strategy import (
    Event,
    Expanded,
    Measured,
    Predicted,
    Replayed,
    Strategy,
)


class Below:
    """Tells `inner`, whose root is `start`, of what follows `start` and nothing else, as if that
    were the unscheduled procedure: speed-ups are over it, traces begin with it.

    `start` has to be told as measured before what follows it. What equals a schedule elsewhere
    in the tree belongs there.
    """

    def __init__(self, inner: Strategy, start: Trace) -> None:
        self._inner, self._start = inner, start
        self._keys = {start.key}
        self._speedup = 1.0
        self._asked: dict[str, str] = {}  # keys of whole traces, and of what follows `start`

    def ask_measure(self, n: int) -> list[str]:
        return self._inner.ask_measure(n)

    def ask_expand(self, n: int) -> list[str]:
        return self._inner.ask_expand(n)

    def ask_replay(self, n: int) -> list[Trace]:
        traces = []
        for trace in self._inner.ask_replay(n):
            whole = Trace((*self._start.steps, *trace.steps))
            self._asked[whole.key] = trace.key
            traces.append(whole)
        return traces

    def tell(self, event: Event) -> None:
        match event:
            case Expanded() if event.key in self._keys:
                self._keys.update(child.key for child in event.children)
                self._inner.tell(event)
            case Replayed():
                self._replayed(event)
            case Measured() if event.key == self._start.key:
                self._speedup = event.speedup or self._speedup
            case Measured() if event.key in self._keys:
                over = None if event.speedup is None else event.speedup / self._speedup
                self._inner.tell(Measured(event.key, over))
            case Predicted():
                own = {key: value for key, value in event.values.items() if key in self._keys}
                if own:
                    self._inner.tell(Predicted(own))
            case _:
                pass  # elsewhere

    def _replayed(self, event: Replayed) -> None:
        chain = []
        for parent, child in event.chain:
            if parent in self._keys:
                self._keys.add(child.key)
                chain.append((parent, child))
        asked = self._asked.pop(event.trace_key, None)
        if chain or asked:
            key = event.key if event.key in self._keys else None
            own = asked or event.trace_key
            self._inner.tell(replace(event, trace_key=own, chain=tuple(chain), key=key))
