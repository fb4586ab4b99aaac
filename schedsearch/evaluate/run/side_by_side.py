"""Batches of work, one after the other at each of several places at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")


def batches(items: Sequence[T], costs: Sequence[float], least: float) -> list[list[T]]:
    """The items in their order, in batches that each cost `least`, but for the last."""
    found: list[list[T]] = []
    left = 0.0
    for item, cost in zip(items, costs, strict=True):
        if left <= 0:
            found.append([])
            left = least
        found[-1].append(item)
        left -= cost
    return found


def side_by_side(
    work: Callable[[T, P, Event], R], items: Sequence[T], places: Sequence[P]
) -> list[R]:
    """Results of the work on all `items`, in their order; each is done at the next place that is
    free. Raises what the first item raises of those that fail. `work` has to end soon after its
    event is set, which is then, and when this thread is interrupted.
    """
    given_up, free = Event(), SimpleQueue[P]()
    for place in places:
        free.put(place)

    def at_a_place(item: T) -> R:
        place = free.get()
        try:
            return work(item, place, given_up)
        finally:
            free.put(place)

    with ThreadPoolExecutor(len(places)) as threads:
        try:
            return list(threads.map(at_a_place, items))
        finally:  # after Ctrl-C, too
            given_up.set()
