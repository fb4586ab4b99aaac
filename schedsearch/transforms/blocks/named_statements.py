"""Statements of a block, found by a name of their own while operators move them about."""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.analysis.walkers import shifted
from schedsearch.core import ast as q
from schedsearch.transforms.operators.ops import At, Op, Pair, Steps


class Rows:
    """Consecutive statements of one block; whoever inserts, removes or cuts one says so."""

    def __init__(self, first: q.Path, names: Sequence[str]) -> None:
        self._first = first
        self._names = list(names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def path(self, name: str, *inside: int) -> q.Path:
        return (*shifted(self._first, self._names.index(name)), *inside)

    def at(self, name: str, *inside: int) -> At:
        return At(self.path(name, *inside))

    def replace(self, name: str, *names: str) -> None:
        """The statement is now several, or none."""
        position = self._names.index(name)
        self._names[position : position + 1] = names

    def move(self, name: str, before: str) -> Steps:
        """Move one statement to the place before another, by swaps."""
        position, goal = self._names.index(name), self._names.index(before)
        down = position < goal
        for _ in range(goal - position - 1 if down else position - goal):
            first = position if down else position - 1
            yield Op("reorder_stmts", (Pair(shifted(self._first, first)),))
            self._names[first : first + 2] = reversed(self._names[first : first + 2])
            position += 1 if down else -1


def arrange(path: q.Path, found: Sequence[int], wanted: Sequence[int]) -> Steps:
    """Reorder perfectly nested loops from `path` on, labelled `found`, to the order `wanted`."""
    labels = list(found)
    for depth, label in enumerate(wanted):
        for position in reversed(range(depth, labels.index(label))):
            yield Op("reorder_loops", (At((*path, *(0,) * position)),))
            labels[position : position + 2] = reversed(labels[position : position + 2])


def fuse_nests(path: q.Path, depth: int) -> Steps:
    """Fuse `depth` perfectly nested loops at `path` with those of the next statement."""
    for level in range(depth):
        first = (*path, *(0,) * level)
        yield Op("fuse", (At(first), At(shifted(first, 1))))
