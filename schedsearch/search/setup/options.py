"""What the user chose for one tuning run. Its defaults are those of the command and of `tune`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedsearch.core.alignment import ALLOCATED, check_alignment
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.store_name import DEFAULT_STORE
from schedsearch.core.suggest import unknown
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.budget import Budget
from schedsearch.search.strategies.make import AnyStrategy
from schedsearch.transforms.own import definitions
from schedsearch.transforms.registry import Transform, select

EXECUTORS = ("ray", "inline")
_TWO_MINUTES = Budget(120.0)


@dataclass(frozen=True)
class Options:
    """What the user chose. `workers` None: one per core but the measuring ones; `first` are
    schedules of this procedure to try before anything else."""

    file: Path
    proc: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    budget: Budget = _TWO_MINUTES
    store: Path | str = DEFAULT_STORE
    """A file, or the URL of a database."""
    cc: str | None = None
    target: str | None = None
    fp: FloatingPoint | None = None
    """The floating-point contract. Default: what `target` says, else `fast`."""
    instructions: tuple[Path, ...] = ()
    strategy: AnyStrategy = "best-first"
    executor: str = "ray"
    workers: int | None = None
    seed: int = 0
    transforms: tuple[str, ...] | None = None
    threads: int = 1
    specialize: bool = False
    warm_start: bool = True
    cache: Cache = Cache.WARM
    align: int = ALLOCATED
    """Bytes that the arrays kernels are timed on are aligned to."""
    fresh: bool = False
    tree: int | None = None
    """Which of several search trees of this procedure to go on with. Default: begun last."""
    first: tuple[Trace, ...] = ()
    start: Trace = field(default_factory=Trace)
    """Search only what follows this schedule, which the store has measured."""
    ray_address: str | None = None
    """Of a Ray cluster to join, as HOST:PORT."""

    def check(self) -> None:
        """Raises UserError for an alignment or executor that is unknown, and for what does not go
        together."""
        check_alignment(self.align)
        if self.workers is not None and self.workers < 1:
            raise UserError(f"--workers {self.workers} is none; give 1 or more")
        if self.executor not in EXECUTORS:
            raise UserError(unknown("--executor", self.executor, EXECUTORS))
        if self.ray_address is not None and self.executor != "ray":
            raise UserError("--ray-address is for --executor ray: leave one of the two out")

    @property
    def selected(self) -> tuple[Transform, ...]:
        """The transforms to search with. Raises UserError for an unknown name."""
        return select(self.transforms)

    def settings(self, transforms: Sequence[Transform]) -> dict[str, Any]:
        """What the store keeps of them with the run; `transforms` are those selected."""
        return {
            "budget_s": self.budget.seconds,
            "trials": self.budget.trials,
            "target_speedup": self.budget.speedup,
            "executor": self.executor,
            "workers": self.workers,
            "transforms": [transform.name for transform in transforms],
            "own_transforms": definitions(transforms),
            "warm_start": self.warm_start,
            "start": self.start.key,
            "cache": self.cache,
        }
