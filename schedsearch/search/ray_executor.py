"""Executor over Ray: pools of actors that expand, build and measure.

Ray is our own on this machine, or a cluster that is joined (`ray_hosts.py`). What expands
may run anywhere in it; what builds and measures stays on this machine, whose target, files
and measuring lease they are for. Ray starts in a thread, because it takes seconds and the
baseline can be measured meanwhile.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import ray
from ray._private.authentication.authentication_utils import is_token_auth_enabled
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from schedsearch import __version__
from schedsearch.core.errors import UserError
from schedsearch.evaluate.bench import Bench
from schedsearch.search.jobs import (
    BenchWorker,
    BuildJob,
    BuildWorker,
    ExpandJob,
    ExpandWorker,
    Job,
    Loaded,
    Lost,
    MeasureJob,
    ReplayJob,
    Result,
    WorkSpec,
)
from schedsearch.search.ray_hosts import Host, joined_ray, own_ray
from schedsearch.search.ray_token import HOW_TO_START
from schedsearch.search.turns import leave_measuring_cores
from schedsearch.transforms.identity import ast_key
from schedsearch.transforms.mirror import mirror

CHECK_S = 1.0
"""How often Ray is asked whether it is still there."""
START_S = 60.0
"""How long workers of a cluster may take to start; its cores may be somebody else's."""


@dataclass(frozen=True)
class Abilities:
    """What has to be the same on all nodes: a trace means the same only then."""

    schedsearch: str
    exo: str
    z3: str
    procedure: str
    """Its `ast_key`."""
    tokens: bool
    """Does Ray ask for them there?"""

    @staticmethod
    def of(loaded: Loaded) -> Abilities:
        """Of this process. Raises UserError if the source is not here, or is another."""
        procedure = ast_key(mirror(loaded.replayer.root))
        versions = version("exo-lang"), version("z3-solver")
        return Abilities(__version__, *versions, procedure, is_token_auth_enabled())


class _ExpandActor(ExpandWorker):
    def __init__(self, spec: WorkSpec) -> None:
        leave_measuring_cores(spec.target)
        os.nice(5)  # builds feed the measuring slot: they go first
        super().__init__(Loaded(spec))

    def abilities(self) -> Abilities:
        return Abilities.of(self.loaded)


class _BuildActor(BuildWorker):
    def __init__(self, spec: WorkSpec) -> None:
        leave_measuring_cores(spec.target)
        super().__init__(Loaded(spec))


@dataclass(frozen=True)
class _Worker:
    """An actor, and the node it is on."""

    actor: Any
    place: str


class _Pool:
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
            _check_ray(self._host)
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
        does, or if one is not what is wanted."""
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
            _check_abilities(reference, asked[reference].place, wanted)
        self._idle = deque(asked[reference] for reference in started)

    def _free(self, worker: _Worker) -> None:
        self._idle.append(worker)
        if self._queued:
            self.submit(*self._queued.popleft())


def _check_ray(host: Host) -> None:
    """Without its own processes Ray waits for ever, and replaces no worker."""
    if dead := host.dead():
        raise UserError(
            f"{' and '.join(dead)}. What was measured is kept, and the same command continues.\n"
            "Without Ray, in one process and slower: --executor inline"
        )


def _check_abilities(reference: Any, place: str, wanted: Abilities) -> None:
    address = next(n["NodeManagerAddress"] for n in ray.nodes() if n["NodeID"] == place)
    node = f"node {address} of the Ray cluster"
    try:
        found = ray.get(reference)
    except RayTaskError as error:
        raise UserError(f"{node} cannot work on this: {error.cause}") from error
    except RayError as error:
        raise UserError(f"{node} cannot run workers of schedsearch: {error}") from error
    if not found.tokens:
        raise UserError(
            f"{node} does not ask for tokens: whoever reaches it runs code there. {HOW_TO_START}"
        )
    for name, value in asdict(wanted).items():
        if (other := getattr(found, name)) != value:
            raise UserError(f"{node} has another {name}: {other}, here {value}")


def _check_sendable(spec: WorkSpec) -> None:
    """A transform takes with it what its functions use: of a notebook, their text and values."""
    for transform in spec.own:
        try:
            ray.cloudpickle.dumps(transform)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
            raise UserError(
                f"{transform.name} cannot be sent to workers: {error}. In one process, and slower: "
                'executor="inline"'
            ) from error


class RayExecutor:
    """`slots` actors that expand and as many that build, on this machine.

    With `address`, those that expand are in that cluster, `slots` of them on this machine at
    most, and `limit` altogether (None: one per core).

    Raises UserError for a transform that cannot be sent to workers.
    """

    def __init__(
        self, spec: WorkSpec, slots: int, address: str | None = None, limit: int | None = None
    ) -> None:
        _check_sendable(spec)
        self.slots = slots
        self._spec, self._joins = spec, address is not None
        self._hosting = own_ray(slots) if address is None else joined_ray(address, slots, limit)
        self._pools: dict[type, _Pool] = {}
        self._tickets, self._checked = 0, 0.0
        self._failure: RayError | OSError | RuntimeError | ValueError | UserError | None = None
        self._ready, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep_ray, daemon=True)
        self._thread.start()

    def _keep_ray(self) -> None:
        """Start Ray, keep this thread until the end, stop Ray: it ends with its thread."""
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            with self._hosting as host:
                self._start_workers(host)
                self._ready.set()
                self._closing.wait()
        except (RayError, OSError, RuntimeError, ValueError, UserError) as error:
            self._failure = error
        finally:
            self._ready.set()

    def _start_workers(self, host: Host) -> None:
        """Those on this machine do not wait until Ray has a core for them."""
        expand, build, measure = map(ray.remote, (_ExpandActor, _BuildActor, BenchWorker))
        spec, here = self._spec, (host.here,) * self.slots

        def make(kind: Any, argument: object) -> Callable[[str], Any]:
            def start(place: str) -> Any:
                at = NodeAffinitySchedulingStrategy(place, soft=False)
                cores = int(place != host.here)
                return kind.options(num_cpus=cores, scheduling_strategy=at).remote(argument)

            return start

        def start_measuring(bench: Bench) -> _Pool:
            return _Pool(make(measure, bench), here[:1], host)

        self._host, self._start_measuring = host, start_measuring
        self._pools[ExpandJob] = _Pool(make(expand, spec), host.places, host)
        self._pools[ReplayJob] = self._pools[ExpandJob]
        self._pools[BuildJob] = _Pool(make(build, spec), here, host)

    def attach(self, bench: Bench) -> None:
        """Wait until Ray is up, then start the measuring actor."""
        self._ready.wait()
        if isinstance(self._failure, UserError):
            raise self._failure
        if self._failure is not None:
            raise RuntimeError(f"Ray did not start: {self._failure}") from self._failure
        self._pools[MeasureJob] = self._start_measuring(bench)
        if self._joins:
            expanding = self._pools[ExpandJob]
            expanding.keep_able(Abilities.of(Loaded(self._spec)))
            self.slots = len(expanding)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        self._pools[type(job)].submit(self._tickets, job)
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        pool_of = {ref: pool for pool in self._pools.values() for ref in pool.running}
        if not pool_of:
            return []
        done, _ = ray.wait(list(pool_of), num_returns=1, timeout=timeout_s)
        if time.monotonic() > self._checked + CHECK_S:
            _check_ray(self._host)
            self._checked = time.monotonic()
        results = [pool_of[reference].finish(reference) for reference in done]
        self.slots = len(self._pools[ExpandJob])
        return results

    def drop_expansions(self) -> list[int]:
        return self._pools[ExpandJob].drop()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
