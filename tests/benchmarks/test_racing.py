"""The racing benchmark: its files, what it draws from a recording, and whom schemes name."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from math import exp
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.racing.__main__ import table
from benchmarks.racing.recording import Recording, load, save
from benchmarks.racing.replay import SCHEMES, Session, chances
from schedsearch.core.errors import UserError
from schedsearch.search.engine.confirmation import CLOSE, HEATS

pytestmark = pytest.mark.normal

PASSES, ROUNDS = 24, 3


def invented(noise: float, gap: float, leaders: int = 12, seed: int = 1) -> Recording:
    """Schedules each slower than the one before by `gap`; a process has a speed of its own,
    and its rounds scatter around that."""
    rng = np.random.default_rng(seed)
    shape = (PASSES, leaders, ROUNDS)
    process = rng.normal(0.0, noise, (PASSES, leaders, 1))
    own = np.exp(gap * np.arange(leaders)[None, :, None] + process + rng.normal(0.0, noise, shape))
    return Recording("made_up", "zen5", 1e5 * own, np.full(shape, 1e5), (100,) * leaders, 0.1, 0.06)


def test_a_recording_reads_back(tmp_path: Path) -> None:
    made, path = invented(0.01, 0.02), tmp_path / "made_up.json.gz"
    save(made, path)
    again = load(path)
    assert (again.kernel, again.calls, again.round_s) == (made.kernel, made.calls, made.round_s)
    assert again.speedups == pytest.approx(made.speedups, rel=1e-4)
    assert (again.passes, again.leaders) == (PASSES, 12)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(UserError, match="no recording"):
        load(path)


def test_screening_timing_and_judging_are_of_different_processes() -> None:
    shape = (PASSES, 2, ROUNDS)
    numbers = np.broadcast_to(np.arange(1.0, PASSES + 1)[:, None, None], shape)
    marked = Recording("made_up", "zen5", numbers, np.ones(shape), (100,) * 2, 0.1, 0.06)
    session = Session(marked, np.random.default_rng(0))
    screened = {m.rounds[0].candidate_ns[0] for _, m in session.screened()}
    heats = [session.time(["0", "1"], "race", 2) for _ in range(len(HEATS))]
    timed = {m.rounds[0].candidate_ns[0] for heat in heats for m in heat.values()}
    judged = exp(-session.log_speedup(0))
    assert len(timed) == len(HEATS)
    assert not screened & timed
    assert judged not in screened | timed
    assert {len(m.rounds) for heat in heats for m in heat.values()} == {2}
    assert (session.processes, session.rounds) == (2 * len(HEATS), 4 * len(HEATS))
    assert session.seconds == pytest.approx(2 * len(HEATS) * (0.1 + 2 * 0.06))


def test_where_differences_are_clear_every_scheme_names_the_fastest() -> None:
    found = chances(invented(0.001, 2 * CLOSE), 20, 0)
    assert [chance.scheme for chance in found] == list(SCHEMES)
    assert {(chance.found.value, chance.lost.value) for chance in found} == {(1.0, 0.0)}
    assert found[0].rounds.value == 0


def test_where_they_are_close_the_more_processes_the_better() -> None:
    found = chances(invented(0.015, 0.004), 200, 0)
    screening, few, within, shared, raced = found
    assert raced.found.value > few.found.value + few.found.within
    assert raced.lost.value < within.lost.value + within.lost.within
    assert max(raced.lost.value, within.lost.value) < screening.lost.value
    assert raced.rounds.value <= 1.15 * shared.rounds.value
    console = Console(width=80, record=True, file=StringIO())
    console.print(table(invented(0.01, 0.01), found))
    text = console.export_text()
    assert all(name in text for name in SCHEMES)


def test_help() -> None:
    command = [sys.executable, "-m", "benchmarks.racing", "replay", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "how often" in text.lower()
