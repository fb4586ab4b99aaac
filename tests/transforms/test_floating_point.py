"""Schedules under a floating-point contract, compiled as it says, against the C as written at
`-O0`, on data with NaN, infinities, denormal numbers and zeros of both signs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.analysis.rounding import inexact_body
from schedsearch.core.errors import ReplayError, RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.compiler import default_flags
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.floating_point import run_within
from schedsearch.transforms.operators.ops import At, Op, run_op
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.instruction_sets import shipped, with_instructions
from transforms.helpers import TARGET, Procedures, kernels, walk
from transforms.native import Library

STRICT, REASSOCIATE, FAST = FloatingPoint
PROCEDURES = Procedures("floats")
IN_REGISTERS = "products"
KERNELS = [name for name in PROCEDURES if name != IN_REGISTERS]
SIZES = {name: [1, 37] for name in KERNELS} | {"matmul": [0]}
SIZES |= {name: [0] for name in ("shortest", "longest", "numbers")}
SIZES |= {name: [1, 37, 150] for name in ("tops", "zeros", "forgetful")}  # all chains, too
SUMS = frozenset({"dot", "gemv", "matmul", "planes", "twice", "smooth", "axpy", "half"})
"""Kernels in which `reassociate` lets something be rounded otherwise."""
EXTREMES = frozenset({"largest", "tops", "zeros"})
"""Those in which it may leave the other zero."""
TARGETS = {fp: replace(TARGET, vector_bits=256, fp=fp, threads=2) for fp in FloatingPoint}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 1e19)


DULL = {"compile_with", "cut_loop", "prefetch", "specialise", "split"}
"""Alone these move no operation; walks have them."""


@dataclass(frozen=True)
class Schedule:
    """A schedule of the kernel `name`: its C, and what it is for messages."""

    name: str
    code: GeneratedC
    trace: Trace


def schedules(name: str, fp: FloatingPoint) -> Iterator[Schedule]:
    """The first legal rewrite of every transform, and the end of a walk; equal C once."""
    procedure, target = PROCEDURES[name], TARGETS[fp]
    ast = mirror(procedure)
    found = []
    for transform in select(None):
        if transform.name in DULL:
            continue
        for rewrite in transform.rewrites(ast, target):
            try:
                found.append((Trace((rewrite,)), apply(procedure, ast, rewrite, fp)))
            except RewriteError:
                continue
            break
    walked = [*walk(procedure, 1, 4, target)][-1:]
    found += [(trace, state.procedure) for trace, state in walked]
    seen = set()
    for trace, scheduled in found:
        code = generate_c(scheduled)
        if code.key not in seen:
            seen.add(code.key)
            yield Schedule(name, code, trace)


@cache
def known(fp: FloatingPoint) -> tuple[Schedule, ...]:
    return tuple(each for name in KERNELS for each in schedules(name, fp))


def data(name: str, size: int, share: float, seed: int) -> list[Any]:
    """Fractions, and that share of special values."""
    rng = np.random.default_rng(seed)
    args: list[Any] = []
    values: dict[int, int] = {}
    ast = mirror(PROCEDURES[name])
    for arg in ast.args:
        if arg.type == "size":
            values[arg.var.uid] = size
            args.append(size)
            continue
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[arg.type]
        extents = [n.const + sum(c * values[v.uid] for v, c in n.terms) for n in arg.shape]
        plain = rng.normal(size=extents)
        with np.errstate(over="ignore"):
            special = rng.choice(SPECIAL, extents).astype(dtype)
        args.append(np.where(rng.random(extents) < share, special, plain.astype(dtype)))
    return args


DRAWS = [(0.0, 1), (0.04, 2), (0.04, 3), (0.6, 4)]

Same = Callable[[Any, Any], Any]


def bits(found: Any, wanted: Any) -> Any:
    """Bit for bit, but that a NaN is a NaN."""
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[found.itemsize]
    return (found.view(kind) == wanted.view(kind)) | (np.isnan(found) & np.isnan(wanted))


def close(found: Any, wanted: Any) -> Any:
    """Within rounding errors of the terms here, of which the largest is some 1e1; what is not
    finite is the same."""
    slack = 1e-2 if found.dtype == np.float16 else 1e-4
    finite = np.isfinite(found) & np.isfinite(wanted)
    with np.errstate(invalid="ignore", over="ignore"):
        near = abs(found.astype(float) - wanted) <= slack + slack * abs(wanted.astype(float))
    return np.where(finite, near, bits(found, wanted))


def numbers(found: Any, wanted: Any) -> Any:
    """The same numbers; a zero of either sign is one."""
    return bits(found + 0.0, wanted + 0.0)


def differing(
    given: Sequence[Schedule],
    flags: Sequence[str],
    folder: Path,
    same: Mapping[str, Same],
) -> list[str]:
    """The schedules that compute something else than the C as written."""
    names = sorted({each.name for each in given})
    plain, fast = folder / "plain", folder / "fast"
    plain.mkdir(), fast.mkdir()
    written = Library(
        [generate_c(PROCEDURES[name]) for name in names], plain, ["-O0", "-march=native"]
    )
    scheduled = Library([each.code for each in given], fast, flags)
    wrong = []
    for name, size, draw in ((n, s, d) for n in names for s in SIZES[n] for d in DRAWS):
        ast = mirror(PROCEDURES[name])
        wanted = data(name, size, *draw)
        written.call(names.index(name), ast, wanted)
        for number, each in enumerate(given):
            if each.name == name:
                found = data(name, size, *draw)
                scheduled.call(number, ast, found)
                arrays = [
                    (a, b) for a, b in zip(found, wanted, strict=True) if isinstance(a, np.ndarray)
                ]
                if not all(same[name](a, b).all() for a, b in arrays):
                    wrong.append(f"{name} {size} {draw}: {each.trace}")
    return wrong


EXACTLY = dict.fromkeys(KERNELS, bits)
SUMS_ALIKE = {name: close if name in SUMS else bits for name in KERNELS}
SUMS_ALIKE |= dict.fromkeys(EXTREMES, numbers)


@pytest.mark.slow
def test_strict_is_bit_for_bit_what_is_written(tmp_path: Path) -> None:
    assert differing(known(STRICT), default_flags(STRICT), tmp_path, EXACTLY) == []


@pytest.mark.slow
def test_reassociate_changes_only_how_sums_round(tmp_path: Path) -> None:
    flags = default_flags(REASSOCIATE)
    assert differing(known(REASSOCIATE), flags, tmp_path, SUMS_ALIKE) == []


@cache
def rewritten(name: str, transform: str, path: tuple[int, ...] = ()) -> Schedule:
    """By the first rewrite of this transform (at or below `path`), under no contract; of a row
    from its first element on."""
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    rewrites = select([transform])[0].rewrites(ast, TARGETS[FAST])
    plain = (each for each in rewrites if "aligned" not in dict(each.args))
    rewrite = next(each for each in plain if each.path[: len(path)] == path)
    code = generate_c(apply(procedure, ast, rewrite))
    return Schedule(name, code, Trace((rewrite,)))


def simplified(name: str) -> Schedule:
    code = generate_c(run_op(PROCEDURES[name], Op("simplify")))
    return Schedule(name, code, Trace())


def merged(name: str) -> Schedule:
    fused = apply_first(PROCEDURES[name], "fuse")
    return Schedule(name, generate_c(apply_first(fused, "merge_writes")), Trace())


def apply_first(procedure: Any, transform: str) -> Any:
    ast = mirror(procedure)
    return apply(procedure, ast, next(select([transform])[0].rewrites(ast, TARGETS[FAST])))


Fault = tuple[Schedule, Sequence[str], tuple[str, str], Mapping[str, Same]]

_STRICT, _ALIKE = default_flags(STRICT), default_flags(REASSOCIATE)

PLANTED: dict[str, Callable[[], Fault]] = {
    "a sum in another order": lambda: (
        rewritten("dot", "vectorise_reduction"),
        _STRICT,
        ("", ""),
        EXACTLY,
    ),
    "loops that add to one element swapped": lambda: (
        rewritten("planes", "reorder", (0, 0)),
        _STRICT,
        ("", ""),
        EXACTLY,
    ),
    "two additions made one": lambda: (merged("twice"), _STRICT, ("", ""), EXACTLY),
    "a product added without rounding": lambda: (
        rewritten("axpy", "vectorise"),
        (*_STRICT, "-mfma", "-ffp-contract=fast"),
        ("", ""),
        EXACTLY,
    ),
    "a comparison the other way round": lambda: (
        rewritten("choose", "vectorise"),
        _ALIKE,
        ("max_ps((__m256)b, (__m256)a)", "max_ps((__m256)a, (__m256)b)"),
        SUMS_ALIKE,
    ),
    "a relu that takes NaN for positive": lambda: (
        rewritten("choose", "vectorise"),
        _ALIKE,
        ("a[l] > 0 ? a[l] : 0", "a[l] <= 0 ? 0 : a[l]"),
        SUMS_ALIKE,
    ),
    "a maximum that keeps NaN": lambda: (
        rewritten("larger", "vectorise"),
        _ALIKE,
        ("(__m256)d, (__m256)c, _mm256_cmp", "(__m256)c, (__m256)c, _mm256_cmp"),
        SUMS_ALIKE,
    ),
    "a minimum of operands the other way round": lambda: (
        rewritten("shortest", "register_block"),
        _STRICT,
        ("_mm256_min_ps((__m256)a, (__m256)b)", "_mm256_min_ps((__m256)b, (__m256)a)"),
        EXACTLY,
    ),
    "a maximum of operands the other way round": lambda: (
        rewritten("longest", "register_block"),
        _STRICT,
        ("_mm256_max_pd((__m256d)b, (__m256d)a)", "_mm256_max_pd((__m256d)a, (__m256d)b)"),
        EXACTLY,
    ),
    "a minimum for a maximum": lambda: (
        rewritten("tops", "vectorise_reduction"),
        _ALIKE,
        ("_mm256_max_ps", "_mm256_min_ps"),
        SUMS_ALIKE,
    ),
    "a maximum begun with zero": lambda: (
        rewritten("tops", "vectorise_reduction"),
        _ALIKE,
        ("vec_f32x8_all(*x0)", "vec_f32x8_all(0)"),
        SUMS_ALIKE,
    ),
    "a chain that is not joined": lambda: (
        rewritten("tops", "vectorise_reduction"),
        _ALIKE,
        ("x99 = m0_3", "x99 = m0_2"),
        SUMS_ALIKE,
    ),
    "lanes that are not joined": lambda: (
        rewritten("tops", "vectorise_reduction"),
        _ALIKE,
        ("_turned_2(m0_0)", "_turned_4(m0_0)"),
        SUMS_ALIKE,
    ),
    "lanes beyond the last iteration": lambda: (
        rewritten("forgetful", "vectorise_reduction"),
        _ALIKE,
        ("_mask_mov_ps((__m256)b,", "_mask_mov_ps((__m256)a,"),
        SUMS_ALIKE,
    ),
    "NaN that a maximum in another order hides": lambda: (
        rewritten("forgetful", "vectorise_reduction"),
        _ALIKE,
        ("", ""),
        SUMS_ALIKE,
    ),
    "a maximum in another order": lambda: (
        rewritten("zeros", "vectorise_reduction"),
        _STRICT,
        ("", ""),
        EXACTLY,
    ),
    "functions in single precision": lambda: (
        rewritten("curves", "vectorise"),
        _ALIKE,
        ("", ""),
        SUMS_ALIKE,
    ),
    "a value stored where it was not": lambda: (
        rewritten("scaled", "hoist"),
        _ALIKE,
        ("", ""),
        SUMS_ALIKE,
    ),
    "constants computed by Exo": lambda: (simplified("constants"), _ALIKE, ("", ""), SUMS_ALIKE),
    "an approximate square root": lambda: (
        rewritten("roots", "vectorise"),
        _ALIKE,
        ("sqrt(a[l])", "a[l] * (1 / sqrt(a[l]))"),
        SUMS_ALIKE,
    ),
    "-ffast-math": lambda: (
        rewritten("larger", "vectorise"),
        default_flags(FAST),
        ("", ""),
        SUMS_ALIKE,
    ),
}
"""Each with a schedule, options to compile it, a text of its C to be another, and how it is
compared."""


@pytest.mark.normal
@pytest.mark.parametrize("title", PLANTED)
def test_comparisons_find(title: str, tmp_path: Path) -> None:
    schedule, flags, (old, new), same = PLANTED[title]()
    assert old in schedule.code.source
    changed = replace(schedule.code, source=schedule.code.source.replace(old, new))
    assert differing([replace(schedule, code=changed)], flags, tmp_path, same)


PRODUCTS = ["use_instruction", "vectorise_reduction"]

# -- what is refused ---------------------------------------------------------

ORDERS = [
    ("dot", "vectorise_reduction", ()),
    ("planes", "reorder", (0, 0)),
    ("smooth", "interleave", ()),
    ("tops", "vectorise_reduction", ()),
]
ROUNDINGS = [("curves", "vectorise", ()), ("scaled", "hoist", ()), ("scaled", "vectorise", ())]


@pytest.mark.normal
@pytest.mark.parametrize(("name", "transform", "path"), ORDERS)
def test_strict_keeps_the_order_of_sums(name: str, transform: str, path: tuple[int, ...]) -> None:
    step = rewritten(name, transform, path).trace
    with pytest.raises(ReplayError):
        Replayer(PROCEDURES[name], fp=STRICT).state(step)
    Replayer(PROCEDURES[name], fp=REASSOCIATE).state(step)
    Replayer(PROCEDURES[name], fp=FAST).state(step)


@pytest.mark.parametrize(("name", "transform", "path"), ROUNDINGS)
def test_roundings_are_kept(name: str, transform: str, path: tuple[int, ...]) -> None:
    step = rewritten(name, transform, path).trace
    for fp in (STRICT, REASSOCIATE):
        with pytest.raises(ReplayError, match=f"--fp {fp} rules it out"):
            Replayer(PROCEDURES[name], fp=fp).state(step)


def test_a_nan_that_an_order_hides_is_kept() -> None:
    step = rewritten("forgetful", "vectorise_reduction").trace
    for fp in (STRICT, REASSOCIATE):
        with pytest.raises(ReplayError, match=f"--fp {fp} rules it out"):
            Replayer(PROCEDURES["forgetful"], fp=fp).state(step)
    Replayer(PROCEDURES["forgetful"], fp=FAST).state(step)


def test_order_is_free_where_nothing_rounds() -> None:
    """Of integers, and wherever no contract is asked for afterwards."""
    product = kernels()["matmul_i8"]
    ast = mirror(product)
    for rewrite in select(["reorder"])[0].rewrites(ast, TARGETS[STRICT]):
        apply(product, ast, rewrite, STRICT)
    step = rewritten("planes", "reorder", (0, 0)).trace
    with pytest.raises(ReplayError):
        Replayer(PROCEDURES["planes"], fp=STRICT).state(step)
    Replayer(PROCEDURES["planes"]).state(step)


@pytest.mark.normal
def test_strict_still_blocks_and_vectorises() -> None:
    """Every order that a product of matrices needs keeps that of each element."""
    found = {step.transform for s in schedules("matmul", STRICT) for step in s.trace.steps}
    assert {"register_block", "reorder", "stage_scalar", "unroll_and_jam"} <= found
    assert any("fma" in s.code.source for s in schedules("matmul", STRICT))
    for name in ("shortest", "longest", "numbers"):
        found = {step.transform for s in schedules(name, STRICT) for step in s.trace.steps}
        assert {"register_block", "reorder", "stage_scalar", "unroll_and_jam"} <= found


@pytest.mark.parametrize(
    "op",
    [
        Op("simplify"),
        Op("left_reassociate_expr", ("x + y",)),
        Op("lift_reduce_constant", ("y = 0", "for i in _: _")),
        Op("stage_mem", (At((0,)), "y[0:n]", "t"), (("accum", True),)),
    ],
)
def test_unknown_and_algebraic_operators_are_refused(op: Op) -> None:
    with pytest.raises(RewriteError, match="--fp strict rules it out"):
        run_within(PROCEDURES["constants"], op, STRICT)


@pytest.mark.normal
def test_instructions_are_as_exact_as_their_bodies() -> None:
    """One rounding per element can only be done right; a product in a sum has two."""
    wanted = {
        "avx2_f32_load": (True, True),
        "avx2_f32_mul": (True, True),
        "avx2_f32_add_load": (True, True),
        "avx2_load_f32_as_f64": (True, True),
        "avx2_f32_fma": (False, True),
        "avx2_f32_sum": (False, True),
        "avx2_f32_max": (False, False),
        "avx2_f32_max_of": (False, False),
        "avx2_i32_fma": (True, True),
        "avx2_i32_sum": (True, True),
        "avx2_i8_dot": (True, True),
    }
    known = shipped()["avx2"].asts
    for name, allowed in wanted.items():
        found = tuple(inexact_body(known[name], reorder) is None for reorder in (False, True))
        assert found == allowed, name


@pytest.mark.normal
def test_nothing_certain_to_be_refused_is_proposed() -> None:
    """No sums over lanes, and no instruction that adds a product without rounding it."""
    target = replace(TARGETS[STRICT], features=("avx2", "fma"), isa="avx2")
    target, alphabet = with_instructions(target, []), select(PRODUCTS)
    assert any(each.name == "avx2" for each in target.instructions)
    for fp in FloatingPoint:
        proposed = {
            rewrite.transform
            for name in ("dot", "gemv", IN_REGISTERS)
            for rewrite in propose(mirror(PROCEDURES[name]), replace(target, fp=fp), alphabet)
        }
        assert proposed == (set() if fp is STRICT else {*PRODUCTS})
