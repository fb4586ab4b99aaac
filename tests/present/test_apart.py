"""What was timed in different sessions has no interval, and it is said what to run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from store.store_data import ROOT, children, start

from schedsearch.core.decision import Decision
from schedsearch.core.records import Keys, Measurement, Outcome, Round, TuningRecord
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.present import compared, explained
from schedsearch.present.explained import Explained
from schedsearch.store import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.study.compare import How, Ratio, ratio
from schedsearch.study.explain import Effect, Explanation, Step

ONE, OTHER = (child.trace for child in children(ROOT)[:2])


def timed(times: float, reference: str = "c-root", own: float = 1.0) -> Measurement:
    rounds = tuple(Round((100.0,), (100.0 * times + n % 2,)) for n in range(12))
    return Measurement("confirm" if own == 1.0 else "pair", rounds, 1, (), reference, own)


def stored(path: Path, *timings: tuple[Trace, Measurement]) -> tuple[StoredCandidate, ...]:
    """Two schedules, each timing in a run of its own."""
    with Store.open(path) as store:
        scope, run = start(store)
        store.add_root(scope, run, TuningRecord(ROOT, Outcome.CORRECT, Keys("a", "c-root", "b")))
        store.add_expansion(scope, run, ROOT.key, children(ROOT), {})
        for trace, measurement in timings:
            run = store.start_run(scope, seed=0, strategy="s", settings={}, environment={})
            keys = Keys(f"a-{trace.key}", f"c-{trace.key}", f"b-{trace.key}")
            store.record(
                scope, run, TuningRecord(trace, Outcome.CORRECT, keys, measurement=measurement)
            )
        return tuple(store.find(scope, [trace.key])[0] for trace in (ONE, OTHER))


@pytest.mark.normal
def test_sessions_apart_have_no_interval(tmp_path: Path) -> None:
    pair = stored(tmp_path / "s.sqlite", (ONE, timed(10.4)), (OTHER, timed(12.1)))
    found = ratio(*pair)
    assert found is not None
    assert (found.how, found.decision) == (How.APART, None)
    assert not found.over.bounded
    assert not found.inverse.over.bounded
    said = compared.verdict(pair, found)
    assert f"`schedsearch compare {pair[0].id} {pair[1].id} --measure`" in said
    assert "[" not in said
    assert json.loads(json.dumps(explained.ratio_json(found)))["low"] is None


@pytest.mark.normal
def test_what_was_interleaved_has_one(tmp_path: Path) -> None:
    against = timed(1.02, f"c-{ONE.key}", 10.4)
    pair = stored(tmp_path / "s.sqlite", (ONE, timed(10.4)), (OTHER, against))
    found = ratio(*pair)
    assert found is not None
    assert (found.how, found.decision) == (How.INTERLEAVED, Decision.FASTER)
    assert found.over.bounded
    assert found.inverse.over.low == 1.0 / found.over.high
    assert "--measure" not in compared.verdict(pair, found)


def test_explain_says_what_to_run() -> None:
    rewrite = Rewrite("split", 1, (0,), "for i in seq(0, 8)", (("factor", 2),))
    effect = Effect(Estimate(12.1, 11.0, 13.3), 100.0, "confirm")
    for how, asked in ((How.APART, True), (How.INTERLEAVED, False)):
        over = Estimate(1.29) if asked else Estimate(1.29, 1.24, 1.36)
        gain = Ratio(over, how, None if asked else Decision.FASTER, 12)
        step = Step(rewrite, (), 6.9, effect, gain)
        told = Explanation(Trace((rewrite,)), (), (), None, (step,))
        shown = Explained("title", told, None, "schedsearch explain 7 --measure")
        for text in (repr(shown), shown.markdown):
            assert ("explain 7 --measure" in text) == asked
            assert ("about 1.29x" in text) == asked
            assert ("1.24" in text) == (not asked)
