"""Searching one part of a tree: the strategy inside sees that part as a whole tree."""

from __future__ import annotations

from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.below import Below
from schedsearch.search.strategy import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Predicted,
    Replayed,
)


def step(name: str) -> Rewrite:
    return Rewrite(name, 1, (0,), "for i in seq(0, 8)")


def info(trace: Trace) -> ChildInfo:
    return ChildInfo(trace.key, trace.steps[-1])


ROOT = Trace()
START, OTHER = ROOT.then(step("a")), ROOT.then(step("b"))
BELOW, ELSEWHERE = START.then(step("c")), OTHER.then(step("c"))
DEEP = BELOW.then(step("d"))


class Heard:
    """Asks for one replay of its own, and notes what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def ask_measure(self, n: int) -> list[str]:
        return [BELOW.key][:n]

    def ask_expand(self, n: int) -> list[str]:
        return [START.key][:n]

    def ask_replay(self, n: int) -> list[Trace]:
        return [Trace((step("x"), step("y")))][:n]

    def tell(self, event: Event) -> None:
        self.events.append(event)


def test_only_what_follows_is_told_relative_to_the_start() -> None:
    heard = Heard()
    below = Below(heard, START)
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
        Predicted({BELOW.key: 0.5, ELSEWHERE.key: 0.7}),
        Predicted({ELSEWHERE.key: 0.7}),
    ):
        below.tell(event)
    assert heard.events == [*inside, Measured(BELOW.key, 1.5), Predicted({BELOW.key: 0.5})]


def test_what_failed_has_no_speed_up() -> None:
    heard = Heard()
    below = Below(heard, START)
    below.tell(Measured(START.key, 4.0))
    below.tell(Expanded(START.key, (info(BELOW),)))
    below.tell(Measured(BELOW.key, None))
    assert heard.events[-1] == Measured(BELOW.key, None)


def test_replays_begin_with_the_start_and_come_back_without_it() -> None:
    heard = Heard()
    below = Below(heard, START)
    [whole] = below.ask_replay(1)
    assert whole.steps == (*START.steps, step("x"), step("y"))
    first = START.then(step("x"))
    below.tell(Replayed(whole.key, ((START.key, info(first)), (first.key, info(whole))), whole.key))
    own = Trace((step("x"), step("y"))).key
    assert [e.trace_key for e in heard.events if isinstance(e, Replayed)] == [own]
    below.tell(Measured(whole.key, 2.0))
    assert heard.events[-1] == Measured(whole.key, 2.0)


def test_a_replay_that_ends_elsewhere_leads_nowhere() -> None:
    heard = Heard()
    below = Below(heard, START)
    [whole] = below.ask_replay(1)
    below.tell(Replayed(whole.key, (), ELSEWHERE.key))
    assert heard.events == [Replayed(Trace((step("x"), step("y"))).key, (), None)]


def test_replays_of_others_are_told_as_far_as_they_are_below() -> None:
    heard = Heard()
    below = Below(heard, START)
    below.tell(Expanded(START.key, (info(BELOW),)))
    chain = ((OTHER.key, info(ELSEWHERE)), (BELOW.key, info(DEEP)))
    below.tell(Replayed(DEEP.key, chain, DEEP.key))
    assert heard.events[-1] == Replayed(DEEP.key, chain[1:], DEEP.key)
    below.tell(Replayed(ELSEWHERE.key, chain[:1], ELSEWHERE.key))
    assert len(heard.events) == 2
