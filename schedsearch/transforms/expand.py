"""Expansion: every child of a trace, with its `ast_key`, or with the reason it is illegal."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import takewhile
from math import inf
from pathlib import Path

from schedsearch.analysis.ranges import ranges_at, trips
from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, RewriteError, UserError
from schedsearch.core.records import Keys, Outcome, Target
from schedsearch.core.trace import AS_WRITTEN, Rewrite, Trace
from schedsearch.transforms.children import Child, Expansion, Made, Replay
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.fit import similar
from schedsearch.transforms.promises import Promises
from schedsearch.transforms.registry import (
    Transform,
    carry_out,
    normalises,
    propose,
)
from schedsearch.transforms.replay import Replayer, State

SLOW_S = 0.2
"""A rewrite that takes longer is not carried out again to build its child: C takes 0.03 s. Nor is
a schedule that takes longer replayed to build it otherwise: both have the same C."""


class Expander:
    """Expands traces of one procedure with a fixed alphabet for one target.

    `between` is called between children: an expansion takes seconds, and others may
    need the machine to themselves.
    """

    def __init__(
        self,
        replayer: Replayer,
        target: Target,
        transforms: Sequence[Transform],
        sizes: Mapping[str, int],
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self.replayer = replayer
        self.target = target
        self.transforms = transforms
        self.sizes = sizes
        self.between = between
        self.generator = CodeGenerator(replayer)
        self.seen: set[str] = set()
        self.promises = Promises()
        self.if_cheaper = {each.name for each in transforms if each.if_cheaper}
        self.faults: list[str] = []

    def expand(
        self,
        trace: Trace,
        part: int = 0,
        parts: int = 1,
        *,
        made: Collection[Rewrite] = (),
        patience_s: float = inf,
    ) -> Expansion:
        """The children of `trace`, or every `parts`-th of them from number `part` on, without
        those `made` before: all, in proposal order; or with `patience_s` the most promising ones,
        at least one, for so many seconds, and no less than it took to propose them.

        Raises ReplayError if `trace` itself does not replay.
        """
        clock = _Stages()
        state = self.replayer.state(trace)
        clock.lap("replay")
        rewrites = list(self._proposed(state, self.transforms))[part::parts]
        known = set(made)
        rewrites = [rewrite for rewrite in rewrites if rewrite not in known]
        if patience_s < inf:
            rewrites = self.promises.ranked(rewrites)
        clock.lap("propose")
        before = self._log_cost(state)
        clock.lap("predict")
        children: list[Child] = []
        until_s = clock.worked_s + max(patience_s, clock.worked_s)
        for rewrite in rewrites:
            if children and clock.worked_s > until_s:
                break
            self.between()
            clock.lap("wait")
            children.append(self._child(state, trace, rewrite, before, clock))
            self.promises.learn(children[-1])
        left = len(rewrites) - len(children)
        return Expansion(trace, tuple(children), clock.result(), left, self._told())

    def follow(self, trace: Trace, known: int) -> Replay:
        """The steps of `trace` after the first `known`, each as a child of the one before. A
        step that is illegal as it stands is fitted; if it cannot be, the replay ends there.

        Raises ReplayError if the first do not replay.
        """
        clock = _Stages()
        steps: list[Child] = []
        start = done = Trace(trace.steps[:known])
        for wanted in trace.steps[known:]:
            tried = list(self._tried(done, wanted, clock, exact=True))
            child = tried[-1] if tried[-1].outcome is None else tried[0]
            steps.append(child)
            if child.outcome is not None:
                break
            done = done.then(child.rewrite)
        return self._replayed(start, steps, clock)

    def normalise(self, patience_s: float, start: Trace = AS_WRITTEN) -> Replay:
        """The way from `start`, which is on it, to the normal form, as far as it takes no more
        than `patience_s` seconds: at each step the first rewrite that is legal, of those that come
        no earlier in it (`registry.normalises`) than the one before. Some have to look cheaper.

        Raises ReplayError if `start` does not replay.
        """
        clock, until = _Stages(), time.perf_counter() + patience_s

        def in_time(_: Rewrite) -> bool:
            return time.perf_counter() <= until

        steps: list[Child] = []
        done = start
        seen: set[str | None] = {ast_key(self.replayer.state(done).ast)}
        dear = set[Rewrite]()
        while time.perf_counter() < until:
            state = self.replayer.state(done)
            before = self._log_cost(state)
            clock.lap("predict")
            for rewrite in takewhile(in_time, self._next(state, done)):
                if rewrite in dear:
                    continue
                clock.lap("propose")
                self.between()
                clock.lap("wait")
                child = self._child(state, done, rewrite, before, clock, make=False, until=until)
                if child.outcome is not None or child.keys.ast in seen:
                    continue
                if not self._is_optional(child):
                    break
                if self._log_cost(self.replayer.state(done.then(rewrite))) < before:
                    break
                dear.add(rewrite)
                self.seen.discard(child.keys.ast)  # a later expansion makes it, with its estimate
            else:
                clock.lap("propose")
                break
            steps.append(child)
            done = done.then(child.rewrite)
            seen.add(child.keys.ast)
        way = self._replayed(start, steps, clock)
        if steps and steps[-1].made is None and self._is_optional(steps[-1]):
            # Exo looks at threads when it makes C: the way ends before them.
            before_them = list(takewhile(lambda each: not self._is_optional(each), steps))
            way = self._replayed(start, before_them, clock)
        return way

    def _is_optional(self, step: Child) -> bool:
        """Whether the normal form has it only where it looks cheaper. Such steps come last."""
        return step.rewrite.transform in self.if_cheaper

    def _next(self, state: State, done: Trace) -> Iterator[Rewrite]:
        """What may be the next step to the normal form. Those that come later in it are looked for
        if none of the earlier ones was taken."""
        least = max(normalises(done.steps[-1]) if done.steps else 0, 1)
        for place in sorted({each.normal_form for each in self.transforms}):
            if place >= least:
                alphabet = [each for each in self.transforms if each.normal_form == place]
                yield from filter(normalises, self._proposed(state, alphabet))

    def _replayed(self, start: Trace, steps: list[Child], clock: _Stages) -> Replay:
        """With what building the end needs: what is between is built later, if at all."""
        if steps and steps[-1].outcome is None:
            done = reduce(Trace.then, (child.rewrite for child in steps), start)
            made = self._make(done, self.replayer.state(done))
            clock.lap("codegen")
            steps[-1] = replace(steps[-1], made=made)
        return Replay(start, tuple(steps), clock.result(), self._told())

    def adapt(self, trace: Trace) -> Replay:
        """The steps of `trace`, a schedule of another procedure, as far as they find a place
        in this one; what is not legal here is left out."""
        clock = _Stages()
        steps: list[Child] = []
        done = Trace()
        for wanted in trace.steps:
            for child in self._tried(done, wanted, clock, exact=False):
                if child.outcome is None:
                    steps.append(child)
                    done = done.then(child.rewrite)
        return Replay(Trace(), tuple(steps), clock.result(), self._told())

    def _tried(self, trace: Trace, wanted: Rewrite, clock: _Stages, exact: bool) -> Iterator[Child]:
        """Children of `trace` by `wanted` itself (if `exact`) and by what is most like it, up
        to the first that is legal."""
        state = self.replayer.state(trace)
        clock.lap("replay")
        before = self._log_cost(state)
        clock.lap("predict")
        for rewrite in self._choices(state, wanted, clock, exact):
            self.between()
            clock.lap("wait")
            child = self._child(state, trace, rewrite, before, clock, make=False)
            yield child
            if child.outcome is None:
                return

    def _choices(
        self, state: State, wanted: Rewrite, clock: _Stages, exact: bool
    ) -> Iterator[Rewrite]:
        if exact:
            yield wanted
        alphabet = [each for each in self.transforms if each.name == wanted.transform]
        proposals = list(self._proposed(state, alphabet))
        clock.lap("propose")
        yield from (other for other in similar(wanted, proposals) if not exact or other != wanted)

    def _proposed(self, state: State, alphabet: Sequence[Transform]) -> Iterator[Rewrite]:
        """A transform that fails costs no other one its rewrites."""
        for transform in alphabet:
            with self._mistakes_of(transform.name):
                for rewrite in propose(state.ast, self._target(state), [transform]):
                    if self._is_long_enough(state, rewrite):
                        yield rewrite

    def _is_long_enough(self, state: State, rewrite: Rewrite) -> bool:
        """Whether, at the sizes that are tuned for, a loop runs as often as the rewrite is for."""
        least, loop = dict(rewrite.args).get("least"), state.ast.by_path.get(rewrite.path)
        if not isinstance(least, int) or not isinstance(loop, q.For):
            return True
        ranges = ranges_at(state.ast, rewrite.path[:-1])
        sizes = {arg.var: self.sizes.get(arg.var.name) for arg in state.ast.args}
        ranges |= {var.uid: (size, size) for var, size in sizes.items() if size is not None}
        return trips(loop, ranges)[1] >= least

    @contextmanager
    def _mistakes_of(self, transform: str) -> Iterator[None]:
        """A mistake ends the block, and is told."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            self.faults.append(_fault(transform, error))

    def _told(self) -> tuple[str, ...]:
        """Mistakes since the last time, each once."""
        faults, self.faults = tuple(dict.fromkeys(self.faults)), []
        return faults

    def _child(
        self,
        state: State,
        trace: Trace,
        rewrite: Rewrite,
        before: float,
        clock: _Stages,
        make: bool = True,
        until: float = inf,
    ) -> Child:
        """`before` is the logarithm of the parent's estimated cost. `make` its C, if it is slow.
        A rewrite that is not done by then (`time.perf_counter`) counts as illegal, and one whose
        transform makes a mistake."""
        with self._mistakes_of(rewrite.transform):
            procedure, began = state.procedure, time.perf_counter()
            try:
                for _, made in carry_out(state.procedure, state.ast, rewrite, self.target.fp):
                    procedure = made
                    clock.lap("rewrite")
                    if clock.last > until:
                        raise RewriteError("it takes too long")
            except RewriteError as error:
                clock.lap("rewrite")
                return Child(rewrite, outcome=Outcome.ILLEGAL, message=str(error))
            clock.lap("ast_key")  # after the last operator, the result's query AST is made
            seconds = time.perf_counter() - began
            if procedure is state.procedure:  # only built otherwise
                after = replace(state, build=trace.then(rewrite).build)
                slow = state.seconds > SLOW_S
            else:
                so_far = state.seconds + seconds
                after = self.replayer.remember(trace.then(rewrite), procedure, so_far)
                slow = seconds > SLOW_S
            key = ast_key(after.ast, after.build)
            clock.lap("ast_key")
            if key in self.seen:
                return Child(rewrite, Keys(ast=key))
            self.seen.add(key)
            predicted = before - self._log_cost(after)
            clock.lap("predict")
            made_of = self._make(trace.then(rewrite), after) if make and slow else None
            clock.lap("codegen")
            return Child(rewrite, Keys(ast=key), predicted=predicted, made=made_of)
        return Child(rewrite, outcome=Outcome.ILLEGAL, message=self.faults[-1])

    def _make(self, trace: Trace, state: State) -> Made | None:
        """None if there is no C: building says why."""
        try:
            return Made(self.generator.generate(trace), state.ast)
        except CodegenError:
            return None

    def _log_cost(self, state: State) -> float:
        return log_cost(state.ast, self._target(state), self.sizes)

    def _target(self, state: State) -> Target:
        """The target with the build options of a state: most have the default ones."""
        same = state.build == self.target.build
        return self.target if same else replace(self.target, build=state.build)


def _fault(transform: str, error: Exception) -> str:
    """`error`, a mistake of a transform, with the line that raised it."""
    *_, last = traceback.extract_tb(error.__traceback__)
    kind, place = type(error).__name__, f"{Path(last.filename).name}:{last.lineno}"
    return f"a mistake in `{transform}`: {kind} in {place}: {error}"


class _Stages:
    """Adds up time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now

    @property
    def worked_s(self) -> float:
        """Seconds but those of waiting for others."""
        return sum(self.seconds.values()) - self.seconds.get("wait", 0.0)

    def result(self) -> tuple[tuple[str, float], ...]:
        return tuple(self.seconds.items())
