"""Delta debugging: the least of a list that still does.

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE
Transactions on Software Engineering 28(2), 2002: complements of ever smaller parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Items = tuple[Item, ...]


def ddmin(
    items: Items[Item], reduced: Callable[[Items[Item]], Items[Item] | None]
) -> Iterator[Items[Item]]:
    """Ever shorter lists, the last of which cannot do without any single item.

    `reduced(rest)` is what is left to go on with if `rest` does (itself, or less), None if it
    does not. At least one item is kept.
    """
    parts = 2
    while len(items) > 1:
        size = -(-len(items) // parts)
        for start in range(0, len(items), size):
            rest = reduced((*items[:start], *items[start + size :]))
            if rest is not None:
                items, parts = rest, max(parts - 1, 2)
                yield items
                break
        else:
            if parts >= len(items):
                return
            parts = min(2 * parts, len(items))
