"""Features: fixed length, finite, cheap to keep, and they see what matters."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedsearch.core.build import Build
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.activity import activity
from schedsearch.transforms.cost import log_cost
from schedsearch.transforms.features import COLUMNS, TOTALS, features, unpack
from schedsearch.transforms.identity import canonical_ast
from schedsearch.transforms.mirror import mirror
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.scene import Scene
from transforms.helpers import TARGET, kernels, source, walk

BLOCKS = source("blocks").procs
SIZES = {"M": 64, "N": 64, "K": 64}


def named(procedure: Any, build: Build | None = None) -> dict[str, float]:
    target = replace(TARGET, build=build) if build else TARGET
    _, packed = features(mirror(procedure), target, SIZES)
    return dict(zip(COLUMNS, unpack([packed])[0].tolist(), strict=True))


def after(transform: str, procedure: Any) -> Any:
    """The procedure after the first proposal of a transform."""
    ast = mirror(procedure)
    rewrite = next(iter(select([transform])[0].rewrites(ast, TARGET)))
    return apply(procedure, ast, rewrite)


@pytest.mark.parametrize("name", sorted(kernels()))
def test_every_state_has_finite_features_of_one_length(name: str) -> None:
    for _, state in walk(kernels()[name], 1, 3):
        guess, packed = features(state.ast, TARGET, {})
        (row,) = unpack([packed])
        assert len(packed) == 4 * len(COLUMNS)
        assert np.isfinite(row).all()
        assert row[COLUMNS.index("log_cost")] == np.float32(log_cost(state.ast, TARGET, {}))
        assert guess.log_cost == log_cost(state.ast, TARGET, {})


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(kernels()))
def test_what_is_kept_in_shared_loops_is_what_a_fresh_copy_says(name: str) -> None:
    """Children share loops, and the answers in them, with each other and their parent; the
    canonical copy shares nothing."""
    short = replace(TARGET, vector_bits=128, build=Build(options="-O2"))
    apart = replace(TARGET, threads=2, build=Build(restrict=True))
    for _, state in walk(kernels()[name], 2, 2):
        proposals = list(propose(state.ast, TARGET, select(None)))
        for rewrite in random.Random(0).sample(proposals, min(len(proposals), 6)):
            with suppress(RewriteError):
                child = apply(state.procedure, state.ast, rewrite)
                for target in (TARGET, short, apart, TARGET):
                    _, shared = features(mirror(child), target, {"N": 40})
                    _, fresh = features(canonical_ast(child), target, {"N": 40})
                    assert shared == fresh


def test_columns_have_names_of_their_own() -> None:
    assert len(set(COLUMNS)) == len(COLUMNS)
    assert "heap_allocations" in COLUMNS[:TOTALS]
    assert "statements" not in COLUMNS[:TOTALS]


def test_a_product_is_counted_exactly() -> None:
    """Per iteration of `C[i, j] += A[i, k] * B[k, j]`: one operation, two loads, one store."""
    done = activity(Scene(mirror(BLOCKS["product"]), TARGET, SIZES))
    iterations = 64**3
    assert done.arithmetic == iterations
    assert sum(done.loads) == 2 * iterations
    assert sum(done.stores) == iterations
    assert done.busiest.times == iterations
    assert [trips for _, trips in done.busiest.nest] == [64, 64, 64]
    assert done.busiest.chained  # k is innermost, C does not move with it


def test_work_moves_from_statements_to_instructions_but_stays_the_same() -> None:
    before, then = named(BLOCKS["product"]), named(after("register_block", BLOCKS["product"]))
    assert then["instruction_lanes"] == pytest.approx(before["arithmetic"], abs=0.01)
    assert then["arithmetic"] < before["arithmetic"] - 3
    assert then["register_pressure"] > before["register_pressure"] == 0
    assert then["busiest_intensity"] > before["busiest_intensity"]


def test_build_options_are_seen() -> None:
    plain = named(BLOCKS["product"])
    built = named(BLOCKS["product"], Build(options="-O2", restrict=True))
    differ = {name for name in COLUMNS if plain[name] != built[name]}
    assert {"o2", "restrict"} <= differ


def test_vectors_survive_packing_in_order() -> None:
    packed = [features(mirror(BLOCKS["product"]), TARGET, {**SIZES, "K": k})[1] for k in (8, 16)]
    rows = unpack(packed)
    assert rows.shape == (2, len(COLUMNS))
    arithmetic = COLUMNS.index("arithmetic")
    assert rows[1, arithmetic] - rows[0, arithmetic] == pytest.approx(1.0, abs=0.01)
