"""Executors run jobs; they all keep this contract.

- `attach(bench)` is called once, before the first job, and returns when jobs can
  run; it raises RuntimeError with the cause if they cannot.
- `submit(job)` returns a ticket at once. Work jobs (expand, build) and measure
  jobs have separate slots; the caller submits at most `work_slots` and one at a
  time, more only wait.
- `wait(timeout_s)` returns finished `(ticket, result)` pairs, at least one unless
  the time passes first. Every ticket is returned exactly once.
- A worker that dies gives `Lost` for the jobs it held, and is replaced.
- `close()` stops everything; results not yet waited for are dropped. It may be
  called twice.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from schedsearch.evaluate.bench import Bench
from schedsearch.search.jobs import BenchWorker, Job, MeasureJob, Result, Worker, WorkSpec


class Executor(Protocol):
    """See the module's text for the contract."""

    work_slots: int

    def attach(self, bench: Bench) -> None: ...

    def submit(self, job: Job) -> int: ...

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]: ...

    def close(self) -> None: ...


class InlineExecutor:
    """Runs jobs in this process, one by one, in the order of submission.

    Deterministic; for tests, debugging and tiny runs.
    """

    work_slots = 1

    def __init__(self, spec: WorkSpec) -> None:
        self._worker = Worker(spec)
        self._bench: BenchWorker | None = None
        self._jobs: deque[tuple[int, Job]] = deque()
        self._tickets = 0

    def attach(self, bench: Bench) -> None:
        self._bench = BenchWorker(bench)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        self._jobs.append((self._tickets, job))
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        if not self._jobs:
            return []
        ticket, job = self._jobs.popleft()
        if isinstance(job, MeasureJob):
            assert self._bench is not None, "attach() comes first"
            return [(ticket, self._bench.run(job))]
        return [(ticket, self._worker.run(job))]

    def close(self) -> None:
        self._jobs.clear()
