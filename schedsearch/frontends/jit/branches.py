"""Branches of rewritten functions.

A branch on indices becomes one of the kernel; of a branch on data both sides are traced, and
`Select` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.jit import operations
from schedsearch.frontends.jit.building import (
    Block,
    Builder,
    Predicate,
    finished,
    identity,
    where,
)
from schedsearch.frontends.jit.proxies import Data, Mask, Undefined
from schedsearch.frontends.jit.sizes import Sizes
from schedsearch.frontends.jit.variables import (
    Thunk,
    joined_kind,
    leaves,
    python_kinds,
    unchanged,
    value_of,
)
from schedsearch.frontends.lowered import Refusal


class Branch:
    """`if` of a rewritten function."""

    def __init__(
        self,
        builder: Builder,
        test: bool | Mask,
        names: tuple[str, ...],
        live: frozenset[str],
        thunks: Sequence[Thunk],
    ) -> None:
        self.builder, self.test = builder, test
        self.names, self.live = names, live
        self.before = tuple(value_of(t, n) for t, n in zip(thunks, names, strict=True))
        self.ends: list[tuple[Any, ...]] = []
        self.first = self.builder.buffers
        self.nodes: list[dict[str, g.Value]] = []
        self.blocks: list[Any] = []

    def __iter__(self) -> Iterator[bool]:
        test = self.test
        if isinstance(test, bool):
            yield test
        elif test.index is not None:
            yield from self._of_indices(test.index)
        else:
            yield from self._of_data(test)

    def _of_indices(self, condition: q.Expr) -> Iterator[bool]:
        builder = self.builder
        for side in (True, False):
            sizes, equal = builder.sizes, dict(builder.sizes.equal)
            known = facts(condition if side else operations.negated(condition), sizes)
            count = len(sizes.guards)
            sizes.guards += known
            sizes.branches += 1
            with builder.inside(Block("if")) as block:
                yield side
            sizes.branches -= 1
            del sizes.guards[count:]
            if q.expr_vars(condition) <= sizes.own:
                for each in sizes.equal.keys() - equal:
                    if each not in sizes.implied:
                        sizes.local.append((each, sizes.equal[each], *where()))
                sizes.equal = equal
            self.blocks.append(block)

    def _of_data(self, mask: Mask) -> Iterator[bool]:
        builder = self.builder
        for side in (True, False):
            chosen = mask if side else operations.logical(builder, "not", (mask,))
            depth = len(builder.predicates)

            def condition(shape: g.Shape, chosen: Mask = chosen) -> g.Condition:
                return operations.stretched(builder, chosen, shape)

            builder.predicates.append(Predicate(condition, depth))
            yield side
            builder.predicates.pop()

    def begin(self, *_: Thunk) -> tuple[Any, ...]:
        return self.before

    def end(self, *thunks: Thunk) -> None:
        values = tuple(value_of(t, n) for t, n in zip(thunks, self.names, strict=True))
        self.ends.append(values)
        if isinstance(self.test, Mask) and self.test.index is not None:
            nodes = {}
            for name, value in zip(self.names, values, strict=True):
                if isinstance(value, Data) and not isinstance(value, Mask) and name in self.live:
                    nodes[name] = value.node()
            self.nodes.append(nodes)

    def leave(self, *thunks: Thunk) -> tuple[Any, ...]:
        if isinstance(self.test, bool):
            return tuple(value_of(t, n) for t, n in zip(thunks, self.names, strict=True))
        found: list[Any] = []
        for n, name in enumerate(self.names):
            one, other = (values[n] for values in self.ends)
            if unchanged(one, other):
                found.append(one)
            elif name not in self.live or any(
                isinstance(each, Undefined) or each is None for each in (one, other)
            ):
                found.append(Undefined("the result" if name == "__ret" else name))
            else:
                found.append(self._joined(name, one, other))
        if self.blocks:
            self._append()
        return tuple(found)

    def _append(self) -> None:
        assert isinstance(self.test, Mask)
        assert self.test.index is not None
        body, orelse = map(finished, self.blocks)
        condition = self.test.index
        if not body and orelse:
            condition, body, orelse = operations.negated(condition), orelse, body
        if body:
            stmt = g.If(condition, body, orelse, self.builder.line())
            self.builder.block.statements.append(stmt)

    def _joined(self, name: str, one: Any, other: Any) -> Any:
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            return tuple(
                a if unchanged(a, b) else self._joined_at(name, a, b)
                for a, b in zip(one, other, strict=True)
            )
        if isinstance(self.test, Mask) and self.test.index is None:
            if isinstance(one, Data) and isinstance(other, Data):
                self._same_lengths(name, one, other)
            if not (isinstance(one, Mask | bool) and isinstance(other, Mask | bool)):
                joined_kind(name, (one, other))
            found = operations.select(self.builder, self.test, one, other, python=True)
            return self._no_alias(name, found, one, other)
        nodes = [each.get(name) for each in self.nodes]
        return self._stored(name, (one, other), nodes)

    def _joined_at(self, name: str, one: Any, other: Any) -> Any:
        if isinstance(self.test, Mask) and self.test.index is None:
            return self._joined(name, one, other)
        if any(isinstance(each, Data) for each in (one, other)):
            raise Refusal(
                name, "it is a tuple that a branch on indices changes", "use names of their own"
            )
        return self._stored(name, (one, other), [None, None])

    def _no_alias(self, name: str, found: Any, *values: Any) -> Any:
        """`found` is a copy here, which in Python is one of two arrays. Those are not written from
        here on, and not used once `found` is, if they have other names."""
        reason = f"{name} is one of two arrays, by a condition"
        if not isinstance(found, Data) or not found.ndim:
            return found
        for side, each in zip(self.ends, values, strict=True):
            if not isinstance(each, Data) or not each.ndim:
                continue
            self.builder.fix(each.buffer, reason)
            names = sum(v.buffer is each.buffer for v in leaves(side))
            if each.buffer.number <= self.first or names > 1:
                found.buffer.sources += (each.buffer,)
            found.buffer.sources += each.buffer.sources
            if each.locked:
                self.builder.fix(found.buffer, each.locked)
        return found

    def _same_lengths(self, name: str, one: Data, other: Data) -> None:
        same = len(one.lengths) == len(other.lengths)
        if not same or not all(map(self.builder.sizes.same, one.lengths, other.lengths)):
            raise Refusal(name, "its shape depends on a branch", "give both the same shape")

    def _stored(self, name: str, values: Sequence[Any], nodes: Sequence[g.Value | None]) -> Data:
        """Storage that each side of a branch on indices assigns."""
        builder = self.builder
        kind, weak = joined_kind(name, values)
        one, other = values
        if isinstance(one, Data) and isinstance(other, Data):
            self._same_lengths(name, one, other)
        shape = next((e.lengths for e in values if isinstance(e, Data)), ())
        buffer = builder.allocate("t" if name == "__ret" else name, kind, shape)
        assert buffer.array is not None
        held = []
        for value, node, block in zip(values, nodes, self.blocks, strict=True):
            if node is None:
                node = operations.as_node(builder, operations.operand(builder, value), kind)
            node = operations.broadcast_node(builder, types.cast(node, kind), buffer.shape)
            held.append(node)
            block.statements.append(
                g.Store(buffer.array, *identity(buffer.shape), node, line=builder.line())
            )
        builder.changes(buffer.array)
        if not buffer.shape:
            builder.holds[buffer.array] = tuple(held)
        made = Data(builder, buffer, weak=weak)
        made.may = python_kinds(values) - {weak} if not shape else frozenset()
        found: Data = self._no_alias(name, made, *values)
        return found


def facts(condition: q.Expr, sizes: Sizes | None = None) -> list[q.Affine]:
    """Expressions that are 0 at least where a condition holds. What `sizes` know makes `i - 1` one
    of them for `i != 0`."""
    assert isinstance(condition, q.BinOp)
    if condition.op == "and":
        return facts(condition.lhs, sizes) + facts(condition.rhs, sizes)
    if condition.op == "or":
        return []
    a, b = condition.lhs, condition.rhs
    assert isinstance(a, q.Affine)
    assert isinstance(b, q.Affine)
    if condition.op == "!=":
        return [more - 1 for more in (a - b, b - a) if sizes and sizes.never_negative(more)]
    return {
        "<": [b - a - 1],
        "<=": [b - a],
        ">": [a - b - 1],
        ">=": [a - b],
        "==": [a - b, b - a],
    }[condition.op]
