"""Work that is shared out gives what it gives one by one, errors too, and ends when told to."""

from __future__ import annotations

import math
import threading
import time
from threading import Event

import pytest

from schedsearch.evaluate.run.side_by_side import batches, side_by_side


@pytest.mark.parametrize(
    ("costs", "least", "expected"),
    [
        ([], 1.0, []),
        ([1, 1, 1, 1], 2.0, [[0, 1], [2, 3]]),
        ([1, 1, 1], 2.0, [[0, 1], [2]]),
        ([5, 1, 1, 5], 2.0, [[0], [1, 2], [3]]),
        ([1, 1, 1], math.inf, [[0, 1, 2]]),
    ],
)
def test_batches_keep_the_order(
    costs: list[float], least: float, expected: list[list[int]]
) -> None:
    assert batches(range(len(costs)), costs, least) == expected


@pytest.mark.parametrize("places", ["a", "ab", "abc"])
def test_results_are_in_order_and_every_place_works(places: str) -> None:
    seen = set[str]()

    def work(item: int, place: str, given_up: Event) -> int:
        seen.add(place)
        time.sleep(0.01 * (item % 3))
        return 2 * item

    assert side_by_side(work, range(12), places) == [2 * item for item in range(12)]
    assert seen == set(places)
    assert side_by_side(work, [], places) == []


def test_the_first_error_is_raised_whichever_came_first() -> None:
    begun: list[int] = []

    def work(item: int, place: str, given_up: Event) -> int:
        begun.append(item)
        if item == 0:
            time.sleep(0.2)
        if item < 2:
            raise ValueError(item)
        return item

    with pytest.raises(ValueError, match="0"):
        side_by_side(work, range(9), "ab")
    assert sorted(begun) == [0, 1]


def test_an_interrupt_ends_the_others() -> None:
    here, told = threading.current_thread(), Event()

    def work(item: int, place: str, given_up: Event) -> int:
        if threading.current_thread() is here:
            time.sleep(0.05)
            raise KeyboardInterrupt
        assert given_up.wait(30)
        told.set()
        return item

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(9), "ab")
    assert told.is_set()
