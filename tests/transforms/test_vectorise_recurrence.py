"""A loop that needs the result of the iteration before is one instruction."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import ArgValue, Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label, select
from transforms.differing import differing
from transforms.helpers import TARGET, Procedures, arguments
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("recurrences")
(TRANSFORM,) = select(["vectorise_recurrence"])
REFUSED = sorted(name for name in PROCEDURES if name.startswith("no_"))
WIDE = replace(TARGET, vector_bits=512)
WAYS = [
    (TARGET, ["-O1"]),
    (replace(TARGET, vector_bits=256), ["-O2", "-mavx2", "-ffast-math"]),
    (WIDE, ["-O3", "-march=x86-64-v4", "-ffast-math"]),
]
LENGTHS = [{"n": n} for n in (1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 40, 67)]
SIZES = {
    "five_points": [{"n": n, "m": m} for n, m in ((1, 1), (2, 3), (3, 8), (5, 16), (4, 45))],
    "nine_points": [{"n": n, "m": m} for n, m in ((1, 2), (3, 17))],
    "twice": [{}],
    "nothing_else": [{}],
}
SIZES |= dict.fromkeys(
    ("alignment", "common_subsequence", "edit_distance", "gaps", "warping"), SIZES["five_points"]
)
SIZES |= dict.fromkeys(("affine_gaps", "affine_gaps_in_rows"), SIZES["five_points"])
NAMES = sorted(set(PROCEDURES) - set(REFUSED))


def proposed(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> list[Rewrite]:
    return list(TRANSFORM.rewrites(mirror(PROCEDURES[name]), replace(WIDE, fp=fp)))


def wrong(name: str, codes: list[GeneratedC], flags: list[str], folder: Path) -> list[Any]:
    """Sizes at which a code is off by more than roundings of small numbers."""
    sizes = SIZES.get(name, LENGTHS)
    return differing(mirror(PROCEDURES[name]), codes, flags, folder, sizes, 1e-5)


@cache
def code_of(name: str, rewrite: Rewrite) -> GeneratedC:
    return generate_c(apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite))


@pytest.mark.normal
@pytest.mark.parametrize(("target", "flags"), WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_the_meaning_stays(name: str, target: Any, flags: list[str], tmp_path: Path) -> None:
    rewrites = list(TRANSFORM.rewrites(mirror(PROCEDURES[name]), target))
    assert rewrites
    assert not wrong(name, [code_of(name, each) for each in rewrites], flags, tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "right", "fault"),
    [
        ("five_points", "a += p[1] *", "a += p[0] *"),  # another power
        ("added", "a += p[3] *", "a += 0 *"),  # a step left out
        ("added", ", 6, 7, 8, 9,", ", 6, 7, 8, 8,"),  # another lane
        ("running", "*c = a[7] + p[7] * *c;", ""),  # each register alone
        ("running", "*c = a[7] + p[7] * *c;", "*c = a[7];"),
        ("divided", "double c = *(x2);", "double c = 0;"),  # begun with a constant
        ("growing", "c = a[l] + b * c", "c = a[l] + c"),  # where powers may be infinite
        ("scaled", "p[l - 1] * b", "p[l - 1]"),
        ("with_locals", "c = m1_0[m - 1];", ""),  # handed on from lanes beyond the last
        ("smoothed", "*x2 = c;", ""),  # not stored at the end
        ("exclusive", "_after(all, before)", "_after(all, c)"),
        ("exclusive", "m0_0 = all;", ""),
        ("second_order", "f2 = f * f + 2 * g", "f2 = f * f - 2 * g"),
        ("second_order", "b * p[l - 1] + d * p[l - 2]", "b * p[l - 1]"),
        ("resonant", "*e = (a[6] + q[6] * *e) + p[6] * *c;", ""),
        ("halves_of_both", "double e = *(x1);", "double e = 0;"),
        ("fibonacci", "e = c, r[l]", "r[l]"),
        ("from_the_end", "a, a, 7, 6, 5", "a, a, 7, 6, 6"),
        ("from_the_end", "+= n + -1;", "+= n;"),
        ("from_the_end", "r[l] = p[-l]", "r[l] = p[l]"),
        ("from_the_end", "p[-l] = a[l]", "p[-l] = a[0]"),
        ("second_order_from_the_end", "double e = *", "double e = 0 * *"),
        ("two_states", "later2 = given2[7];", "later2 = 0;"),
        ("two_states", "later2 = across2 * c2_at1", "later2 = 0"),
        ("history", "vec_f64x8_after(next2_at2, before2_at2)", "next2_at2"),
        ("oscillating", "*x2 = c2;", ""),
        ("products", "p *= ", ""),
        ("gated", "(1.0f - x3), &c", "(1.0f - x3) * 0, &c"),
        ("large_factors", "r[l] = c = a[l] + b[l] * c;", "r[l] = c;"),
        ("nothing_grows", "(bits)(p * p > 64.0f)", "(bits)(p > p)"),
        ("back_substitution", "s[7] + p[7] * before", "s[7]"),
        ("sums_of_segments", "s += p * ", "s += "),
        ("congruential", "s += p[3]", "s += p[2]"),
        ("weighted_whole_numbers", "s += p * ", "s += "),
        ("uphill", "(vec_f64x8){0} + *c", "(vec_f64x8){0}"),
        ("alignment", "{1, 2, 3, 4,", "{1, 2, 3, 3,"),
        ("alignment", "> t ? a[7] : t", "> t ? t : a[7]"),
        ("edit_distance", "0, 8, 8, 8", "0, 9, 8, 8"),
        ("gaps", "{1, 2, 3, 4,", "{1, 2, 3, 3,"),
        ("warping", "p += ", ""),
        ("best_sum", "> t ? a[7] : t", "> t ? a[7] : *c"),
        ("best_whole_sum", "p += ", ""),
        ("common_subsequence", "open &= ", ""),
        ("common_subsequence", "open[7] ? (", "1 ? ("),
        ("begun_anew", " & open) | ((bits)a & ~open)", ")"),
        ("whole_numbers_begun_anew", "p += ", ""),
        ("above_a_limit", "p[7] + *c", "*c"),
        ("clipped", "*c = h[7] > t ? h[7] : t", "*c = t"),
        ("between_limits", "p += ", ""),
        ("between_limits", "h = vec_f32x8", "a = vec_f32x8"),
        ("saturated", "h[7] < t ? h[7] : t", "t"),
        ("affine_gaps", "a += d;", ""),
        ("affine_gaps", "{0, 1, 2, 3,", "{0, 1, 2, 2,"),
        ("affine_gaps_in_rows", "vec_f32x8_after(a, before)", "a"),
        ("gaps_before", "t = before + 8 * b", "t = before"),
        ("envelope", "w[l - 1] * k", "w[l - 1]"),
        ("leaking_store", "p += w[0] * ", "p += 0 * "),
        ("store_that_grows", "t = k * c", "t = c"),
        ("cells", "p[l - 1] * k + b", "p[l - 1] + b"),
        ("scaled_or_begun_anew", "w * *c", "*c"),
        ("rotation", "c3 = next3[7] + p3_3[7] * before3", "c3 = next3[7]"),
        ("tracked", "p0_0_at1[3] * ", "p0_0[3] * "),
        ("third_order", "p1_1_at1[3] * ", "p1_1_at2[3] * "),
        ("growing_rotation", "next1[i] = c1 = t1;", "c1 = t1;"),
        ("rotation_in_arrays", "float c1 = *x1;", "float c1 = 0;"),
        ("rotation_in_arrays", "x0 * m1_0", "x0 * (*(const vec_f32x8_u *)(x1 + l))"),
        ("arrays_from_the_end", "float c0 = *", "float c0 = 0 * *"),
    ],
)
def test_faults_are_found(name: str, right: str, fault: str, tmp_path: Path) -> None:
    rewrite = next(each for each in proposed(name) if dict(each.args)["lanes"] == 8)
    code = code_of(name, rewrite)
    assert code.header.count(right) + code.source.count(right)
    planted = replace(
        code, header=code.header.replace(right, fault), source=code.source.replace(right, fault)
    )
    assert wrong(name, [planted], ["-O2"], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize(
    ("name", "given", "scalars"),
    [
        ("gaps", "H", "*c > 4194304 || *c < -4194304 || "),
        ("best_whole_sum", "s", "*c > 4194304 || *c < -4194304 || "),
    ],
)
def test_whole_numbers_do_not_overflow(
    name: str, given: str, scalars: str, guard: bool, tmp_path: Path
) -> None:
    """Where the loop as written does not: from the least number on."""
    meaning = mirror(PROCEDURES[name])
    code = code_of(name, next(each for each in proposed(name) if dict(each.args)["lanes"] == 8))
    if not guard:
        assert scalars in code.header + code.source
        code = replace(code, source=code.source.replace(scalars, ""))
        code = replace(code, header=code.header.replace(scalars, ""))
    args = [arguments(meaning, {"n": 40, "m": 40}, 3) for _ in range(2)]
    place = next(n for n, arg in enumerate(meaning.args) if arg.var.name == given)
    for each in args:
        each[place][...] = -(2**31) + 5
        each[-1][...] = 3  # the gap; another best sum
        each[3 if name == "gaps" else 1][...] = -3
    wanted, found = args
    interpret(meaning, wanted)
    Library([code], tmp_path, ["-O2", "-fwrapv"]).call(0, meaning, found)
    same = all(np.array_equal(one, other) for one, other in zip(wanted, found, strict=True))
    assert same is guard


@pytest.mark.normal
@pytest.mark.parametrize("guard", [True, False])
def test_whole_numbers_of_gaps_do_not_overflow(guard: bool, tmp_path: Path) -> None:
    meaning = mirror(PROCEDURES["affine_gaps"])
    code = code_of("affine_gaps", proposed("affine_gaps")[-1])
    if not guard:
        test = "*c > 4194304 || *c < -4194304 || "
        assert test in code.header + code.source
        code = replace(code, source=code.source.replace(test, ""))
        code = replace(code, header=code.header.replace(test, ""))
    args = [arguments(meaning, {"n": 3, "m": 40}, 3) for _ in range(2)]
    for each in args:
        for place, arg in enumerate(meaning.args):
            if arg.var.name in "HEF":
                each[place][...] = -(2**31) + 10
            if arg.var.name in ("begin", "extend"):
                each[place][...] = 3
    wanted, found = args
    interpret(meaning, wanted)
    Library([code], tmp_path, ["-O2", "-fwrapv"]).call(0, meaning, found)
    same = all(np.array_equal(one, other) for one, other in zip(wanted, found, strict=True))
    assert same is guard


@pytest.mark.normal
@pytest.mark.parametrize("name", ["decayed_maximum", "nearest_so_far", "distance_and_decay"])
@pytest.mark.parametrize("first", [-(2**31), 2**31 - 1])
def test_numbers_that_stand_for_none_do_not_overflow(name: str, first: int, tmp_path: Path) -> None:
    """The least number stands for none in maxima, the largest in minima: a number that is added
    to the extreme is not added to them."""
    meaning = mirror(PROCEDURES[name])
    codes = [code_of(name, each) for each in proposed(name)]
    assert codes
    library = Library(codes, tmp_path, ["-O2", "-fwrapv"])
    for number in range(len(codes)):
        wanted, found = (arguments(meaning, {"n": 40}, 3) for _ in range(2))
        for args in (wanted, found):
            for place, arg in enumerate(meaning.args):
                if arg.var.name in "sy":
                    args[place][...] = first
        interpret(meaning, wanted)
        library.call(number, meaning, found)
        assert all(np.array_equal(one, other) for one, other in zip(wanted, found, strict=True))


@pytest.mark.normal
def test_the_whole_loop_is_one_instruction() -> None:
    after = apply(PROCEDURES["twice"], mirror(PROCEDURES["twice"]), proposed("twice")[0])
    assert [type(stmt) for stmt in mirror(after).body] == [q.Call]


def test_a_loop_that_may_be_empty_is_kept_for_that() -> None:
    procedure, (rewrite, *_) = PROCEDURES["may_be_empty"], proposed("may_be_empty")
    after = mirror(apply(procedure, mirror(procedure), rewrite))
    assert isinstance(after.by_path[rewrite.path], q.If)
    assert not list(TRANSFORM.rewrites(after, WIDE))


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused(name: str) -> None:
    assert not proposed(name)
    procedure, ast = PROCEDURES[name], mirror(PROCEDURES[name])
    loop = [*loops(ast)][-1]
    rewrite = Rewrite(TRANSFORM.name, 1, loop.path, label(loop), (("lanes", 4),))
    with pytest.raises(RewriteError, match="no linear recurrence"):
        apply(procedure, ast, rewrite)


@pytest.mark.parametrize("lanes", [0, 1, 3, True, 128, "4"])
def test_odd_lanes_are_refused(lanes: ArgValue) -> None:
    rewrite = replace(proposed("running")[0], args=(("lanes", lanes),))
    with pytest.raises(RewriteError):
        apply(PROCEDURES["running"], mirror(PROCEDURES["running"]), rewrite)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("running", FloatingPoint.REASSOCIATE),
        ("five_points", FloatingPoint.FAST),
        ("whole_numbers", FloatingPoint.STRICT),
        ("gaps", FloatingPoint.STRICT),
        ("alignment", FloatingPoint.FAST),
        ("running_maximum", FloatingPoint.FAST),
        ("clipped", FloatingPoint.FAST),
        ("saturated", FloatingPoint.STRICT),
        ("affine_gaps", FloatingPoint.STRICT),
        ("gaps_before", FloatingPoint.FAST),
        ("rotation", FloatingPoint.FAST),
    ],
)
def test_contracts_decide(name: str, allowed: FloatingPoint) -> None:
    """A sum may be in another order; powers of a factor, -1 too, are more than that."""
    procedure, ast = PROCEDURES[name], mirror(PROCEDURES[name])
    rewrite = proposed(name)[0]
    order = list(FloatingPoint)
    for fp in order:
        if order.index(fp) >= order.index(allowed):
            assert proposed(name, fp)
            assert apply(procedure, ast, rewrite, fp)
        else:
            assert not proposed(name, fp)
            with pytest.raises(RewriteError, match="rules it out"):
                apply(procedure, ast, rewrite, fp)
