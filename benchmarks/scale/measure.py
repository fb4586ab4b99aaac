"""One run of a given size, and one resumption, each in a process of its own."""

from __future__ import annotations

import gc
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

from benchmarks.scale.synthetic import BASELINE, SyntheticExecutor
from schedsearch.core.keys import digest
from schedsearch.core.records import (
    Compiler,
    Keys,
    Measurement,
    Outcome,
    Round,
    Target,
    TimingKind,
    TuningRecord,
    Workload,
)
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Anchor
from schedsearch.search.engine.driver import Search
from schedsearch.search.engine.progress import Observer, Progress
from schedsearch.search.setup.budget import Budget
from schedsearch.search.strategies.make import make_strategy
from schedsearch.search.strategies.protocol import Strategy
from schedsearch.search.workers.executor import Executor
from schedsearch.store.database import Store

WORKLOAD = Workload("kernel", "prockey", (), "kernel.py", "5ha")
TARGET = Target(
    cpu="zen5",
    features=("avx2", "fma"),
    isa="avx2",
    vector_bits=256,
    vector_registers=16,
    line_bytes=64,
    cache_bytes=(49152,),
    cores=2,
    compiler=Compiler("gcc", "12.2.0", "gcc"),
    flags=("-O3",),
    exo_version="1.0.0",
    z3_version="4.13",
)


@dataclass(frozen=True)
class Grown:
    """A run of `candidates`, of which `measured` were.

    Bytes are per candidate: of the process beyond what it had at the start, of the store's
    file, and of a process that resumes, in the end and at its peak. Times are CPU time, so
    that others' load does not count: `each_us` per call by name, and `driver_us` what the
    driver itself takes per candidate, strategy and store not counted, both in microseconds
    over the second half of the run; `run_s` and `resume_s` of the whole.
    """

    candidates: int
    measured: int
    driver_bytes: float
    store_bytes: float
    resume_bytes: float
    resume_peak_bytes: float
    each_us: dict[str, float]
    driver_us: float
    run_s: float
    resume_s: float


class Meter:
    """Seconds of this process's CPU time, and calls, by name."""

    def __init__(self) -> None:
        self.spent: dict[str, tuple[float, int]] = {}
        self.since = time.process_time()

    def add(self, name: str, seconds: float) -> None:
        total, calls = self.spent.get(name, (0.0, 0))
        self.spent[name] = total + seconds, calls + 1

    def restart(self) -> None:
        self.spent.clear()
        self.since = time.process_time()

    @property
    def rest_s(self) -> float:
        """Seconds since the start that no call took."""
        return time.process_time() - self.since - sum(seconds for seconds, _ in self.spent.values())

    def each_us(self) -> dict[str, float]:
        return {name: 1e6 * seconds / calls for name, (seconds, calls) in self.spent.items()}


class Metered:
    """`inner`, its methods' calls metered by name."""

    def __init__(self, inner: object, meter: Meter) -> None:
        self._inner, self._meter = inner, meter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return found(*args, **named)
            finally:
                self._meter.add(name, time.process_time() - start)

        return call


def grow(candidates: int, strategy: str, store: Path) -> Grown:
    """Search until there are so many candidates, then resume: each in a fresh process."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        run = pool.submit(_run, candidates, strategy, store).result()
        resume_s, resumed, peak = pool.submit(_resume, strategy, store).result()
    made = run.candidates
    return replace(
        run, resume_s=resume_s, resume_bytes=resumed / made, resume_peak_bytes=peak / made
    )


def _run(candidates: int, strategy: str, path: Path) -> Grown:
    meter, executor = Meter(), SyntheticExecutor(stop_at=candidates)
    in_half = 0

    def observer(progress: Progress) -> None:
        nonlocal in_half
        if not in_half and executor.made >= candidates / 2:
            in_half = executor.made
            meter.restart()

    with Store.open(path) as store:
        search = _search(store, executor, strategy, meter, observer)
        before, start_s = _resident(), time.process_time()
        search.run()
        each_us, rest_s = meter.each_us(), meter.rest_s
        run_s, grown = time.process_time() - start_s, _resident() - before
    made = executor.made
    return Grown(
        made,
        search.progress().measured,
        grown / made,
        path.stat().st_size / made,
        0.0,
        0.0,
        {name: us for name, us in each_us.items() if name != "wait"},
        1e6 * rest_s / (made - in_half),
        run_s,
        0.0,
    )


def _resume(strategy: str, path: Path) -> tuple[float, float, float]:
    """CPU seconds to take everything in that a store knows, and bytes the process then has more,
    and had at most."""
    with Store.open(path) as store:
        before, start = _resident(), time.process_time()
        search = _search(store, SyntheticExecutor(0), strategy, Meter(), lambda _: None)
        resume_s = time.process_time() - start
        grown, peak = _resident() - before, _peak() - before
        search.work.executor.close()
    return resume_s, grown, peak


def _search(
    store: Store, executor: SyntheticExecutor, strategy: str, meter: Meter, observer: Observer
) -> Search:
    """As a session begins one."""
    scope = store.register(WORKLOAD, TARGET, "")
    run_id = store.start_run(scope, seed=0, strategy=strategy, settings={}, environment={})
    timed = Measurement(TimingKind.BASELINE, (Round((1e6,), (1e6,)),) * 2, 4)
    keys = Keys(digest("baseline ast"), BASELINE.code_key, BASELINE.binary_key)
    store.add_root(scope, run_id, TuningRecord(Trace(), Outcome.CORRECT, keys, measurement=timed))
    return Search(
        cast(Store, Metered(store, meter)),
        scope,
        run_id,
        cast(Executor, Metered(executor, meter)),
        cast(Strategy, Metered(make_strategy(strategy), meter)),
        Budget(inf),
        Anchor(BASELINE, BASELINE.code_key),
        store.walk(scope),
        observer,
    )


def _resident() -> int:
    """Bytes of memory that this process has now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    """Bytes of memory that this process has had at most (`getrusage` would count its parent's)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
