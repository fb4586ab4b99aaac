"""Cursors are forwarded to where Exo itself forwards them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from exo.core import internal_cursors as ic
from exo.core.LoopIR import LoopIR, T
from exo.rewrite import LoopIR_scheduling

from schedsearch.transforms.exo.speed import exo_as_is
from schedsearch.transforms.exo.speed.forwarding import MOST_EDITS, Chain, Edit
from transforms.helpers import source

SEEDS, EDITS = 60, 8


def tree() -> Any:
    return source("extracted").procs["branching"]._loopir_proc


def nodes(root: Any) -> Iterator[Any]:
    """Cursors to all statements, and to some of their expressions."""

    def below(cursor: Any) -> Iterator[Any]:
        node = cursor._node
        for attr in ("body", "orelse"):
            for number in range(len(getattr(node, attr, ()))):
                child = cursor._child_node(attr, number)
                yield child
                yield from below(child)
        for attr in ("rhs", "cond", "hi"):
            if hasattr(node, attr):
                yield cursor._child_node(attr)

    yield from below(ic.Cursor.create(root))


def cursors(root: Any) -> Iterator[Any]:
    """The same, with all blocks and gaps."""
    yield ic.Cursor.create(root)
    for node in nodes(root):
        yield node
        if node.get_index() is not None:
            yield from (node.before(), node.after())
            block = node.as_block()
            yield from (block, block.expand(None, None), block.expand(0, 1), block.expand(1, 0))


def edited(root: Any, seed: int) -> tuple[Any, Any]:
    """After some edits; and what forwards through them, composed as Exo's operators do."""
    draw = random.Random(seed)
    forward: Any = lambda x: x  # noqa: E731
    for _ in range(EDITS):
        found = list(nodes(root))
        statements = [node for node in found if node.get_index() is not None]
        target = draw.choice(statements)
        kind = draw.choice(["expression"] * 3 + ["delete", "insert", "wrap", "move", "many"])
        try:
            match kind:
                case "expression":
                    place = draw.choice([node for node in found if node.get_index() is None])
                    root, step = place._replace(place._node)
                case "delete":
                    root, step = target._delete()
                case "insert":
                    root, step = target.after()._insert([target._node])
                case "wrap":
                    root, step = target.as_block()._wrap(wrapped(target._node.srcinfo), "body")
                case "move":
                    outside = [node for node in statements if not target.is_ancestor_of(node)]
                    root, step = target._move(draw.choice(outside).before())
                case "many":
                    root, step = target.as_block()._replace([target._node] * 2)
        except (ic.InvalidCursorError, AssertionError):
            continue
        forward = LoopIR_scheduling._compose(step, forward)
    return root, forward


def wrapped(srcinfo: Any) -> Any:
    condition = LoopIR.Const(True, T.bool, srcinfo)
    return lambda body: LoopIR.If(condition, body, [], srcinfo)


def place(cursor: Any) -> Any:
    match cursor:
        case ic.Node():
            return cursor._path
        case ic.Block():
            return place(cursor._anchor), cursor._attr, cursor._range
    return place(cursor._anchor), cursor._type


def answers(root: Any, seed: int) -> list[Any]:
    last, forward = edited(root, seed)
    found: list[Any] = []
    for cursor in cursors(root):
        try:
            there = forward(cursor)
        except (ic.InvalidCursorError, AssertionError) as error:
            found.append((type(error), str(error)))
        else:
            assert there._root is last
            found.append(place(there))
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_cursor_is_forwarded_as_by_exo(seed: int) -> None:
    root = tree()
    ours = answers(root, seed)
    with exo_as_is():
        assert ours == answers(root, seed)


def test_chains_that_go_on_from_the_same_one_are_apart() -> None:
    root = tree()
    [first, *_, third] = ic.Cursor.create(root).body()
    after, step = first._child_node("rhs")._replace(first._child_node("rhs")._node)
    start = Chain.of(step)
    one, delete = ic.Node(after, first._path)._delete()
    two, insert = ic.Node(after, first._path).before()._insert([first._node])
    for _ in range(2):
        shorter, longer = start.then(delete), start.then(insert)
        assert (shorter(third)._path, shorter(third)._root) == ([("body", 1)], one)
        assert (longer(third)._path, longer(third)._root) == ([("body", 3)], two)
        assert (start(third)._path, start(third)._root) == ([("body", 2)], after)


def test_edits_that_do_not_follow_each_other_are_refused_as_by_exo() -> None:
    root = tree()
    first, *_, last = ic.Cursor.create(root).body()
    one, two = (
        node._child_node("rhs")._replace(node._child_node("rhs")._node)[1] for node in (first, last)
    )
    assert isinstance(one, Edit)
    with pytest.raises(ic.InvalidCursorError, match="unknown root"):
        LoopIR_scheduling._compose(two, one)(first)


def test_more_edits_than_exo_can_forward_through_are_refused() -> None:
    root = tree()
    first, *_ = ic.Cursor.create(root).body()
    at, chain = first, Chain.of()
    for _ in range(MOST_EDITS + 1):
        after, step = at._child_node("rhs")._replace(at._child_node("rhs")._node)
        shorter, chain, at = chain, chain.then(step), ic.Node(after, first._path)
    assert shorter(first)._path == first._path
    with pytest.raises(RecursionError, match="more than Exo can forward"):
        chain(first)
