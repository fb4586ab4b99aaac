"""The floating-point contract: how far a kernel's results may differ from the C as written."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import unknown


class FloatingPoint(StrEnum):
    """Freedom of rewrites and the C compiler with floating-point numbers, the strictest first.

    `strict`: nothing. Every result is bit for bit that of the C as written, built at `-O0`.
    `reassociate`: sums may be added up in another order, and a product be added to a sum with
    one rounding. All else is IEEE 754: NaN, infinities, denormal numbers, signed zeros (but a
    sum that is zero may have either sign).
    `fast`: what the compilers' `-ffast-math` allows; NaN and infinities are not expected.
    """

    STRICT = "strict"
    REASSOCIATE = "reassociate"
    FAST = "fast"


MEANINGS = {
    FloatingPoint.STRICT: "results are bit for bit those of the C as written",
    FloatingPoint.REASSOCIATE: "sums in any order, products added without rounding, else IEEE",
    FloatingPoint.FAST: "as -ffast-math allows; NaN and infinities are not expected",
}


def allows(fp: FloatingPoint, needed: FloatingPoint) -> bool:
    """Whether a contract allows what the other one, or less strict ones, do."""
    order = [*FloatingPoint]
    return order.index(fp) >= order.index(needed)


def floating_point(text: str | None) -> FloatingPoint | None:
    """The contract of this name; None stays None. Raises UserError for any other text."""
    if text is not None and text not in [*FloatingPoint]:
        raise UserError(unknown("--fp", text, FloatingPoint))
    return None if text is None else FloatingPoint(text)


_VALUE_CHANGING = (
    "-Ofast",
    "-ffast-math",
    "-funsafe-math-optimizations",
    "-fassociative-math",
    "-freciprocal-math",
    "-ffinite-math-only",
    "-fno-signed-zeros",
    "-fno-honor-nans",
    "-fno-honor-infinities",
    "-fapprox-func",
    "-mrecip",
    "-mdaz-ftz",
    "-fdenormal-fp-math=",
    "-ffp-model=",
    "-fcx-limited-range",
    "-includetgmath.h",
)
"""Starts of options that change results beyond what `reassociate` allows."""

_CONTRACTING = ("-ffp-contract=fast", "-ffp-contract=on")


def changes_values(flag: str) -> bool:
    """Whether a compiler option changes more than the order of sums."""
    return flag.startswith(_VALUE_CHANGING)


def forbidden_flags(fp: FloatingPoint, flags: Iterable[str]) -> list[str]:
    """The compiler options among `flags` that break the contract."""
    if fp is FloatingPoint.FAST:
        return []
    contracting = _CONTRACTING if fp is FloatingPoint.STRICT else ()
    return [flag for flag in flags if changes_values(flag) or flag in contracting]


def contract_flags(fp: FloatingPoint) -> tuple[str, ...]:
    """Compiler options that keep the contract, for gcc and clang.

    `-fno-math-errno` and `-fno-trapping-math` change no result: they promise that no code reads
    `errno` or the exception flags. Without this promise hardly a loop with a square root or a
    comparison would be vectorised. gcc's `-fassociative-math` is no part of `reassociate`, because
    it also ignores NaN and the sign of zero: only rewrites reorder sums.
    """
    if fp is FloatingPoint.FAST:
        return ("-ffast-math",)
    contract = "off" if fp is FloatingPoint.STRICT else "fast"
    return (f"-ffp-contract={contract}", "-fno-math-errno", "-fno-trapping-math")
