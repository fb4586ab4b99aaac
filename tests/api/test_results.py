"""What can be done with a result and a candidate: files, a function on arrays, a page, pictures."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedsearch
from schedsearch.api import tuning
from schedsearch.api.tuning import Result
from schedsearch.core.errors import UserError
from schedsearch.core.records import PeerComparison

pytestmark = pytest.mark.normal

KERNEL = Path(__file__).parents[1] / "search" / "kernels" / "product.py"

tune = partial(
    schedsearch.tune,
    KERNEL,
    transforms="fission, reorder, split",
    executor="inline",
    progress=False,
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.fixture
def result(store: Path, scripted: list[str]) -> Result:
    return tune(store=store, trials=5)


def test_a_result_and_its_candidate_write_the_same_files(result: Result, tmp_path: Path) -> None:
    """Those of `run` and `export`."""
    best = result.best
    assert best is not None
    paths = result.export(tmp_path / "run")
    assert [path.name for path in paths] == ["product.schedule.py", "product.c", "product.h"]
    again = best.export(tmp_path / "export", "py,c,json")
    assert [path.name for path in again] == [*(p.name for p in paths), "product.schedule.json"]
    for path in paths:
        assert path.read_text() == (tmp_path / "export" / path.name).read_text()
    assert json.loads(again[-1].read_text())["keys"]["trace"] == result.trace.key
    with pytest.raises(UserError, match="--format 'exe': choose from py, c, json"):
        best.export(tmp_path, "exe")
    with pytest.raises(UserError, match="--out is a path, not int"):
        result.export(5)  # type: ignore[arg-type]


def test_what_is_not_verified_is_not_exported(result: Result, store: Path, tmp_path: Path) -> None:
    with schedsearch.open(store) as opened:
        tried = opened.candidates
        other = opened.candidate(tried[tried["speedup"].isna()].index[0])
        for use in (lambda: other.export(tmp_path / "out"), other.kernel):
            with pytest.raises(UserError, match=r"not (a )?verified"):
                use()
    assert not (tmp_path / "out").exists()


def test_a_result_and_its_candidate_run_on_arrays(result: Result) -> None:
    best = result.best
    assert best is not None
    for kernel in (result.kernel(), best.kernel()):
        c, a, b = (np.full((16, 16), value, np.float32) for value in (1, 2, 3))
        assert "use=" in str(kernel.explain(c, a, b))
        kernel(c, a, b)
        assert (c == 1 + 16 * 2 * 3).all()


def test_a_result_and_its_candidate_have_a_page_and_pictures(
    result: Result, tmp_path: Path
) -> None:
    best = result.best
    assert best is not None
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    assert result.report(first) == first
    assert best.report(second) == second
    assert first.read_text() == second.read_text()
    for plot in (result.plot, best.plot):
        assert plot().to_json() == plot.convergence().to_json()
    with pytest.raises(UserError, match="its directory is not there"):
        result.report(tmp_path / "nowhere" / "a.html")


def test_the_best_is_compared_when_it_is_found(
    store: Path, scripted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def compare(subject: object, code: object, requests: tuple[str, ...], tell: Any) -> Any:
        asked.append(requests)
        return [PeerComparison("numpy", failure="is busy")]

    monkeypatch.setattr(tuning, "compare_with_peers", compare)
    result = tune(store=store, trials=1, against="numpy")
    assert asked == [("numpy",)]
    assert "numpy: not compared: is busy" in repr(result)
