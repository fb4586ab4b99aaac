"""What each rewrite of a schedule did, as a person reads it, as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite
from schedsearch.evaluate.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.search.explain import Effect, Explanation

SCHEMA = 1

MOST_LINES = 24
"""Of a step's change that a terminal and Markdown show; JSON has all."""

_UNCHANGED = "  (the same loop nest: details, memories or build options changed)"
_STYLES = {"+": "green", "-": "red"}
_COLUMNS = ("", "rewrite", "so far", "this step", "of roof")


def terminal(title: str, explanation: Explanation, roof: Roof | None) -> RenderableType:
    """Every step with what it changed, then all of them as one table."""
    parts: list[RenderableType] = [Text(title, style="bold"), *_nest(explanation.nest)]
    parts.append(Text(f"  {_reached(explanation.root, roof)}", style="dim"))
    for number, step in enumerate(explanation.steps):
        parts.append(Text(f"\n{number + 1}. {step.rewrite}", style="bold"))
        parts += coloured_change(step.change, _UNCHANGED)
        parts.append(Text(f"   {effect(explanation, number, roof)}"))
    table = Table(box=None, header_style="bold")
    for title in _COLUMNS:
        table.add_column(title, justify="left" if title == "rewrite" else "right")
    for row in rows(explanation, roof):
        table.add_row(*(Text(cell) for cell in row))
    return Group(*parts, Text(), table)


def markdown(title: str, explanation: Explanation, roof: Roof | None) -> str:
    """For a review or an issue: the table first, then what each step changed."""
    lines = [f"# {title}", "", f"As written: {_reached(explanation.root, roof)}", ""]
    lines += ["```", *explanation.nest, "```", ""]
    lines += [f"| {' | '.join(_COLUMNS)} |", "|--:|---|--:|--:|--:|"]
    cells = (map(_cell, row) for row in rows(explanation, roof))
    lines += [f"| {' | '.join(row)} |" for row in cells]
    for number, step in enumerate(explanation.steps):
        lines += ["", f"## {number + 1}. {step.rewrite.transform}", ""]
        lines += [f"`{_code(str(step.rewrite))}`", "", "```diff", *_shown(step.change), "```", ""]
        lines.append(_cell(effect(explanation, number, roof)))
    return "\n".join(lines)


def to_json(explanation: Explanation, roof: Roof | None) -> dict[str, Any]:
    """`schema` counts changes that a reader of the earlier form would not understand.

    `speedup` is over the procedure as written, `gain` over the latest measured schedule
    before, `predicted_gain` the cost estimate's of that step; times are nanoseconds of one call.
    """
    steps = [
        {
            "rewrite": step.rewrite.to_json(),
            "change": list(step.change),
            "predicted_gain": step.predicted,
            "gain": explanation.gain(number),
            "measured": _effect_json(step.measured, roof),
        }
        for number, step in enumerate(explanation.steps)
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


def effect(explanation: Explanation, number: int, roof: Roof | None) -> str:
    """`measured: 24.8x [24.1, 25.6], 3.1x by this step (1.9x predicted); 1.2 ms, 12 % of ...`"""
    step = explanation.steps[number]
    if step.measured is None:
        return f"not measured; {step.predicted:.3g}x predicted"
    speedup = fmt.speedup(step.measured.speedup)
    gain = explanation.gain(number)
    by = f", {gain:.3g}x over the last measured" if gain else ""
    return (
        f"measured: {speedup}{by} ({step.predicted:.3g}x predicted); "
        f"{_reached(step.measured, roof)}"
    )


def rows(explanation: Explanation, roof: Roof | None) -> Iterator[tuple[str, ...]]:
    """Cells of `_COLUMNS`: where nothing was measured, what was predicted, marked with `~`."""
    root = explanation.root
    yield ("", "(as written)", "1x" if root else "-", "", _share(root, roof))
    for number, step in enumerate(explanation.steps):
        gain = explanation.gain(number)
        so_far = f"{step.measured.speedup.value:.3g}x" if step.measured else "-"
        own = f"{gain:.3g}x" if gain else f"~{step.predicted:.3g}x"
        yield (str(number + 1), brief(step.rewrite), so_far, own, _share(step.measured, roof))


def brief(rewrite: Rewrite) -> str:
    """`tile(i=8, j=32)`"""
    return f"{rewrite.transform}({', '.join(f'{name}={value}' for name, value in rewrite.args)})"


def _nest(lines: Sequence[str]) -> list[RenderableType]:
    return [Text(f"  {line}", style="dim") for line in lines]


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
        "speedup": _estimate_json(effect.speedup),
        "call_ns": effect.call_ns,
        "of_roof": share,
    }


def _estimate_json(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _cell(text: str) -> str:
    """Text in Markdown, also in a table's cell: characters that mean something there do not."""
    for special in "\\`*_{}[]<>|#":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())


def _code(text: str) -> str:
    """Inside of one-backtick code: labels have backticks themselves."""
    return " ".join(text.replace("`", "").split())
