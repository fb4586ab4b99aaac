"""The suite's machinery: rounds, comparison of results, the whole command on one kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.suite.__main__ import budgets_of, select
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.contenders import ROOT
from benchmarks.suite.folders import folder, read_rows
from benchmarks.suite.measure import compare
from benchmarks.suite.report import geometric_mean
from benchmarks.suite.stores import searched
from benchmarks.suite.tune import tune
from schedsearch.core.errors import UserError
from schedsearch.peers.against import as_experts_compile
from schedsearch.peers.arrays import make_arrays
from schedsearch.peers.rounds import Plan

pytestmark = pytest.mark.slow

(TRSM,) = (case for case in CASES if case.name == "trsm")
INLINE = "--executor inline --transforms reorder,split"
(FOLD,) = (case for case in CASES if case.name == "fold")


def test_arrays_start_as_the_case_says() -> None:
    subject = TRSM.load()
    arrays = make_arrays(TRSM.arguments(subject))
    b, lower = arrays.arrays
    assert (np.triu(lower, 1) == 0).all()
    assert lower.max() < 0.01
    assert [name for name, _ in arrays.outputs] == ["B"]
    before = b.copy()
    b[...] = 0
    arrays.restore()
    assert (b == before).all()
    assert arrays.bytes == b.nbytes + lower.nbytes


def test_restrict_is_on_every_pointer_but_the_context() -> None:
    code = TRSM.load().code
    text = as_experts_compile(code).source
    assert "( void *ctxt, float *__restrict__ B, const float *__restrict__ L ) {" in text
    assert as_experts_compile(code).key != code.key


def test_the_mean_is_over_the_best_peer_of_each_kernel() -> None:
    rows = [
        {"best_peer": "numpy", "ratios": {"numpy": {"value": 2.0}, "numba": {"value": 9.0}}},
        {"best_peer": "numba", "ratios": {"numpy": {"value": 7.0}, "numba": {"value": 0.5}}},
        {"error": "crashed"},
    ]
    assert geometric_mean(rows) == (pytest.approx(1.0), 2)
    assert geometric_mean(rows[2:]) is None


def test_kernels_are_chosen_by_pattern_with_budgets_of_their_own() -> None:
    assert [case.name for case in select("trsm, ge?v*")] == ["gemv_n", "gemv_t", "trsm"]
    assert {case.group for case in select("polybench")} == {"polybench"}
    assert len(select("suite")) == 31
    with pytest.raises(UserError, match="no kernel nothing"):
        select("nothing,trsm")
    budgets = budgets_of("1m", ["gemm*=5m"])
    assert (budgets["trsm"], budgets["gemm_nn"], budgets["gemm_i8"]) == (60, 300, 300)


def test_a_failing_comparison_is_a_row_with_its_error(tmp_path: Path) -> None:
    row = compare(replace(TRSM, proc="unknown"), tmp_path, Plan(1, 0), 1)
    assert row["kernel"] == "trsm"
    assert "unknown" in row["error"]


def test_interrupted_tuning_keeps_what_it_measured(tmp_path: Path) -> None:
    place = folder(tmp_path, TRSM)
    args = ["tune", "--only", "trsm,fold", "--dir", tmp_path, "--run-options", INLINE]
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.suite", *args], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 200
        while not (place.log.exists() and "searching: " in place.log.read_text()):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.1)
        child.terminate()
        assert child.wait(240) != 0
    finally:
        child.kill()
    assert "interrupted: " in place.log.read_text()
    assert searched(place.store)[0] > 0
    assert not folder(tmp_path, FOLD).path.exists()


def suite(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.suite", *args],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_one_command_tunes_and_compares(tmp_path: Path) -> None:
    results, json_ = tmp_path / "results", tmp_path / "all.json"
    chosen = ("--only", "trsm", "--dir", results)
    said = suite(
        *("run", *chosen, "--json", json_, "--budget", "150"),
        *("--rounds", "5", "--seconds", "0"),
        *("--run-options", f"{INLINE} --trials 3"),
    )
    assert said.returncode == 0, said.stderr
    assert "geometric mean against the best peer" in said.stdout
    data = json.loads(json_.read_text())
    (row,) = data["rows"]
    assert row["kernel"] == "trsm"
    assert row["wrong"] == {}
    assert row["ran"]["numpy"].startswith("numpy ")
    assert "ran: numpy: numpy" in said.stdout
    assert {"numpy", "gcc -O3"} <= row["ratios"].keys()
    assert row["best_peer"] in row["ratios"]
    assert len(row["samples"]["schedsearch"]) == 5
    assert 0 < row["speedup"]["low"] <= row["speedup"]["high"]
    assert row["roofline"] > 0
    # Where nothing was found there is nothing to keep; what says so is not the lack of a row.
    place = folder(results, TRSM)
    place.write_row({**row, "schedule": []})
    assert "trsm" not in suite("keep", *chosen).stdout
    place.write_row(row)
    # What was searched counts: the same budget is not searched twice.
    spent, exhausted = searched(place.store)
    assert spent > 0
    assert not exhausted
    assert tune(TRSM, place, budget_s=spent) == f"searched {spent:.0f} s already"
    assert "compared already" in suite("run", *chosen, "--budget", "1").stdout
    # A failed search is said, with its cause; what is there stays.
    ended = tune(TRSM, place, spent + 60, options=["--transforms", "unroll"])
    assert "failed with exit code 2" in ended
    assert read_rows(results, [FOLD, TRSM]) == [row]


def test_what_differs_from_itself_is_timed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(*intervals: tuple[float, float]) -> Iterator[dict[str, Any]]:
        for number, (low, high) in enumerate(intervals):
            yield {"number": number, "noise": {"value": low, "low": low, "high": high}}

    def compared(*intervals: tuple[float, float]) -> int:
        found = rows(*intervals)
        monkeypatch.setattr("benchmarks.suite.measure.measure", lambda *_: next(found))
        return int(compare(TRSM, tmp_path, Plan(1, 0), 1)["number"])

    assert compared((0.94, 1.02), (1, 1)) == 0
    assert compared((0.6, 0.7), (1.06, 1.2), (1, 1)) == 2
    assert compared((0.6, 0.7), (0.6, 0.7), (0.6, 0.7), (1, 1)) == 2
