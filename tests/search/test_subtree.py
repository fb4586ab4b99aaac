"""Searching one part of a tree: the strategy inside sees that part as a whole tree."""

from __future__ import annotations

from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.strategies.protocol import ChildInfo, Event, Expanded, Measured, Replayed
from schedsearch.search.strategies.subtree import Subtree


def step(name: str) -> Rewrite:
    return Rewrite(name, 1, (0,), "for i in seq(0, 8)")


def info(trace: Trace) -> ChildInfo:
    return ChildInfo(trace.key, trace.steps[-1])


ROOT = Trace()
START, OTHER = ROOT.then(step("a")), ROOT.then(step("b"))
BELOW, ELSEWHERE = START.then(step("c")), OTHER.then(step("c"))
DEEP = BELOW.then(step("d"))


class Heard:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def ask_measure(self, n: int) -> list[str]:
        return [BELOW.key][:n]

    def ask_expand(self, n: int) -> list[str]:
        return [START.key][:n]

    def tell(self, event: Event) -> None:
        self.events.append(event)


def test_only_what_follows_is_told_relative_to_the_start() -> None:
    heard = Heard()
    subtree = Subtree(heard, START)
    inside = [
        Expanded(START.key, (info(BELOW),)),
        Expanded(BELOW.key, ()),
    ]
    for event in (
        Expanded(ROOT.key, (info(START), info(OTHER))),
        *inside,
        Expanded(OTHER.key, (info(ELSEWHERE),)),
        Measured(ROOT.key, 1.0),
        Measured(START.key, 4.0),
        Measured(BELOW.key, 6.0),
        Measured(ELSEWHERE.key, 9.0),
    ):
        subtree.tell(event)
    assert heard.events == [*inside, Measured(BELOW.key, 1.5)]


def test_what_failed_has_no_speed_up() -> None:
    heard = Heard()
    subtree = Subtree(heard, START)
    subtree.tell(Measured(START.key, 4.0))
    subtree.tell(Expanded(START.key, (info(BELOW),)))
    subtree.tell(Measured(BELOW.key, None))
    assert heard.events[-1] == Measured(BELOW.key, None)


def test_replays_of_others_are_told_as_far_as_they_are_inside() -> None:
    heard = Heard()
    subtree = Subtree(heard, START)
    subtree.tell(Expanded(START.key, (info(BELOW),)))
    chain = ((OTHER.key, info(ELSEWHERE)), (BELOW.key, info(DEEP)))
    subtree.tell(Replayed(chain, DEEP.key))
    assert heard.events[-1] == Replayed(chain[1:], DEEP.key)
    subtree.tell(Replayed(chain[:1], ELSEWHERE.key))
    assert len(heard.events) == 2
