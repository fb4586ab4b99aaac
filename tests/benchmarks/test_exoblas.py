"""Hand-made schedules of a checkout compete in the suite."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suite.catalogue import CASES
from benchmarks.suite.contenders import Absent, contenders
from benchmarks.suite.exoblas import NAME, ROUTINES, exoblas_c
from benchmarks.suite.measure import entered_right, results, terms_of
from schedsearch.peers.trial import Peer

pytestmark = pytest.mark.normal

KERNELS = {case.name: case for case in CASES}
DOT = """
from __future__ import annotations
from exo import *
from exo_blas_config import Machine

@proc
def exo_sdot_stride_1(n: size, x: [f32][n], y: [f32][n], result: f32):
    assert stride(x, 0) == 1
    assert stride(y, 0) == 1
    result = 0.0
    for i in seq(0, n):
        result += x[i] * y[i]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of one as the generation of a dot product needs."""
    for name, text in {
        "level1/dot.py": DOT,
        "level1/asum.py": "raise RuntimeError('no such machine')",
        "common/machines/x86.py": "avx2_Machine = avx512_Machine = None",
    }.items():
        place = tmp_path / "src" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path


def competing(kernel: str, checkout: Path) -> Peer | Absent | None:
    case = KERNELS[kernel]
    found = contenders(case, case.load(), {}, checkout)
    return next((each for each in found if each.name == NAME), None)


def test_its_kernels_are_generated_and_called(checkout: Path) -> None:
    peer = competing("dot", checkout)
    assert isinstance(peer, Peer)
    case = KERNELS["dot"]
    entered = entered_right(case, peer, terms_of(case, case.load(), 1), {})
    with entered.contender as contender:
        got = results(case, contender)["result"]
    assert np.isfinite(got)
    assert got != 0
    assert [each.name for each in checkout.iterdir()] == ["src"], "nothing is written there"


@pytest.mark.parametrize(("kernel", "why"), [("asum", "no such machine"), ("ger", "no checkout")])
def test_what_cannot_be_generated_is_absent(kernel: str, why: str, checkout: Path) -> None:
    found = competing(kernel, checkout)
    assert isinstance(found, Absent)
    assert why in found.reason


def test_a_directory_that_only_looks_like_a_checkout(checkout: Path) -> None:
    shutil.rmtree(checkout / "src" / "common")
    found = competing("dot", checkout)
    assert isinstance(found, Absent)
    assert "is no checkout of ExoBLAS" in found.reason


def test_kernels_that_it_does_not_have_do_without(checkout: Path) -> None:
    assert competing("trsm", checkout) is None
    assert set(ROUTINES) < set(KERNELS)
    assert exoblas_c(KERNELS["trsm"], KERNELS["trsm"].load(), checkout) is None
