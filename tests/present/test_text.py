"""Values as they are typed and as they are shown."""

from __future__ import annotations

import pytest

from schedsearch.cli.parse import parse_names, parse_seconds, parse_sizes
from schedsearch.core.records import Outcome
from schedsearch.core.stats import Estimate
from schedsearch.present import format as fmt


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), (" 2m ", 120), ("2 min", 120), ("1.5h", 5400), ("0.5", 0.5)],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


def test_sizes() -> None:
    assert parse_sizes(["M=512", " N = 64"]) == {"M": 512, "N": 64}
    assert parse_sizes([]) == {}


def test_names() -> None:
    assert parse_names(None) is None
    assert parse_names("reorder, unroll,") == ("reorder", "unroll")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.2e-8, "42 ns"),
        (1.23e-5, "12.3 us"),
        (0.0082, "8.2 ms"),
        (12.0, "12 s"),
        (150.0, "2.5 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert fmt.duration(seconds) == text


def test_durations_round_into_the_next_unit() -> None:
    assert fmt.duration(0.0009999) == "1 ms"
    assert fmt.duration(9.9996e-7) == "1 us"


def test_speedups() -> None:
    assert fmt.speedup(Estimate(24.83, 24.11, 25.58)) == "24.8x [24.1, 25.6]"
    assert fmt.speedup(Estimate(1.037, 0.93, 1.11)) == "1.04x [0.93, 1.11]"


def test_sparklines() -> None:
    assert fmt.sparkline([]) == ""
    assert fmt.sparkline([1.0, 2.0, 8.0]) == "▁▂█"
    assert len(fmt.sparkline([float(n) for n in range(1, 100)])) == 32


def test_outcome_counts() -> None:
    counts = {Outcome.CORRECT: 12, Outcome.COMPILE_ERROR: 3, Outcome.CRASH: 0, None: 40}
    assert fmt.outcomes(counts) == "12 correct · 3 compile error · 40 not measured"
    assert fmt.outcomes({}) == "none yet"
