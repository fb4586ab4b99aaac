"""What an observer of a run sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schedsearch.core.records import Measurement, Outcome
from schedsearch.core.trace import Trace
from schedsearch.search.setup.run_summary import Inspection


@dataclass(frozen=True)
class Best:
    """The fastest verified schedule so far."""

    key: str
    trace: Trace
    measurement: Measurement

    @property
    def confirmed(self) -> bool:
        """Measured on fresh rounds after it was chosen, so that luck does not count."""
        return self.measurement.confirmed


@dataclass(frozen=True)
class Progress:
    """State of a running search.

    `outcomes` counts candidates of this run and of those it resumed from (None:
    legal, not measured); `measured` and `expanded` count this run only; `curve`
    holds `(seconds, best speed-up)` at every improvement; `inspection` is None before the
    end. Seconds are since the run began; it searches up to
    `search_s`, then races, shortens, confirms and inspects up to `budget_s`. `baseline_s`
    is seconds per call of the procedure as written, before the search. `shortened_from` is how
    many rewrites the best had before it was shortened, 0 if it was not. The search began after
    `before_s`. `faults` are mistakes of transforms, in words: the search went on without them.
    """

    phase: str
    elapsed_s: float
    budget_s: float
    outcomes: Mapping[Outcome | None, int]
    measured: int
    expanded: int
    best: Best | None
    curve: tuple[tuple[float, float], ...]
    search_s: float
    inspection: Inspection | None = None
    baseline_s: float = 0.0
    shortened_from: int = 0
    before_s: float = 0.0
    faults: tuple[str, ...] = ()

    @property
    def best_ns(self) -> float | None:
        """Nanoseconds per call of the best, had it been timed together with `baseline_s`: those
        of its own timing are of another minute, and would not go with its speed-up."""
        return 1e9 * self.baseline_s / self.best.measurement.middle if self.best else None


Observer = Callable[[Progress], None]
