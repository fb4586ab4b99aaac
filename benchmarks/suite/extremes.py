"""Minima and maxima as kernels of the suite: their sizes are constants of what is tuned, but of
`min_plus_sizes`, whose schedules stay valid for every size."""

from __future__ import annotations

from benchmarks.suite.case import KERNELS, Case
from schedsearch.peers.arrays import Fill


def _case(
    name: str, form: str, sizes: dict[str, int], specialize: bool = True, **fills: Fill
) -> Case:
    return Case(
        name=name,
        file=KERNELS / "extremes.py",
        proc=form,
        form=form,
        sizes=tuple(sizes.items()),
        fills=tuple(fills.items()),
        specialize=specialize,
        group="extremes",
    )


_FAR = Fill(2.0, 3.0)
"""No path yet: all that is found is shorter."""
_ODD = {"M": 301, "N": 307, "K": 293}

EXTREMES: tuple[Case, ...] = (
    _case("min_plus", "min_plus", {"M": 256, "N": 256, "K": 256}, C=_FAR),
    _case("min_plus_odd", "min_plus", _ODD, C=_FAR),
    _case("min_plus_sizes", "min_plus", _ODD, specialize=False, C=_FAR),
    _case("farthest", "farthest", {"M": 200, "N": 500, "K": 64}),
    _case("row_max", "row_max", {"M": 512, "N": 1024}),
    _case("max_abs", "max_abs", {"N": 200_000}),
)
