"""What is said in another order than the harness says it is no measurement."""

from __future__ import annotations

import pytest

from schedsearch.core.records import Measurement
from schedsearch.evaluate.bench import Bench, TimingPlan
from schedsearch.evaluate.reports import Verdict

VERIFIED = [["verifying", "0"], ["verifying", "1"], ["verified"]]
CALLS = ["calls", "100", "100", "3", "huge", "cpu"]
ROUND = ["round", "1.5", "3.0"]


@pytest.fixture
def verdict(bench: Bench) -> Verdict:
    return Verdict(bench.cases, (), TimingPlan("screen", 1, 1), "key", 1.0, bench.cache)


def test_in_order(verdict: Verdict) -> None:
    for words in [*VERIFIED, CALLS]:
        assert verdict.handle(words) is None
    assert verdict.handle(ROUND) == "s"
    result = verdict.result(None)
    assert isinstance(result, Measurement)
    assert result.speedup.value == 2.0


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ([], ["verifying", "1"]),
        ([], ["verified"]),
        (VERIFIED[:1], ["verified"]),
        (VERIFIED, ["verifying", "0"]),
        (VERIFIED, ["verified"]),
        ([], CALLS),
        (VERIFIED, ROUND),
        ([*VERIFIED, CALLS], ["round", "0.0", "3.0"]),
        ([*VERIFIED, CALLS], ["round", "nan", "3.0"]),
        ([*VERIFIED, CALLS], ["round", "inf", "inf"]),
        (VERIFIED, ["calls", "0", "1", "3", "huge", "cpu"]),
        ([], ["verifying", "17"]),
    ],
)
def test_out_of_order(verdict: Verdict, before: list[list[str]], words: list[str]) -> None:
    for earlier in before:
        verdict.handle(earlier)
    with pytest.raises(ValueError, match="does not follow"):
        verdict.handle(words)
