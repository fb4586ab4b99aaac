"""One tuning run from a user's file to a result: everything around the search itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from schedsearch import __version__
from schedsearch.core.errors import UserError
from schedsearch.core.records import (
    Failure,
    Keys,
    Measurement,
    Outcome,
    TuningRecord,
)
from schedsearch.core.trace import Trace
from schedsearch.evaluate.agreement import NOT_COMPARED, Agreement
from schedsearch.evaluate.bench import Anchor, Bench, Cache, TimingPlan, prepare
from schedsearch.evaluate.host import host_state
from schedsearch.evaluate.roofline import Roof, roof_of
from schedsearch.evaluate.sandbox import Sandbox
from schedsearch.evaluate.sanitize import Inspector
from schedsearch.search.below import Below
from schedsearch.search.budget import Budget, Stop
from schedsearch.search.caches import in_use
from schedsearch.search.closing import closing_s, last_roof, session_noise
from schedsearch.search.counterpart import Counterpart, find_counterpart
from schedsearch.search.driver import Search
from schedsearch.search.executor import Executor, InlineExecutor
from schedsearch.search.inspection import once
from schedsearch.search.jobs import WorkSpec
from schedsearch.search.progress import Best, Observer, Progress
from schedsearch.search.ranker import Ranker
from schedsearch.search.strategies import AnyStrategy, make_strategy, strategy_name
from schedsearch.search.strategy import Strategy
from schedsearch.search.subject import Subject, cache_dir, load_subject
from schedsearch.search.transfer import Origin, origins
from schedsearch.search.turns import measuring_slot
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms.features import FEATURES_VERSION, features
from schedsearch.transforms.identity import ast_key
from schedsearch.transforms.own import definition, own
from schedsearch.transforms.registry import Transform, select

EXECUTORS = ("ray", "inline")

BASELINE = TimingPlan(kind="baseline", min_rounds=2, max_rounds=3)


@dataclass(frozen=True)
class Options:
    """What the user chose. `workers` None: one per core but the measuring ones; `first` are
    schedules of this procedure to try before anything else."""

    file: Path
    proc: str | None
    sizes: Mapping[str, int]
    budget: Budget
    store: Path | str
    """A file, or the URL of a database."""
    cc: str | None = None
    target: str | None = None
    instructions: tuple[Path, ...] = ()
    strategy: AnyStrategy = "best-first"
    executor: str = "ray"
    workers: int | None = None
    seed: int = 0
    transforms: tuple[str, ...] | None = None
    threads: int = 1
    specialize: bool = False
    warm_start: bool = True
    cache: Cache = Cache.WARM
    fresh: bool = False
    tree: int | None = None
    """Which of several search trees of this procedure to go on with. Default: begun last."""
    first: tuple[Trace, ...] = ()
    start: Trace = field(default_factory=Trace)
    """Search only what follows this schedule, which the store has measured."""
    ray_address: str | None = None
    """Of a Ray cluster to join, as HOST:PORT."""


@dataclass(frozen=True)
class Baseline:
    """The unscheduled procedure's own time (A/A), what the machine can do, what guards it, and
    what the procedure's outputs were compared with."""

    measurement: Measurement
    roof: Roof
    sandbox: Sandbox
    agreement: Agreement = NOT_COMPARED


@dataclass(frozen=True)
class Known:
    """What the store knew before the run: candidates, and how many of them were measured;
    and what else it has that a first run starts from."""

    candidates: int
    measured: int
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True)
class Setting:
    """What a run starts from."""

    subject: Subject
    baseline: Baseline
    scope: Scope
    known: Known


@dataclass(frozen=True)
class Result:
    """What a run ended with."""

    setting: Setting
    run_id: int
    stop: Stop
    progress: Progress
    best: Best | None
    roof: Roof
    noise: Measurement | None = None
    counterpart: Counterpart | None = None


@dataclass(frozen=True)
class Listener:
    """Where a run reports to: its phases, what it starts from, and how it goes."""

    phase: Callable[[str], None]
    started: Callable[[Subject, Baseline, Known], None]
    progress: Observer


@dataclass(frozen=True)
class Session:
    """A run that has begun: workers and bench are ready, the store has its root."""

    setting: Setting
    store: Store
    run_id: int
    bench: Bench
    executor: Executor
    seed: int
    first: tuple[Trace, ...] = ()

    def search(self, strategy: Strategy, budget: Budget, observer: Observer) -> Search:
        """From what the store knows now."""
        setting, scope = self.setting, self.setting.scope
        subject, baseline = setting.subject, self.bench.baseline
        call_s = setting.baseline.measurement.candidate_ns * 1e-9
        inspector = Inspector(subject.ast, subject.code, self.bench, subject.builder)
        return Search(
            self.store,
            scope,
            self.run_id,
            self.executor,
            strategy,
            budget,
            Anchor(baseline, baseline.code_key, call_s=call_s),
            self.store.walk(scope),
            observer,
            _ranker(self.store, scope, subject, self.seed),
            [origin.trace for origin in setting.known.origins],
            once(inspector, self.store, scope),
            closing_s=closing_s(self.store.runs(scope)),
            first=self.first,
        )


