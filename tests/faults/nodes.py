"""Runs that joined a Ray cluster of two nodes, of which one dies, or the head."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

from search.ray_cluster import ON_LOOPBACK, RayCluster, started

from faults.disturbance import Ordeal, Peaceful
from faults.processes import PATIENCE_S, Run, descendants, stored
from faults.session import Setup

CAUSES = {
    "other node": None,
    "head": "the head of the Ray cluster at {address} does not answer",
    "own node": "this machine's node of the Ray cluster does not answer",
}
"""What is killed (the raylet of the node that expands, the head's gcs_server, the raylet here),
and what the run says of it; it goes on without the first."""


def lose(kind: str, folder: Path, seed: int, peaceful: Peaceful) -> None:
    """Kill that while a run expands; raises AssertionError unless the run goes on, or says what
    is missing. In the end it must have found what an undisturbed one does."""
    rng = random.Random(seed)
    ordeal = Ordeal(multiprocessing.get_context("spawn"), folder)  # it reads the environment
    with started() as cluster:
        token = {"RAY_AUTH_TOKEN": cluster.secret, "RAY_AUTH_MODE": "token"}
        environment = tuple((ON_LOOPBACK | token).items())
        run = Run(ordeal.context, Setup(folder, "ray", cluster.address, environment))
        wanted = rng.randint(1, 3)
        deadline = time.monotonic() + PATIENCE_S
        while len(stored(run.setup.store).measurements) < wanted and run.process.is_alive():
            assert time.monotonic() < deadline, "no progress"
            time.sleep(0.01)
        run.known = stored(run.setup.store)
        os.kill(process_of(cluster, kind), signal.SIGKILL)
        cause = CAUSES[kind]
        ordeal.check_end(run, [cause.format(address=cluster.address)] if cause else [])
        end(cluster)
    if not ordeal.best:
        ordeal.run("inline", [], rng)
    assert ordeal.outcome() == peaceful


def process_of(cluster: RayCluster, kind: str) -> int:
    for pid in descendants(cluster.process.pid):
        with suppress(OSError):  # it has ended
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            head = any(word.startswith("--head") for word in command)
            names = {"gcs_server": "head", "raylet": "own node" if head else "other node"}
            if names.get(Path(command[0]).name) == kind:
                return pid
    raise AssertionError(f"the cluster has no {kind}")


def end(cluster: RayCluster) -> None:
    """With all that it started: not all of it can end in an orderly way."""
    for pid in [*descendants(cluster.process.pid), cluster.process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
