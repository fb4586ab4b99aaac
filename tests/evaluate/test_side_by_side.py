"""Work that is shared out gives what it gives one by one, errors too, and ends when told to."""

from __future__ import annotations

import math
import signal
import threading
import time
from threading import Event

import pytest

from schedsearch.core.interrupts import noticed_interrupts
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
    seen, all_begun = set[str](), threading.Barrier(len(places))

    def work(item: int, place: str, given_up: Event) -> int:
        if place not in seen:  # a thread may start late
            seen.add(place)
            all_begun.wait(60)
        time.sleep(0.01 * (item % 3))
        return 2 * item

    assert side_by_side(work, range(12), places) == [2 * item for item in range(12)]
    assert seen == set(places)
    assert side_by_side(work, [], places) == []


def test_the_first_error_is_raised_whichever_came_first() -> None:
    """The others end soon, and what has not begun does not begin."""
    begun: list[int] = []

    def work(item: int, place: str, given_up: Event) -> int:
        begun.append(item)
        if item == 0:
            time.sleep(0.2)
        elif item > 1:
            assert given_up.wait(30)
        if item < 2:
            raise ValueError(item)
        return item

    with pytest.raises(ValueError, match="0"):
        side_by_side(work, range(9), "ab")
    assert set(begun) <= {0, 1, 2, 3}


@pytest.mark.parametrize("places", ["a", "ab"])
def test_an_interrupt_ends_all_of_them(places: str) -> None:
    here, told = threading.get_ident(), list[int]()
    assert here == threading.main_thread().ident

    def work(item: int, place: str, given_up: Event) -> int:
        if item == 0:
            time.sleep(0.1)
            signal.pthread_kill(here, signal.SIGINT)
        assert given_up.wait(30)
        told.append(item)
        return item

    # As in a run: z3, asked before `exo/compat.py` is there, leaves waits that no signal ends.
    with pytest.raises(KeyboardInterrupt), noticed_interrupts():
        side_by_side(work, range(9), places)
    assert set(told) <= {0, 1}
    assert told
