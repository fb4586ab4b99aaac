"""Speed-ups from all sessions together: synthetic sessions whose truth is known."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.decision import Decision
from schedsearch.core.records import Measurement, Round
from schedsearch.core.standings import (
    SESSION,
    SESSION_FREEDOM,
    Comparison,
    alone,
    linked,
    quantile_of_t,
    session_variance,
    standings,
    variance_of_median,
)
from schedsearch.core.stats import Estimate

TRIALS = 400
TRUTH = 10.0


def ratios(rng: random.Random, truth: float, rounds: int, disturbed: float = 0.0) -> list[float]:
    """Of rounds in new processes, some of them disturbed."""
    return [
        truth * math.exp(rng.gauss(0.0, 0.04) + (rng.random() < disturbed) * rng.random() * 0.3)
        for _ in range(rounds)
    ]


def session(
    rng: random.Random, number: int, spread: float, truth: float = TRUTH, disturbed: float = 0.0
) -> Comparison:
    """One confirmation of a kernel; the procedure as written has its value of this session."""
    own = truth * math.exp(rng.gauss(0.0, spread))
    rounds = ratios(rng, own, rng.randint(5, 14), disturbed)
    return Comparison.of(number, "kernel", "written", rounds, fresh=True)


def holds(found: Estimate, truth: float = TRUTH) -> bool:
    return found.low <= truth <= found.high


@pytest.mark.normal
@pytest.mark.parametrize("sessions", [1, 2, 5, 20])
@pytest.mark.parametrize("spread", [0.0, 0.02, 0.04])
@pytest.mark.parametrize("disturbed", [0.0, 0.1])
def test_the_interval_holds_the_mean_of_all_sessions(
    sessions: int, spread: float, disturbed: float
) -> None:
    rng = random.Random(f"{sessions} {spread} {disturbed}")
    held = 0
    for _ in range(TRIALS):
        seen = [session(rng, n, spread, disturbed=disturbed) for n in range(sessions)]
        held += holds(standings(seen, "written")["kernel"])
    assert held >= 0.9 * TRIALS


def test_sessions_that_differ_a_lot_widen_the_interval() -> None:
    """The variance between them is learned: that of the first alone is not believed."""
    rng = random.Random(5)
    held = 0
    for _ in range(TRIALS):
        seen = [session(rng, n, 0.12) for n in range(12)]
        held += holds(standings(seen, "written")["kernel"])
    assert held >= 0.88 * TRIALS


@pytest.mark.normal
def test_the_rounds_of_one_session_do_not_show_what_others_say() -> None:
    """Why rounds alone are no interval of a speed-up."""
    rng = random.Random(7)
    held = 0
    for _ in range(TRIALS):
        own = TRUTH * math.exp(rng.gauss(0.0, 0.04))
        rounds = tuple(Round((1.0,), (each,)) for each in ratios(rng, own, 14))
        held += holds(Measurement("confirm", rounds, 1).ratio)
    assert held < 0.6 * TRIALS


def test_more_sessions_narrow_it() -> None:
    rng = random.Random(1)
    seen = [session(rng, number, 0.02) for number in range(40)]
    found = [standings(seen[:count], "written")["kernel"] for count in (1, 5, 40)]
    widths = [math.log(each.high / each.low) for each in found]
    assert widths[0] > widths[1] > widths[2] > 0.005


def test_variance_between_sessions_is_estimated_from_all_kernels() -> None:
    rng = random.Random(2)
    seen = []
    for kernel in "abcd":
        for number in range(30):
            own = TRUTH * math.exp(rng.gauss(0.0, 0.1))
            rounds = ratios(rng, own, 10)
            seen.append(Comparison.of(number, kernel, "written", rounds, fresh=True))
    found, freedom = session_variance(seen, "written")
    assert freedom == SESSION_FREEDOM + 29
    assert math.sqrt(found) == pytest.approx(0.1, rel=0.25)
    assert session_variance(seen[:1], "written") == (SESSION**2, SESSION_FREEDOM)
    same = [session(rng, 1, 0.0) for _ in range(3)]
    assert session_variance(same, "written") == (SESSION**2, SESSION_FREEDOM)


# -- chains ----------------------------------------------------------------------------------


def test_a_chain_has_the_uncertainty_of_all_its_links() -> None:
    rng = random.Random(3)
    held, wider = 0, 0
    for _ in range(TRIALS):
        anchor = session(rng, 1, 0.03)
        near = Comparison.of(2, "copy", "kernel", ratios(rng, 1.0, 14), fresh=True)
        found = standings([anchor, near], "written")
        held += holds(found["copy"])
        wider += math.log(found["copy"].high / found["copy"].low) > math.log(
            found["kernel"].high / found["kernel"].low
        )
    assert held >= 0.9 * TRIALS
    assert wider == TRIALS


@pytest.mark.normal
@given(st.lists(st.floats(0.8, 1.25), min_size=1, max_size=12), st.floats(0.01, 100.0))
def test_what_is_known_through_a_reference_is_never_known_better(
    rounds: list[float], truth: float
) -> None:
    first = Comparison.of(1, "reference", "written", [truth, truth * 1.01] * 5, fresh=True)
    second = Comparison.of(2, "kernel", "reference", rounds, fresh=True)
    found = standings([first, second], "written")
    widths = {name: each.high / each.low for name, each in found.items()}
    assert widths["kernel"] > widths["reference"] > 1.0


@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=20))
def test_an_interval_holds_its_value(rounds: list[float]) -> None:
    found = alone(rounds, fresh=True)
    assert 0.0 < found.low < found.value < found.high < math.inf
    of_one_process = alone(rounds, fresh=False)
    assert of_one_process.low < found.low
    assert variance_of_median(rounds) > 0.0


def test_what_nothing_links_to_the_procedure_as_written_is_not_estimated() -> None:
    lost = Comparison(1, "b", "a", 0.1, 1e-4)
    itself = Comparison(1, "c", "c", 0.0, 1e-4)
    known = Comparison(1, "d", "written", 1.0, 1e-4)
    assert linked([lost, itself, known], "written") == {"written", "d"}
    assert standings([lost, itself, known], "written").keys() == {"d"}
    assert standings([], "written") == {}


def test_turned_around_a_timing_says_the_same() -> None:
    one = standings([Comparison(1, "a", "written", 0.5, 1e-4)], "written")["a"]
    other = standings([Comparison(1, "written", "a", -0.5, 1e-4)], "written")["a"]
    assert one.value == pytest.approx(other.value)
    assert one.low == pytest.approx(other.low)


# -- order -----------------------------------------------------------------------------------


def test_order_is_what_was_seen_together_not_the_sessions_values() -> None:
    """Two sessions, in which the procedure as written is 20 % apart: the second finds nothing
    faster, though all its speed-ups are higher. One pair says so."""
    seen = [
        Comparison(1, "a", "written", math.log(10.0), 1e-5),
        Comparison(1, "b", "a", math.log(0.97), 1e-5),
        Comparison(2, "c", "written", math.log(12.0), 1e-5),
        Comparison(2, "d", "c", math.log(0.99), 1e-5),
        Comparison(2, "a", "c", math.log(1.02), 1e-5),
    ]
    found = standings(seen, "written")
    values = {name: each.value for name, each in found.items()}
    assert sorted(values, key=lambda name: -values[name]) == ["a", "c", "d", "b"]
    assert values["a"] / values["c"] == pytest.approx(1.02, abs=0.005)


def test_the_order_of_a_race_is_that_of_its_common_anchor() -> None:
    """Kendall's tau of the five at the top against the truth, whatever sessions say."""
    rng = random.Random(11)
    truth = {f"k{number}": 10.0 * 0.97**number for number in range(5)}
    wrong = pairs = 0
    for _ in range(100):
        seen = []
        for number in range(3):
            mood = math.exp(rng.gauss(0.0, 0.1))
            for name, value in truth.items():
                against = ratios(rng, value / truth["k0"], 14)
                if name != "k0":
                    seen.append(Comparison.of(number, name, "k0", against, fresh=True))
            confirmed = ratios(rng, truth["k0"] * mood, 14)
            seen.append(Comparison.of(number, "k0", "written", confirmed, fresh=True))
        found = standings(seen, "written")
        for one, other in pairwise(truth):
            pairs += 1
            wrong += found[one].value < found[other].value
    assert wrong <= 0.05 * pairs


