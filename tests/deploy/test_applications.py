"""The example applications: their kernels compute what NumPy does, and they can be tuned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import schedsearch
from schedsearch.deploy.recorder import RECORD
from schedsearch.deploy.sources import STORE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "applications"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")


@pytest.fixture(params=NAMES)
def application(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module(request.param)


def test_there_are_three() -> None:
    assert NAMES == ["jacobi", "kmeans", "mlp"]


@pytest.mark.normal
def test_kernels_compute_what_numpy_does(application: ModuleType) -> None:
    data = application.make(small=True)
    expected = application.with_numpy(**data)
    with schedsearch.record() as calls:
        found = application.with_kernels(**data)
    assert found.dtype == expected.dtype
    assert calls.counted
    assert abs(found - expected).max() <= application.BOUND * abs(expected).max()
    assert abs(expected).max() > 0
    assert np.isfinite(expected).all()


@pytest.mark.normal
def test_numba_computes_what_numpy_does(application: ModuleType) -> None:
    pytest.importorskip("numba")
    data = application.make(small=True)
    expected = application.with_numpy(**data)
    found = application.with_numba()(**data)
    assert abs(found - expected).max() <= application.BOUND * abs(expected).max()


@pytest.mark.slow
def test_recorded_tuned_and_run_again(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k not in (RECORD, STORE)}
    words = ["mlp", "--small", "--budget", "10s", "--keep", tmp_path / "kept"]
    done = subprocess.run(
        [sys.executable, FOLDER / "run.py", *words, "--json", tmp_path / "times.json"],
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert "within the bound" in done.stdout
    before, after = json.loads((tmp_path / "times.json").read_text())["mlp"]
    for each in (before, after):
        assert {"numpy", "kernels"} <= each["seconds"].keys()
        assert each["apart"]["kernels"] <= each["bound"]
    assert "hidden" in done.stdout  # the plan and what was found
    assert list((tmp_path / "kept" / "mlp").glob("*.calls"))
    assert (tmp_path / "kept" / "mlp" / "schedsearch.sqlite").exists()
