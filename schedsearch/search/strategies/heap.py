"""Collections from which the best or a random item is taken in O(log n)."""

from __future__ import annotations

import heapq
import random
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Bag(Generic[Item]):
    """Items of which any is taken at random."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._slots: dict[Item, int] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._slots

    def add(self, item: Item) -> None:
        if item not in self._slots:
            self._slots[item] = len(self._items)
            self._items.append(item)

    def discard(self, item: Item) -> None:
        slot = self._slots.pop(item, None)
        if slot is None:
            return
        last = self._items.pop()
        if slot < len(self._items):
            self._items[slot] = last
            self._slots[last] = slot

    def pick(self, rng: random.Random) -> Item:
        """Any item, all equally likely; it stays. Raises IndexError if there is none."""
        return rng.choice(self._items)

    def pop_random(self, rng: random.Random) -> Item:
        """As `pick`, and take it out."""
        item = self.pick(rng)
        self.discard(item)
        return item


class Heap(Bag[Item]):
    """Items with priorities; among equal ones the first that came leads.

    A binary heap whose outdated entries are dropped when they come to the top.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[float, int, Item]] = []
        self._entries: dict[Item, int] = {}
        self._pushed = 0

    def put(self, item: Item, priority: float) -> None:
        """Add `item`, or change its priority."""
        self.add(item)
        self._pushed += 1
        self._entries[item] = self._pushed
        if len(self._heap) > 2 * len(self) + 8:
            self._heap = [entry for entry in self._heap if self._current(entry)]
            heapq.heapify(self._heap)
        heapq.heappush(self._heap, (-priority, self._pushed, item))

    def discard(self, item: Item) -> None:
        super().discard(item)
        self._entries.pop(item, None)

    def best(self) -> float:
        """The highest priority. Raises IndexError if the heap is empty."""
        while not self._current(self._heap[0]):
            heapq.heappop(self._heap)
        return -self._heap[0][0]

    def pop(self) -> Item:
        """Take the item of the highest priority. Raises IndexError if the heap is empty."""
        self.best()
        item = heapq.heappop(self._heap)[2]
        self.discard(item)
        return item

    def _current(self, entry: tuple[float, int, Item]) -> bool:
        return self._entries.get(entry[2]) == entry[1]
