"""The running text of a page: paragraphs and items of lists, without code, tables and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HIDDEN = re.compile(
    r"\A---\n.*?\n---\n|^(```+).*?^\1$|^ *\||^#.*?$|^:::.*?(?=^\S|\Z)|<[^>\n]*>",
    re.MULTILINE | re.DOTALL,
)
_TABLE_OR_OPTION = re.compile(r"^(\||    \w+:).*$", re.MULTILINE)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z0-9`*_(\[])")


def paragraphs(text: str) -> Iterator[str]:
    """In the order of the page, each on one line, links as their texts."""
    text = _TABLE_OR_OPTION.sub("", text)
    text = _HIDDEN.sub("\n", text)
    for block in _BLOCK.split(_LINK.sub(r"\1", text)):
        if words := " ".join(block.split()).lstrip("-* "):
            yield words


def sentences(paragraph: str) -> list[str]:
    """A colon or semicolon ends one, too, where the next begins like one."""
    return _SENTENCE.split(paragraph)


def words(text: str) -> int:
    return len(re.findall(r"[^\W_]+(?:['-][^\W_]+)*", text))


def leads_with(text: str) -> str:
    """The paragraph right after the title, empty if something else is there."""
    found = re.search(r"^# .*\n\n((?:[^\n]+\n?)+)", text, re.MULTILINE)
    [*first] = paragraphs(found[1]) if found else []
    return first[0] if len(first) == 1 else ""
