"""HTML of schedules and measurements, for notebooks: fragments that need no style sheet and
read on light and on dark pages.

Whatever is not `Markup` is escaped: labels and messages come from files.

Samples are lines of dots, for a glance beside a number. They are images, not parts of the page:
Jupyter shows no SVG of a notebook that its reader did not run, but the words in it.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log

from markupsafe import Markup, escape

from schedsearch.core.numbers import count, duration, speedup
from schedsearch.core.records import Measurement
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace

# As dark as they are light: these read on white and on black (contrast 4.5 to 1 on both).
GREEN, RED, BLUE, GREY = "#2a8a3e", "#d6453d", "#3a76d8", "#767676"

_WIDTH, _LEFT, _ROW = 440, 76, 22
"""Pixels of a picture: of the whole, of captions, of the height of one strip."""

PRE = "margin:0;padding:0;border:0;background:none;font:inherit;font-family:monospace"
"""Nothing of what pages and notebooks make of `pre`, but its spaces."""

_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;font-size:13px"


def in_notebooks() -> None:
    """Let the notebook that runs this show traces and measurements as HTML, if one does."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        formatter.for_type(Trace, trace)
        formatter.for_type(Measurement, measurement)


def joined(parts: Iterable[object], between: str = "") -> Markup:
    return Markup(between).join(map(escape, parts))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element: `class_` is its class, `text_anchor` its text-anchor."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{joined(content)}</{name}>")


def code(text: object) -> Markup:
    """Within a line."""
    return tag("code", text, style="background:none;white-space:pre-wrap")


def listing(text: object) -> Markup:
    """Lines of code. In a `pre`: programs that export notebooks collapse spaces in all else,
    whatever its style says."""
    return tag("pre", text, style=f"{PRE};white-space:pre-wrap")


def dim(text: object) -> Markup:
    return tag("span", text, style=f"color:{GREY}")


def strong(text: object, colour: str = "inherit") -> Markup:
    return tag("b", text, style=f"color:{colour}")


def lines(parts: Iterable[object]) -> Markup:
    """One paragraph, a line each."""
    return tag("div", joined(parts, "<br>"), style="line-height:1.5")


def block(parts: Iterable[object]) -> Markup:
    """Below each other."""
    return tag("div", *(tag("div", part, style="margin:4px 0") for part in parts))


def folded(title: object, body: object) -> Markup:
    """Closed until clicked."""
    return tag("details", tag("summary", title), body)


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> Markup:
    cells = [("th", header), *(("td", row) for row in rows)]
    body = (tag("tr", *(tag(kind, each, style=_CELL) for each in row)) for kind, row in cells)
    return tag("table", *body, style="border-collapse:collapse")


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
    """A measurement in words, its rounds and its samples as dots."""
    rounds, calls = len(timed.rounds), count(timed.calls, "call")
    said = lines(
        [
            strong(speedup(timed.speedup)) + Markup(" the speed of the procedure as written"),
            f"{duration(timed.candidate_ns * 1e-9)} a call; {timed.kind}, "
            f"{count(rounds, 'round')} with samples of {calls}",
            dim(", ".join(f"{name} {value}" for name, value in timed.host)),
        ]
    )
    return said + _picture(timed)


def _picture(timed: Measurement) -> Markup:
    """How many times faster than the reference it was in each round, with the interval of the
    median; below, all samples of both, per call."""
    ratios = [each.speedup for each in timed.rounds]
    own = list(chain.from_iterable(each.candidate_ns for each in timed.rounds))
    other = list(chain.from_iterable(each.reference_ns for each in timed.rounds))
    rounds = _strips([_Strip("rounds", ratios, BLUE, timed.ratio)], lambda value: f"{value:.4g}x")
    samples = [_Strip("this", own, GREEN), _Strip("reference", other, GREY)]
    return rounds + _strips(samples, lambda ns: duration(ns * 1e-9))


@dataclass(frozen=True)
class _Strip:
    """Positive values, in order of time, and perhaps the interval of their median."""

    caption: str
    values: Sequence[float]
    colour: str
    estimate: Estimate | None = None


def _strips(rows: Sequence[_Strip], show: Callable[[float], str]) -> Markup:
    """Strips below each other on one logarithmic axis, in colours that read on light and on dark
    pages; `show` writes a value. Dots of later values are further down in their strip, so that
    a drift is seen."""
    values = [value for row in rows for value in row.values]
    bounds = [edge for row in rows if (e := row.estimate) for edge in (e.low, e.high)]
    least, most = min([*values, *bounds]), max([*values, *bounds])
    span = log(most / least) or 1.0

    def x(value: float) -> float:
        return _LEFT + 8 + (_WIDTH - _LEFT - 16) * log(value / least) / span

    parts = [_dots(number * _ROW, row, x) for number, row in enumerate(rows)]
    below = len(rows) * _ROW + 11
    ends = ((least, "start"), (most, "end"))
    parts += [
        tag("text", show(value), x=f"{x(value):.0f}", y=below, text_anchor=anchor)
        for value, anchor in ends[: 1 + (most > least)]
    ]
    namespace, font = "http://www.w3.org/2000/svg", {"font_size": 11, "font_family": "sans-serif"}
    size = {"width": _WIDTH, "height": below + 4}
    picture = tag("svg", *parts, xmlns=namespace, **size, **font, fill=GREY)
    said = f"{', '.join(row.caption for row in rows)}: {show(least)} to {show(most)}"
    image = '<img alt="{}" src="data:image/svg+xml;base64,{}" style="display:block;max-width:100%">'
    return Markup(image).format(said, b64encode(picture.encode()).decode())


def _dots(top: float, row: _Strip, x: Callable[[float], float]) -> Markup:
    parts = [tag("text", row.caption, x=0, y=top + 15)]
    if row.estimate is not None:
        low, middle, high = map(x, (row.estimate.low, row.estimate.value, row.estimate.high))
        band = {"x": f"{low:.1f}", "width": f"{max(high - low, 1.0):.1f}", "fill": row.colour}
        parts.append(tag("rect", y=top + 2, height=_ROW - 4, **band, opacity=0.25))
        parts.append(tag("rect", x=f"{middle - 0.75:.1f}", y=top + 1, width=1.5, height=_ROW - 2))
    step = (_ROW - 8) / max(len(row.values) - 1, 1)
    dot = {"r": 2.5, "fill": row.colour, "opacity": 0.6}
    parts += [
        tag("circle", cx=f"{x(value):.1f}", cy=f"{top + 4 + number * step:.1f}", **dot)
        for number, value in enumerate(row.values)
    ]
    return joined(parts)
