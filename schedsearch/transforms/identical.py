"""Keys for what is remembered about Exo's trees."""

from __future__ import annotations

from typing import Any


class Same:
    """A LoopIR node, compared by identity; nodes never change."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.node is other.node
