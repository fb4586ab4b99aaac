"""A loop that needs the result of the iteration before is one instruction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

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
from transforms.helpers import TARGET, source

PROCEDURES = source("recurrences").procs
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
NAMES = sorted(set(PROCEDURES) - set(REFUSED))


def proposed(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> list[Rewrite]:
    return list(TRANSFORM.rewrites(mirror(PROCEDURES[name]), replace(WIDE, fp=fp)))


def wrong(name: str, codes: list[GeneratedC], flags: list[str], folder: Path) -> list[Any]:
    """Sizes at which a code is off by more than roundings of small numbers."""
    sizes = SIZES.get(name, LENGTHS)
    return differing(mirror(PROCEDURES[name]), codes, flags, folder, sizes, 1e-5)


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
        ("growing", "*c = a[l] + b * *c", "*c = a[l] + *c"),  # where powers may be infinite
        ("scaled", "p[l - 1] * b", "p[l - 1]"),
        ("with_locals", "c = m1_0[m - 1];", ""),  # handed on from lanes beyond the last
        ("smoothed", "*x2 = c;", ""),  # not stored at the end
        ("exclusive", "_after(all, before)", "_after(all, c)"),
        ("exclusive", "m0_0 = all;", ""),
        ("second_order", "f2 = f * f + 2 * g", "f2 = f * f - 2 * g"),
        ("second_order", "b * p[l - 1] + d * p[l - 2]", "b * p[l - 1]"),
        ("resonant", "*e = (a[6] + q[6] * *e) + p[6] * *c;", ""),
        ("halves_of_both", "double e = *(x1);", "double e = 0;"),
        ("fibonacci", "*e = *c, r[l]", "r[l]"),
        ("from_the_end", "a, a, 7, 6, 5", "a, a, 7, 6, 6"),
        ("from_the_end", "+= n + -1;", "+= n;"),
        ("from_the_end", "r[l] = p[-l]", "r[l] = p[l]"),
        ("from_the_end", "p[-l] = a[l]", "p[-l] = a[0]"),
        ("second_order_from_the_end", "double e = *", "double e = 0 * *"),
        ("two_states", "later2 = given2[7];", "later2 = 0;"),
        ("two_states", "later2 = across2 * c2_at1", "later2 = 0"),
        ("history", "vec_f64x8_after(next2_at2, before2_at2)", "next2_at2"),
        ("oscillating", "*x2 = c2;", ""),
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
    [("running", FloatingPoint.REASSOCIATE), ("five_points", FloatingPoint.FAST)],
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
