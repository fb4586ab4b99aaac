"""Loops of rewritten functions.

A loop is traced once, and again where a variable turns out to change: its value then comes from
storage that each round assigns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.jit import operations
from schedsearch.frontends.jit.building import Buffer, identity
from schedsearch.frontends.jit.iteration import Items
from schedsearch.frontends.jit.making import copied
from schedsearch.frontends.jit.proxies import Data, Mask, Undefined, as_place, simplified
from schedsearch.frontends.jit.variables import (
    Thunk,
    is_whole,
    joined_kind,
    python_kinds,
    unchanged,
    value_of,
)
from schedsearch.frontends.jit.whole_numbers import counts
from schedsearch.frontends.lowered import Refusal

if TYPE_CHECKING:
    from schedsearch.frontends.jit.control import Control

PASSES = 8
"""How often a loop is traced, at most."""


@dataclass
class Carried:
    """A variable that rounds hand on: `first` is its value before the loop. It keeps that
    (`kind` "same"), or grows by `step` in each round, or is in storage (`data`)."""

    name: str
    first: Any
    kind: str = "same"
    step: int = 0
    data: Data | None = None
    last: Any = None
    next: Any = None


class Loop:
    """`for` of a rewritten function."""

    def __init__(
        self,
        control: Control,
        items: Items | None,
        iterable: Any,
        names: tuple[str, ...],
        carried: frozenset[str],
        escapes: str,
        thunks: Sequence[Thunk],
    ) -> None:
        self.control, self.builder = control, control.builder
        self.items, self.iterable, self.names = items, iterable, names
        if items is not None and escapes:
            raise Refusal(
                f"{escapes} in a loop over a size",
                "how many rounds there are would depend on data",
                "end the range earlier, or choose values with if",
            )
        if items is None and not hasattr(iterable, "__iter__"):
            raise Refusal("for", f"{type(iterable).__name__} is not iterable", "use range")
        self.changed = False
        self.carried: dict[str, Carried] = {}
        if items is None:
            return
        values = [value_of(t, n) for t, n in zip(thunks, names, strict=True)]
        for name, value in zip(names, values, strict=True):
            if name in carried:
                self.carried[name] = Carried(name, value)
                strong = isinstance(value, Data) and not isinstance(value, Mask)
                if strong and not value.ndim and not value.weak:
                    self.stored(self.carried[name], value.type, None, ())

    def stored(self, each: Carried, kind: str, weak: type | None, lengths: g.Shape) -> None:
        """Let a variable be in storage, which holds its first value before the loop."""
        buffer = self.builder.allocate(each.name, kind, lengths)
        if not isinstance(each.first, Undefined):
            node = operations.as_node(
                self.builder, operations.operand(self.builder, each.first), kind
            )
            node = operations.broadcast_node(self.builder, node, buffer.shape)
            self.builder.store(buffer, *identity(buffer.shape), node)
            if not lengths and buffer.array:
                self.builder.holds[buffer.array] = (node,)
        each.kind, each.data = "data", Data(self.builder, buffer, weak=weak)
        each.data.may = python_kinds([each.first, each.last]) - {weak}

    def __iter__(self) -> Iterator[Any]:
        if self.items is None:
            count = len(self.iterable) if isinstance(self.iterable, range) else 1
            self.control.rounds *= max(count, 1)
            yield from self.iterable
            self.control.rounds //= max(count, 1)
            return
        span = self.items.range
        trip = self.builder.sizes.resolved(span.trip)
        forward = span.step == 1
        lo, hi = (span.lo, span.hi) if forward else (q.Affine(), trip)
        builder = self.builder
        for _ in range(PASSES):
            self.changed = False
            var = g.fresh("i")
            at = q.as_affine(var)
            place = at if forward else span.lo + at.scaled(span.step)
            self.round = at - lo
            moved = dict(builder.moved)
            with builder.loop(var, lo, hi) as block:
                yield self.items.item(simplified(builder, place))
            if not self.changed:
                builder.close(block, var, lo, hi)
                return
            builder.moved = moved
            for each in self.carried.values():
                self._settle(each)
        raise Refusal(
            ", ".join(self.carried), "the type or shape changes in each round", "use one array"
        )

    def _settle(self, each: Carried) -> None:
        """What the next pass supposes of a variable that has changed."""
        new, each.next = each.next, None
        if new is None:
            return
        if is_whole(each.first) and is_whole(new) and each.kind == "same":
            step = as_place(self.builder, new - each.first)
            if step is not None and step.is_const:
                each.kind, each.step = "step", step.const
                return
            raise Refusal(
                each.name,
                "a whole number changes in a loop other than by a constant",
                "compute it from the variable of the loop",
            )
        if each.kind == "step":
            raise Refusal(each.name, "it changes in different ways", "use a float")
        kind, weak = joined_kind(each.name, (each.first, new))
        each.last = new
        lengths = operations.lengths_of(new)
        first = each.first
        if not isinstance(first, Undefined):
            own = operations.lengths_of(operations.operand(self.builder, first))
            if len(own) != len(lengths) or not all(map(self.builder.sizes.same, own, lengths)):
                raise Refusal(each.name, "its shape changes in a loop", "use one array throughout")
        if isinstance(first, Undefined):
            trip = self.items.range.trip if self.items else q.Affine()
            refusal = Refusal(each.name, "the loop may have no round", "assign it before")
            self.builder.sizes.need(trip - 1, refusal)
        self.stored(each, kind, weak, tuple(map(self.builder.sizes.resolved, lengths)))

    def begin(self, *thunks: Thunk) -> tuple[Any, ...]:
        values = [value_of(t, n) for t, n in zip(thunks, self.names, strict=True)]
        for n, name in enumerate(self.names):
            each = self.carried.get(name)
            if each is None:
                continue
            if each.kind == "same":
                values[n] = each.first
            elif each.kind == "step":
                total = as_place(self.builder, each.first)
                assert total is not None
                values[n] = simplified(self.builder, total + self.round.scaled(each.step))
            elif isinstance(each.first, Undefined):
                values[n] = each.first
            else:
                data = each.data
                assert data is not None
                values[n] = data.seen_again()
        self.given = dict(zip(self.names, values, strict=True))
        return tuple(values)

    def end(self, *thunks: Thunk) -> None:
        if self.items is None:
            return
        values = {n: value_of(t, n) for t, n in zip(thunks, self.names, strict=True)}
        assigned: list[tuple[Carried, Any]] = []
        for each in self.carried.values():
            new, given = values[each.name], self.given[each.name]
            if each.kind == "same":
                if not unchanged(new, given):
                    self._change(each, new)
            elif each.kind == "step":
                step = as_place(self.builder, new - given) if is_whole(new) else None
                if step is None or not step.is_const or step.const != each.step:
                    self._change(each, new)
            else:
                assert each.data is not None
                kind, weak = joined_kind(each.name, (each.data, new))
                each.last = new
                same = (kind, weak) == (each.data.type, each.data.weak)
                if not same or not python_kinds([new]) <= python_kinds([each.data]):
                    self._change(each, new)
                else:
                    assigned.append((each, new))
        if not self.changed:
            self._hand_on(assigned)

    def _change(self, each: Carried, new: Any) -> None:
        each.next = new
        self.changed = True

    def _hand_on(self, assigned: list[tuple[Carried, Any]]) -> None:
        """Assign what the next round begins with: all at once."""
        builder = self.builder
        stored = {each.data.buffer: each for each, _ in assigned if each.data is not None}
        body = builder.block
        ready: list[tuple[Data, Any]] = []
        news = [new.buffer for _, new in assigned if isinstance(new, Data)]
        alone = {b for b in news if news.count(b) == 1 and b.block is body and b not in stored}
        alone -= {b for b in alone if b.sources or b.moved}
        for each, new in assigned:
            data = each.data
            assert data is not None
            if isinstance(new, Data) and new.buffer is data.buffer and new.same_place(data):
                continue
            self._aliases(each, new, body.written, alone)
            if isinstance(new, Data) and new.buffer in stored:
                new = copied(builder, new) if new.ndim else self._apart(new)
            ready.append((data, new))
        each_of = {each.data.buffer: each for each, _ in assigned if each.data is not None}
        for data, new in ready:
            node = operations.as_node(builder, operations.operand(builder, new), data.type)
            shape = data.lengths
            own = tuple(map(builder.sizes.resolved, node.shape))
            if len(own) != len(shape) or not all(map(builder.sizes.same, own, shape)):
                raise Refusal("a variable of a loop", "its shape changes", "use one array")
            self._count(each_of[data.buffer], node)
            add = False
            if isinstance(node, g.Apply) and node.function == "+":
                one, other = node.args
                if isinstance(one, g.Load) and one.array is data.buffer.array:
                    node, add = other, True
            builder.store(data.buffer, *identity(shape), node, add, carried=True)

    def _count(self, each: Carried, node: g.Value) -> None:
        """Python's whole numbers are exact: those in storage too, while they count."""
        data = each.data
        if data is None or data.ndim or int not in python_kinds([each.last]):
            return
        array, holds = data.buffer.array, self.builder.holds
        assert array is not None
        if not counts(node, array, holds):
            raise Refusal(
                each.name,
                "it is a whole number of Python that may grow without bound in a loop",
                "begin with a float, or with np.int32()",
            )
        holds[array] = (*holds.get(array, ()), node)

    def _apart(self, value: Data) -> Data:
        buffer = self.builder.allocate("t", value.type, ())
        self.builder.store(buffer, (), (), value.node())
        found = Data(self.builder, buffer, weak=value.weak)
        found.may = value.may
        return found

    def _aliases(self, each: Carried, new: Any, written: set[g.Array], alone: set[Buffer]) -> None:
        """Two names of one array, of which one is a copy here: neither may be written. `alone` are
        arrays that this round made for one name."""
        data = each.data
        assert data is not None
        if not data.ndim:
            return
        reason = f"{each.name} is assigned in a loop, and may be another name of it"
        known = []
        own = data.buffer.array
        assert own is not None
        for value in (each.first, new):
            if not isinstance(value, Data):
                continue
            if value is new and value.buffer in alone:
                continue
            if value.buffer.sources:
                known.append(own)
            if value.buffer.array is None:
                value.buffer.moved = reason
            else:
                known.append(value.buffer.array)
        if any(array in written for array in (*known, *([own] if known else []))):
            raise Refusal(
                f"assignment to elements, where {each.name} is assigned in a loop",
                "both may be one array in some rounds",
                f"assign to {each.name}[:], or copy it",
            )
        for array in (*known, *([own] if known else [])):
            self.builder.moved[array] = reason

    def leave(self, *thunks: Thunk) -> tuple[Any, ...]:
        values = [value_of(t, n) for t, n in zip(thunks, self.names, strict=True)]
        if self.items is None:
            return tuple(values)
        found: list[Any] = []
        for name in self.names:
            each = self.carried.get(name)
            if each is None:
                found.append(Undefined(name))
            elif each.kind == "same":
                found.append(each.first)
            elif each.kind == "step":
                total = as_place(self.builder, each.first)
                assert total is not None
                found.append(simplified(self.builder, total + self._rounds().scaled(each.step)))
            else:
                assert each.data is not None
                found.append(self._left(each))
        return tuple(found)

    def _left(self, each: Carried) -> Data:
        """A variable in storage, after the loop. After no round at all it is what it was."""
        assert self.items is not None
        assert each.data is not None
        found = each.data.seen_again()
        if found.may and self.builder.sizes.never_negative(self.items.range.trip - 1):
            found.may = python_kinds([each.last]) - {found.weak}
        return found

    def _rounds(self) -> q.Affine:
        assert self.items is not None
        trip = self.items.range.trip
        refusal = Refusal("a loop", "its bounds may be the wrong way round", "order them")
        self.builder.sizes.need(trip, refusal)
        return trip

    def target(self, thunk: Thunk, name: str, counts: bool = False) -> Any:
        """The variable of the loop, after it. `counts`: that of `while`."""
        if self.items is None:
            return value_of(thunk, name)
        if counts:
            span = self.items.range
            return simplified(self.builder, span.lo + self._rounds().scaled(span.step))
        return Undefined(name)
