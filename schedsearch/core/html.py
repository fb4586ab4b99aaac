"""HTML of schedules and measurements, for notebooks: fragments that need no style sheet and
read on light and on dark pages.

Whatever is not `Markup` is escaped: labels and messages come from files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from markupsafe import Markup

from schedsearch.core.dots import Strip, strips
from schedsearch.core.numbers import count, duration, speedup

if TYPE_CHECKING:
    from schedsearch.core.records import Measurement
    from schedsearch.core.trace import Trace

# As dark as they are light: these read on white and on black (contrast 4.5 to 1 on both).
GREEN, RED, BLUE, GREY = "#2a8a3e", "#d6453d", "#3a76d8", "#767676"

_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;font-size:13px"


def code(text: object) -> Markup:
    return Markup('<code style="background:none;white-space:pre-wrap">{}</code>').format(text)


def dim(text: object) -> Markup:
    return Markup('<span style="color:{}">{}</span>').format(GREY, text)


def strong(text: object, colour: str = "inherit") -> Markup:
    return Markup('<b style="color:{}">{}</b>').format(colour, text)


def lines(parts: Iterable[object]) -> Markup:
    """One paragraph, a line each."""
    return Markup('<div style="line-height:1.5">{}</div>').format(
        Markup("<br>").join(Markup.escape(part) for part in parts)
    )


def block(parts: Iterable[object]) -> Markup:
    """Below each other."""
    return Markup("<div>{}</div>").format(
        Markup("").join(Markup('<div style="margin:4px 0">{}</div>').format(part) for part in parts)
    )


def folded(title: object, body: object) -> Markup:
    """Closed until clicked."""
    return Markup("<details><summary>{}</summary>{}</details>").format(title, body)


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> Markup:
    def row(kind: str, cells: Sequence[object]) -> Markup:
        cell = Markup(f'<{kind} style="{_CELL}">{{}}</{kind}>')
        return Markup("<tr>{}</tr>").format(Markup("").join(cell.format(each) for each in cells))

    body = Markup("").join(row("td", cells) for cells in rows)
    return Markup('<table style="border-collapse:collapse">{}{}</table>').format(
        row("th", header), body
    )


def trace(schedule: Trace) -> Markup:
    """The rewrites, one a row."""
    if not schedule.steps:
        return dim("as written, no rewrites")
    rows = [
        (
            number,
            strong(step.transform),
            code(", ".join(f"{name}={value}" for name, value in step.args)),
            code(step.label),
        )
        for number, step in enumerate(schedule.steps, 1)
    ]
    return table(("", "rewrite", "arguments", "at"), rows)


def measurement(timed: Measurement) -> Markup:
    """What was measured in words, its rounds and its samples as dots."""
    rounds, calls = len(timed.rounds), count(timed.calls, "call")
    said = lines(
        [
            strong(speedup(timed.speedup)) + Markup(" the speed of the unscheduled procedure"),
            f"{duration(timed.candidate_ns * 1e-9)} a call; {timed.kind}, "
            f"{count(rounds, 'round')} with samples of {calls}",
            dim(", ".join(f"{name} {value}" for name, value in timed.host)),
        ]
    )
    return said + _picture(timed)


def _picture(timed: Measurement) -> Markup:
    """How many times faster than what it was interleaved with it was in each round, with the
    median's interval; below, all samples of both, per call."""
    ratios = [each.speedup for each in timed.rounds]
    own = list(chain.from_iterable(each.candidate_ns for each in timed.rounds))
    other = list(chain.from_iterable(each.reference_ns for each in timed.rounds))
    rounds = strips([Strip("rounds", ratios, BLUE, timed.ratio)], lambda value: f"{value:.4g}x")
    samples = [Strip("this", own, GREEN), Strip("reference", other, GREY)]
    return rounds + strips(samples, lambda ns: duration(ns * 1e-9))
