"""Batches of work, one after the other at each of several places at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Thread
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
    """Results of the work on all `items`, in their order: this thread and others take the next one
    for their place. Raises what the first item raises of those that fail; those after it may be
    left out. `work` has to end soon after its event is set, which is when this thread is
    interrupted.
    """
    waiting, given_up = deque(enumerate(items)), Event()
    results: dict[int, R] = {}
    errors: dict[int, BaseException] = {}

    def go_on(place: P) -> None:
        while waiting and not errors and not given_up.is_set():
            try:
                number, item = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                results[number] = work(item, place, given_up)
            except Exception as error:
                errors[number] = error

    threads = [Thread(target=go_on, args=(place,), daemon=True) for place in places[1:]]
    try:
        for thread in threads[: len(items) - 1]:
            thread.start()
        go_on(places[0])
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except BaseException:  # Ctrl-C
        given_up.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        raise
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(items))]
