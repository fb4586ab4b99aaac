"""A slice of the campaign (`python -m mutation` runs more), and that it finds a weak oracle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluate import lossy, procs

from mutation.emitter import Variant
from mutation.judging import Comparison, Fate, Verdicts, _different, judge, judged
from mutation.operators import OPERATORS, mutants
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.oracle import enclosure
from schedsearch.evaluate.oracle import ladders as oracle
from schedsearch.evaluate.oracle.ladders import Fill, Mode, Rung
from schedsearch.evaluate.run import preparing
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

pytestmark = pytest.mark.slow

MOST = 40
KERNELS = (
    *(procs.every_type, procs.branches, procs.rows, procs.normalise),
    *(lossy.accumulated, lossy.of_few_sizes, lossy.sums_of_bytes),
)


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(find_compiler(), default_flags(), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def verdicts(builder: Builder) -> list[Verdicts]:
    return [judge(procedure, builder, {}, MOST) for procedure in KERNELS]


def fates(verdicts: Verdicts) -> list[Fate]:
    return [each.fate for each in verdicts.judged]


def test_wrong_kernels_are_refused(verdicts: list[Verdicts]) -> None:
    for own in verdicts:
        assert not own.weak
        survivors = [each for each in own.judged if each.fate is Fate.SURVIVED]
        assert not survivors, (own.name, survivors[0])
        assert fates(own).count(Fate.REFUSED) > len(own.judged) / 2


def test_every_operator_makes_wrong_kernels(verdicts: list[Verdicts]) -> None:
    refused = {
        each.operator for own in verdicts for each in own.judged if each.fate is Fate.REFUSED
    }
    assert refused == set(OPERATORS)


def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verification does not say what it cannot tell."""
    monkeypatch.setattr(preparing, "weaknesses", lambda _: ())
    monkeypatch.setattr(preparing, "unclear_parts", lambda _: ())


def test_wide_bounds_lower_the_score(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(enclosure._FORMATS, "f32", "{0x1p-3, 0x1p-3, 0, 0x1.fffffep127}")
    silence(monkeypatch)
    assert judge(procs.rows, builder, {}, MOST).score < 0.9


@pytest.mark.parametrize(("silent", "fate"), [(False, Fate.WEAK), (True, Fate.SURVIVED)])
def test_inputs_of_zeros_tell_nothing(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, silent: bool, fate: Fate
) -> None:
    """Of `y[i] = sum(A[i, k] * x[k])` the verification says so, unless that is planted too."""
    for mode in Mode:
        monkeypatch.setitem(oracle.LADDERS, mode, (Rung(Fill.FLOATS, 0.0, 0.0),) * 2)
    if silent:
        silence(monkeypatch)
    found = judge(procs.rows, builder, {}, MOST)
    assert bool(found.weak) is not silent
    assert fates(found).count(fate) > len(found.judged) / 4
    assert (found.score == 1) is not silent


def test_a_procedure_that_is_not_accepted_ends_it(builder: Builder, tmp_path: Path) -> None:
    bench, meaning, code = prepared(procs.triple, builder, tmp_path)
    with pytest.raises(AssertionError, match="triple itself is refused"):
        judged(bench, replace(meaning, body=()), code, tmp_path)
    assert judged(bench, meaning, code, tmp_path, MOST).score == 1


def test_roundings_are_no_difference_and_small_changes_are(
    builder: Builder, tmp_path: Path
) -> None:
    bench, meaning, code = prepared(procs.triple, builder, tmp_path)
    own = inline_calls(meaning)
    loop = own.body[0]
    assert isinstance(loop, q.For)
    write = loop.body[0]
    assert isinstance(write, q.Assign)
    factors = (1.0, 1 + 1e-8, 1 + 2e-7)
    bodies = (q.BinOp("*", write.rhs, q.Const(factor, "f32"), "f32") for factor in factors)
    variants = [
        with_body(own, loop, q.Assign((), write.buf, write.idx, body, write.type))
        for body in bodies
    ]
    comparison = Comparison(own, code, variants, bench, tmp_path)
    assert [sorted(comparison.differences(number)) for number in range(3)] == [[], [], ["y"]]


def test_narrowing_what_is_narrowed_anyway_is_no_difference(
    builder: Builder, tmp_path: Path
) -> None:
    bench, meaning, code = prepared(lossy.halved, builder, tmp_path)
    own = inline_calls(meaning)
    found = [each for each in mutants(own) if each.operator == "narrowed too early"]
    variants = [Variant(own), *(each.variant for each in found)]
    comparison = Comparison(own, code, variants, bench, tmp_path)
    differences = [sorted(comparison.differences(number)) for number in range(len(variants))]
    assert differences == [[], [], ["y"], ["y"]]  # the result, and each factor


def test_data_on_which_c_is_undefined_do_not_count(builder: Builder, tmp_path: Path) -> None:
    """Powers in double precision are others only where those of i32 overflow."""
    bench, meaning, code = prepared(lossy.powers, builder, tmp_path)
    own = inline_calls(meaning)
    loop = own.body[0]
    assert isinstance(loop, q.For)
    alloc = loop.body[0]
    assert isinstance(alloc, q.Alloc)
    body = tuple(
        replace(stmt, type="f64") if getattr(stmt, "buf", None) == alloc.buf else stmt
        for stmt in loop.body
    )
    assert body[0] != alloc
    assert body[-1] == loop.body[-1]
    wide = Variant(replace(own, body=(replace(loop, body=body),)))
    short = Variant(replace(own, body=(replace(loop, hi=loop.hi - 1),)))
    comparison = Comparison(own, code, [Variant(own), wide, short], bench, tmp_path)
    assert [sorted(comparison.differences(number)) for number in range(3)] == [[], [], ["y"]]


def test_roundings_are_those_of_the_type() -> None:
    one, more = np.array([1.0]), np.array([1 + 1e-9])
    assert not _different(more, one, one.astype(np.float32)).any()
    assert _different(more, one, one).all()
    assert not _different(one + 1e-14, one, one).any()


def test_overflow_of_the_type_is_no_difference() -> None:
    """Of what is not finite in f16, nothing is promised, whatever it is in double precision."""
    right, infinite = np.array([7e4, 1.0]), np.array([np.inf, 1.0], np.float16)
    assert not _different(np.array([8e4, 1.0]), right, infinite).any()
    assert _different(np.array([7e4, 1.02]), right, infinite).tolist() == [False, True]


def test_each_mutant_is_another_text() -> None:
    own = inline_calls(mirror(procs.matmul))
    bodies = [(each.variant.proc.body, each.variant.clamped) for each in mutants(own)]
    assert len(set(bodies)) == len(bodies)
    assert (own.body, False) not in bodies


def with_body(own: q.Proc, loop: q.For, write: q.Assign) -> Variant:
    return Variant(replace(own, body=(replace(loop, body=(write,)),)))


def prepared(procedure: Any, builder: Builder, folder: Path) -> tuple[Any, q.Proc, Any]:
    meaning, code = mirror(procedure), generate_c(procedure)
    return prepare(meaning, code, bind(meaning, {}), builder, folder), meaning, code
