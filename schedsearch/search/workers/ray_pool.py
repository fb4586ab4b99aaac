"""Pools of Ray's actors: which are busy, which died, and what waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from schedsearch.core.errors import UserError
from schedsearch.search.workers.jobs import Job, Lost, Result
from schedsearch.search.workers.ray_hosts import Host
from schedsearch.search.workers.ray_workers import Abilities, check_abilities

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
