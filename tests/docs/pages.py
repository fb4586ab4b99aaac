"""What the documentation shows: commands and files in fenced blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

BLOCK = re.compile(r"^(```+)(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """`title`: name of the file that it shows, empty if it shows none."""

    language: str
    title: str
    text: str


def blocks(page: Path, only: str = "") -> Iterator[Block]:
    """Those in the language `only`, if it is given."""
    for _, language, title, text in BLOCK.findall(page.read_text()):
        if only in ("", language):
            yield Block(language, title, text)


def commands(page: Path) -> list[list[str]]:
    """The words of every command of its `sh` blocks."""
    texts = (block.text.replace("\\\n", " ") for block in blocks(page, "sh"))
    lines = (line for text in texts for line in text.splitlines())
    return [words for line in lines if (words := shlex.split(line, comments=True))]
