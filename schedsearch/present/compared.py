"""Two schedules side by side, for a person to read and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.present.explained import brief, coloured_change, printed, ratio_json
from schedsearch.store.views import StoredCandidate
from schedsearch.study.compare import Comparison, How, Ratio, compare
from schedsearch.study.schedule import Schedule

SCHEMA = 1

Pair = tuple[StoredCandidate, StoredCandidate]


@dataclass(frozen=True, repr=False)
class Compared:
    """Two schedules: `comparison` is data."""

    comparison: Comparison
    roof: Roof | None

    @property
    def ratio(self) -> Ratio | None:
        """How many times faster the second is than the first; None if that is not known."""
        return self.comparison.ratio

    @property
    def verdict(self) -> str:
        """One sentence: which is faster, and how that is known."""
        return verdict(self.comparison.pair, self.ratio)

    @property
    def terminal(self) -> RenderableType:
        """For rich."""
        found, pair = self.comparison, self.comparison.pair
        parts: list[RenderableType] = [Text(line, style="bold") for line in _heads(pair, self.roof)]
        parts += [Text(), Text(self.verdict)]
        shared = fmt.count(len(found.shared), "rewrite")
        parts += [Text(), Text(f"{shared} in common", style="bold")]
        parts += [Text(f"  {brief(step)}", style="dim") for step in found.shared]
        for candidate, own in zip(pair, found.own, strict=True):
            parts.append(Text(f"then candidate {candidate.id}", style="bold"))
            parts += [Text(f"  {step}") for step in own] or [Text("  (nothing more)", style="dim")]
        title = f"loop nest, from {pair[0].id} to {pair[1].id}"
        parts += [Text(), Text(title, style="bold")]
        return Group(*parts, *coloured_change(found.nest, "  (the same loop nest)"))

    def to_json(self) -> dict[str, Any]:
        """`ratio`: times the second is as fast as the first, with its interval, and how that is
        known."""
        found = self.comparison
        return {
            "schema": SCHEMA,
            "candidates": [candidate.id for candidate in found.pair],
            "speedups": [candidate.record.speedup for candidate in found.pair],
            "shared": [step.to_json() for step in found.shared],
            "own": [[step.to_json() for step in steps] for steps in found.own],
            "nest": list(found.nest),
            "ratio": ratio_json(found.ratio),
        }

    def __repr__(self) -> str:
        return printed(self.terminal)


def compared(first: Schedule, second: Schedule, measured: Ratio | None = None) -> Compared:
    """`measured` is a ratio that is known better than from the store. Raises UserError for
    schedules of different procedures, and if one does not replay."""
    return Compared(compare(first, second, measured), first.roof)


def verdict(pair: Pair, ratio: Ratio | None) -> str:
    """One sentence: which is faster, and how that is known."""
    first, second = (candidate.id for candidate in pair)
    if ratio is None:
        return f"Not both were measured: nothing is known of {second} over {first}."
    match ratio.how:
        case How.SAME_CODE:
            return f"{second} has the same machine code as {first}."
        case How.APART:
            return (
                f"{second} seems {fmt.speedup(ratio.over)} as fast as {first}, but they were not "
                "timed against each other: no interval, and no test. "
                f"`schedsearch compare {first} {second} --measure` does that."
            )
        case _:
            assert ratio.decision is not None, "interleaved rounds were tested"
            said = fmt.decided(ratio.decision, ratio.rounds)
            return f"{second} is {fmt.speedup(ratio.over)} as fast as {first}, interleaved. {said}"


def _heads(pair: Pair, roof: Roof | None) -> Iterator[str]:
    for candidate in pair:
        measurement = candidate.record.measurement
        if measurement is None:
            yield f"candidate {candidate.id}: {fmt.state(candidate.record)}"
            continue
        seconds = measurement.candidate_ns * 1e-9
        of_roof = f", {fmt.of_roof(roof, seconds)}" if roof and roof.least_s else ""
        yield (
            f"candidate {candidate.id}: {fmt.speedup(measurement.speedup)} ({measurement.kind}), "
            f"{fmt.duration(seconds)}{of_roof}"
        )
