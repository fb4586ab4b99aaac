"""A run in a process of its own, and whatever it starts, to be killed one by one."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path

from faults.session import Ended, Setup, live
from schedsearch.search.engine.dispatcher import PIPELINE
from schedsearch.store.process import is_dead, token

MENDED = ("worker", "compiler", "child")
"""A run goes on without them: a worker of Ray's, a compiler, a process that measures."""
FATAL = ("gcs_server", "raylet", "driver")
"""A run ends with them."""
KINDS = (*MENDED, *FATAL)
PATIENCE_S = 300.0

_WORKERS = ("ray::ExpandActor", "ray::BuildActor", "ray::BenchWorker")
_COMPILER = re.compile(r"cc1|collect2|(.*-)?(gcc|as|ld)(-\d+|\.bfd|\.gold)?")


@dataclass(frozen=True)
class Stored:
    """What a store has: candidates by trace key, and ids of measurements."""

    candidates: frozenset[str]
    measurements: frozenset[int]


def stored(store: Path) -> Stored:
    if not store.exists():
        return Stored(frozenset(), frozenset())
    with closing(sqlite3.connect(store)) as connection:
        candidates = connection.execute("SELECT trace_key FROM candidate").fetchall()
        measurements = connection.execute("SELECT id FROM measurement").fetchall()
    return Stored(frozenset(k for (k,) in candidates), frozenset(i for (i,) in measurements))


class Run:
    """A run, and what it started. `workers` of each kind, as many as Ray has to have."""

    workers = 3

    def __init__(self, context: ForkServerContext | SpawnContext, setup: Setup) -> None:
        self.setup = setup
        self._seen: dict[str, str] = {}  # what it started: names by token
        self.known = stored(setup.store)  # before the last kill
        self._receive, send = context.Pipe(duplex=False)
        self.process = context.Process(target=live, args=(setup, send))
        self.process.start()
        send.close()

    def kill(self, kind: str, rng: random.Random) -> bool:
        """Kill a process of that kind once some more is measured and, if it is a worker, all
        of them are there. False if the run ends first.

        A job that is lost twice is given up: until one that was lost before is through, as
        many are measured as are under way.
        """
        more = rng.randint(1, 2) if kind in FATAL else PIPELINE + rng.randint(1, 2)
        wanted = len(self.known.measurements) + more

        def due(processes: dict[int, str]) -> bool:
            whole = list(processes.values()).count("worker") >= self.workers
            return len(self.known.measurements) >= wanted and (kind != "worker" or whole)

        return self._kill(kind, rng, due)

    def kill_early(self, kind: str, rng: random.Random) -> bool:
        """The like, at any moment of a start."""
        deadline = time.monotonic() + rng.uniform(0.0, 15.0)
        return self._kill(kind, rng, lambda _: time.monotonic() > deadline)

    def _kill(self, kind: str, rng: random.Random, due: Callable[[dict[int, str]], bool]) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        while self.process.is_alive():
            assert time.monotonic() < deadline, f"no progress for {PATIENCE_S:g} s"
            time.sleep(rng.uniform(0.0, 0.02))
            self.known = stored(self.setup.store)
            processes = self.processes()
            found = [pid for pid, name in processes.items() if name == kind]
            if found and due(processes):
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.kill(rng.choice(found), signal.SIGKILL)
                    return True
        return False

    def end(self) -> tuple[Ended | None, int]:
        """What it said in the end, and its exit code. Raises AssertionError if it hangs."""
        try:
            said = self._receive.recv() if self._receive.poll(PATIENCE_S) else None
        except EOFError:
            said = None
        self.process.join(PATIENCE_S)
        hangs = self.process.is_alive()
        self.process.kill()
        self.process.join()
        assert not hangs, f"the run hangs, having said {said}"
        assert self.process.exitcode is not None
        return said, self.process.exitcode

    def processes(self) -> dict[int, str]:
        """Names of its processes that live: one of `KINDS`, else the program's."""
        driver = self.process.pid
        assert driver is not None, "it was started"
        found = {driver: "driver"}
        for pid in descendants(driver):
            if (alive := token(pid)) is not None:
                with suppress(OSError):  # it ends meanwhile
                    found[pid] = self._seen[alive] = self._name(Path(f"/proc/{pid}"))
        return found

    def _name(self, entry: Path) -> str:
        program = Path(os.readlink(entry / "exe"))
        if program.is_relative_to(self.setup.cache):
            return "child"
        if _COMPILER.fullmatch(program.name):
            return "compiler"
        title = (entry / "cmdline").read_bytes().decode()
        return "worker" if title.startswith(_WORKERS) else program.name

    def living(self) -> list[str]:
        """What it started and is still there."""
        return [f"{one} {name}" for one, name in self._seen.items() if not is_dead(one)]


def descendants(pid: int) -> list[int]:
    found = []
    with suppress(OSError):  # it has ended
        for threads in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, threads.read_text().split()):
                found += [child, *descendants(child)]
    return found
