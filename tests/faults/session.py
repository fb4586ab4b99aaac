"""A whole run whose measuring is made up: real expansions, builds, workers, measuring processes
and lease, but speed-ups that the code gives, a roofline out of reach, and no sanitizers."""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from search.worlds import measurement

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Measurement
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search import baseline, session
from schedsearch.search.engine.confirmation import not_inspected
from schedsearch.search.result import Listener
from schedsearch.search.session import tune
from schedsearch.search.setup import subject
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.workers import core_sharing as turns
from schedsearch.search.workers import executor

TESTS = Path(__file__).parents[1]
KERNEL = Path(__file__).parent / "kernels" / "transpose.py"
QUICK = TimingPlan("quick", 2, 2, sample_ns=1e5)
HANGS_S = 240.0
"""A run that takes longer says where it is, and ends."""


@dataclass(frozen=True)
class Setup:
    """Where a run has all its files, and what works for it: with `address`, a Ray cluster of
    others, joined in this `environment`."""

    folder: Path
    executor: str = "inline"
    address: str | None = None
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def store(self) -> Path:
        return self.folder / "store.sqlite"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder / "log"


@dataclass(frozen=True)
class Ended:
    """The speed-up of the best, or why the run ended without one."""

    best: str = ""
    error: str = ""


class MadeUpBench(Bench):
    """Runs the measuring process, and replaces what it says by a number made of the key. It
    needs no quiet machine, where it arrives (in a worker) neither."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(turns).update(slot_file=own_slot, common_file=own_common)
        vars(self).update(state)

    def evaluate(self, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        real = super().evaluate(candidate, QUICK, anchor)
        if not isinstance(real.result, Measurement):
            return real
        speedup = 0.5 + int(digest(candidate.binary_key)[:4], 16) / 0x8000
        return Evaluation(measurement(speedup, plan, anchor), real.verify_s, real.time_s)


def own_slot(what: str = "measuring") -> Path:
    return Path(tempfile.gettempdir(), f"{what}.lock")


def own_common(what: str) -> Path:
    return own_slot(f"common-{what}")


def bench_of(*args: Any, **options: Any) -> Bench:
    return MadeUpBench(**vars(subject.bench_of(*args, **options)))


def roof_of(*_: object) -> Roof:
    return Roof(1e-12, 1e-12, 1.0, "f32", 1.0, "L1")


def live(setup: Setup, tell: Connection) -> None:
    """Run to the end, in a process for this alone; the last message is `Ended`."""
    with setup.log.open("a") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())
    faulthandler.dump_traceback_later(HANGS_S, exit=True)
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    own = {"PYTHONPATH": path, "XDG_CACHE_HOME": str(setup.cache), "TMPDIR": str(setup.folder)}
    os.environ |= own | dict(setup.environment)
    tempfile.tempdir = None  # what was the directory before
    vars(session).update({"bench_of": bench_of, "once": lambda *_: not_inspected})
    vars(baseline).update({"roof_of": roof_of})
    vars(turns).update(slot_file=own_slot, common_file=own_common)
    # Few candidates: they would be through in this process before workers are there to be killed.
    vars(executor).update(HandingOver=lambda here, start, *_: start(here.spec))
    options = Options(
        file=KERNEL,
        proc=None,
        sizes={},
        budget=Budget(1e9),
        store=setup.store,
        executor=setup.executor,
        workers=1,
        transforms=("reorder",),
        ray_address=setup.address,
    )
    try:
        result = tune(options, Listener(print, lambda *_: None, lambda _: None))
    except UserError as error:
        tell.send(Ended(error=str(error)))
        sys.exit(2)
    assert result.best is not None
    tell.send(Ended(f"{result.best.measurement.speedup.value:.6f}"))
