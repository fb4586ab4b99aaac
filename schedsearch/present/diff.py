"""Two texts side by side: a procedure before and after a rewrite, or its C."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import CLexer, PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from schedsearch.present import html
from schedsearch.present.html import tag

CONTEXT = 4
"""Lines shown around a change; lines further away are folded into one."""

_STYLES = {
    Keyword: "font-weight:bold",
    Operator.Word: "font-weight:bold",
    Comment: f"color:{html.GREY}",
    Number: f"color:{html.BLUE}",
    String: f"color:{html.GREEN}",
    Name.Decorator: f"color:{html.GREY}",
}
_REMOVED, _ADDED = ";background:rgba(214,69,61,0.18)", ";background:rgba(42,138,62,0.18)"
_CODE = "font-family:monospace;font-size:12px;text-align:left;padding:0 10px 0 4px"

LEXERS = {
    "python": PythonLexer(stripnl=False, ensurenl=False),
    "c": CLexer(stripnl=False, ensurenl=False),
}


@dataclass(frozen=True)
class Row:
    """Numbers, from 0, of lines that stand side by side; None: nothing there."""

    left: int | None
    right: int | None
    changed: bool


@dataclass(frozen=True)
class Diff:
    """`before` and `after`, side by side as HTML, one after the other as text. `language` is
    `python` or `c`."""

    before: str
    after: str
    titles: tuple[str, str] = ("before", "after")
    language: str = "python"

    def __repr__(self) -> str:
        """As `diff -u` prints it."""
        changes = unified_diff(*self._lines(), *self.titles, lineterm="")
        return "\n".join(changes) or "no difference"

    def _repr_html_(self) -> str:
        if self.before == self.after:
            return html.dim("no difference")
        lexer = LEXERS[self.language]
        left, right = coloured(self.before, lexer), coloured(self.after, lexer)
        rows = [_row(row, left, right) if row else _GAP for row in _shown(*self._lines())]
        head = tag("tr", *(tag("td") + tag("th", title, style=_CODE) for title in self.titles))
        table = tag("table", head, *rows, style="border-collapse:collapse")
        return tag("div", table, style="overflow-x:auto")

    def _lines(self) -> tuple[list[str], list[str]]:
        return self.before.split("\n"), self.after.split("\n")


def coloured(text: str, lexer: Lexer) -> list[Markup]:
    """Its lines, in few colours that read on light and on dark pages."""
    done: list[Markup] = []
    line = Markup("")
    for kind, value in lexer.get_tokens(text):
        style = next((_STYLES[k] for k in reversed(kind.split()) if k in _STYLES), None)
        for number, part in enumerate(value.split("\n")):
            if number:
                done.append(line)
                line = Markup("")
            line += tag("span", part, style=style) if style and part else Markup.escape(part)
    return [*done, line]


def _shown(before: list[str], after: list[str]) -> Iterator[Row | None]:
    """None: some lines are left out here."""
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT)
    end = 0
    for group in groups:
        if group[0][1] > end:
            yield None
        for kind, i, i_end, j, j_end in group:
            for left, right in zip_longest(range(i, i_end), range(j, j_end)):
                yield Row(left, right, changed=kind != "equal")
        end = group[-1][2]
    if end < len(before):
        yield None


def _row(row: Row, left: list[Markup], right: list[Markup]) -> Markup:
    before = _cell(row.left, left, _REMOVED if row.changed else "")
    return tag("tr", before, _cell(row.right, right, _ADDED if row.changed else ""))


def _cell(number: int | None, texts: list[Markup], background: str) -> Markup:
    if number is None:
        return tag("td") + tag("td")
    shown = tag("td", number + 1, style=f"color:{html.GREY};font-size:11px;text-align:right")
    line = tag("pre", texts[number], style=html.PRE)
    return shown + tag("td", line, style=_CODE + background)


_GAP = tag(
    "tr", tag("td"), tag("td", "⋯", style=f"{_CODE};color:{html.GREY}"), tag("td"), tag("td")
)
