"""Executor over Ray: pools of actors that expand, build and measure.

Ray is our own on this machine, or a cluster that is joined (`ray_hosts.py`). Expanding workers
may run anywhere in it. Builders and the measuring worker stay on this machine, because target,
files and measuring lease are this machine's. Ray starts in a thread, because it takes seconds and
candidates can be measured in this process meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from schedsearch.core.errors import UserError
from schedsearch.core.interrupts import take_back_sigterm
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Bench
from schedsearch.search.workers.core_sharing import MeasuringPlace
from schedsearch.search.workers.jobs import (
    BenchWorker,
    BuildJob,
    ExpandJob,
    Job,
    Loaded,
    Lost,
    MeasureJob,
    NormaliseJob,
    ReplayJob,
    Result,
    WorkSpec,
)
from schedsearch.search.workers.ray_hosts import Host, joined_ray, own_ray
from schedsearch.search.workers.ray_workers import (
    Abilities,
    BuildActor,
    ExpandActor,
    check_abilities,
    check_sendable,
)

CHECK_S = 1.0
"""How often Ray is asked whether it is still there."""


class RayExecutor:
    """`slots` actors that expand and as many that build, on this machine.

    With `address`, those that expand are in that cluster, `slots` of them on this machine at
    most, and `limit` altogether (None: one per core).

    Raises UserError for a transform that cannot be sent to workers.
    """

    def __init__(
        self, spec: WorkSpec, slots: int, address: str | None = None, limit: int | None = None
    ) -> None:
        check_sendable(spec)
        self.slots = slots
        self._spec, self._joins = spec, address is not None
        self._hosting = own_ray(slots) if address is None else joined_ray(address, slots, limit)
        self._pools: dict[type, Pool] = {}
        self._changed = False  # and the workers have not heard of it
        self._dropped: set[int] = set()  # tickets of jobs that run on
        self._tickets, self._checked = 0, 0.0
        self._failure: Exception | None = None
        self._ready, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def _keep_ray(self) -> None:
        """Start Ray, keep this thread until the end, stop Ray: it ends with its thread."""
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            with self._hosting as host:
                self._start_workers(host)
                self._wait_for_workers()
                self._ready.set()
                self._closing.wait()
        except Exception as error:  # as such, with no class, Ray's own node raises (2.60)
            self._failure = error  # raised where it is waited for
        finally:
            self._ready.set()

    def _start_workers(self, host: Host) -> None:
        """Those on this machine do not wait until Ray has a core for them."""
        expand, build, measure = map(ray.remote, (ExpandActor, BuildActor, BenchWorker))
        here = (host.here,) * self.slots
        measuring = MeasuringPlace.of(self._spec.target)

        def make(kind: Any, arguments: Callable[[], tuple[object, ...]]) -> Callable[[str], Any]:
            def start(place: str) -> Any:
                at = NodeAffinitySchedulingStrategy(place, soft=False)
                cores = int(place != host.here)
                return kind.options(num_cpus=cores, scheduling_strategy=at).remote(*arguments())

            return start

        def about() -> tuple[object, ...]:
            return self._spec, measuring

        self._host = host
        self._pools[ExpandJob] = Pool(make(expand, about), host.places, host)
        self._pools[ReplayJob] = self._pools[NormaliseJob] = self._pools[ExpandJob]
        self._pools[BuildJob] = Pool(make(build, about), here, host)
        self._pools[MeasureJob] = Pool(make(measure, lambda: (self._bench,)), here[:1], host)

    def _wait_for_workers(self) -> None:
        expanding = self._pools[ExpandJob]
        if self._joins:
            expanding.keep_able(Abilities.of(Loaded(self._spec)))
            self.slots = len(expanding)
        for pool in {id(pool): pool for pool in self._pools.values()}.values():
            pool.wait_until_started()

    def look_ahead(self, trace: Trace, patience_s: float) -> None:
        """Its workers start later."""

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def begin(self, bench: Bench) -> None:
        """As `attach`, without waiting: see `ready`."""
        self._bench = bench
        self._thread = threading.Thread(target=self._keep_ray, daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether jobs can run. Raises as `attach` does if they never will.

        Ray takes SIGTERM for itself some time before that: every call takes it back.
        """
        take_back_sigterm()
        if not self._ready.is_set():
            return False
        if isinstance(self._failure, UserError):
            raise self._failure
        if self._failure is not None:
            raise UserError(
                f"the workers cannot start: Ray did not start: {self._failure}\n"
                "Without Ray, in one process and slower: --executor inline"
            ) from self._failure
        return True

    def attach(self, bench: Bench) -> None:
        """Wait until Ray and its actors are up."""
        self.begin(bench)
        self._ready.wait()
        assert self.ready

    def change(self, spec: WorkSpec, bench: Bench) -> None:
        self._spec, self._bench = spec, bench
        self._changed = True
        if self._ready.is_set() and self._pools:  # before, nothing was submitted
            self.drop_expansions()
            self._dropped |= self._pools[BuildJob].forget() | self._pools[MeasureJob].forget()

    def submit(self, job: Job) -> int:
        if self._changed:  # they may have started with either
            self._changed = False
            self._pools[ExpandJob].load(self._spec)
            self._pools[BuildJob].load(self._spec)
            self._pools[MeasureJob].load(self._bench)
        self._tickets += 1
        self._pools[type(job)].submit(self._tickets, job)
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        until = time.monotonic() + timeout_s
        pool_of = {ref: pool for pool in self._pools.values() for ref in pool.running}
        if not pool_of:
            return []
        done, _ = ray.wait(list(pool_of), num_returns=1, timeout=timeout_s)
        if time.monotonic() > self._checked + CHECK_S:
            self._host.check()
            self._checked = time.monotonic()
        results = [pool_of[reference].finish(reference) for reference in done]
        self.slots = len(self._pools[ExpandJob])
        kept = [(ticket, result) for ticket, result in results if ticket not in self._dropped]
        self._dropped.difference_update(ticket for ticket, _ in results)
        left_s = until - time.monotonic()
        return kept if kept or left_s <= 0 else self.wait(left_s)

    def drop_expansions(self) -> list[int]:
        return self._pools[ExpandJob].drop()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()


