"""Cursors forwarded through many edits at once.

An operator of Exo edits the tree statement by statement, and composes a function that forwards
cursors through every edit so far; for each next edit it forwards a cursor through all of them.
`simplify` of a register block makes 500 edits, and spent 90 % of its time there. Most edits are
within an expression: a cursor to a statement is the same after them, but for its root. So edits
are kept in a list, and such a cursor is taken through the others alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exo.core import internal_cursors as ic
from exo.rewrite import LoopIR_scheduling

Forward = Callable[[Any], Any]

MOST_EDITS = 900
"""Exo nests a call for each and ends at Python's 1,000. What it could not replay is not offered:
exported schedules run on plain Exo."""

_BLOCKS = ("body", "orelse")
_IDENTITY = (lambda x: x).__code__


def patches() -> list[tuple[Any, str, Any]]:
    return [
        (ic.Cursor, "_local_forward", _local_forward),
        (LoopIR_scheduling, "_compose", compose),
    ]


def _local_forward(place: Any, new: Any, fwd_node: Any, fwd_block: Any) -> Edit:
    """In the place of `Cursor._local_forward`."""
    match place:
        case ic.Node():
            attr = place._path[-1][0]
        case ic.Gap():
            attr = place.anchor()._path[-1][0]
        case _:
            attr = place._attr
    return Edit(place._root, new, place.parent()._path, attr, fwd_node, fwd_block)


class Edit:
    """Forwards cursors through an edit of one block or expression: `attr` of what `path` leads to.

    `node` and `block` forward an index and a range of it.
    """

    __slots__ = ("attr", "block", "depth", "new", "node", "old", "path")

    def __init__(self, old: Any, new: Any, path: Any, attr: str, node: Any, block: Any) -> None:
        self.old, self.new, self.path, self.attr = old, new, path, attr
        self.node, self.block, self.depth = node, block, len(path)

    def __call__(self, cursor: Any) -> Any:
        """Raises InvalidCursorError for a cursor into another tree, or to what is gone."""
        if cursor._root is not self.old:
            raise ic.InvalidCursorError("cannot forward from unknown root")
        if isinstance(cursor, ic.Gap):
            return ic.Gap(self.new, self(cursor.anchor()), cursor.type())
        if isinstance(cursor, ic.Block):
            return self._forward_block(cursor)
        path, depth = cursor._path, self.depth
        if len(path) > depth and path[depth][0] == self.attr and path[:depth] == self.path:
            path = path[:depth] + self.node(self.attr, path[depth][1]) + path[depth + 1 :]
        return ic.Node(self.new, path)

    def _forward_block(self, cursor: Any) -> Any:
        anchor = cursor._anchor
        if anchor._path == self.path and cursor._attr == self.attr:
            *inner, (attr, found) = self.block(self.attr, cursor._range)
            return ic.Block(self.new, ic.Node(self.new, anchor._path + inner), attr, found)
        try:
            return ic.Block(self.new, self(anchor), cursor._attr, cursor._range)
        except ic.InvalidCursorError as error:
            raise ic.InvalidCursorError("block no longer exists (parent deleted)") from error


class Chain:
    """Several functions that forward, one after the other: the first `count` of a list that longer
    chains share; and how many were `skipped`, which Exo has besides them and change nothing."""

    __slots__ = ("_blocks", "_count", "_skipped", "_steps")

    def __init__(
        self, steps: list[Forward], blocks: list[int], count: int, skipped: int = 0
    ) -> None:
        self._steps, self._blocks, self._count = steps, blocks, count
        self._skipped = skipped

    @property
    def edits(self) -> int:
        """As many as Exo would have made."""
        return self._count + self._skipped

    def skip(self, count: int) -> Chain:
        return Chain(self._steps, self._blocks, self._count, self._skipped + count)

    @staticmethod
    def of(*steps: Forward) -> Chain:
        chain = Chain([], [], 0)
        for step in steps:
            chain = chain.then(step)
        return chain

    @property
    def steps(self) -> list[Forward]:
        return self._steps[: self._count]

    def then(self, step: Forward) -> Chain:
        """With one more step. What is not known to leave statements alone is noted."""
        if len(self._steps) != self._count:  # another chain went on from here
            blocks = [number for number in self._blocks if number < self._count]
            return Chain(self.steps, blocks, self._count, self._skipped).then(step)
        before = self._steps[-1] if self._steps else None
        known = isinstance(step, Edit) and isinstance(before, Edit) and before.new is step.old
        if not known or step.attr in _BLOCKS:  # type: ignore[attr-defined]
            self._blocks.append(self._count)
        self._steps.append(step)
        return Chain(self._steps, self._blocks, self._count + 1, self._skipped)

    def __call__(self, cursor: Any) -> Any:
        """Raises InvalidCursorError as its steps do, and RecursionError where Exo would."""
        if self.edits > MOST_EDITS:
            raise RecursionError(f"{self.edits} edits: more than Exo can forward through")
        if not self._count:
            return cursor
        if not _at_statements(cursor):
            for step in self.steps:
                cursor = step(cursor)
            return cursor
        for number in self._blocks:
            if number >= self._count:
                break
            before = self._steps[number - 1] if number else None
            if isinstance(before, Edit):
                cursor = _rooted(cursor, before.new)
            cursor = self._steps[number](cursor)
        last = self._steps[self._count - 1]
        return _rooted(cursor, last.new) if isinstance(last, Edit) else cursor


def compose(last: Forward, first: Forward) -> Forward:
    """In the place of Exo's `_compose`: `first`, then `last`."""
    if _is_identity(first):
        return last
    chain = first if isinstance(first, Chain) else Chain.of(first)
    if isinstance(last, Chain):
        chain = chain.skip(last.edits - len(last.steps))
    for step in last.steps if isinstance(last, Chain) else (last,):
        chain = chain.then(step)
    return chain


def edits(forward: Forward) -> int:
    """How many edits of Exo a function forwards through."""
    if isinstance(forward, Chain):
        return forward.edits
    return 0 if _is_identity(forward) else 1


def skipped(forward: Forward, count: int) -> Forward:
    """The same function, for a tree on which Exo would have made `count` edits more that change
    nothing."""
    if isinstance(forward, Chain):
        return forward.skip(count)
    return (Chain.of() if _is_identity(forward) else Chain.of(forward)).skip(count)


def _is_identity(function: Any) -> bool:
    """`lambda x: x`, which Exo begins with"""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_code == _IDENTITY.co_code and not code.co_freevars


def _at_statements(cursor: Any) -> bool:
    """Whether it points to a statement, to several, or between two."""
    match cursor:
        case ic.Node():
            return all(attr in _BLOCKS for attr, _ in cursor._path)
        case ic.Block():
            return cursor._attr in _BLOCKS and _at_statements(cursor._anchor)
        case ic.Gap():
            return _at_statements(cursor._anchor)
    return False


def _rooted(cursor: Any, root: Any) -> Any:
    """The same place in a tree that has the same statements."""
    match cursor:
        case ic.Node():
            return ic.Node(root, cursor._path)
        case ic.Block():
            return ic.Block(root, _rooted(cursor._anchor, root), cursor._attr, cursor._range)
    return ic.Gap(root, _rooted(cursor._anchor, root), cursor._type)
