"""A search by hand: the same jobs and the same books, one decision at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from schedsearch.core.errors import ReplayError, UserError
from schedsearch.core.records import Artifact, Measurement, Outcome, RunStatus
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.run.bench import Anchor
from schedsearch.search.engine.driver import Search
from schedsearch.search.engine.minimal import Tell
from schedsearch.search.engine.plans import confirm, pair
from schedsearch.search.reloading import require_verified
from schedsearch.search.result import Listener, Result
from schedsearch.search.session import begun, tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.run_summary import RunSummary
from schedsearch.search.strategies.protocol import Idle
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.jobs import ExpandJob, ReplayJob
from schedsearch.store.views import StoredCandidate
from schedsearch.study.compare import standing, verified
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.replay import Replayer, State

BY_HAND = "by hand"
"""The name of such a run's strategy in the store."""


class NotMeasuredError(UserError):
    """A schedule cannot be built, or is wrong; the store says so of it too."""


class Stepper:
    """A run in which the caller says what is expanded and measured. The store keeps
    everything, so that searches know it and later sessions do not do it again.

    Schedules are named by their traces, which have to be in the store: the root is, and what
    `rewrites` and `follow` return. Raises UserError for what the user can mend.
    """

    def __init__(self, options: Options, listener: Listener) -> None:
        self.options = replace(options, strategy=BY_HAND, executor="inline")
        self._stack = ExitStack()
        self.session = self._stack.enter_context(begun(self.options, listener))
        self.options = replace(self.options, fresh=False)  # searches go on with this tree
        self._search = self._from_store()
        self.replayer = Replayer(
            self.session.setting.subject.procedure, fp=self.session.setting.subject.target.fp
        )
        self._measured = self._expanded = 0
        self._closed = False

    def state(self, trace: Trace) -> State:
        """The procedure at the end of `trace`. Raises UserError naming the step that fails."""
        try:
            return self.replayer.state(trace)
        except ReplayError as error:
            raise UserError(str(error)) from error

    def stored(self, trace: Trace) -> StoredCandidate:
        [found] = self._find(trace.key)
        return found

    def original(self, candidate: StoredCandidate) -> StoredCandidate:
        """Itself, or the one that has the same procedure and was there before."""
        record = candidate.record
        if record.duplicate_level != "ast" or record.duplicate_of is None:
            return candidate
        [found] = self._find(record.duplicate_of)
        return found

    def rewrites(self, trace: Trace) -> list[StoredCandidate]:
        """Its children by one more rewrite, the rejected ones too; enumerated once."""
        node = self.stored(trace)
        if not node.expanded:
            self._knowing(trace).complete(ExpandJob(trace))
            self._expanded += 1
        return self.session.store.children(node.id)

    def follow(self, trace: Trace, rewrite: Rewrite) -> StoredCandidate:
        """Its child by this rewrite, whether that was proposed or not."""
        longer = trace.then(rewrite)
        if not self._find(longer.key):
            self.state(longer)  # says why it is illegal, if it is
            self.add(longer, known=len(trace))
        return self.stored(longer)

    def add(self, trace: Trace, known: int = 0) -> None:
        """Replay a trace, of which the store has the first `known` steps, into the store."""
        self._knowing(Trace(trace.steps[:known])).complete(ReplayJob(trace, known=known))

    def measure(self, trace: Trace, against: StoredCandidate | None = None) -> Measurement:
        """Verify it and time it on fresh rounds, at once, interleaved with a verified schedule of
        this procedure (default: as written, as a search confirms its best). Equal machine code
        is measured under the name of the first that had it, and not against itself.

        Returns what ranks it now. Raises NotMeasuredError if it cannot be built, or is wrong.
        """
        search = self._knowing(trace)
        anchor = search.work.baseline if against is None else self._anchor(against)
        plan = (confirm if against is None else pair)(anchor.call_s)
        search.measure(trace.key, plan, anchor)
        self._measured += 1
        record = self.stored(trace).record
        if record.outcome is Outcome.DUPLICATE and record.duplicate_of is not None:
            [owner] = self._find(record.duplicate_of)
            known = verified(owner)
            if known is not None and (against is None or owner.id == against.id):
                return known
            return self.measure(owner.record.trace, against)
        if record.outcome is not Outcome.CORRECT or record.measurement is None:
            raise NotMeasuredError(f"{record.outcome}: {record.message}")
        return record.measurement

    def standing(self, trace: Trace) -> StoredCandidate:
        """The candidate that says how fast it is: itself, or the one that it is a duplicate of."""
        return standing(self.session.store, self.session.setting.scope, [trace.key])[trace.key]

    def _anchor(self, candidate: StoredCandidate) -> Anchor:
        """The kernel that others are timed against. Raises UserError if it was not verified: it
        would be timed all the same."""
        require_verified(candidate)
        record, baseline = candidate.record, self._search.work.baseline
        if not record.trace.steps:
            return baseline
        assert record.measurement is not None, "it was verified"
        known = self.session.store.code(record.keys.code or "")
        code = known or CodeGenerator(self.replayer).generate(record.trace)
        built = self.session.setting.subject.builder.build(code, BUILD_TIMEOUT_S)
        if not isinstance(built, Artifact):
            raise UserError(
                f"candidate {candidate.id} cannot be built any more:\n{built.message}\nTune "
                "again with `schedsearch run`."
            )
        return Anchor.of(built, record.measurement)

    def search(self, start: Trace, options: Options, listener: Listener) -> Result:
        """Let a strategy go on from `start`."""
        record = self.stored(start).record
        if record.measurement is None:
            self.measure(start)
        result = tune(replace(options, start=start), listener)
        self._search = self._from_store()
        return result

    def close(
        self, status: RunStatus = RunStatus.FINISHED, summary: RunSummary | None = None
    ) -> None:
        """End the run, with this `summary` or its own; may be called twice."""
        if self._closed:
            return
        self._closed = True
        with self._stack:
            own = summary or self._summary()
            self.session.store.finish_run(self.session.run_id, status, own.to_json())

    def _summary(self) -> RunSummary:
        progress, baseline = self._search.progress(), self.session.setting.baseline
        return RunSummary(
            stop=BY_HAND,
            measured=self._measured,
            expanded=self._expanded,
            best=progress.best.key if progress.best else None,
            curve=progress.curve,
            reference=baseline.agreement,
            roof=baseline.roof,
        )

    def _find(self, key: str) -> list[StoredCandidate]:
        return self.session.store.find(self.session.setting.scope, [key])

    def _knowing(self, trace: Trace) -> Search:
        """The books, read again if another run has added the schedule since."""
        if trace.key not in self._search.ledger.tree.nodes:
            self._search = self._from_store()
        return self._search

    def _from_store(self) -> Search:
        return self.session.search(Idle(), Budget(0.0), lambda progress: None)


@contextmanager
def by_hand(options: Options, tell: Tell) -> Iterator[Stepper]:
    """A run by hand, which ends with the context; `tell` hears its phases."""
    stepper = Stepper(options, Listener(tell, lambda *_: None, lambda _: None))
    status = RunStatus.FAILED
    try:
        yield stepper
        status = RunStatus.FINISHED
    except KeyboardInterrupt:
        status = RunStatus.INTERRUPTED
        raise
    finally:
        stepper.close(status)