# -- what is printed of one timing ---------------------------------------------------------------


def copy_of_itself(reference_speedup: float) -> Measurement:
    rounds = tuple(Round((100.0,), (100.0 + n % 2,)) for n in range(14))
    return Measurement("confirm", rounds, 1, (), "c-copy", reference_speedup)


def test_a_copy_of_itself_is_not_clearly_faster_than_as_written() -> None:
    """14 rounds against a near-copy of 12.1x: they say nothing of the procedure as written."""
    scaled = copy_of_itself(12.1)
    assert scaled.verdict() is Decision.INCONCLUSIVE
    assert scaled.decision() is Decision.SAME
    assert not scaled.confirmed
    assert scaled.speedup == Estimate(scaled.middle)
    assert not scaled.speedup.bounded
    direct = copy_of_itself(1.0)
    assert direct.verdict() is Decision.SAME
    assert direct.confirmed


def test_one_timing_against_the_procedure_as_written_knows_that_sessions_differ() -> None:
    rounds = tuple(Round((100.0,), (1000.0 + n % 2,)) for n in range(14))
    found = Measurement("confirm", rounds, 1).speedup
    assert found.low < 10.0 * (1 - SESSION)
    assert found.high > 10.0 * (1 + SESSION)
    assert found.value == Measurement("confirm", rounds, 1).middle


def test_what_all_timings_say_goes_before_what_one_says() -> None:
    joint = Estimate(9.0, 8.5, 9.5)
    known = Measurement("confirm", (Round((1.0,), (2.0,)),), 1, joint=joint)
    assert (known.speedup, known.middle) == (joint, 9.0)
    assert "joint" not in known.to_json()
    assert known == Measurement("confirm", (Round((1.0,), (2.0,)),), 1)


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(3, 3.1824), (4, 2.7764), (5, 2.5706), (7.5, 2.333), (10, 2.2281), (100, 1.984)],
)
def test_quantiles_of_t(freedom: float, quantile: float) -> None:
    assert quantile_of_t(freedom) == pytest.approx(quantile, rel=2e-3)  # scipy.stats.t.ppf(0.975)


def test_variance_of_a_median() -> None:
    """Of 15 normal values: as simulated medians have it."""
    rng = random.Random(0)
    samples = [[rng.gauss(0.0, 1.0) for _ in range(15)] for _ in range(2000)]
    medians = [sorted(each)[7] for each in samples]
    truth = sum(each * each for each in medians) / len(medians)
    found = sum(map(variance_of_median, samples)) / len(samples)
    assert found == pytest.approx(truth, rel=0.25)
    assert variance_of_median([1.0] * 5) > 0.0
    assert variance_of_median([1.0, 1.0]) > variance_of_median([1.0, 1.01, 1.02, 1.03, 1.04])
