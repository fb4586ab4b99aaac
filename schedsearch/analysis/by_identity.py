"""Caches by the identity of a node: nodes of trees never change."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Same:
    """A LoopIR node, compared by identity; nodes never change."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.node is other.node


class ByIdentity(Generic[Value]):
    """Values of nodes. When there are `limit`, the oldest quarter is given up."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Holding the node keeps its id from being used again.
        self._held: dict[int, tuple[object, Value]] = {}

    def get(self, node: object) -> Value | None:
        held = self._held.get(id(node))
        return held[1] if held else None

    def put(self, node: object, value: Value) -> Value:
        if len(self._held) >= self._limit:
            for old in list(self._held)[: self._limit // 4]:
                del self._held[old]
        self._held[id(node)] = (node, value)
        return value
