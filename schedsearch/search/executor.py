"""Executors run jobs; they all keep this contract.

- `attach(bench)` is called once, before the first job, and returns when jobs can
  run; it raises RuntimeError with the cause if they cannot.
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

from collections import deque
from typing import Protocol

from schedsearch.evaluate.bench import Bench
from schedsearch.search.jobs import (
    BenchWorker,
    BuildJob,
    BuildWorker,
    ExpandJob,
    ExpandWorker,
    Job,
    Loaded,
    MeasureJob,
    ReplayJob,
    Result,
    WorkSpec,
)


class Executor(Protocol):
    """See the module's text for the contract."""

    slots: int

    def attach(self, bench: Bench) -> None: ...

    def submit(self, job: Job) -> int: ...

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]: ...

    def drop_expansions(self) -> list[int]: ...

    def close(self) -> None: ...


class InlineExecutor:
    """Runs jobs in this process, one by one, in the order of submission.

    Deterministic; for tests, debugging and tiny runs.
    """

    slots = 1

    def __init__(self, spec: WorkSpec) -> None:
        loaded = Loaded(spec)  # shared: what was expanded is not replayed to be built
        self._expand = ExpandWorker(loaded)
        self._build = BuildWorker(loaded)
        self._measure: BenchWorker | None = None
        self._jobs: deque[tuple[int, Job]] = deque()
        self._tickets = 0

    def attach(self, bench: Bench) -> None:
        self._measure = BenchWorker(bench)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        self._jobs.append((self._tickets, job))
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        if not self._jobs:
            return []
        ticket, job = self._jobs.popleft()
        return [(ticket, self._run(job))]

    def _run(self, job: Job) -> Result:
        match job:
            case ExpandJob() | ReplayJob():
                return self._expand.run(job)
            case BuildJob():
                return self._build.run(job)
            case MeasureJob():
                assert self._measure is not None, "attach() comes first"
                return self._measure.run(job)

    def drop_expansions(self) -> list[int]:
        dropped = [ticket for ticket, job in self._jobs if isinstance(job, ExpandJob | ReplayJob)]
        self._jobs = deque(item for item in self._jobs if item[0] not in dropped)
        return dropped

    def close(self) -> None:
        self._jobs.clear()
