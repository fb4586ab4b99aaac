"""Replay: a trace and the unscheduled procedure give the scheduled procedure."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from schedsearch.analysis.walkers import statement_count
from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.errors import ReplayError, RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import patient_solver
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply

KEPT = 100_000
"""Statements that the states in a cache have together, at most: 1 to 2 KB each."""


@dataclass(frozen=True)
class State:
    """A procedure somewhere on a trace, with its query AST and how it is built. Making it from the
    root took so many seconds."""

    procedure: Any
    ast: q.Proc
    build: Build = DEFAULT_BUILD
    seconds: float = field(default=0.0, compare=False)


@dataclass
class Replayer:
    """Replays traces of one procedure; keeps the most recently used states, of `limit`
    statements together. Steps that break the floating-point contract `fp` do not apply.

    The cache changes speed only: a state depends on nothing but its trace.
    """

    root: Any
    limit: int = KEPT
    fp: FloatingPoint = FloatingPoint.FAST
    _cache: OrderedDict[str, State] = field(default_factory=OrderedDict)
    _held: int = 0

    def __post_init__(self) -> None:
        self._root = State(self.root, mirror(self.root))

    def state(self, trace: Trace) -> State:
        """Raises ReplayError naming the step that does not apply."""
        known = len(trace)
        while known and Trace(trace.steps[:known]).key not in self._cache:
            known -= 1
        state = self._root
        if known:
            key = Trace(trace.steps[:known]).key
            self._cache.move_to_end(key)
            state = self._cache[key]
        for step in range(known, len(trace)):
            rewrite, began = trace.steps[step], time.perf_counter()
            try:
                with patient_solver():
                    procedure = apply(state.procedure, state.ast, rewrite, self.fp)
            except RewriteError as error:
                raise ReplayError(step, str(rewrite), str(error)) from error
            except RecursionError as error:  # of expressions: those of statements are refused
                raise ReplayError(step, str(rewrite), "expressions nested too deeply") from error
            seconds = state.seconds + time.perf_counter() - began
            state = self.remember(Trace(trace.steps[: step + 1]), procedure, seconds)
        return state

    def remember(self, trace: Trace, procedure: Any, seconds: float) -> State:
        """Keep the state at the end of `trace`, so that its children start there."""
        state = State(procedure, mirror(procedure), trace.build, seconds)
        known = self._cache.pop(trace.key, None)
        self._held += _size(state) - (_size(known) if known else 0)
        self._cache[trace.key] = state
        while self._held > self.limit and len(self._cache) > 1:
            _, oldest = self._cache.popitem(last=False)
            self._held -= _size(oldest)
        return state


def _size(state: State) -> int:
    return statement_count(state.ast.body)
