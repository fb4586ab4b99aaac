"""Executors run jobs; they all keep this contract.

- `look_ahead(trace, patience_s)` may begin to look for the normal form (`NormaliseJob`), before
  anything can be measured. What it begins stands still while `paused()`.
- `attach(bench)` is called once, before the first job, and returns when jobs can
  run; it raises UserError with the cause if they cannot.
- `change(spec, bench)` makes later jobs those of another procedure. Jobs under way are dropped.
- `submit(job)` returns a ticket at once. There are `slots` workers that expand
  and replay, as many that build, and one that measures; what finds none free waits.
- `wait(timeout_s)` returns finished `(ticket, result)` pairs, at least one unless
  the time passes first. Every ticket is returned once, or dropped.
- A worker that dies, or whose measuring child or compiler is killed, gives `Lost` for the job it
  held, and is replaced. Where nothing can replace it, `wait` raises UserError.
- `drop_expansions()` gives up unfinished expansions and replays, at once: their tickets
  never return. Returns the tickets dropped.
- `close()` stops everything; results not yet waited for are dropped. It may be
  called twice.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Protocol

from schedsearch.core.interrupts import deferred_interrupts
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Bench, Evaluation
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.subject import Subject
from schedsearch.search.workers.ahead import Ahead, look_ahead
from schedsearch.search.workers.jobs import (
    BenchWorker,
    BuildJob,
    BuildWorker,
    Enumeration,
    ExpandWorker,
    Job,
    Loaded,
    MeasureJob,
    Result,
    WorkSpec,
)
from schedsearch.transforms.own import own
from schedsearch.transforms.registry import Transform


class Executor(Protocol):
    """See the module's text for the contract."""

    @property
    def slots(self) -> int: ...

    def look_ahead(self, trace: Trace, patience_s: float) -> None: ...

    def paused(self) -> AbstractContextManager[None]: ...

    def attach(self, bench: Bench) -> None: ...

    def change(self, spec: WorkSpec, bench: Bench) -> None: ...

    def submit(self, job: Job) -> int: ...

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]: ...

    def drop_expansions(self) -> list[int]: ...

    def close(self) -> None: ...


class InlineExecutor:
    """Runs jobs in this process, one by one, in the order of submission. But what is to be measured
    goes first, unless something was measured just before: what is expected soon is told soon.

    Deterministic; for tests, debugging and tiny runs.
    """

    slots = 1

    def __init__(self, spec: WorkSpec) -> None:
        self._load(spec)
        self._measure: BenchWorker | None = None
        self._jobs: deque[tuple[int, Job]] = deque()
        self._tickets = 0
        self._measured = False  # just before

    def _load(self, spec: WorkSpec) -> None:
        self.spec = spec
        loaded = Loaded(spec)  # shared: what was expanded is not replayed to be built
        self._expand = ExpandWorker(loaded)
        self._build = BuildWorker(loaded)

    def look_ahead(self, trace: Trace, patience_s: float) -> None:
        """It has no other process."""

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def attach(self, bench: Bench) -> None:
        self._measure = BenchWorker(bench)

    def change(self, spec: WorkSpec, bench: Bench) -> None:
        self._jobs.clear()
        self._load(spec)
        self.attach(bench)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        self._jobs.append((self._tickets, job))
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        if not self._jobs:
            return []
        ticket, job = self._next()
        self._measured = isinstance(job, MeasureJob)
        return [(ticket, self._run(job))]

    def _next(self) -> tuple[int, Job]:
        if not self._measured:
            for number, (_, job) in enumerate(self._jobs):
                if isinstance(job, MeasureJob):
                    chosen = self._jobs[number]
                    del self._jobs[number]
                    return chosen
        return self._jobs.popleft()

    @property
    def measures(self) -> bool:
        """Whether a job leads to a measurement."""
        return any(isinstance(job, BuildJob | MeasureJob) for _, job in self._jobs)

    def _run(self, job: Job) -> Result:
        match job:
            case BuildJob():
                return self._build.run(job)
            case MeasureJob():
                assert self._measure is not None, "attach() comes first"
                return self._measure.run(job)
            case _:
                return self._expand.run(job)

    def take_back(self) -> list[tuple[int, Job]]:
        """Jobs that have not run, with their tickets; this executor forgets them."""
        taken = list(self._jobs)
        self._jobs.clear()
        return taken

    def drop_expansions(self) -> list[int]:
        dropped = [ticket for ticket, job in self._jobs if isinstance(job, Enumeration)]
        self._jobs = deque(item for item in self._jobs if item[0] not in dropped)
        return dropped

    def close(self) -> None:
        self._jobs.clear()


class StartingExecutor(Executor, Protocol):
    """One that takes seconds to start."""

    def begin(self, bench: Bench) -> None:
        """As `attach`, without waiting."""

    @property
    def ready(self) -> bool:
        """Whether jobs can run. Raises as `attach` does if they never will."""


START_AFTER_S = 3.0
"""Workers start then, unless something is about to be measured."""
STARTING_S = 6.0
"""What Ray takes to start, on two cores. Workers that are used for less are not worth it."""
SEARCHING = 0.6
"""The least share of a budget that is for the search."""


