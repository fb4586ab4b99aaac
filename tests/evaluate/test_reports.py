"""What is said in another order than the harness says it is no measurement."""

from __future__ import annotations

import pytest

from schedsearch.core.records import Measurement
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.reports import Verdict
from schedsearch.evaluate.run.timing import TimingPlan

CALLS = ["calls", "100", "100", "3", "cpu"]
ROUND = ["round", "1.5", "3.0"]


@pytest.fixture
def verdict(bench: Bench) -> Verdict:
    return Verdict(bench.cases, (), TimingPlan("screen", 1, 1), "key", 1.0, bench.cache)


def verify(verdict: Verdict) -> None:
    for number in range(len(verdict.cases)):
        verdict.handle(["verifying", str(number)])
    verdict.handle(["verified"])


@pytest.mark.normal
def test_in_order(verdict: Verdict) -> None:
    verify(verdict)
    assert verdict.handle(CALLS) is None
    assert verdict.handle(ROUND) == "s"
    result = verdict.result(None)
    assert isinstance(result, Measurement)
    assert result.speedup.value == 2.0


@pytest.mark.parametrize("words", [["verifying", "1"], ["verifying", "-1"], ["verified"], CALLS])
def test_at_first(verdict: Verdict, words: list[str]) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        verdict.handle(words)


def test_not_every_case(verdict: Verdict) -> None:
    verdict.handle(["verifying", "0"])
    with pytest.raises(ValueError, match="does not follow"):
        verdict.handle(["verified"])


@pytest.mark.parametrize(
    "words",
    [["verifying", "0"], ["verified"], ROUND, ["calls", "0", "1", "3", "cpu"]],
)
def test_once_verified(verdict: Verdict, words: list[str]) -> None:
    verify(verdict)
    with pytest.raises(ValueError, match="does not follow"):
        verdict.handle(words)


@pytest.mark.parametrize("sample", ["0.0", "-1.0", "nan", "inf"])
def test_impossible_times(verdict: Verdict, sample: str) -> None:
    verify(verdict)
    verdict.handle(CALLS)
    with pytest.raises(ValueError, match="does not follow"):
        verdict.handle(["round", sample, "3.0"])
