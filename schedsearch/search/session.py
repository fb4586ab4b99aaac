"""One tuning run from a user's file to a result: everything around the search itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from schedsearch import __version__
from schedsearch.core.errors import UserError
from schedsearch.core.interrupts import raised_interrupts
from schedsearch.core.records import RunStatus
from schedsearch.core.trace import AS_WRITTEN, Trace
from schedsearch.evaluate.build.host import host_state
from schedsearch.evaluate.roof.roofline import roof_of
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.sanitize import Inspector
from schedsearch.search.baseline import MEASURING, measure_baseline, root_record
from schedsearch.search.caches import in_use
from schedsearch.search.engine.confirmation import once
from schedsearch.search.engine.driver import Search, normal_form_s
from schedsearch.search.engine.ending import (
    closing_s,
    gained,
    last_roof,
    search_until,
    session_noise,
)
from schedsearch.search.engine.minimal import shorten_with
from schedsearch.search.engine.plans import CLOSING_S, SLOW_CLOSING_S
from schedsearch.search.engine.progress import Best, Observer
from schedsearch.search.lookup import only_as_nest
from schedsearch.search.nests import nests_apart, search_nests
from schedsearch.search.other_alignment import measure_elsewhere
from schedsearch.search.result import Listener, Result, Setting
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.run_summary import NEST_OF, RunEnvironment, RunSummary
from schedsearch.search.setup.subject import Subject, bench_of, load_subject
from schedsearch.search.setup.trust import remember
from schedsearch.search.strategies.make import make_strategy, strategy_name
from schedsearch.search.strategies.protocol import Strategy
from schedsearch.search.warmstart.counterpart import find_counterpart
from schedsearch.search.warmstart.prior_runs import (
    check_earlier_runs,
    expand_again,
    known_before,
)
from schedsearch.search.workers.building import reacher_of
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.search.workers.executor import Executor, make_executor, spec_of
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope
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
        searched_s: float = 0.0,
        confirm: bool = True,
    ) -> Search:
        """From what the store knows now, for what follows `start`. Other searches of this run took
        `searched_s`. Without `confirm`, its end needs no time."""
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
            closing_s=_closing_s(runs, budget.seconds, self.bench) if confirm else 0.0,
            first=self.first,
            shorten=shorten_with(self.bench, replayer, subject.target, subject.builder),
            began=self.began,
            seed=seed,
            start=start,
            searched_s=searched_s,
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
        before, budget = time.monotonic(), options.budget
        with _finished(session.store, session.run_id):
            combined, interrupted = _from_nests(session, options, listener)
            if interrupted and not combined:
                raise KeyboardInterrupt
            if interrupted:
                listener.phase("putting together what the nests found (Ctrl-C again ends at once)")
                budget = replace(budget, seconds=0.0)  # what is known is measured, no more
            session = replace(session, first=(*session.first, *combined))
            search = session.search(
                strategy,
                budget,
                listener.progress,
                options.seed,
                options.start,
                time.monotonic() - before,
                confirm=not interrupted,
            )
        result = _run(search, session, confirm=not interrupted)
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
        with measuring_slot(listener.phase):  # before workers start on those cores
            roof_of(subject.builder, subject.target, subject.work)
    with in_use(), Store.open(options.store) as store:
        scope = store.register(subject.workload, subject.target, subject.source.text)
        if options.fresh:
            scope = store.afresh(scope)
        elif options.tree is not None:
            scope = replace(scope, tree=options.tree)
        check_earlier_runs(store, scope, transforms, options.cache)
        if said := expand_again(store, scope, transforms):
            listener.phase(said)
        executor = make_executor(options, subject, transforms)
        try:
            _look_ahead(executor, options, store, scope)

            def attach(bench: Bench) -> None:
                if options.executor == "ray" and options.ray_address is not None:
                    listener.phase("starting workers")  # ours start while something is measured
                executor.attach(bench)

            yield _begin(options, listener, subject, store, scope, executor, attach, began)
        except KeyboardInterrupt:
            if options.executor == "ray":  # Ray can only be stopped once it has started
                listener.phase("stopping workers (Ctrl-C again ends at once)")
            raise
        finally:
            executor.close()


def _look_ahead(executor: Executor, options: Options, store: Store, scope: Scope) -> None:
    """For the normal form, while the baseline is prepared; not in a search that goes on, or that
    does not begin with it."""
    if options.executor == "inline" or options.start.steps or store.runs(scope):
        return
    if getattr(make_strategy(options.strategy), "normal_form_first", False):
        budget_s = options.budget.seconds
        search_s = search_until(budget_s, closing_s([], budget_s), 0.0)
        executor.look_ahead(AS_WRITTEN, normal_form_s(search_s))


def _begin(
    options: Options,
    listener: Listener,
    subject: Subject,
    store: Store,
    scope: Scope,
    executor: Executor,
    give: Callable[[Bench], None],
    began: float,
    nest_of: str | None = None,
) -> Session:
    """Measure the baseline, `give` the workers its bench, then give the store its run and its root.
    What the executor looks for stands still while the baseline is timed. `nest_of` is the procedure
    that the subject is a nest of, if it is searched for that one's sake.
    """
    transforms = options.selected
    listener.phase(MEASURING)
    with raised_interrupts():
        patience_s = PATIENCE * options.budget.seconds
        bench = bench_of(subject, cache=options.cache, patience_s=patience_s)
        baseline = measure_baseline(bench, subject, listener.phase, executor.paused)
    give(bench)
    budget_s, before_s = options.budget.seconds, time.monotonic() - began
    ending_s = 0.0 if nest_of else _closing_s(store.runs(scope), budget_s, bench)
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
        settings=options.settings(transforms) | ({NEST_OF: nest_of} if nest_of else {}),
        environment=environment.to_json(),
    )
    with _finished(store, run_id):
        store.add_code([subject.code])
        store.add_root(scope, run_id, root_record(subject, bench, baseline))
        known = known_before(store, scope, subject, options.warm_start)
        listener.started(subject, baseline, known)
    setting = Setting(subject, baseline, scope, known)
    return Session(setting, store, run_id, bench, executor, options.first)


def _closing_s(runs: Sequence[Run], budget_s: float, bench: Bench) -> float:
    """Seconds of a budget that the end of a search has."""
    return closing_s(runs, budget_s, CLOSING_S + (SLOW_CLOSING_S if bench.part else 0.0))


def _from_nests(session: Session, options: Options, listener: Listener) -> tuple[list[Trace], bool]:
    """Schedules to begin with, from its nests (`nests.py`), and whether Ctrl-C came. A run that
    goes on searches those that are left. No schedules where the budget is of something else than
    time."""
    setting, executor, budget = session.setting, session.executor, options.budget
    subject, store = setting.subject, session.store
    limited = budget.trials is not None or budget.speedup is not None
    if limited or options.first or options.start.steps:
        return [], False
    apart = nests_apart(subject, setting.baseline.roof)
    names = {each.subject.name for each in apart}
    done = {each.subject.name: _searched(store, each.subject) for each in apart}
    done = {name: scope for name, scope in done.items() if scope and setting.known.measured}
    if done.keys() == names:
        return [], False

    def alone(nest: Subject, seconds: float, observer: Observer) -> tuple[Best | None, bool]:
        if (scope := done.get(nest.name)) is not None:
            return _stored_best(store, scope), False
        own = replace(options, budget=Budget(seconds))
        return _alone(session, nest, own, replace(listener, started=_unheard, progress=observer))

    now_s = time.monotonic() - (session.began or time.monotonic())
    runs = store.runs(setting.scope)
    until_s = search_until(budget.seconds, _closing_s(runs, budget.seconds, session.bench), now_s)
    try:
        return search_nests(apart, until_s - now_s, alone, listener.phase)
    finally:
        if apart:
            executor.change(spec_of(subject, options.selected), session.bench)


def _searched(store: Store, nest: Subject) -> Scope | None:
    """Its scope, if a search of it came to its end."""
    scope = store.find_scope(nest.workload, nest.target)
    runs = store.runs(scope) if scope else []
    return scope if any(run.status is RunStatus.FINISHED for run in runs) else None


def _stored_best(store: Store, scope: Scope) -> Best | None:
    for best in store.best(scope, 1):
        if (timed := best.record.measurement) is not None and timed.middle > 1.0:
            return Best(best.trace_key, best.record.trace, timed)
    return None


def _alone(
    whole: Session, nest: Subject, options: Options, listener: Listener
) -> tuple[Best | None, bool]:
    """The fastest schedule of a nest by a search of its own, with the workers of the whole, and
    whether Ctrl-C ended it. None of a nest that cannot be timed alone, or was with other options:
    the listener is told why."""
    store, executor, transforms = whole.store, whole.executor, options.selected
    began, name = time.monotonic(), whole.setting.subject.name
    scope = store.register(nest.workload, nest.target, nest.source.text)
    if options.fresh and only_as_nest(store, scope):
        scope = store.afresh(scope)
    give = partial(executor.change, spec_of(nest, transforms))
    quiet = replace(listener, phase=_unheard)
    try:
        check_earlier_runs(store, scope, transforms, options.cache)
        expand_again(store, scope, transforms)
        session = _begin(options, quiet, nest, store, scope, executor, give, began, name)
    except UserError as error:
        listener.phase(f"{nest.name} is not searched alone: {str(error).splitlines()[0]}")
        return None, False
    with _finished(store, session.run_id):
        session = replace(session, began=began)
        strategy = make_strategy(options.strategy)
        search = session.search(
            strategy, options.budget, listener.progress, options.seed, confirm=False
        )
        stop = search.run(confirm=False)
        status, summary = _ended(search, session.setting, stop)
        store.finish_run(session.run_id, status, summary.to_json())
    return search.progress().best, stop is Stop.INTERRUPTED


@contextmanager
def _finished(store: Store, run_id: int) -> Iterator[None]:
    """If the block fails, its run has ended too."""
    try:
        yield
    except BaseException as error:
        status, summary = RunStatus.FAILED, RunSummary()
        if isinstance(error, KeyboardInterrupt):
            status, summary = RunStatus.INTERRUPTED, RunSummary(stop=str(Stop.INTERRUPTED))
        store.finish_run(run_id, status, summary.to_json())
        raise


def _unheard(*about: object) -> None:
    pass


def _ended(search: Search, setting: Setting, stop: Stop) -> tuple[RunStatus, RunSummary]:
    """How a run ended, and what there is to say of it."""
    progress = search.progress()
    status = RunStatus.INTERRUPTED if stop is Stop.INTERRUPTED else RunStatus.FINISHED
    return status, RunSummary(
        stop=str(stop),
        measured=progress.measured,
        expanded=progress.expanded,
        best=progress.best.key if progress.best else None,
        curve=progress.curve,
        reference=setting.baseline.agreement,
        inspection=progress.inspection,
        superseded=search.ledger.superseded,
        minimal=tuple(sorted(search.confirmation.minimal)),
    )


def _run(search: Search, session: Session, confirm: bool) -> Result:
    store, run_id, setting = session.store, session.run_id, session.setting
    status, summary = RunStatus.FAILED, RunSummary()
    noise = elsewhere = None
    try:
        stop = search.run(confirm)
        if not confirm:
            stop = Stop.INTERRUPTED
        progress = search.progress()
        best = progress.best
        status, summary = _ended(search, setting, stop)
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
