"""The benchmark of the cost model: what it compares is what was measured."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from benchmarks.cost_model.__main__ import grid
from benchmarks.cost_model.ranking import scores
from benchmarks.cost_model.records import SPACES, Table, kernels, table
from schedsearch.search.cost_model import Samples
from schedsearch.search.space_file import load
from schedsearch.transforms.features import COLUMNS
from schedsearch.transforms.loader import load_source

TRUTH = COLUMNS.index("busiest_body")


def invented(name: str, estimate_is_right: bool) -> Table:
    """80 children of one node, whose speed one feature decides."""
    rng = np.random.default_rng(len(name))
    rows = rng.normal(size=(81, len(COLUMNS))).astype(np.float32)
    true = rows[:, TRUTH].astype(np.float64)
    estimates = true if estimate_is_right else rng.normal(size=81)
    parents, siblings = np.zeros(81, dtype=np.int64), np.ones(81, dtype=np.int64)
    parents[0], siblings[0] = -1, 0
    return Table(name, name, Samples(rows, true), estimates, parents, siblings)


def test_scores_tell_who_is_right() -> None:
    right, wrong = scores([invented("right", True), invented("wrong", False)], seed=0)
    assert right.estimate.overall == pytest.approx(1.0)
    assert right.estimate.siblings == pytest.approx(1.0)
    assert right.estimate_gain == pytest.approx(1.0)
    assert wrong.estimate.overall is not None
    assert abs(wrong.estimate.overall) < 0.4
    for learned in (wrong.folds.overall, wrong.others.overall, wrong.learned_gain):
        assert learned is not None
        assert learned > 0.6


def test_a_kernel_alone_has_no_others_to_learn_from() -> None:
    (alone,) = scores([invented("alone", False)], seed=0)
    assert alone.others.overall is None
    console = Console(width=80, record=True, file=StringIO())
    console.print(grid([alone]))
    assert "alone" in console.export_text()


def test_a_recorded_space_is_replayed() -> None:
    path = SPACES / "gemv.json.gz"
    (kernel,) = kernels([path])
    space = load(path)
    speedups = {key: point.speedup for key, point in space.points.items()}
    assert all(speedups[timing.trace.key] == timing.speedup for timing in kernel.timings)
    found = table(kernel, 50)
    assert len(found) > 40
    assert found.estimates[0] == 0.0
    assert found.samples.rows[0, 0] == 0.0
    assert len(set(found.siblings)) < len(found)
    for parent in set(found.parents) - {-1}:
        assert len(set(found.siblings[found.parents == parent])) == 1


def test_help() -> None:
    command = [sys.executable, "-m", "benchmarks.cost_model", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Spearman" in shown


def test_every_recorded_space_has_its_procedure() -> None:
    paths = sorted(SPACES.glob("*.json.gz"))
    procs = load_source(SPACES / "kernels.py").procs
    assert {kernel.proc for kernel in kernels(paths)} <= procs.keys()
