"""Executor over Ray: pools of actors that expand, build and measure.

The measuring actor holds the custom resource `bench:<target key>`, of which this
machine has exactly one. Ray starts in a thread, because it takes seconds and the
baseline can be measured meanwhile. It listens on the loopback device only, wants a token
that nobody but its processes has, and has no dashboard.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import ray
from ray._private import ray_constants
from ray.exceptions import RayError, RayTaskError

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
from schedsearch.search.turns import leave_measuring_cores

_RAY_NEEDS = {ray_constants.PROCESS_TYPE_GCS_SERVER, ray_constants.PROCESS_TYPE_RAYLET}
_AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


class _ExpandActor(ExpandWorker):
    def __init__(self, spec: WorkSpec) -> None:
        leave_measuring_cores(spec.target)
        os.nice(5)  # builds feed the measuring slot: they go first
        super().__init__(Loaded(spec))


class _BuildActor(BuildWorker):
    def __init__(self, spec: WorkSpec) -> None:
        leave_measuring_cores(spec.target)
        super().__init__(Loaded(spec))


class _Pool:
    """Equal actors; jobs wait while all are busy."""

    def __init__(self, make: Callable[[], Any], size: int) -> None:
        self._make = make
        self._idle = deque(make() for _ in range(size))
        self._queued: deque[tuple[int, Job]] = deque()
        self.running: dict[Any, tuple[int, Any]] = {}

    def submit(self, ticket: int, job: Job) -> None:
        if self._idle:
            actor = self._idle.popleft()
            self.running[actor.run.remote(job)] = (ticket, actor)
        else:
            self._queued.append((ticket, job))

    def finish(self, reference: Any) -> tuple[int, Result]:
        """Result of a finished job; its actor takes the next one."""
        ticket, actor = self.running.pop(reference)
        result: Result
        try:
            result = ray.get(reference)
        except RayTaskError as error:
            raise error.cause from error
        except RayError as error:
            result = Lost(f"the worker died: {str(error).splitlines()[0]}")
            actor = self._make()
        self._free(actor)
        return ticket, result

    def drop(self) -> list[int]:
        """Kill busy actors, forget what they did and what waits; returns the tickets."""
        tickets = [ticket for ticket, _ in self._queued]
        self._queued.clear()
        for ticket, actor in self.running.values():
            ray.kill(actor)
            tickets.append(ticket)
            self._idle.append(self._make())
        self.running.clear()
        return tickets

    def _free(self, actor: Any) -> None:
        self._idle.append(actor)
        if self._queued:
            self.submit(*self._queued.popleft())


def _own_token() -> None:
    """Give Ray a token of this process alone, unless the user chose otherwise.

    Ray would keep one in a file, which it makes readable for everybody (2.60); whoever has
    the token runs code as this user.
    """
    if not any(name in os.environ for name in _AUTHENTICATION):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def _loopback() -> Iterator[None]:
    """Have Ray started at 127.0.0.1 instead of at an address that others can reach.

    `ray.init` replaces that address if it is asked for it by `_node_ip_address` (2.60);
    where Ray has no clusters, as on macOS, it is the default.
    """
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


class RayExecutor:
    """`slots` actors that expand and as many that build, on this machine."""

    def __init__(self, spec: WorkSpec, slots: int) -> None:
        self.slots = slots
        self._spec = spec
        self._lease = f"bench:{spec.target.key}"
        self._pools: dict[type, _Pool] = {}
        self._tickets = 0
        self._failure: RayError | OSError | RuntimeError | ValueError | None = None
        self._ready, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._host_ray, daemon=True)
        self._thread.start()

    def _host_ray(self) -> None:
        """Start Ray, keep this thread until the end, stop Ray.

        Ray's processes die with the *thread* that started them (PR_SET_PDEATHSIG).
        """
        logging.getLogger("ray").setLevel(logging.ERROR)
        _own_token()
        try:
            with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
                try:
                    self._start_ray(folder)
                    self._ready.set()
                    self._closing.wait()
                finally:
                    ray.shutdown()
        except (RayError, OSError, RuntimeError, ValueError) as error:
            self._failure = error
        finally:
            self._ready.set()

    def _start_ray(self, folder: str) -> None:
        """With its sockets and logs in `folder`, which is ours alone: by default they are in
        `/tmp/ray`, and stay there."""
        with _loopback():
            ray.init(
                address="local",
                _temp_dir=folder,
                num_cpus=self.slots,
                resources={self._lease: 1},
                include_dashboard=False,
                log_to_driver=False,
                configure_logging=False,
            )
        expand = ray.remote(num_cpus=1)(_ExpandActor)
        build = ray.remote(num_cpus=0)(_BuildActor)
        spec = self._spec
        self._pools[ExpandJob] = _Pool(lambda: expand.remote(spec), self.slots)
        self._pools[ReplayJob] = self._pools[ExpandJob]
        self._pools[BuildJob] = _Pool(lambda: build.remote(spec), self.slots)

    def attach(self, bench: Bench) -> None:
        """Wait until Ray is up, then start the measuring actor."""
        self._ready.wait()
        if self._failure is not None:
            raise RuntimeError(f"Ray did not start: {self._failure}") from self._failure
        measure = ray.remote(num_cpus=0, resources={self._lease: 1})(BenchWorker)
        self._pools[MeasureJob] = _Pool(lambda: measure.remote(bench), 1)

    def submit(self, job: Job) -> int:
        self._tickets += 1
        self._pools[type(job)].submit(self._tickets, job)
        return self._tickets

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        pool_of = {ref: pool for pool in self._pools.values() for ref in pool.running}
        if not pool_of:
            return []
        done, _ = ray.wait(list(pool_of), num_returns=1, timeout=timeout_s)
        self._check_ray()
        return [pool_of[reference].finish(reference) for reference in done]

    def _check_ray(self) -> None:
        """Without its own processes Ray waits for ever, and replaces no worker."""
        dead = {name for name, _ in ray._private.worker._global_node.dead_processes()}
        if lost := sorted(dead & _RAY_NEEDS):
            raise UserError(
                f"Ray's {' and '.join(lost)} died, perhaps because memory ran out. What was "
                "measured is kept, and the same command continues.\n"
                "Without Ray, in one process and slower: --executor inline"
            )

    def drop_expansions(self) -> list[int]:
        return self._pools[ExpandJob].drop()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