START_S = 60.0
"""How long workers of a cluster may take to start; its cores may be somebody else's."""


@dataclass(frozen=True)
class _Worker:
    """An actor, and the node it is on."""

    actor: Any
    place: str


class Pool:
    """Equal actors, one at each of `places`; jobs wait while all are busy.

    One that dies is replaced if it was on this machine (`host.here`). Another node may have
    gone with it: that place is given up, and the last one moves here.
    """

    def __init__(self, make: Callable[[str], Any], places: Iterable[str], host: Host) -> None:
        self._make, self._host = make, host
        self._idle = deque(self._start(place) for place in places)
        self._queued: deque[tuple[int, Job]] = deque()
        self.running: dict[Any, tuple[int, _Worker]] = {}

    def __len__(self) -> int:
        return len(self._idle) + len(self.running)

    def _start(self, place: str) -> _Worker:
        return _Worker(self._make(place), place)

    def submit(self, ticket: int, job: Job) -> None:
        if self._idle:
            worker = self._idle.popleft()
            self.running[worker.actor.run.remote(job)] = (ticket, worker)
        else:
            self._queued.append((ticket, job))

    def load(self, what: object) -> None:
        """Let all go on with this, when they have done what they do."""
        for worker in (*self._idle, *(worker for _, worker in self.running.values())):
            worker.actor.load.remote(what)

    def forget(self) -> set[int]:
        """Forget waiting jobs, and return the tickets of running ones."""
        self._queued.clear()
        return {ticket for ticket, _ in self.running.values()}

    def finish(self, reference: Any) -> tuple[int, Result]:
        """Result of a finished job; its worker takes the next one. Raises UserError if it died
        with Ray."""
        ticket, worker = self.running.pop(reference)
        result: Result
        try:
            result = ray.get(reference)
        except RayTaskError as error:
            raise error.cause from error
        except RayError as error:
            self._host.check()
            result = Lost(f"the worker died: {str(error).splitlines()[0]}")
            if worker.place != self._host.here and len(self):
                return ticket, result
            worker = self._start(self._host.here)
        self._free(worker)
        return ticket, result

    def drop(self) -> list[int]:
        """Kill busy actors, forget what they did and what waits; returns the tickets."""
        tickets = [ticket for ticket, _ in self._queued]
        self._queued.clear()
        for ticket, worker in self.running.values():
            ray.kill(worker.actor)
            tickets.append(ticket)
            self._idle.append(self._start(worker.place))
        self.running.clear()
        return tickets

    def keep_able(self, wanted: Abilities) -> None:
        """Of workers that are idle, keep those that start in time. Raises UserError if none
        does, or if one has other abilities."""
        asked = {worker.actor.abilities.remote(): worker for worker in self._idle}
        started, late = ray.wait(list(asked), num_returns=len(asked), timeout=START_S)
        if not started:
            raise UserError(
                f"no worker started in the Ray cluster within {START_S:.0f} s: its cores are "
                "taken (`ray status`)"
            )
        for reference in late:
            ray.kill(asked[reference].actor)
        for reference in started:
            check_abilities(reference, asked[reference].place, wanted)
        self._idle = deque(asked[reference] for reference in started)

    def wait_until_started(self) -> None:
        """Actors that have not started by then are waited for with their first job."""
        asked = [worker.actor.__ray_ready__.remote() for worker in self._idle]
        ray.wait(asked, num_returns=len(asked), timeout=START_S)

    def _free(self, worker: _Worker) -> None:
        self._idle.append(worker)
        if self._queued:
            self.submit(*self._queued.popleft())
