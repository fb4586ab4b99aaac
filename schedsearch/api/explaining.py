"""What rewrites did, and how two schedules differ, as Python and notebooks have it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

from schedsearch.api import frames
from schedsearch.core.errors import ReplayError, UserError
from schedsearch.evaluate.roofline import Roof
from schedsearch.present import compared as text_of_pair
from schedsearch.present import explained as text_of_steps
from schedsearch.present import format as fmt
from schedsearch.search.explain import Explanation, explain
from schedsearch.search.pairs import Ratio
from schedsearch.search.recorded import stored_roof
from schedsearch.search.versus import Versus, recorded_ratio, versus
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.replay import Replayer

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 100
"""Of what is printed, in characters."""


@dataclass(frozen=True)
class Explained:
    """A schedule, rewrite by rewrite: `explanation` is data; printed it is what `schedsearch
    explain` prints, and in notebooks the same in Markdown. `again` is the command that measures
    what is not known."""

    title: str
    explanation: Explanation
    roof: Roof | None
    again: str

    @property
    def terminal(self) -> RenderableType:
        """For rich."""
        return text_of_steps.terminal(self.title, self.explanation, self.roof, self.again)

    @property
    def markdown(self) -> str:
        return text_of_steps.markdown(self.title, self.explanation, self.roof, self.again)

    def to_json(self) -> dict[str, Any]:
        """`present/explained.py` says what it means."""
        return text_of_steps.to_json(self.explanation, self.roof)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per step, from 1: `transform`, `rewrite`, the `speedup` over the procedure as
        written after it, its `gain` over the latest measured schedule before with interval (`low`,
        `high`), `how` that is known, the `decision` of a test if both were interleaved, and the
        gain that was `predicted`. None: not measured."""
        rows = [
            (
                number,
                step.rewrite.transform,
                str(step.rewrite),
                step.measured.speedup.value if step.measured else None,
                *_gain(step.gain),
                step.predicted,
            )
            for number, step in enumerate(self.explanation.steps, 1)
        ]
        gain = ("gain", "low", "high", "how", "decision")
        names = ["step", "transform", "rewrite", "speedup", *gain, "predicted"]
        return frames.pandas().DataFrame(rows, columns=names).set_index("step")

    def __repr__(self) -> str:
        return _printed(self.terminal)

    def _repr_markdown_(self) -> str:
        return self.markdown


@dataclass(frozen=True)
class Compared:
    """Two schedules: `ratio` is how many times faster the second is than the first, None if
    that is not known; `versus` what they share, and what each has of its own."""

    pair: tuple[StoredCandidate, StoredCandidate]
    versus: Versus
    ratio: Ratio | None
    roof: Roof | None

    @property
    def verdict(self) -> str:
        """One sentence: which is faster, and how that is known."""
        return text_of_pair.verdict(self.pair, self.ratio)

    @property
    def terminal(self) -> RenderableType:
        """For rich."""
        return text_of_pair.terminal(self.pair, self.versus, self.ratio, self.roof)

    def to_json(self) -> dict[str, Any]:
        """`present/compared.py` says what it means."""
        return text_of_pair.to_json(self.pair, self.versus, self.ratio)

    def __repr__(self) -> str:
        return _printed(self.terminal)


def explained(store: Store, candidate: StoredCandidate, procedure: Any) -> Explained:
    """`procedure` is the unscheduled one. Raises UserError if the schedule does not replay."""
    scope, trace = candidate.scope, candidate.record.trace
    workload, target = store.workload(scope), store.target_of(candidate)
    try:
        found = explain(store, scope, workload, target, procedure, trace)
    except ReplayError as error:
        raise UserError(f"the recorded schedule does not replay: {error}") from error
    title = f"candidate {candidate.id} of {fmt.kernel(workload)} on {fmt.target(target)}"
    again = f"schedsearch explain {candidate.id} --measure"
    return Explained(title, found, stored_roof(store, scope), again)


def compared(
    store: Store,
    pair: tuple[StoredCandidate, StoredCandidate],
    procedure: Any,
    measured: Ratio | None = None,
) -> Compared:
    """`procedure` is the unscheduled one, `measured` what is known better than from the store.
    Raises UserError for those of different procedures, and if one does not replay."""
    ratio = measured or recorded_ratio(store, *pair)
    try:
        found = versus(Replayer(procedure), *(each.record.trace for each in pair))
    except ReplayError as error:
        raise UserError(f"a recorded schedule does not replay: {error}") from error
    now = store.candidate(pair[0].id), store.candidate(pair[1].id)
    return Compared(now, found, ratio, stored_roof(store, pair[0].scope))


def _gain(found: Ratio | None) -> tuple[Any, ...]:
    if found is None:
        return (None,) * 5
    decision = found.decision.value if found.decision else None
    return (*found.over.to_json().values(), found.how.value, decision)


def _printed(what: RenderableType) -> str:
    text = io.StringIO()
    # A notebook would get it as an output of its own otherwise.
    Console(file=text, width=WIDTH, highlight=False, force_jupyter=False).print(what)
    return text.getvalue().rstrip()
