"""The benchmark of the cost model: what it compares is what was measured."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from math import exp

import numpy as np
import pytest
from rich.console import Console

from benchmarks.cost_model.__main__ import grid, search_grid
from benchmarks.cost_model.ranking import scores
from benchmarks.cost_model.records import SPACES, Table, kernels, table
from benchmarks.cost_model.searching import Arm, Known, searches
from schedsearch.core.records import Outcome
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.cost_model import Samples
from schedsearch.search.space import Point, Space
from schedsearch.search.space_file import load
from schedsearch.transforms.features import COLUMNS
from schedsearch.transforms.loader import load_source

pytestmark = pytest.mark.normal

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


def flat(name: str, children: int) -> Known:
    """A space of one expansion, the estimates of which are upside down; one feature is right."""
    rng = np.random.default_rng(children)
    root = Trace().key
    points = {root: Point(None, None, 0.0, Outcome.CORRECT, 1.0, 0.1, root)}
    vectors = {root: np.zeros(len(COLUMNS), np.float32).tobytes()}
    steps: dict[Rewrite, str] = {}
    for number in range(children):
        rewrite, key = Rewrite("split", 1, (number,), "for i in _: _"), f"n{number}"
        gain = float(rng.uniform(0.0, 3.0))
        row = np.zeros(len(COLUMNS), np.float32)
        row[TRUTH] = gain
        points[key] = Point(root, rewrite, -gain, Outcome.CORRECT, exp(gain), 0.1, key)
        vectors[key] = row.tobytes()
        steps[rewrite] = key
    target = load(SPACES / "gemv.json.gz").target
    return Known(Space(name, target, points, {root: steps}, {root: 0.1}), vectors)


def test_a_search_that_has_learned_is_shorter() -> None:
    one, other = flat("gemv", 150), flat("matmul", 151)
    alone, own, helped = searches(one, [other, one], "best-first", seeds=4, trials=150)
    assert [found.arm for found in (alone, own, helped)] == list(Arm)
    assert (alone.used, alone.gain) == (0.0, 0.0)
    assert own.used == helped.used == 1.0
    assert helped.used_from is not None
    assert own.used_from is not None
    assert helped.used_from < own.used_from
    assert helped.reached[1].trials.value < alone.reached[1].trials.value
    console = Console(width=100, record=True, file=StringIO())
    console.print(search_grid([alone, own, helped]))
    assert Arm.OTHERS in console.export_text()


def test_help() -> None:
    for command, word in (("rank", "Spearman"), ("search", "gain")):
        line = [sys.executable, "-m", "benchmarks.cost_model", command, "--help"]
        assert word in subprocess.run(line, capture_output=True, text=True, check=True).stdout


def test_every_recorded_space_has_its_procedure() -> None:
    paths = sorted(SPACES.glob("*.json.gz"))
    procs = load_source(SPACES / "kernels.py").procs
    assert {kernel.proc for kernel in kernels(paths)} <= procs.keys()
