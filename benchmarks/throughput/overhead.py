"""Where the time of a real run goes: `tune` with Ray, from a cold store.

Counted between the first finished expansion with Ray's workers and the last one, so that neither
what the driver did in their place while they started nor expansions given up at the end count.
Two views of the same interval:

- the expansion slots' wall clock: in which stage, or between jobs (waiting for work,
  sending, booking);
- CPU seconds of all processes by what they are for. What an expansion worker uses is
  divided among its stages.

What counts as what:

- Exo: replaying and rewriting in the expansion workers, that is Exo's operators, the answers
  to its own questions that `transforms/exo/speed` gives in its place, and what a rewrite
  checks and chooses between operators; and generating C in the build workers;
- compiler: the compilers and linkers that build workers start;
- benchmark: the measuring worker and its children, which verify, calibrate and time;
- analysis, ours: proposing, query ASTs and keys, estimates;
- engine: the driver with its store, and Ray.

The goal of 5 % is about the last two together. An expansion worker has work whenever a core is
free, so that faster analysis means more expansions, not less CPU time: the ratio of analysis to
Exo says more of the code than its share of a run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.suite.case import Case
from benchmarks.throughput.usage import Usage, by_role, is_expanding, tree_usage
from schedsearch.core.errors import UserError
from schedsearch.search.engine.progress import Progress
from schedsearch.search.result import Listener
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.store.database import Store

EXO = ("replay", "rewrite")
ANALYSIS = ("propose", "ast_key", "predict")


@dataclass(frozen=True)
class Look:
    """What is seen at one moment: time, stage seconds so far, CPU by process; and how many
    seconds of the driver's CPU went into earlier looks, which are no part of a run."""

    at: float
    stage_s: Mapping[str, float]
    usage: Mapping[int, Usage]
    looking_s: float


@dataclass(frozen=True)
class Overhead:
    """Of an interval of `wall_s`: seconds of the expansion slots by stage (`between` jobs
    last), CPU seconds by purpose."""

    kernel: str
    slots: int
    wall_s: float
    expansions: int
    slot_s: dict[str, float]
    cpu_s: dict[str, float]

    @property
    def between(self) -> float:
        """Share of the expansion slots' time in which they have no job."""
        return self.slot_s["between"] / (self.slots * self.wall_s)

    @property
    def engine(self) -> float:
        """Share of CPU time outside Exo, compiler and benchmark, `analysis` included."""
        return (self.cpu_s["engine"] + self.cpu_s["analysis"]) / sum(self.cpu_s.values())


@dataclass
class _Watch:
    """Looks whenever an expansion has finished."""

    store: Path
    looks: list[Look] = field(default_factory=list)
    expanded: int = 0
    looking_s: float = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.phase != "searching" or progress.expanded == self.expanded:
            return
        self.expanded = progress.expanded
        start, at, usage = time.thread_time(), time.monotonic(), tree_usage()
        with Store.open(self.store, create=False) as store:
            (scope,) = store.scopes()
            stages = store.stage_seconds(scope)
        self.looks.append(Look(at, stages, usage, self.looking_s))
        self.looking_s += time.thread_time() - start


def watch_run(case: Case, seconds: float, workers: int) -> Overhead:
    """Tune `case` for `seconds`. Raises UserError if workers finish fewer than two expansions."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store.sqlite")
        watch = _Watch(store)
        options = Options(
            file=case.file,
            proc=case.proc,
            sizes=dict(case.sizes),
            budget=Budget(seconds),
            store=store,
            workers=workers,
            specialize=case.specialize,
        )
        tune(options, Listener(lambda _: None, lambda *_: None, watch))
    looks = with_workers(watch.looks)
    if len(looks) < 2:
        raise UserError(f"{case.name}: {seconds:g} s are too short for two expansions by workers")
    return account(case.name, workers, looks)


def with_workers(looks: list[Look]) -> list[Look]:
    """Before, the driver expands, builds and measures itself."""
    return [look for look in looks if any(map(is_expanding, look.usage.values()))]


def account(kernel: str, slots: int, looks: list[Look]) -> Overhead:
    first, last = looks[0], looks[-1]
    wall_s = last.at - first.at
    stages = {name: s - first.stage_s.get(name, 0.0) for name, s in last.stage_s.items()}
    slot_s = {name: stages.get(name, 0.0) for name in (*EXO, *ANALYSIS, "wait")}
    busy_s = sum(slot_s.values())
    slot_s["between"] = max(slots * wall_s - busy_s, 0.0)
    cpu = by_role(first.usage, last.usage)
    cpu["driver"] -= last.looking_s - first.looking_s
    exo = sum(slot_s[name] for name in EXO) / busy_s
    analysis = sum(slot_s[name] for name in ANALYSIS) / busy_s
    cpu_s = {
        "Exo": cpu["expand"] * exo + cpu["build"],
        "compiler": cpu["compiler"],
        "benchmark": cpu["benchmark"],
        "analysis": cpu["expand"] * analysis,
        "engine": cpu["driver"] + cpu["ray"],
    }
    return Overhead(kernel, slots, wall_s, len(looks) - 1, slot_s, cpu_s)
