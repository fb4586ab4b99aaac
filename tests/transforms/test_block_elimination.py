"""Steps of an elimination are taken in blocks; exactly, on whole numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.vector.registers import register_kind
from transforms.helpers import TARGET, runs_here
from transforms.test_block_solve import PROCEDURES, differing

pytestmark = pytest.mark.normal

ELIMINATE, BLOCK = select(["block_elimination", "register_block"])
FORMS = ("eliminated", "eliminated_apart", "eliminated_by_columns")


def blocked(name: str, *factors: object) -> list[Any]:
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    proposed = list(ELIMINATE.rewrites(ast, TARGET))
    assert proposed
    odd = [replace(proposed[0], args=(("factor", factor),)) for factor in factors]
    return [apply(procedure, ast, rewrite) for rewrite in (odd or proposed)]


@pytest.mark.parametrize("name", FORMS)
def test_every_block_eliminates_the_same(name: str, tmp_path: Path) -> None:
    assert differing(name, [*blocked(name), *blocked(name, 5)], tmp_path) == []


@pytest.mark.parametrize("name", FORMS)
def test_what_follows_a_block_is_a_sum_over_its_steps(name: str) -> None:
    for procedure in blocked(name):
        ast = mirror(procedure)
        block = next(s for s in ast.body if isinstance(s, q.For))
        *_, last, _ = (s for s in block.body if isinstance(s, q.For))
        nest = [s for s in q.walk((last,)) if isinstance(s, q.For)]
        assert [loop.lo for loop in nest] == [q.Affine(0)] * 3
        assert sum(isinstance(s, q.Reduce) for s in q.walk((last,))) == 1


@pytest.mark.parametrize("name", FORMS)
def test_in_registers_too(name: str, tmp_path: Path) -> None:
    flags = ["-O1", *(["-march=x86-64-v4"] if runs_here(["-march=x86-64-v4"]) else [])]
    target = replace(TARGET, vector_bits=256, vector_registers=32)
    (procedure, *_) = blocked(name)
    ast = mirror(procedure)
    rewrite = next(each for each in BLOCK.rewrites(ast, target) if each.arg("edges"))
    end = apply(procedure, ast, rewrite)
    kept = [s for s in q.walk(mirror(end).body) if isinstance(s, q.Alloc) and register_kind(s.mem)]
    assert kept
    assert differing(name, [end], tmp_path, flags) == []


def test_steps_that_need_the_rest_of_their_row_are_not_taken_in_blocks() -> None:
    with pytest.raises(RewriteError, match="fission"):
        blocked("eliminated_by_the_last")


@pytest.mark.parametrize("factor", [1, 5000, "8", True])
def test_refuses_factors_that_it_would_not_propose(factor: object) -> None:
    with pytest.raises(RewriteError, match="factor"):
        blocked("eliminated", factor)


@pytest.mark.parametrize("name", ["lu", "cholesky", "right"])
def test_other_orders_are_left_to_others(name: str) -> None:
    assert not list(ELIMINATE.rewrites(mirror(PROCEDURES[name]), TARGET))
