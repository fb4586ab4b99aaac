"""The rewrites that a schedule can get next, and those that were tried in vain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from schedsearch.core.numbers import count, speedup
from schedsearch.core.records import Measurement, Outcome
from schedsearch.core.trace import Rewrite
from schedsearch.present import format as fmt
from schedsearch.present import html
from schedsearch.present.extras import pandas
from schedsearch.store.views import StoredCandidate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Choice:
    """One rewrite of a schedule: legal, or rejected with a reason.

    `gain` is how many times faster than before the rewrite the cost model estimates it to be,
    None where it says nothing; a measurement, if there is one, is over the procedure as written.
    """

    number: int
    stored: StoredCandidate

    @property
    def rewrite(self) -> Rewrite:
        return self.stored.record.trace.steps[-1]

    @property
    def legal(self) -> bool:
        return self.stored.record.outcome is not Outcome.ILLEGAL

    @property
    def gain(self) -> float | None:
        predicted = self.stored.record.predicted
        return None if predicted is None else exp(predicted)

    @property
    def measurement(self) -> Measurement | None:
        return self.stored.record.measurement

    @property
    def why(self) -> str:
        """Its speed-up or its state, or the reason why it was rejected."""
        record = self.stored.record
        if record.measurement is not None:
            return speedup(record.measurement.speedup)
        if record.duplicate_level is not None:
            return "the same as another schedule"
        return record.message or fmt.state(record)

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", estimated {self.gain:.3g}x of the one before"
        return f"{self.number}: {self.rewrite}{gain}; {self.why}"


class Rewrites(tuple[Choice, ...]):
    """The rewrites of a schedule, numbered as `Node.apply` takes them: the legal ones first,
    those that promise most at the top."""

    __slots__ = ()

    @property
    def legal(self) -> Rewrites:
        return Rewrites(each for each in self if each.legal)

    @property
    def rejected(self) -> Rewrites:
        return Rewrites(each for each in self if not each.legal)

    def of(self, transform: str) -> Rewrites:
        """Those of one transform."""
        return Rewrites(each for each in self if each.rewrite.transform == transform)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per rewrite, by number: transform, where (`at`, the statement's header),
        arguments, legal, `gain`, speed-up if it was measured, and why."""
        rows = [
            (
                each.number,
                each.rewrite.transform,
                each.rewrite.label,
                dict(each.rewrite.args),
                each.legal,
                each.gain,
                each.measurement.speedup.value if each.measurement else None,
                each.why,
            )
            for each in self
        ]
        names = ("number", "transform", "at", "arguments", "legal", "gain", "speedup", "why")
        return pandas().DataFrame(rows, columns=list(names)).set_index("number")

    def __repr__(self) -> str:
        return "\n".join([count(len(self), "rewrite"), *map(repr, self)])

    def _repr_html_(self) -> str:
        rows = [
            (
                each.number,
                html.strong(each.rewrite.transform, "inherit" if each.legal else html.GREY),
                html.code(", ".join(f"{name}={value}" for name, value in each.rewrite.args)),
                html.code(each.rewrite.label),
                "" if each.gain is None else f"{each.gain:.3g}x",
                each.why if each.legal else html.dim(each.why),
            )
            for each in self
        ]
        return html.table(("", "rewrite", "arguments", "at", "estimate", ""), rows)


def ranked(found: Iterable[StoredCandidate]) -> Rewrites:
    """Children of a schedule as `Rewrites`."""
    return Rewrites(Choice(number, each) for number, each in enumerate(sorted(found, key=_rank)))


def _rank(stored: StoredCandidate) -> tuple[bool, float, int]:
    """Legal ones first, then by what they promise, then as proposed."""
    record = stored.record
    return record.outcome is Outcome.ILLEGAL, -(record.predicted or 0.0), stored.id
