"""Random procedures and schedules under the strict contract, bit for bit against the C as written
at `-O0`, on fractions and special values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transforms.helpers import arguments
from transforms.native import Library

from fuzz.comparison import writable
from fuzz.examine import Finding
from fuzz.procedures import Generated
from fuzz.schedules import walk
from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Trace
from schedsearch.evaluate.compiler import default_flags
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.loader import load_source
from schedsearch.transforms.mirror import mirror
from schedsearch.transforms.outside import outside

STRICT = FloatingPoint.STRICT
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38)
SHARES = (0.0, 0.1)
"""Of special values among the data."""


def findings(
    generated: Generated, walks: Sequence[Sequence[int]], target: Target, folder: Path
) -> Iterator[Finding | Trace]:
    """The trace of each schedule that was compared, a finding for each that differs. The walks
    keep the contract of the target."""
    path = folder / "fuzzed.py"
    path.write_text(generated.text)
    try:
        original = load_source(path).procs["fuzzed"]
        codes = {generate_c(original).key: (generate_c(original), Trace())}
    except (UserError, CodegenError):
        return
    meaning = mirror(original)
    if outside(meaning):
        return
    for choices in walks:
        for step in walk(original, choices, target, dict(generated.sizes[-1])):
            try:
                code = generate_c(step.state.procedure)
            except CodegenError:
                continue
            codes.setdefault(code.key, (code, step.trace))
    (written, _), *scheduled = codes.values()
    for number, wrong in _wrong(meaning, written, [c for c, _ in scheduled], generated, folder):
        trace = scheduled[number][1]
        yield Finding(generated.text, trace, wrong, "strictly") if wrong else trace


def _wrong(
    meaning: q.Proc,
    written: GeneratedC,
    codes: Sequence[GeneratedC],
    generated: Generated,
    folder: Path,
) -> Iterator[tuple[int, str]]:
    places = [folder / "written", folder / "scheduled"]
    for place in places:
        place.mkdir(exist_ok=True)
    one = Library([writable(written)], places[0], ["-O0"])
    many = Library([writable(code) for code in codes], places[1], default_flags(STRICT))
    for number in range(len(codes)):
        wrong = ""
        for share in SHARES:
            for controls in generated.sizes:
                wanted, found = (data(meaning, controls, share) for _ in range(2))
                one.call(0, meaning, wanted)
                many.call(number, meaning, found)
                wrong = wrong or _differing(meaning, found, wanted)
        yield number, wrong


def data(meaning: q.Proc, controls: Mapping[str, int], share: float) -> list[Any]:
    """Arguments: small whole numbers; floats with fractions, and that share of specials."""
    rng = np.random.default_rng(5)
    found = []
    for value in arguments(meaning, controls, 3):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            fractions = value + rng.normal(size=value.shape)
            special = rng.choice(SPECIAL, value.shape)
            drawn = np.where(rng.random(value.shape) < share, special, fractions)
            value = np.asarray(drawn, value.dtype)
        found.append(value)
    return found


def _differing(meaning: q.Proc, found: Sequence[Any], wanted: Sequence[Any]) -> str:
    for arg, value, right in zip(meaning.args, found, wanted, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        same = np.frombuffer(value.tobytes(), np.uint8) == np.frombuffer(right.tobytes(), np.uint8)
        same = same.reshape(value.size, -1).all(axis=1)
        if value.dtype.kind == "f":
            same |= (np.isnan(value) & np.isnan(right)).ravel()
        if not same.all():
            return f"{arg.var.name} is\n{value}\nand should be\n{right}"
    return ""
