"""The learned ranker: used only where it has proved better, and deterministic."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from schedsearch.core.trace import Trace
from schedsearch.search import ranker as module
from schedsearch.search.cost_model import Samples, relative, train
from schedsearch.search.ranker import FIRST, FIRST_WITH_OTHERS, MIN_JUDGED, Ranker
from schedsearch.store.views import Sample
from schedsearch.transforms.features import COLUMNS, TOTALS

ROOT = Trace().key
COST = COLUMNS.index("log_cost")
TRUTH = COLUMNS.index("busiest_body")
"""The feature that decides the speed in these tests."""


def vector(estimate: float, truth: float) -> bytes:
    row = np.zeros(len(COLUMNS), dtype="<f4")
    row[COST], row[TRUTH] = estimate, truth
    return row.tobytes()


def search(blind: bool, count: int = 120, others: tuple[Sample, ...] = ()) -> Ranker:
    """A run over children of the root. The analytic estimate is right, or `blind`: noise."""
    rng = np.random.default_rng(7)
    ranker = Ranker(3, vector(0.0, 0.0), others)
    for number in range(count):
        truth = float(rng.uniform(0.0, 3.0))
        estimate = float(rng.normal()) if blind else -truth
        ranker.add(ROOT, f"k{number}", vector(estimate, truth))
    for number in range(count // 2):
        key = f"k{number}"
        packed = ranker.vector(key)
        assert packed is not None
        ranker.measured(key, exp(float(np.frombuffer(packed, "<f4")[TRUTH])))
        ranker.refresh()
    return ranker


@pytest.mark.normal
def test_a_blind_estimate_is_replaced_by_what_was_learned() -> None:
    ranker = search(blind=True, count=160)
    standing = ranker.standing()
    assert standing is not None
    assert standing.used
    assert standing.learned is not None
    assert standing.learned > 0.8
    assert standing.analytic is not None
    assert standing.analytic < 0.3
    promises = ranker.promises(["k120", "k121"])
    truths = {
        key: float(np.frombuffer(ranker.vector(key) or b"", "<f4")[TRUTH]) for key in promises
    }
    assert promises.keys() == {"k120", "k121"}
    assert all(abs(promises[key] - truths[key]) < 0.5 for key in promises)


def test_a_perfect_estimate_stays() -> None:
    ranker = search(blind=False)
    standing = ranker.standing()
    assert standing is not None
    assert not standing.used
    assert standing.analytic == pytest.approx(1.0)
    assert ranker.promises(["k100"]) == {}


def test_nothing_is_promised_before_it_is_judged() -> None:
    ranker = search(blind=True, count=2 * (FIRST + MIN_JUDGED - 1))
    standing = ranker.standing()
    assert standing is not None
    assert standing.learned is None
    assert not standing.used


def test_what_it_is_judged_on_it_was_not_trained_on() -> None:
    """Speeds without any pattern cannot be predicted: a judge that had seen them would not know."""
    rng = np.random.default_rng(0)
    ranker = Ranker(0, vector(0.0, 0.0))
    for number in range(200):
        ranker.add(ROOT, f"k{number}", vector(float(rng.normal()), float(rng.normal())))
        ranker.measured(f"k{number}", exp(float(rng.normal())))
        ranker.refresh()
    standing = ranker.standing()
    assert standing is not None
    assert standing.learned is not None
    assert abs(standing.learned) < 0.35


def test_falling_behind_gives_the_estimates_back() -> None:
    ranker = search(blind=True, count=160)
    for number in range(200):  # from now on the estimate is right, and what was learned wrong
        ranker.add(ROOT, f"late{number}", vector(number / 50.0, number / 50.0))
    told: dict[str, float] = {}
    for number in range(150):
        ranker.measured(f"late{number}", exp(-number / 50.0))
        told |= ranker.refresh()
        if (standing := ranker.standing()) and not standing.used:
            break
    assert standing is not None
    assert not standing.used
    assert told["late199"] == pytest.approx(-199 / 50.0)


def test_gains_are_over_the_parent() -> None:
    ranker = search(blind=True, count=160)
    ranker.add("k0", "measured's child", vector(0.0, 1.0))
    ranker.add("k120", "unmeasured's child", vector(0.0, 1.0))
    ranker.add("nobody", "orphan", vector(0.0, 1.0))
    keys = ("measured's child", "unmeasured's child", "orphan")
    ranker.add(ROOT, "twin", vector(0.0, 1.0))
    whole = ranker.promises(["twin"])["twin"]
    promises = ranker.promises(keys)
    assert promises.keys() == set(keys[:2])
    above = ranker.promises(["k120"])["k120"]
    assert promises["unmeasured's child"] == pytest.approx(whole - above)


def test_other_workloads_help_earlier() -> None:
    rng = np.random.default_rng(1)
    others = [Sample(9, ROOT, vector(5.0, 0.0), 1.0, None)]
    for number in range(100):
        truth = float(rng.uniform(0.0, 3.0))
        others.append(Sample(9, f"o{number}", vector(5.0, truth), exp(truth), ROOT))
    alone = search(blind=True, count=2 * FIRST_WITH_OTHERS)
    helped = search(blind=True, count=2 * FIRST_WITH_OTHERS, others=tuple(others))
    assert alone.standing() is None
    standing = helped.standing()
    assert standing is not None
    assert (standing.own, standing.other) == (FIRST_WITH_OTHERS, 100)


def test_waiting_features_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 10)
    ranker = Ranker(0, vector(0.0, 0.0))
    for number in range(30):
        ranker.add(ROOT, str(number), vector(0.0, 0.0))
    assert [ranker.vector(str(n)) is not None for n in (0, 19, 20, 29)] == [
        False,
        False,
        True,
        True,
    ]


def test_training_is_deterministic_and_totals_are_relative() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(200, len(COLUMNS))).astype("<f4")
    packed = [row.tobytes() for row in rows]
    own = Samples(relative(packed, packed[0]), rows[:, TRUTH].astype(float))
    assert (own.rows[:, :TOTALS] == rows[:, :TOTALS] - rows[0, :TOTALS]).all()
    assert (own.rows[:, TOTALS:] == rows[:, TOTALS:]).all()
    first, again = train(own, [], 1), train(own, [], 1)
    assert (first.log_speedups(own.rows) == again.log_speedups(own.rows)).all()
    assert (train(own, [], 2).log_speedups(own.rows) != first.log_speedups(own.rows)).any()
