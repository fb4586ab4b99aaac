"""One tuning run from a user's file to a result: everything around the search itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch import __version__
from schedsearch.core.interrupts import raised_interrupts
from schedsearch.core.records import RunStatus
from schedsearch.core.trace import AS_WRITTEN, Trace
from schedsearch.evaluate.build.host import host_state
from schedsearch.evaluate.roof.roofline import roof_of
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.sanitize import Inspector
from schedsearch.search.baseline import measure_baseline, root_record
from schedsearch.search.caches import in_use
from schedsearch.search.engine.confirmation import once
from schedsearch.search.engine.driver import Search
from schedsearch.search.engine.ending import (
    closing_s,
    gained,
    last_roof,
    search_until,
    session_noise,
)
from schedsearch.search.engine.minimal import shorten_with
from schedsearch.search.engine.plans import CLOSING_S, SLOW_CLOSING_S
from schedsearch.search.engine.progress import Observer
from schedsearch.search.other_alignment import measure_elsewhere
from schedsearch.search.result import Listener, Result, Setting
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.run_summary import RunEnvironment, RunSummary
from schedsearch.search.setup.subject import Subject, bench_of, load_subject
from schedsearch.search.setup.trust import remember
from schedsearch.search.strategies.make import make_strategy, strategy_name
from schedsearch.search.strategies.protocol import Strategy
from schedsearch.search.warmstart.counterpart import find_counterpart
from schedsearch.search.warmstart.prior_runs import check_earlier_runs, known_before
from schedsearch.search.workers.building import reacher_of
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.search.workers.executor import Executor, make_executor
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope
from schedsearch.transforms.registry import Transform
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.instruction_sets import not_shipped

PATIENCE = 0.1 / 12
"""Of the budget: if a call of the procedure as written takes longer, only a part of it is timed. It
is called a dozen times before the search begins."""


@dataclass(frozen=True)
class Session:
    """A run that has begun: workers and bench are ready, the store has its root. `began`: when it
    was asked for (`time.monotonic`), if its budget begins there and not with each search."""

    setting: Setting
    store: Store
    run_id: int
    bench: Bench
    executor: Executor
    first: tuple[Trace, ...] = ()
    began: float | None = None

    def search(
        self,
        strategy: Strategy,
        budget: Budget,
        observer: Observer,
        seed: int = 0,
        start: Trace = AS_WRITTEN,
    ) -> Search:
        """From what the store knows now, for what follows `start`."""
        setting, scope = self.setting, self.setting.scope
        subject, standard = setting.subject, self.bench.standard
        inspector = Inspector(subject.ast, subject.code, self.bench, subject.builder)
        replayer = Replayer(subject.procedure, fp=subject.target.fp)
        reacher = reacher_of(self.bench)
        runs = self.store.runs(scope)
        search = Search(
            self.store,
            scope,
            self.run_id,
            self.executor,
            strategy,
            budget,
            replace(standard, call_s=setting.baseline.call_s / standard.scale),
            self.store.walk(scope),
            observer,
            [origin.trace for origin in setting.known.origins],
            once(inspector, self.store, scope, lambda t: reacher.reach(replayer.state(t).ast)),
            closing_s=_closing_s(runs, budget.seconds, self.bench),
            first=self.first,
            shorten=shorten_with(self.bench, replayer, subject.target, subject.builder),
            began=self.began,
            seed=seed,
            start=start,
        )
        for summary in map(RunSummary.of, runs):
            search.ledger.superseded.update(summary.superseded)
            search.confirmation.minimal.update(summary.minimal)
        return search


def tune(options: Options, listener: Listener) -> Result:
    """Run one search. Raises UserError for whatever the user can mend."""
    options.budget.check()
    strategy = make_strategy(options.strategy)
    began = time.monotonic()
    with begun(options, listener) as session:
        session = replace(session, began=began)
        search = session.search(
            strategy, options.budget, listener.progress, options.seed, options.start
        )
        result = _run(search, session)
        other = find_counterpart(session.store, session.setting.subject, options.sizes)
        return replace(result, counterpart=other)


def subject_of(options: Options) -> Subject:
    """Raises UserError as `load_subject` does."""
    return load_subject(
        options.file,
        options.proc,
        options.sizes,
        options.cc,
        options.threads,
        options.target,
        options.instructions,
        options.specialize,
        options.fp,
        options.align,
    )


@contextmanager
def begun(options: Options, listener: Listener) -> Iterator[Session]:
    """Begin a run; workers end with the context. Raises UserError as `tune` does."""
    began = time.monotonic()
    options.check()
    transforms = options.selected
    with raised_interrupts():
        subject = subject_of(options)
    remember(subject.source.path, subject.source.sha)
    for each in not_shipped(subject.target.instructions):
        remember(Path(each.path), each.digest)
    if options.threads > 1:
        with measuring_slot():  # before workers start on those cores
            roof_of(subject.builder, subject.target, subject.work)
    with in_use(), Store.open(options.store) as store:
        scope = store.register(subject.workload, subject.target, subject.source.text)
        if options.fresh:
            scope = store.afresh(scope)
        elif options.tree is not None:
            scope = replace(scope, tree=options.tree)
        check_earlier_runs(store, scope, transforms, options.cache)
        executor = make_executor(options, subject, transforms)
        try:
            yield _begin(options, listener, subject, store, scope, executor, transforms, began)
        except KeyboardInterrupt:
            if options.executor == "ray":  # Ray can only be stopped once it has started
                listener.phase("stopping workers (Ctrl-C again ends at once)")
            raise
        finally:
            executor.close()


def _begin(
    options: Options,
    listener: Listener,
    subject: Subject,
    store: Store,
    scope: Scope,
    executor: Executor,
    transforms: Sequence[Transform],
    began: float,
) -> Session:
    """Measure the baseline, then give the store its run and its root."""
    listener.phase("measuring the baseline")
    with raised_interrupts():
        patience_s = PATIENCE * options.budget.seconds
        bench = bench_of(subject, cache=options.cache, patience_s=patience_s)
        baseline = measure_baseline(bench, subject, listener.phase)
    if options.executor == "ray" and options.ray_address is not None:
        listener.phase("starting workers")  # our own start while the first candidate is measured
    executor.attach(bench)
    budget_s, before_s = options.budget.seconds, time.monotonic() - began
    ending_s = _closing_s(store.runs(scope), budget_s, bench)
    environment = RunEnvironment(
        __version__,
        baseline.roof,
        before_s,
        search_until(budget_s, ending_s, before_s),
        subject.target.circumstances,
        dict(host_state()),
    )
    run_id = store.start_run(
        scope,
        seed=options.seed,
        strategy=strategy_name(options.strategy),
        settings=options.settings(transforms),
        environment=environment.to_json(),
    )
    store.add_code([subject.code])
    store.add_root(scope, run_id, root_record(subject, bench, baseline))
    known = known_before(store, scope, subject, options.warm_start, transforms)
    listener.started(subject, baseline, known)
    setting = Setting(subject, baseline, scope, known)
    return Session(setting, store, run_id, bench, executor, options.first)


def _closing_s(runs: Sequence[Run], budget_s: float, bench: Bench) -> float:
    """Seconds of a budget that the end of a search has."""
    return closing_s(runs, budget_s, CLOSING_S + (SLOW_CLOSING_S if bench.part else 0.0))


def _run(search: Search, session: Session) -> Result:
    store, run_id, setting = session.store, session.run_id, session.setting
    status, summary = RunStatus.FAILED, RunSummary()
    noise = elsewhere = None
    try:
        stop = search.run()
        progress = search.progress()
        best = progress.best
        status = RunStatus.INTERRUPTED if stop is Stop.INTERRUPTED else RunStatus.FINISHED
        summary = RunSummary(
            stop=str(stop),
            measured=progress.measured,
            expanded=progress.expanded,
            best=best.key if best else None,
            curve=tuple(progress.curve),
            reference=setting.baseline.agreement,
            inspection=progress.inspection,
            superseded=search.ledger.superseded,
            minimal=tuple(sorted(search.confirmation.minimal)),
        )
        roof = setting.baseline.roof
        try:
            if best is not None and stop is not Stop.INTERRUPTED:
                roof = last_roof(setting.subject, roof, best)
                code = search.ledger.code(best.key)
                noise = session_noise(session.bench, setting.subject, code, search.left())
                elsewhere = measure_elsewhere(session.bench, setting.subject, code, search.left())
                summary = replace(summary, closing_s=search.closed_in())
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED  # the result is there all the same
            status, summary = RunStatus.INTERRUPTED, replace(summary, stop=str(stop))
        over = best is not None and roof.exceeded(best.measurement.candidate_ns * 1e-9)
        summary = replace(summary, noise=noise, elsewhere=elsewhere, roof=roof, over_roof=over)
    finally:
        store.finish_run(run_id, status, summary.to_json())
    if best is None or gained(best, noise):
        return Result(setting, run_id, stop, progress, best, roof, noise, elsewhere=elsewhere)
    return Result(setting, run_id, stop, progress, None, roof, noise, level=best)
