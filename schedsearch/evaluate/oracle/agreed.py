"""How far the baseline agreed with its evaluation, as a run tells and a store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Agreement:
    """`cases` in which the compiled procedure agrees with its evaluation, the cases that were not
    compared, with the reason, and the outputs about which no case tells enough (`weak`)."""

    cases: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    weak: tuple[str, ...] = ()

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Agreement:
        """Inverse of `dataclasses.asdict`; of runs of earlier versions nothing is weak."""
        skipped = tuple((where, why) for where, why in data["skipped"])
        return Agreement(tuple(data["cases"]), skipped, tuple(data.get("weak", ())))

    def __str__(self) -> str:
        total = len(self.cases) + len(self.skipped)
        text = f"agrees with its evaluation in {len(self.cases)} of {total} cases"
        reasons = dict.fromkeys(reason for _, reason in self.skipped)
        return f"{text} ({'; '.join(reasons)})" if reasons else text

    @property
    def verdict(self) -> str:
        """The strength of verification on data, for all candidates that are verified like this."""
        return next(iter(self.caveats), "verified on data")

    @property
    def caveats(self) -> tuple[str, ...]:
        """The warning that goes with every kernel that was verified like this."""
        return (f"weakly verified: {'; '.join(self.weak)}",) if self.weak else ()


NOT_COMPARED = Agreement(())
