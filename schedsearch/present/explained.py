"""A schedule explained rewrite by rewrite, for a person to read, as Markdown, and as JSON."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from schedsearch.core.decision import TOLERANCE, Decision
from schedsearch.core.trace import Rewrite
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.present.extras import pandas
from schedsearch.study.compare import How, Ratio
from schedsearch.study.explain import Effect, Explanation, Step, explain
from schedsearch.study.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1

MOST_LINES = 24
"""Of a step's change that a terminal and Markdown show; JSON has all."""

WIDTH = 100
"""Of what is printed, in characters."""

_UNCHANGED = "  (the same loop nest: details, memories or build options changed)"
_STYLES = {"+": "green", "-": "red"}
_COLUMNS = ("", "rewrite", "so far", "this step", "of roofline")
_MARKS = {Decision.INCONCLUSIVE: " ?", Decision.SAME: " ="}


@dataclass(frozen=True, repr=False)
class Explained:
    """A schedule, rewrite by rewrite: `explanation` is data; printed it is what `schedsearch
    explain` prints, and in notebooks the same in Markdown. `command` measures what is not known."""

    title: str
    explanation: Explanation
    roof: Roof | None
    command: str

    @property
    def terminal(self) -> RenderableType:
        """For rich: every step with what it changed, then all of them as one table."""
        explanation, roof = self.explanation, self.roof
        parts: list[RenderableType] = [Text(self.title, style="bold")]
        parts += [Text(f"  {line}", style="dim") for line in explanation.nest]
        parts.append(Text(f"  {_reached(explanation.root, roof)}", style="dim"))
        for number, step in enumerate(explanation.steps):
            parts.append(Text(f"\n{number + 1}. {step.rewrite}", style="bold"))
            parts += coloured_change(step.change, _UNCHANGED)
            parts.append(Text(f"   {_effect(step, roof)}"))
        table = Table(box=None, header_style="bold")
        for title in _COLUMNS:
            table.add_column(title, justify="left" if title == "rewrite" else "right")
        for row in _rows(explanation, roof):
            table.add_row(*(Text(cell) for cell in row))
        return Group(*parts, Text(), table, *map(Text, self._advice()))

    @property
    def markdown(self) -> str:
        """For a review or an issue: the table first, then what each step changed."""
        explanation, roof = self.explanation, self.roof
        lines = [f"# {self.title}", "", f"As written: {_reached(explanation.root, roof)}", ""]
        lines += ["```", *explanation.nest, "```", ""]
        lines += [f"| {' | '.join(_COLUMNS)} |", "|--:|---|--:|--:|--:|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in _rows(explanation, roof)]
        lines += [part for line in self._advice() for part in ("", _cell(line))]
        for number, step in enumerate(explanation.steps, 1):
            lines += ["", f"## {number}. {step.rewrite.transform}", ""]
            lines += [f"`{_code(str(step.rewrite))}`", "", "```diff", *_shown(step.change), "```"]
            lines += ["", _cell(_effect(step, roof))]
        return "\n".join(lines)

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
        return pandas().DataFrame(rows, columns=names).set_index("step")

    def to_json(self) -> dict[str, Any]:
        """`schema` counts changes that a reader of the earlier form would not understand.

        `speedup` is over the procedure as written, `gain` over the latest measured schedule
        before (`gain_measured`: with its interval, and how it is known), `predicted_gain` the cost
        estimate's of that step; times are nanoseconds of one call.
        """
        explanation, roof = self.explanation, self.roof
        steps = [
            {
                "rewrite": step.rewrite.to_json(),
                "change": list(step.change),
                "predicted_gain": step.predicted,
                "gain": step.gain.over.value if step.gain else None,
                "gain_measured": ratio_json(step.gain),
                "failure": step.failure,
                "measured": _effect_json(step.measured, roof),
            }
            for step in explanation.steps
        ]
        return {
            "schema": SCHEMA,
            "roof": roof.name if roof else None,
            "as_written": {
                "nest": list(explanation.nest),
                "measured": _effect_json(explanation.root, roof),
            },
            "steps": steps,
            "nest": list(explanation.result),
        }

    def _advice(self) -> Iterator[str]:
        """Names the command that measures an interval, where one is missing."""
        gains = [step.gain for step in self.explanation.steps]
        if any(gain is not None and gain.how is How.APART for gain in gains):
            yield (
                '"about": timed in different sessions or over a third kernel, which gives no '
                f"interval; `{self.command}` times every step against the one before."
            )

    def __repr__(self) -> str:
        return printed(self.terminal)

    def _repr_markdown_(self) -> str:
        return self.markdown


def explained(schedule: Schedule) -> Explained:
    """Raises UserError if the schedule does not replay."""
    name, place = fmt.kernel(schedule.workload), fmt.target(schedule.target)
    return Explained(
        f"candidate {schedule.id} of {name} on {place}",
        explain(schedule),
        schedule.roof,
        f"schedsearch explain {schedule.id} --measure",
    )


def printed(what: RenderableType) -> str:
    """As rich writes it to a file."""
    text = io.StringIO()
    # A notebook would get it as an output of its own otherwise.
    Console(file=text, width=WIDTH, highlight=False, force_jupyter=False).print(what)
    return text.getvalue().rstrip()


def _effect(step: Step, roof: Roof | None) -> str:
    """`this step 3.1x [3.0, 3.2], clearly faster ... (1.9x predicted); so far 24.8x [...], ...`"""
    if step.measured is None:
        failure = f" ({step.failure})" if step.failure else ""
        return f"not measured{failure}; {step.predicted:.3g}x predicted"
    by = f"this step {gained(step.gain)} " if step.gain else ""
    speedup = fmt.speedup(step.measured.speedup)
    reached = _reached(step.measured, roof)
    return f"{by}({step.predicted:.3g}x predicted); so far {speedup}, {reached}"


def gained(gain: Ratio) -> str:
    """How many times faster a step made it, and how that is known."""
    over = fmt.speedup(gain.over)
    match gain.how:
        case How.SAME_CODE:
            return "1x: the same machine code as before"
        case How.APART:
            return f"about {over}, measured apart"
        case _:
            return f"{over}, {_said(gain)}"


def _said(gain: Ratio) -> str:
    rounds = fmt.count(gain.rounds, "round")
    match gain.decision:
        case Decision.INCONCLUSIVE:
            return f"inconclusive after {rounds}"
        case Decision.SAME:
            return f"the same within {TOLERANCE:.0%}, by {rounds}"
        case decision:
            return f"clearly {decision}, by {rounds}"


def _rows(explanation: Explanation, roof: Roof | None) -> Iterator[tuple[str, ...]]:
    """Cells of `_COLUMNS`: where nothing was measured, what was predicted, marked with `~`."""
    root = explanation.root
    yield ("", "(as written)", "1x" if root else "-", "", _share(root, roof))
    for number, step in enumerate(explanation.steps, 1):
        so_far = f"{step.measured.speedup.value:.3g}x" if step.measured else "-"
        own = _own(step.gain) if step.gain else f"~{step.predicted:.3g}x"
        yield (str(number), brief(step.rewrite), so_far, own, _share(step.measured, roof))


def _own(gain: Ratio) -> str:
    if gain.how is How.SAME_CODE:
        return "same code"
    mark = _MARKS.get(gain.decision, "") if gain.decision else ""
    about = "about " if gain.how is How.APART else ""
    return about + fmt.speedup(gain.over) + mark


def brief(rewrite: Rewrite) -> str:
    """`tile(i=8, j=32)`"""
    return f"{rewrite.transform}({', '.join(f'{name}={value}' for name, value in rewrite.args)})"


def coloured_change(change: Sequence[str], if_none: str) -> list[RenderableType]:
    """Lines of `core.outline.changes` for a terminal."""
    return [
        Text(f"   {line}", style=_STYLES.get(line[0], "dim")) for line in _shown(change, if_none)
    ]


def _shown(change: Sequence[str], if_none: str = _UNCHANGED) -> list[str]:
    if not change:
        return [if_none]
    left = len(change) - MOST_LINES
    more = [f"  ({fmt.count(left, 'line')} more)"] if left > 0 else []
    return [*change[:MOST_LINES], *more]


def _reached(effect: Effect | None, roof: Roof | None) -> str:
    return fmt.reached(roof, effect.call_ns) if effect else "not measured"


def _share(effect: Effect | None, roof: Roof | None) -> str:
    if effect is None or roof is None or not roof.least_s:
        return "-"
    return f"{100 * roof.share(effect.call_ns * 1e-9):.0f} %"


def _effect_json(effect: Effect | None, roof: Roof | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    share = roof.share(effect.call_ns * 1e-9) if roof and roof.least_s else None
    return {
        "kind": effect.kind,
        "speedup": effect.speedup.to_json(),
        "call_ns": effect.call_ns,
        "of_roof": share,
    }


def ratio_json(found: Ratio | None) -> dict[str, Any] | None:
    """`how` and `decision` are values of `How` and `core.decision.Decision`; of what was
    measured apart the bounds are null."""
    if found is None:
        return None
    known = {"how": found.how, "decision": found.decision, "rounds": found.rounds}
    return found.over.to_json() | known


def _gain(found: Ratio | None) -> tuple[Any, ...]:
    if found is None:
        return (None,) * 5
    decision = found.decision.value if found.decision else None
    return (*found.over.to_json().values(), found.how.value, decision)


def _cell(text: str) -> str:
    """Text in Markdown, also in a table's cell: characters that mean something there do not."""
    for special in "\\`*_{}[]<>|#":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())


def _code(text: str) -> str:
    """Inside of one-backtick code: labels have backticks themselves."""
    return " ".join(text.replace("`", "").split())
