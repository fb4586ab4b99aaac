"""Samples as lines of dots: small pictures that need nothing but a browser.

They are images, not parts of the page: of a notebook that its reader did not run, Jupyter shows
no SVG, but the words in it.

For a glance beside a number; what is to be explored is plotted from the DataFrames.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from markupsafe import Markup

from schedsearch.core.stats import Estimate

_WIDTH, _LEFT, _ROW = 440, 76, 22
"""Pixels: of the whole, of captions, of the height of one strip."""
_TEXT = "#767676"
"""An image does not know its page: this reads on white and on black."""


@dataclass(frozen=True)
class Strip:
    """Positive values, in order of time, and perhaps the interval of their median."""

    caption: str
    values: Sequence[float]
    colour: str
    estimate: Estimate | None = None


def strips(rows: Sequence[Strip], show: Callable[[float], str]) -> Markup:
    """Strips below each other on one logarithmic axis, in colours that read on light and on dark
    pages; `show` writes a value. Dots of later values are further down in their strip, so that
    a drift is seen."""
    values = [value for row in rows for value in row.values]
    bounds = [edge for row in rows if (e := row.estimate) for edge in (e.low, e.high)]
    least, most = min([*values, *bounds]), max([*values, *bounds])
    span = log(most / least) or 1.0

    def x(value: float) -> float:
        return _LEFT + 8 + (_WIDTH - _LEFT - 16) * log(value / least) / span

    parts = [_strip(number * _ROW, row, x) for number, row in enumerate(rows)]
    below = len(rows) * _ROW + 11
    ends = ((least, "start"), (most, "end"))
    for value, anchor in ends[: 1 + (most > least)]:
        text = '<text x="{:.0f}" y="{}" text-anchor="{}">{}</text>'
        parts.append(Markup(text).format(x(value), below, anchor, show(value)))
    picture = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" font-size="11" '
        'font-family="sans-serif" fill="{}">{}</svg>'
    ).format(_WIDTH, below + 4, _TEXT, Markup("").join(parts))
    said = f"{', '.join(row.caption for row in rows)}: {show(least)} to {show(most)}"
    image = '<img alt="{}" src="data:image/svg+xml;base64,{}" style="display:block;max-width:100%">'
    return Markup(image).format(said, b64encode(picture.encode()).decode())


def _strip(top: float, row: Strip, x: Callable[[float], float]) -> Markup:
    parts = [Markup('<text x="0" y="{}">{}</text>').format(top + 15, row.caption)]
    if row.estimate is not None:
        low, middle, high = map(x, (row.estimate.low, row.estimate.value, row.estimate.high))
        band = '<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}" opacity="0.25"/>'
        parts.append(Markup(band).format(low, top + 2, max(high - low, 1.0), _ROW - 4, row.colour))
        line = '<rect x="{:.1f}" y="{}" width="1.5" height="{}"/>'
        parts.append(Markup(line).format(middle - 0.75, top + 1, _ROW - 2))
    step = (_ROW - 8) / max(len(row.values) - 1, 1)
    dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}" opacity="0.6"/>')
    for number, value in enumerate(row.values):
        parts.append(dot.format(x(value), top + 4 + number * step, row.colour))
    return Markup("").join(parts)