def tune(options: Options, listener: Listener) -> Result:
    """Run one search. Raises UserError for whatever the user can mend."""
    strategy = make_strategy(options.strategy, options.start.key, options.seed)
    if options.start.steps:
        strategy = Below(strategy, options.start)
    with begun(options, listener) as session:
        search = session.search(strategy, options.budget, listener.progress)
        result = _run(search, session)
        other = find_counterpart(session.store, session.setting.subject, options.sizes)
        return replace(result, counterpart=other)


@contextmanager
def begun(options: Options, listener: Listener) -> Iterator[Session]:
    """Begin a run; workers end with the context. Raises UserError as `tune` does."""
    if options.executor not in EXECUTORS:
        raise UserError(f"unknown executor {options.executor!r}; known: {', '.join(EXECUTORS)}")
    if options.ray_address is not None and options.executor != "ray":
        raise UserError("--ray-address is for --executor ray")
    transforms = select(options.transforms)
    subject = load_subject(
        options.file,
        options.proc,
        options.sizes,
        options.cc,
        options.threads,
        options.target,
        options.instructions,
        options.specialize,
    )
    if options.threads > 1:
        with measuring_slot():
            _roof(subject)  # before workers start on those cores
    with in_use(), Store.open(options.store) as store:
        scope = store.register(subject.workload, subject.target, subject.source.text)
        if options.fresh:
            scope = store.afresh(scope)
        elif options.tree is not None:
            scope = replace(scope, tree=options.tree)
        _check_earlier_runs(store, scope, transforms, options.cache)
        executor = _executor(options, subject, transforms)
        try:
            listener.phase("measuring the baseline")
            bench = prepare(
                subject.ast,
                subject.code,
                subject.binding,
                subject.builder,
                cache_dir() / "bench",
                threads=options.threads,
                cache=options.cache,
            )
            baseline = _baseline(bench, subject, listener.phase)
            listener.phase("starting workers")
            _attach(executor, bench)
            run_id = store.start_run(
                scope,
                seed=options.seed,
                strategy=strategy_name(options.strategy),
                settings=_settings(options, transforms),
                environment={
                    "schedsearch": __version__,
                    "roof": baseline.roof.to_json(),
                    **dict(host_state()),
                },
            )
            store.add_code([subject.code])
            store.add_root(scope, run_id, _root_record(subject, bench, baseline))
            candidates, measured = store.counts(scope)
            known = Known(candidates - 1, measured - 1)  # without the root
            if options.warm_start and known.measured == 0:
                found = origins(store, scope, subject.workload, subject.target)
                known = replace(known, origins=tuple(found))
            listener.started(subject, baseline, known)
            setting = Setting(subject, baseline, scope, known)
            yield Session(setting, store, run_id, bench, executor, options.seed, options.first)
        finally:
            executor.close()


def _run(search: Search, session: Session) -> Result:
    store, run_id, setting = session.store, session.run_id, session.setting
    status = "failed"
    noise = None
    summary: dict[str, Any] = {}
    try:
        stop = search.run()
        progress = search.progress()
        best = progress.best
        status = "interrupted" if stop is Stop.INTERRUPTED else "finished"
        summary = {
            "stop": str(stop),
            "measured": progress.measured,
            "expanded": progress.expanded,
            "best": best.key if best else None,
            "curve": progress.curve,
            "reference": asdict(setting.baseline.agreement),
            "inspection": progress.inspection.to_json() if progress.inspection else None,
            "ranker": asdict(progress.ranker) if progress.ranker else None,
        }
        roof = last_roof(setting.subject, setting.baseline.roof, best)
        if best is not None and stop is not Stop.INTERRUPTED:
            code = store.code(search.ledger.tree.nodes[best.key].keys.code or "")
            noise = session_noise(session.bench, setting.subject, code)
            summary["closing_s"] = search.closed_in()
        summary["noise"] = noise.to_json() if noise else None
        summary["roof"] = roof.to_json()
        summary["over_roof"] = best is not None and roof.exceeded(
            best.measurement.candidate_ns * 1e-9
        )
    finally:
        store.finish_run(run_id, status, summary)
    return Result(setting, run_id, stop, progress, best, roof, noise)


