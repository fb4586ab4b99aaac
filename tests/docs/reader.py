"""Somebody who follows a page, in a directory where a small kernel was tuned and pinned."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .pages import ROOT, Block

FEW = ("vectorise_reduction", "reorder")
"""The transforms of the reader's searches, in one process."""

SHORT_RUN = ("--executor", "inline", "--trials", "1", "--budget", "150s")

SIZE = re.compile(r"\b(256|512|2048)\b")


def small(text: str) -> str:
    """With arrays that take no time."""
    return SIZE.sub("128", text)


@dataclass(frozen=True)
class Reader:
    """Follows a page in directory `home`. `ids` are those that `best` printed; `call` runs the
    command and returns its exit code."""

    home: Path
    ids: tuple[int, int]
    call: Callable[..., int]

    def save(self, block: Block) -> None:
        """The file that a block shows, unless it is one of the repository."""
        if block.title and not (ROOT / block.title).exists():
            (self.home / block.title).write_text(small(block.text))
