"""Whole runs, with the measuring made up, whose processes are killed one after the other."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path

from faults import checks
from faults.campaign import processes
from faults.processes import FATAL, MENDED, Run, stored
from faults.session import Ended, Setup
from schedsearch.store.database import Store

MODULES = ("schedsearch.search.session", "schedsearch.search.workers.ray_executor")
LEAVE_S = 90.0
"""Nothing that a run started is there for longer once it has ended."""
FATALLY, EARLY, MANY = 0.75, 0.1, 20
"""So many runs are killed, and so many of those while they start. From the others so many of
their processes are taken, as far as they last."""
DIED_EARLY = ("Ray did not start", "Failed to connect to GCS within 60 seconds")
"""Ray itself ends the process with the second, if its head dies before its first node is up."""


@dataclass(frozen=True)
class Peaceful:
    """What a run that nobody disturbed found."""

    best: str
    found: checks.Found


@dataclass
class Ordeal:
    """A search whose runs are disturbed until it is through. `best`: what the last one said."""

    context: ForkServerContext | SpawnContext
    folder: Path
    kills: Counter[str] = field(default_factory=Counter)
    best: str = ""
    ended: list[tuple[float, Run]] = field(default_factory=list)
    """Runs, and when they ended."""

    def run(
        self, executor: str, kinds: Sequence[str], rng: random.Random, early: bool = False
    ) -> list[str]:
        """Run once, and kill a process of each of `kinds` in that order, each after some
        progress (`early`: at any moment of the start), until one is fatal; returns those left.
        Raises AssertionError for whatever is wrong then."""
        left = list(kinds)
        run = Run(self.context, Setup(self.folder, executor))
        kill = run.kill_early if early else run.kill
        ended_by = ""
        while left and not ended_by and kill(left[0], rng):
            self.kills[left[0]] += 1
            ended_by = left[0] if left[0] in FATAL else ""
            left.pop(0)
        if ended_by == "driver":
            self.check_killed(run)
        else:
            died = [f"Ray's {ended_by} died"] if ended_by else []
            self.check_end(run, [*died, *(DIED_EARLY if early else ())])
        return left

    def check_killed(self, run: Run) -> None:
        """That the driver is gone, and its store sound."""
        _, code = run.end()
        assert code == -signal.SIGKILL
        self._check(run)

    def check_end(self, run: Run, causes: Sequence[str]) -> None:
        """That a run found all, or said one of the `causes` why not, and its store is sound."""
        said, code = run.end()
        said = said or Ended(error=f"{code}: {run.setup.log.read_text()}")
        assert said.best or any(cause in said.error for cause in causes), (said, causes)
        self.best = said.best
        self._check(run)

    def _check(self, run: Run) -> None:
        self.ended.append((time.monotonic(), run))
        self.check_leavers()
        store = run.setup.store
        if store.exists():
            checks.sound(store)
            now = stored(store)
            assert run.known.candidates <= now.candidates
            assert run.known.measurements <= now.measurements

    def check_leavers(self, patience_s: float = 0.0) -> None:
        """Wait so long, if something of runs that ended is still there; raises AssertionError
        if it is there for too long."""
        deadline = time.monotonic() + patience_s
        while self.ended:
            self.ended = [(at, run) for at, run in self.ended if run.living()]
            for at, run in self.ended:
                assert time.monotonic() - at < LEAVE_S, f"outlives the run: {run.living()}"
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)

    def outcome(self) -> Peaceful:
        with Store.open(Setup(self.folder).store) as store:
            (scope,) = store.scopes()
            return Peaceful(self.best, checks.found(store, scope))


@contextmanager
def ordeal() -> Iterator[Ordeal]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Ordeal(processes(*MODULES), Path(folder))


def undisturbed() -> Peaceful:
    with ordeal() as peaceful:
        peaceful.run("inline", [], random.Random(0))
        return peaceful.outcome()


def disturb(seed: int, peaceful: Peaceful, wanted: Counter[str]) -> Counter[str]:
    """Run a search until it is through, killing processes on the way, of the kinds of which
    most are `wanted`; compare it with one left in peace. How many were killed, by kind."""
    rng = random.Random(seed)
    with ordeal() as disturbed:
        while not disturbed.best:
            missing = wanted - disturbed.kills
            fatal = max(FATAL, key=lambda kind: (missing[kind], rng.random()))
            if missing[fatal] and rng.random() < FATALLY:
                disturbed.run("ray", [fatal], rng, early=rng.random() < EARLY)
            else:
                disturbed.run("ray", rng.choices(MENDED, k=MANY), rng)
        outcome = disturbed.outcome()
        assert outcome == peaceful, outcome.found.failures ^ peaceful.found.failures
        disturbed.check_leavers(LEAVE_S)
        return disturbed.kills
