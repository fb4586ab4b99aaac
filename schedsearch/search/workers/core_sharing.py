"""Turns on the machine's cores.

One process at a time measures. The others compute on cores that kernels are not timed on. If no
such core is left, computing and measuring take turns.

The locks hold between all processes of a user, and between all users of the machine as far as they
respect them (`lease.py`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.machine import boot_id
from schedsearch.core.records import Target
from schedsearch.evaluate.build.host import measuring_cores, usable_cores
from schedsearch.search.workers.lease import Patience, common_lock, lent, locked, own_lock

TURN_S = 1.0
"""A turn to compute lasts at least so long. Measuring a candidate takes about as long; an expansion
has many short steps."""


_PATIENCE = Patience()


def slot_file(what: str = "measuring") -> Path:
    return own_lock(what)


def common_file(what: str) -> Path:
    return common_lock(what)


@contextmanager
def _slot(
    what: str, shared: bool = False, waiting: Callable[[str], None] = lambda holder: None
) -> Iterator[None]:
    """Wait for this user's processes first, so that only one of them asks other users."""
    with (
        locked(slot_file(what), shared, waiting),
        lent(common_file(what), _PATIENCE, shared, waiting),
    ):
        yield


@contextmanager
def measuring_slot(tell: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Wait until no other process measures on this machine, and processes that take turns with
    measuring have stopped; keep others waiting. `tell` hears which process has to end first.

    A process that waits holds the lock `next`, so that one that has just measured comes after it.
    """

    def waiting(holder: str) -> None:
        tell(f"waiting for {holder} to end its measurement")

    with ExitStack() as held:
        with _slot("next", waiting=waiting):
            held.enter_context(_slot("measuring", waiting=waiting))
        held.enter_context(_slot("computing"))
        yield


class AnyTime:
    """Compute at any time: measuring has cores of its own."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def offer(self) -> None:
        """Code in the `with` block calls this now and then."""


class SharedTurn(AnyTime):
    """Compute, together with others, while no process measures.

    A process that waits for its turn to measure holds the slot, so that no turn to compute begins
    before it has measured.
    """

    def __init__(self) -> None:
        self._held = ExitStack()
        self._since = 0.0

    def __enter__(self) -> None:
        with _slot("measuring", shared=True):
            self._held.enter_context(_slot("computing", shared=True))
        self._since = time.monotonic()

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def offer(self) -> None:
        """Let others measure, if this turn has lasted long enough."""
        if time.monotonic() - self._since > TURN_S:
            self.__exit__()
            self.__enter__()


def make_turn(target: Target) -> AnyTime:
    """When this machine's cores may be used for computing while `target` is tuned."""
    return SharedTurn() if target.threads >= target.cores else AnyTime()


@dataclass(frozen=True)
class MeasuringPlace:
    """The machine that kernels are timed on (a `boot_id`), and its cores for that."""

    machine: str
    cores: tuple[int, ...]

    @staticmethod
    def of(target: Target) -> MeasuringPlace:
        """Where this process times kernels for `target`."""
        return MeasuringPlace(boot_id(), measuring_cores(target.threads))

    @property
    def is_here(self) -> bool:
        return self.machine == boot_id()

    def leave(self) -> None:
        """Keep this process, and the compilers it starts, off those cores, if it is on that
        machine and may use others."""
        others = set(usable_cores()) - set(self.cores)
        if self.is_here and others:
            os.sched_setaffinity(0, others)
