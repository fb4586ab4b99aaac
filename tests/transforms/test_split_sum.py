"""Sums of products become several statements, each with a register block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.floating_point import run_within
from schedsearch.transforms.operators.ops import At, Op
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("products")
(SPLIT,) = select(["split_sum"])
STMT = (0, 0, 0, 0)


def proposed(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> list[Rewrite]:
    return list(SPLIT.rewrites(mirror(PROCEDURES[name]), replace(TARGET, fp=fp)))


@pytest.mark.normal
@pytest.mark.parametrize("name", ["both", "integers"])
def test_terms_are_added_one_after_another(name: str, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    (rewrite,) = proposed(name)
    after = apply(original, mirror(original), rewrite)
    state = State(after, mirror(after))
    terms = {"both": 3, "integers": 2}[name]
    assert str(after).count("C[i, j] +=") == terms
    sizes = [{"n": 1}, {"n": 7}]
    assert_same_meaning(original, [(Trace((rewrite,)), state)], sizes, tmp_path)


def test_sums_that_take_as_long_as_their_loads_stay() -> None:
    assert not proposed("vector")
    assert not proposed("elementwise")


@pytest.mark.parametrize(
    ("name", "why"), [("converted", "is converted to f32"), ("itself", "have changed by then")]
)
def test_what_would_compute_something_else_is_refused(name: str, why: str) -> None:
    (rewrite,) = proposed(name)
    with pytest.raises(RewriteError, match=why):
        apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite)


def test_a_strict_contract_keeps_the_sum() -> None:
    assert proposed("both", FloatingPoint.REASSOCIATE)
    assert not proposed("both", FloatingPoint.STRICT)
    operator = Op("split_write", (At(STMT),))
    with pytest.raises(RewriteError, match="--fp strict rules it out"):
        run_within(PROCEDURES["both"], operator, FloatingPoint.STRICT)
    run_within(PROCEDURES["both"], operator, FloatingPoint.REASSOCIATE)
