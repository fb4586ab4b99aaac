"""Query ASTs of LoopIR statements, kept for the next procedures that have the same nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.core import ast as q

STATEMENTS = 20_000
"""LoopIR statements whose query ASTs are kept: some 2 KB each."""
PLACES = 16
"""Query ASTs kept of one of them: children move and renumber what they share in a few ways."""

Place = tuple[q.Path, int, tuple[int, ...]]
"""All that the query AST of a LoopIR statement depends on: its path, how many variables are
bound before it, and the numbers of those it uses."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What was mirrored from one LoopIR statement, by place; `free` are the symbols that it
    uses and does not bind."""

    free: tuple[Any, ...]
    at: dict[Place, q.Stmt] = field(default_factory=dict)

    def keep(self, place: Place, stmt: q.Stmt) -> None:
        if len(self.at) >= PLACES:
            self.at.clear()
        self.at[place] = stmt


SHARED: ByIdentity[Shared] = ByIdentity(STATEMENTS)
"""By LoopIR statement."""
