"""What a run starts from, reports to, and ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schedsearch.core.records import Measurement
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.search.baseline import Baseline
from schedsearch.search.engine.progress import Best, Observer, Progress
from schedsearch.search.setup.budget import Stop
from schedsearch.search.setup.run_summary import Elsewhere
from schedsearch.search.setup.subject import Subject
from schedsearch.search.warmstart.counterpart import Counterpart
from schedsearch.search.warmstart.prior_runs import Known
from schedsearch.store.views import Scope


@dataclass(frozen=True)
class Setting:
    """What a run starts from."""

    subject: Subject
    baseline: Baseline
    scope: Scope
    known: Known


@dataclass(frozen=True)
class Listener:
    """Where a run reports to: its phases, what it starts from, and how it goes."""

    phase: Callable[[str], None]
    started: Callable[[Subject, Baseline, Known], None]
    progress: Observer


@dataclass(frozen=True)
class Result:
    """What a run ended with. `best` is None without a schedule that is faster than the procedure
    as written; `level` is then the fastest there is, if it was shown to be no faster."""

    setting: Setting
    run_id: int
    stop: Stop
    progress: Progress
    best: Best | None
    roof: Roof
    noise: Measurement | None = None
    counterpart: Counterpart | None = None
    level: Best | None = None
    elsewhere: Elsewhere | None = None
    """`best` on arrays of another alignment."""

    @property
    def gainless(self) -> bool:
        """Whether the procedure as written is the result: of a search that came to its end."""
        return self.best is None and self.stop is not Stop.INTERRUPTED
