"""Executor over Ray: worker actors for expansion and builds, one actor that measures.

The measuring actor holds the custom resource `bench:<target key>`, of which a
machine has exactly one: two runs on one cluster cannot time on the same machine
at once. Ray starts in a thread, because it takes seconds and the baseline can be
measured meanwhile. Ray's own token authentication stays on, its dashboard off.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from schedsearch.evaluate.bench import Bench
from schedsearch.search.jobs import (
    BenchWorker,
    Job,
    Lost,
    MeasureJob,
    Result,
    Worker,
    WorkSpec,
    leave_last_core,
)


class _WorkerActor(Worker):
    def __init__(self, spec: WorkSpec) -> None:
        leave_last_core()
        super().__init__(spec)


class RayExecutor:
    """`work_slots` worker actors on this machine."""

    def __init__(self, spec: WorkSpec, workers: int) -> None:
        self.work_slots = workers
        self._spec = spec
        self._lease = f"bench:{spec.target.key}"
        self._actors: list[Any] = []
        self._idle: deque[Any] = deque()
        self._bench_actor: Any = None
        self._bench: Bench | None = None
        self._running: dict[Any, tuple[int, Any]] = {}
        self._queued: deque[tuple[int, Job]] = deque()
        self._tickets = 0
        self._failure: RayError | OSError | RuntimeError | None = None
        self._ready, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._host_ray, daemon=True)
        self._thread.start()

    def _host_ray(self) -> None:
        """Start Ray, keep this thread until the end, stop Ray.

        Ray's processes die with the *thread* that started them (PR_SET_PDEATHSIG).
        """
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            ray.init(
                num_cpus=self.work_slots,
                resources={self._lease: 1},
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
            )
            self._actors = [self._new_worker() for _ in range(self.work_slots)]
            self._idle.extend(self._actors)
        except (RayError, OSError, RuntimeError) as error:
            self._failure = error
        self._ready.set()
        self._closing.wait()
        ray.shutdown()

    def attach(self, bench: Bench) -> None:
        """Wait until Ray is up, then start the measuring actor."""
        self._ready.wait()
        if self._failure is not None:
            raise RuntimeError(f"Ray did not start: {self._failure}") from self._failure
        self._bench = bench
        self._bench_actor = self._new_bench()

    def _new_worker(self) -> Any:
        return ray.remote(num_cpus=1)(_WorkerActor).remote(self._spec)

    def _new_bench(self) -> Any:
        return ray.remote(num_cpus=0, resources={self._lease: 1})(BenchWorker).remote(self._bench)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        if isinstance(job, MeasureJob):
            self._run(self._bench_actor, self._tickets, job)
        elif self._idle:
            self._run(self._idle.popleft(), self._tickets, job)
        else:
            self._queued.append((self._tickets, job))
        return self._tickets

    def _run(self, actor: Any, ticket: int, job: Job) -> None:
        self._running[actor.run.remote(job)] = (ticket, actor)

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        if not self._running:
            return []
        done, _ = ray.wait(list(self._running), num_returns=1, timeout=timeout_s)
        finished = []
        for reference in done:
            ticket, actor = self._running.pop(reference)
            result: Result
            try:
                result = ray.get(reference)
            except RayActorError as error:
                result = Lost(f"the worker died: {str(error).splitlines()[0]}")
                actor = self._replace(actor)
            if actor is not self._bench_actor:
                self._next_job(actor)
            finished.append((ticket, result))
        return finished

    def _replace(self, actor: Any) -> Any:
        if actor is self._bench_actor:
            self._bench_actor = self._new_bench()
            return self._bench_actor
        self._actors.remove(actor)
        self._actors.append(self._new_worker())
        return self._actors[-1]

    def _next_job(self, actor: Any) -> None:
        if self._queued:
            ticket, job = self._queued.popleft()
            self._run(actor, ticket, job)
        else:
            self._idle.append(actor)

    def close(self) -> None:
        self._running.clear()
        self._queued.clear()
        self._closing.set()
        self._thread.join()
