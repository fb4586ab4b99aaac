"""Bar charts as SVG, legible on light and on dark pages and at the width of a phone.

A file by itself follows the system's colours. Put into a page (`docs/hooks/pictures.py`) it takes
the text colour of the page, which its reader may have switched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

STYLE = "<style>svg{color:#222}@media(prefers-color-scheme:dark){svg{color:#ddd}}</style>"
"""Of a file by itself; left out where the picture is put into a page."""

WIDTH = 420
ROW = 17
LEFT, RIGHT = 112, 44
"""Room for names, and for the numbers beside the longest bar."""

FASTER, SLOWER, PLAIN = "#3f6fd8", "#d9822b", "#8a8f98"


@dataclass(frozen=True)
class Bar:
    """From `start` to `end`, as shares of the room between names and numbers."""

    name: str
    start: float
    end: float
    number: str
    colour: str


def ratios(values: Mapping[str, float], title: str) -> str:
    """Bars from 1 on a logarithmic axis, the largest first: right of it faster, left slower."""
    low, high = min(0.8, *values.values()), max(values.values())

    def place(value: float) -> float:
        return math.log(value / low) / math.log(high / low)

    ends = {name: (place(min(value, 1)), place(max(value, 1))) for name, value in values.items()}
    bars = [
        Bar(name, *ends[name], f"{value:.2f}x", colour(value))
        for name, value in sorted(values.items(), key=lambda item: -item[1])
    ]
    marks = [(place(value), f"{value}x") for value in (1, 2, 5, 10, 20) if value <= high]
    return _svg(bars, marks, title)


def colour(value: float) -> str:
    return FASTER if value >= 1 else SLOWER


def shares(values: Sequence[tuple[str, float]], ours: str, title: str) -> str:
    """Bars from 0 to 100 %; the one named `ours` is coloured."""
    bars = [
        Bar(name, 0, value, f"{100 * value:.2g} %", FASTER if name == ours else PLAIN)
        for name, value in values
    ]
    return _svg(bars, [(share, f"{100 * share:.0f} %") for share in (0, 0.5, 1)], title)


def _svg(bars: Sequence[Bar], marks: Sequence[tuple[float, str]], title: str) -> str:
    height = ROW * len(bars) + 26
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' font-family="sans-serif" font-size="12" fill="currentColor">'
    )
    lines = [head, f"<title>{escape(title)}</title>", STYLE, *_axis(marks, height)]
    for number, bar in enumerate(bars):
        lines += _drawn(bar, ROW * number)
    return "\n".join([*lines, "</svg>", ""])


def _axis(marks: Sequence[tuple[float, str]], height: int) -> Iterator[str]:
    for share, text in marks:
        x = _x(share)
        yield (
            f'<path d="M{x:.1f} 0V{height - 22}" stroke="currentColor" opacity="0.18"/>'
            f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" opacity="0.75">{text}</text>'
        )


def _drawn(bar: Bar, top: int) -> Iterator[str]:
    start, end, line = _x(bar.start), _x(bar.end), top + 13
    width = max(end - start, 1.5)
    yield f'<text x="{LEFT - 8}" y="{line}" text-anchor="end">{escape(bar.name)}</text>'
    yield (
        f'<rect x="{start:.1f}" y="{top + 3}" width="{width:.1f}" height="{ROW - 5}" rx="2"'
        f' fill="{bar.colour}"/>'
    )
    yield f'<text x="{end + 5:.1f}" y="{line}">{bar.number}</text>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)
