"""How the coefficients of `fused/elementary.py` are found: `python -m transforms.fitting`.

Least squares of the weighted error at Chebyshev's points, which is close to the least maximum. Each
coefficient is rounded to its type, from the constant on, before the others are fitted again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

Real = Callable[[Any], Any]

BITS = {"f32": 24, "f64": 53}
POINTS = 64


def _exp(r: Any) -> Any:
    return (mp.expm1(r) - r) / r**2


def _of_exp(r: Any) -> Any:
    return r**2 / mp.exp(r)


def _log(z: Any) -> Any:
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def _of_log(z: Any) -> Any:
    return z / 2


def _erf(z: Any) -> Any:
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def _of_erf(z: Any) -> Any:
    x = mp.sqrt(z)
    return x / mp.erf(x)


def _erfc(u: Any) -> Any:
    return -mp.log(mp.erfc(u + 1))


def _of_erfc(u: Any) -> Any:
    return mp.erfc(u + 1) / mp.erf(u + 1)


def _log2(z: Any) -> Any:
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / (z * mp.log(2))


def _exp2(r: Any) -> Any:
    return (mp.power(2, r) - 1) / r


def _of_exp2(r: Any) -> Any:
    return r / mp.power(2, r)


FITS: dict[str, tuple[Real, Real, dict[str, tuple[float, float, int]]]] = {
    "EXP": (_exp, _of_exp, {"f32": (-0.6932, 0.6932, 5), "f64": (-0.6932, 0.6932, 11)}),
    "EXP_NEAR": (_exp, _of_exp, {"f32": (-0.3466, 0.3466, 4), "f64": (-0.3466, 0.3466, 9)}),
    "LOG": (_log, _of_log, {"f32": (0, 0.02944, 2), "f64": (0, 0.02944, 6)}),
    "ERF": (_erf, _of_erf, {"f32": (0, 1, 6), "f64": (0, 1, 11)}),
    "ERFC": (_erfc, _of_erfc, {"f32": (0, 3, 6), "f64": (0, 5, 17)}),
    "LOG2": (_log2, _of_log, {"f32": (0, 0.02944, 3)}),
    "EXP2": (_exp2, _of_exp2, {"f32": (-0.501, 0.501, 5)}),
}
"""Function, weight (it makes errors relative to the result), interval and degree by type."""


def fitted(name: str, kind: str) -> tuple[float, ...]:
    function, weight, cases = FITS[name]
    low, high, degree = cases[kind]
    with mp.workprec(300):
        middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
        turns = (mp.pi * (2 * n + 1) / (2 * POINTS) for n in range(POINTS))
        points = [middle + half * mp.cos(turn) for turn in turns]
        weights = [weight(x) for x in points]
        left = [function(x) for x in points]
        found: list[float] = []
        for first in range(degree + 1):
            powers = range(first, degree + 1)
            a = mp.matrix(
                [[w * x**n for n in powers] for x, w in zip(points, weights, strict=True)]
            )
            b = mp.matrix([w * y for y, w in zip(left, weights, strict=True)])
            coefficient = mp.lu_solve(a.T * a, a.T * b)[0]
            with mp.workprec(BITS[kind]):
                coefficient = +coefficient
            left = [y - coefficient * x**first for y, x in zip(left, points, strict=True)]
            found.append(float(coefficient))
    return tuple(float(str(np.float32(c))) if kind == "f32" else c for c in found)


if __name__ == "__main__":
    for name, (_, _, kinds) in FITS.items():
        print(f"{name} = {{")
        for kind in kinds:
            print(f'    "{kind}": {fitted(name, kind)},')
        print("}")
