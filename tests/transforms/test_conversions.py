"""Conversions stay where the procedure has them, in every rewrite that is proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.analysis.conversions import truncated
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source, pick
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, run_op
from schedsearch.transforms.registry import apply, label, registry, select
from transforms.helpers import TARGET, Procedures, arguments
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("conversions")

CONCERNED = ["fold_into_reduce", "hoist", "inline_value", "merge_writes", "register_block"]
CONCERNED += ["stage_scalar", "unroll_and_jam", "use_instruction", "vectorise"]
CONCERNED += ["vectorise_reduction"]
"""Transforms that store, add or compute elsewhere."""


def fractions(meaning: q.Proc, n: int) -> list[Any]:
    """Quarters for floats, and whole numbers: sums are exact in any order."""
    args = arguments(meaning, {"n": n}, 7)
    return [
        np.asarray(value * 0.75, value.dtype)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for value in args
    ]


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(PROCEDURES))
def test_proposals_convert_where_the_procedure_does(name: str, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    results, rewrites = [original], [None]
    for transform in select(CONCERNED):
        for rewrite in transform.rewrites(meaning, TARGET):
            results.append(apply(original, meaning, rewrite))
            rewrites.append(rewrite)
    library = Library([generate_c(result) for result in results], tmp_path)
    for n in (1, 7, 21):
        wanted = fractions(meaning, n)
        interpret(meaning, wanted)
        for number, rewrite in enumerate(rewrites):
            found = fractions(meaning, n)
            library.call(number, meaning, found)
            same = [np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)]
            assert all(same), (n, rewrite, found, wanted)


MOVED = {
    ("two_truncations", "merge_writes"): (0, 0),
    ("two_roundings", "merge_writes"): (0, 0),
    ("widened_halves", "merge_writes"): (0, 0),
    ("through_an_integer", "inline_value"): (0, 1),
    ("through_a_byte", "inline_value"): (0, 1),
    ("constant_of_another_type", "inline_value"): (1,),
    ("through_a_half", "inline_value"): (0, 1),
    ("products_of_bytes", "register_block"): (0,),
    ("rounded_products", "register_block"): (0,),
}


@pytest.mark.parametrize(("name", "transform"), MOVED)
def test_what_moves_a_conversion_is_neither_proposed_nor_applied(name: str, transform: str) -> None:
    ast, path = mirror(PROCEDURES[name]), MOVED[name, transform]
    assert not list(registry()[transform].rewrites(ast, TARGET))
    args = {"nest": 0, "rows": "", "tile_rows": 1, "tile_vectors": 1, "lanes": 4}
    args |= {"depth": 0, "inner": 1, "pack": False}
    given = tuple(sorted(args.items())) if transform == "register_block" else ()
    version = registry()[transform].version
    rewrite = Rewrite(transform, version, path, label(ast.by_path[path]), given)
    with pytest.raises(RewriteError, match=r"converted|no reduction|changes before"):
        apply(PROCEDURES[name], ast, rewrite)


@pytest.mark.parametrize("name", ["copied_through_a_byte"])
def test_what_converts_the_same_is_proposed(name: str) -> None:
    assert list(registry()["inline_value"].rewrites(mirror(PROCEDURES[name]), TARGET))


def test_types_are_not_changed() -> None:
    with pytest.raises(RewriteError, match="another type"):
        run_op(PROCEDURES["truncated_sums"], Op("set_precision", (At((0, 0)), "f32")))


FLOAT_OF_INTEGERS = """
from __future__ import annotations
from exo import proc
from exo.libs.externs import fmaxf
@proc
def greatest(n: size, y: i8[n], x: i8[n]):
    for i in seq(0, n):
        y[i] += fmaxf(x[i], y[i])
"""


def test_functions_that_make_integers_floats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "greatest.py").write_text(FLOAT_OF_INTEGERS)
    with pytest.raises(UserError, match="fmaxf of i8 is a float to C: use select"):
        pick(load_source(tmp_path / "greatest.py"), None)


def test_integers_that_depend_on_truncated_floats_are_known() -> None:
    ast = mirror(PROCEDURES["grey_by_way_of_integers"])
    assert {buf.name for buf in truncated(ast)} == {"t", "y"}
