"""Random procedures and schedules under the floating-point contracts that say what becomes of
special values, against the C as written at `-O0`: bit for bit under `strict`; under `reassociate`
NaN and infinities where that has them, and fractions within their enclosures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from transforms.helpers import arguments
from transforms.native import Library

from fuzz.comparison import writable
from fuzz.enclosure import Undefined, enclosures, within
from fuzz.examine import Finding
from fuzz.procedures import Generated
from fuzz.schedules import walk
from schedsearch.analysis.out_of_bounds import out_of_bounds
from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, RewriteError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.compiler import default_flags
from schedsearch.evaluate.oracle.ladders import has_floats, has_integers
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, propose, select

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42)
HUGE = 3e38
"""Special, too, where sums keep their order: in another one they overflow elsewhere."""
SHARES = (0.0, 0.1)
"""Of special values among the data."""


Schedules = Callable[[Any], Iterator[tuple[Trace, Any]]]
"""What is made of a procedure, each with its trace."""


def drawn_walks(generated: Generated, walks: Sequence[Sequence[int]], target: Target) -> Schedules:
    """All steps of random walks."""
    sizes = dict(generated.sizes[-1])
    return lambda original: (
        (step.trace, step.state.procedure)
        for choices in walks
        for step in walk(original, choices, target, sizes)
    )


def single_rewrites(names: Sequence[str], target: Target) -> Schedules:
    """All legal rewrites of these transforms."""

    def made(original: Any) -> Iterator[tuple[Trace, Any]]:
        written = mirror(original)
        for rewrite in propose(written, target, select(names)):
            with suppress(RewriteError):
                yield Trace((rewrite,)), apply(original, written, rewrite, target.fp)

    return made


def findings(
    generated: Generated, schedules: Schedules, folder: Path, fp: FloatingPoint
) -> Iterator[Finding | Trace]:
    """The trace of each schedule that was compared under a contract, a finding for each that
    differs."""
    path = folder / "fuzzed.py"
    path.write_text(generated.text)
    try:
        original = load_source(path).procs["fuzzed"]
        codes = {generate_c(original).key: (generate_c(original), Trace())}
    except (UserError, CodegenError):
        return
    meaning = mirror(original)
    if out_of_bounds(meaning):
        return
    for trace, procedure in schedules(original):
        try:
            code = generate_c(procedure)
        except CodegenError:
            continue
        codes.setdefault(code.key, (code, trace))
    (written, _), *scheduled = codes.values()
    kernels = [code for code, _ in scheduled]
    for number, wrong in _wrong(meaning, written, kernels, generated, fp, folder):
        trace = scheduled[number][1]
        yield Finding(generated.text, trace, wrong, f"under {fp}") if wrong else trace


def _wrong(
    meaning: q.Proc,
    written: GeneratedC,
    codes: Sequence[GeneratedC],
    generated: Generated,
    fp: FloatingPoint,
    folder: Path,
) -> Iterator[tuple[int, str]]:
    places = [folder / "written", folder / "scheduled"]
    for place in places:
        place.mkdir(exist_ok=True)
    one = Library([writable(written)], places[0], ["-O0", "-march=native"])
    many = Library([writable(code) for code in codes], places[1], default_flags(fp))
    # C does not define what integer a NaN becomes.
    converts = has_floats(meaning) and has_integers(meaning)
    for number in range(len(codes)):
        wrong = ""
        for share in SHARES[:1] if converts else SHARES:
            for controls in generated.sizes:
                given, wanted, found = (data(meaning, controls, share, fp) for _ in range(3))
                one.call(0, meaning, wanted)
                many.call(number, meaning, found)
                if fp is FloatingPoint.STRICT or share:
                    wrong = wrong or _differing(meaning, found, wanted, fp)
                else:
                    wrong = wrong or _outside(meaning, found, given)
        yield number, wrong


def _outside(meaning: q.Proc, found: Sequence[Any], given: Sequence[Any]) -> str:
    """What lies outside of its enclosure, where C defines the results."""
    try:
        bounds = enclosures(meaning, given)
    except Undefined:
        return ""
    for arg, value, own in zip(meaning.args, found, bounds, strict=True):
        if not within(value, own):
            return f"{arg.var.name} is\n{value}\nand should be within\n{own}"
    return ""


def data(
    meaning: q.Proc, controls: Mapping[str, int], share: float, fp: FloatingPoint
) -> list[Any]:
    """Arguments: small whole numbers; floats with fractions, and that share of specials."""
    rng = np.random.default_rng(5)
    specials = (*SPECIAL, HUGE) if fp is FloatingPoint.STRICT else SPECIAL
    found = []
    for value in arguments(meaning, controls, 3):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            fractions = value + rng.normal(size=value.shape)
            special = rng.choice(specials, value.shape)
            drawn = np.where(rng.random(value.shape) < share, special, fractions)
            value = np.asarray(drawn, value.dtype)
        found.append(value)
    return found


def _differing(
    meaning: q.Proc, found: Sequence[Any], wanted: Sequence[Any], fp: FloatingPoint
) -> str:
    """What has other bits than it should; or, if not strictly, what is NaN or infinite on one
    side alone (an integer made of a sum may differ)."""
    for arg, value, right in zip(meaning.args, found, wanted, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        if fp is FloatingPoint.STRICT:
            same = np.frombuffer(value.tobytes(), np.uint8) == np.frombuffer(
                right.tobytes(), np.uint8
            )
            same = same.reshape(value.size, -1).all(axis=1)
        elif value.dtype.kind == "f":
            same = ((value == right) | (np.isfinite(value) & np.isfinite(right))).ravel()
        else:
            continue
        if value.dtype.kind == "f":
            same |= (np.isnan(value) & np.isnan(right)).ravel()
        if not same.all():
            return f"{arg.var.name} is\n{value}\nand should be\n{right}"
    return ""