def _ranker(store: Store, scope: Scope, subject: Subject, seed: int) -> Ranker:
    """It learns from the store's other workloads on this target too."""
    _, root = features(subject.ast, subject.target, dict(subject.workload.sizes))
    store.add_features(scope, {Trace().key: root}, FEATURES_VERSION)
    samples = store.samples(scope, FEATURES_VERSION)
    return Ranker(seed, root, [s for s in samples if s.workload_id != scope.workload_id])


def _executor(options: Options, subject: Subject, transforms: tuple[Transform, ...]) -> Executor:
    spec = WorkSpec(
        options.file.resolve(),
        subject.source.sha,
        subject.name,
        subject.target,
        tuple(transform.name for transform in transforms),
        subject.workload.sizes,
        subject.builder,
        tuple(subject.workload.fixed.items()),
        own(transforms),
    )
    if options.executor == "inline":
        return InlineExecutor(spec)
    # Ray tells notebooks on import to install ipywidgets, for pictures that nobody asks it for.
    logging.getLogger("ray.widgets").setLevel(logging.WARNING)
    # Imported only when used: it takes one to two seconds.
    from schedsearch.search.ray_executor import RayExecutor

    cores, threads = subject.target.cores, subject.target.threads
    free = cores - threads if cores > threads else cores - 1
    slots = options.workers or max(1, free)
    return RayExecutor(spec, slots, options.ray_address, options.workers)


def _attach(executor: Executor, bench: Bench) -> None:
    try:
        executor.attach(bench)
    except RuntimeError as error:
        raise UserError(
            f"the workers cannot start: {error}\n"
            "Without Ray, in one process and slower: --executor inline"
        ) from error


def _check_earlier_runs(
    store: Store, scope: Scope, transforms: tuple[Transform, ...], cache: Cache
) -> None:
    """A node is expanded once, with the transforms of that run: others must not follow. What is
    measured with warm caches does not rank with what is with cold ones, in other trees either."""
    texts = _definitions(transforms)
    for run in store.runs(scope):
        earlier = run.settings["transforms"]
        if sorted(earlier) != [transform.name for transform in transforms]:
            raise UserError(
                f"{store.name} holds a search of this procedure with other transforms "
                f"({', '.join(earlier)}); what was expanded with them is not expanded again.\n"
                "Continue with the same --transforms, start over with --fresh, or choose another "
                "--store"
            )
        before = run.settings.get("own_transforms", {})
        if changed := [name for name, text in texts.items() if before.get(name, text) != text]:
            raise UserError(
                f"{changed[0]} has changed since {store.name} was searched with it, so that its "
                "schedules there would become others. Start over with `fresh`, choose another "
                "store, or give what has changed another name"
            )
    for run in (run for tree in store.trees(scope) for run in store.runs(tree)):
        if (before := run.settings.get("cache", Cache.WARM)) != cache:
            raise UserError(
                f"{store.name} holds this procedure timed with {before} caches, which does not "
                f"compare. Continue with --cache {before}, or choose another --store"
            )


def _baseline(bench: Bench, subject: Subject, phase: Callable[[str], None]) -> Baseline:
    with measuring_slot(lambda holder: phase(f"waiting for {holder} to end its measurement")):
        evaluation = bench.time_baseline(BASELINE)
        roof = _roof(subject)
    if isinstance(evaluation.result, Failure):
        raise UserError(
            f"{subject.name}, unscheduled, cannot be measured: {evaluation.result.message}"
        )
    return Baseline(evaluation.result, roof, bench.sandbox, bench.agreement)


def _roof(subject: Subject) -> Roof:
    return roof_of(subject.builder, subject.target, subject.work)


def _root_record(subject: Subject, bench: Bench, baseline: Baseline) -> TuningRecord:
    keys = Keys(ast_key(subject.ast), subject.code.key, bench.baseline.binary_key)
    return TuningRecord(Trace(), Outcome.CORRECT, keys, measurement=baseline.measurement)


def _definitions(transforms: tuple[Transform, ...]) -> dict[str, str]:
    """Of those that are not in the library, by name: what they are, for who comes later."""
    return {each.name: f"# version {each.version}\n{definition(each)}" for each in own(transforms)}


def _settings(options: Options, transforms: tuple[Transform, ...]) -> dict[str, Any]:
    return {
        "budget_s": options.budget.seconds,
        "trials": options.budget.trials,
        "target_speedup": options.budget.speedup,
        "executor": options.executor,
        "workers": options.workers,
        "transforms": [transform.name for transform in transforms],
        "own_transforms": _definitions(transforms),
        "warm_start": options.warm_start,
        "start": options.start.key,
        "cache": options.cache,
    }
