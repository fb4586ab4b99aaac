"""Whole runs, with the measuring made up, whose processes are killed one after the other."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from faults import checks
from schedsearch.store.database import Store
from schedsearch.store.process import is_dead, token

TESTS = Path(__file__).parents[1]
WORKERS = ("ray::_ExpandActor", "ray::_BuildActor", "ray::BenchWorker")
FATAL = ("gcs_server", "raylet", "driver")
KINDS = ("worker", "child", *FATAL)
LEAVE_S = 90.0
"""Nothing that a run started is there for longer once it has ended. Two agents of Ray, whose raylet
died, try for up to a minute to tell Ray's head, which is gone too."""
PATIENCE_S = 300.0


class Run:
    """A run in a process of its own, and what it started."""

    def __init__(self, store: Path, cache: Path, executor: str) -> None:
        self.store, self.cache = store, cache
        self._seen: set[str] = set()  # tokens of what it started
        self.known: set[tuple[str, int]] = set()  # stored before the last kill
        path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
        own = {"PYTHONPATH": path, "XDG_CACHE_HOME": str(cache)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "faults.session", store, executor],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | own,
        )

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def processes(self) -> dict[int, str]:
        """Names of the processes that it started and that live: `worker`, `child` for one that
        measures, else the program's."""
        found = {}
        for pid in descendants(self.process.pid):
            if (alive := token(pid)) is not None:
                self._seen.add(alive)
                with suppress(OSError):
                    found[pid] = self._name(Path(f"/proc/{pid}"))
        return found

    def _name(self, entry: Path) -> str:
        with suppress(OSError):
            if os.readlink(entry / "exe").startswith(str(self.cache)):
                return "child"
        words = (entry / "cmdline").read_bytes().decode().replace("\0", " ").split()
        name = words[0] if words else ""
        return "worker" if name.startswith(WORKERS) else Path(name).name

    def survivors(self) -> list[str]:
        """What is left of it some time after its end."""
        deadline = time.monotonic() + LEAVE_S
        left = self._living()
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = self._living()
        return [f"{one} {self._name(Path('/proc', one.split('/')[1]))}" for one in left]

    def _living(self) -> list[str]:
        return [one for one in self._seen if not is_dead(one)]

    def kill(self, kind: str, rng: random.Random) -> bool:
        """Kill a process of that kind once something more is stored; False if the run ends
        first."""
        wanted = len(stored(self.store)) + rng.randint(2, 8)
        deadline = time.monotonic() + PATIENCE_S
        while not self.has_ended():
            assert time.monotonic() < deadline, f"no progress for {PATIENCE_S:g} s"
            time.sleep(rng.uniform(0.0, 0.03))
            self.known = stored(self.store)
            processes = self.processes()
            if kind == "driver":
                processes = {self.process.pid: kind}
            found = [pid for pid, name in processes.items() if name == kind]
            if found and len(self.known) >= wanted:
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.kill(rng.choice(found), signal.SIGKILL)
                    return True
        return False


def descendants(pid: int) -> list[int]:
    found = []
    with suppress(OSError):  # it has ended
        for threads in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, threads.read_text().split()):
                found += [child, *descendants(child)]
    return found


def stored(store: Path) -> set[tuple[str, int]]:
    """What a store has: every candidate and measurement."""
    if not store.exists():
        return set()
    with closing(sqlite3.connect(store)) as connection:
        return {
            *connection.execute("SELECT trace_key, 0 FROM candidate"),
            *connection.execute(
                "SELECT trace_key, m.id FROM measurement m JOIN candidate c ON c.id = candidate_id"
            ),
        }


@dataclass
class Ordeal:
    """A search whose runs are disturbed until it is through. `best`: what the last one said."""

    folder: Path
    kills: Counter[str] = field(default_factory=Counter)
    best: str = ""

    def __post_init__(self) -> None:
        self.folder.mkdir()

    @property
    def store(self) -> Path:
        return self.folder / "store.sqlite"

    def run(self, executor: str, kinds: Sequence[str], rng: random.Random) -> list[str]:
        """Run once, and kill a process of each of `kinds` in that order, each after some
        progress, until one is fatal; returns those left. Raises AssertionError for whatever
        is wrong then."""
        left = list(kinds)
        run = Run(self.store, self.folder / "cache", executor)
        ended_by = None
        try:
            while left and ended_by is None and run.kill(left[0], rng):
                self.kills[left[0]] += 1
                ended_by = left[0] if left[0] in FATAL else None
                left.pop(0)
            said, errors = run.process.communicate(timeout=PATIENCE_S)
        finally:
            run.process.kill()
        survivors = run.survivors()
        assert not survivors, f"outlived the run by {LEAVE_S:g} s: {survivors}"
        if self.store.exists():
            checks.sound(self.store)
            assert run.known <= stored(self.store)
        match run.process.returncode, ended_by:
            case 0, _:
                self.best = said.splitlines()[-1]
            case code, "driver":
                assert code == -signal.SIGKILL
            case code, _:
                assert ended_by is not None, errors
                assert code == 1, errors
                assert f"Ray's {ended_by} died" in errors
        return left

    def found(self) -> checks.Found:
        with Store.open(self.store) as store:
            (scope,) = store.scopes()
            return checks.found(store, scope)


def disturb(folder: Path, seed: int, executor: str = "ray") -> Counter[str]:
    """Run a search, killing one or two processes of every kind on the way, until it is through;
    compare it with one left in peace. How many were killed, by kind."""
    rng = random.Random(seed)
    ordeal, peaceful = Ordeal(folder / "disturbed"), Ordeal(folder / "peaceful")
    kinds = rng.sample(KINDS * 2, rng.randint(len(KINDS), 2 * len(KINDS)))
    while not ordeal.best:
        kinds = ordeal.run(executor, kinds, rng)
    peaceful.run("inline", [], rng)
    assert (ordeal.best, ordeal.found()) == (peaceful.best, peaceful.found())
    return ordeal.kills