class HandingOver:
    """Runs jobs in this process until the workers of another executor are there, which `start`
    makes, for what is tuned by then; after `until` (`time.monotonic`) none start any more.

    Ray and its actors need both cores for four to five seconds. A candidate is expanded, built
    and measured in one, if nothing else runs: so they start when the first one has been. What is
    looked for ahead is not looked for here.
    """

    def __init__(
        self,
        here: InlineExecutor,
        start: Callable[[WorkSpec], StartingExecutor],
        until: float = inf,
    ) -> None:
        self._here, self._start, self._until = here, start, until
        self._ahead: Ahead | None = None
        self._awaited: tuple[int, Job] | None = None  # the job that is done ahead
        self._workers: StartingExecutor | None = None
        self._started = False
        self._tickets = 0
        self._ours: dict[int, int] = {}  # of tickets of the executor in charge

    @property
    def _charge(self) -> Executor:
        return self._workers if self._workers and self._started else self._here

    @property
    def slots(self) -> int:
        return self._charge.slots

    def look_ahead(self, trace: Trace, patience_s: float) -> None:
        with deferred_interrupts():  # or nobody would end it
            self._ahead = look_ahead(self._here.spec, trace, patience_s)

    def paused(self) -> AbstractContextManager[None]:
        return self._ahead.paused() if self._ahead else nullcontext()

    def attach(self, bench: Bench) -> None:
        self._bench, self._attached = bench, time.monotonic()
        self._here.attach(bench)

    def change(self, spec: WorkSpec, bench: Bench) -> None:
        self._bench = bench
        self._ours.clear()
        self._awaited = None
        self._here.change(spec, bench)
        if self._workers is not None:
            self._workers.change(spec, bench)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        if self._ahead is not None and self._ahead.is_for(self._here.spec, job):
            if self._ahead.begun:
                self._awaited = self._tickets, job
                return self._tickets
            self._end_ahead()  # it is done sooner here
        self._ours[self._charge.submit(job)] = self._tickets
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        if self._awaited is not None:
            found = self._from_ahead(0.0 if self._ours else timeout_s)
            if found or not self._ours:
                return found
        workers = self._workers
        if workers is not None and not self._started and workers.ready:
            waiting = [(self._ours[ticket], job) for ticket, job in self._here.take_back()]
            self._started = True
            self._ours = {workers.submit(job): ticket for ticket, job in waiting}
        late = time.monotonic() > self._attached + START_AFTER_S and not self._here.measures
        done = self._charge.wait(timeout_s)
        wanted = workers is None and not self._awaited and time.monotonic() < self._until
        if wanted and (late or any(isinstance(r, Evaluation) for _, r in done)):
            self._workers = self._start(self._here.spec)
            self._workers.begin(self._bench)
        return [(self._ours.pop(ticket), result) for ticket, result in done]

    def _from_ahead(self, timeout_s: float) -> list[tuple[int, Result]]:
        assert self._awaited is not None
        assert self._ahead is not None
        ticket, job = self._awaited
        found = self._ahead.result(timeout_s)
        if found is None and not self._ahead.failed:
            return []
        self._awaited = None
        self._end_ahead()
        if found is not None:
            return [(ticket, found)]
        self._ours[self._charge.submit(job)] = ticket
        return []

    def _end_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
        self._ahead = None

    def drop_expansions(self) -> list[int]:
        dropped = [self._ours.pop(ticket) for ticket in self._charge.drop_expansions()]
        if self._awaited is not None:
            dropped.append(self._awaited[0])
            self._awaited = None
            self._end_ahead()
        return dropped

    def close(self) -> None:
        self._end_ahead()
        self._here.close()
        if self._workers is not None:
            self._workers.close()


def spec_of(subject: Subject, transforms: Sequence[Transform]) -> WorkSpec:
    """What workers need to know to tune it."""
    return WorkSpec(
        subject.source.path.resolve(),
        subject.source.sha,
        subject.name,
        subject.target,
        tuple(transform.name for transform in transforms),
        subject.workload.sizes,
        subject.builder,
        tuple(subject.workload.fixed.items()),
        own(transforms),
    )


def make_executor(
    options: Options,
    subject: Subject,
    transforms: Sequence[Transform],
) -> Executor:
    """Ray's own workers start in the background, once a candidate has been measured without them;
    `attach` waits for those of a cluster that is joined."""
    spec = spec_of(subject, transforms)
    if options.executor == "inline":
        return InlineExecutor(spec)
    # Ray tells notebooks on import to install ipywidgets, for pictures that nobody asks it for.
    logging.getLogger("ray.widgets").setLevel(logging.WARNING)
    cores, threads = subject.target.cores, subject.target.threads
    free = cores - threads if cores > threads else cores - 1
    slots = options.workers or max(1, free)

    def workers(spec: WorkSpec) -> StartingExecutor:
        # Imported only when used: it takes 0.4 s, from a cold disk more.
        from schedsearch.search.workers.ray_executor import RayExecutor

        return RayExecutor(spec, slots, options.ray_address, options.workers)

    if options.ray_address is not None:
        return workers(spec)
    if spec.own:
        from schedsearch.search.workers.ray_workers import check_sendable

        check_sendable(spec)
    until = time.monotonic() + SEARCHING * options.budget.seconds - 2 * STARTING_S
    return HandingOver(InlineExecutor(spec), workers, until)
