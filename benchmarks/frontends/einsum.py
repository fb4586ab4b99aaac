"""40 einsum strings, untuned, beside the best of `numpy.einsum(optimize=True)` and opt_einsum."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, median, quantiles
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import schedsearch
from benchmarks.command import undirected
from schedsearch.core.errors import UserError

STRINGS = {
    "i,i->": "i=2000000",
    "i,j->ij": "i=1500 j=1500",
    "ij->ji": "i=1500 j=1500",
    "ij->i": "i=2000 j=1500",
    "ij->j": "i=2000 j=1500",
    "ijk->kji": "i=128 j=128 k=128",
    "ij,jk->": "i=200 j=200 k=200",
    "ij,ij->": "i=1500 j=1500",
    "ij,ij->ij": "i=1500 j=1500",
    "ij,ij->i": "i=1500 j=1500",
    "ij,ji->": "i=1500 j=1500",
    "ij,j->i": "i=1500 j=1500",
    "ij,i->j": "i=1500 j=1500",
    "i,ij,j->": "i=1500 j=1500",
    "ij,jk->ik": "i=320 j=320 k=320",
    "ij,kj->ik": "i=320 j=320 k=320",
    "ji,jk->ik": "i=320 j=320 k=320",
    "ij,jk->ki": "i=320 j=320 k=320",
    "bij,bjk->bik": "b=64 i=64 j=64 k=64",
    "bij,bkj->bik": "b=4096 i=8 j=8 k=8",
    "bij,jk->bik": "b=64 i=64 j=64 k=64",
    "bij,bj->bi": "b=64 i=200 j=200",
    "bhid,bhjd->bhij": "b=2 h=8 i=128 j=128 d=64",
    "bhij,bhjd->bhid": "b=2 h=8 i=128 j=128 d=64",
    "bshd,bthd->bhst": "b=2 h=8 s=128 t=128 d=64",
    "bhst,bthd->bshd": "b=2 h=8 s=128 t=128 d=64",
    "...ij,...jk->...ik": ".=16 i=100 j=100 k=100",
    "abcd,bd->ac": "a=48 b=48 c=48 d=48",
    "ijk,jil->kl": "i=32 j=32 k=128 l=128",
    "ijkl,klmn->ijmn": "i=16 j=16 k=16 l=16 m=16 n=16",
    "abcd,cdef->abef": "a=32 b=8 c=32 d=8 e=16 f=16",
    "ij,jk,kl->il": "i=200 j=200 k=200 l=200",
    "ij,jk,kl,lm->im": "i=160 j=160 k=160 l=160 m=160",
    "ai,bj,abk->ijk": "a=48 b=48 i=48 j=48 k=48",
    "abc,ad,be,cf->def": "a=32 b=32 c=32 d=32 e=32 f=32",
    "ijkl,ai,bj->abkl": "i=24 j=24 k=24 l=24 a=24 b=24",
    "ij,ij,ij->i": "i=1500 j=1500",
    "ijk,ik->ij": "i=64 j=300 k=100",
    "nchw,oc->nohw": "n=2 c=64 o=64 h=56 w=56",
    "ij,ik,ijk->i": "i=64 j=200 k=150",
}
"""Products, traces, attention and chains as issues of NumPy, PyTorch and opt_einsum have them, and
pairwise steps of einsum_benchmark, with lengths: 1e6 to 1e8 operations each."""

SAMPLE_S = 0.005
"""A sample has as many calls as take about so long."""

OURS, NUMPY, OTHER = "schedsearch", "numpy", "opt_einsum"


@dataclass(frozen=True)
class Row:
    """Seconds of a call in each round, by contender. `chosen` is what our `auto` took; `failed` is
    why there is nothing."""

    subscripts: str
    dtype: str
    chosen: str = ""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    failed: str = ""

    @property
    def best(self) -> str:
        """The peer whose median is least."""
        return min((NUMPY, OTHER), key=lambda name: median(self.seconds[name]))

    @property
    def ratios(self) -> list[float]:
        """Of the best peer's time to ours, in each round."""
        return [a / b for a, b in zip(self.seconds[self.best], self.seconds[OURS], strict=True)]


def operands(subscripts: str, dtype: str, lengths: str) -> list[Any]:
    """Random arrays; an ellipsis is one axis."""
    known = {name: int(n) for name, _, n in (each.partition("=") for each in lengths.split())}
    rng = np.random.default_rng(0)
    inputs = subscripts.partition("->")[0].replace("...", ".").split(",")
    return [rng.random([known[name] for name in each]).astype(dtype) - 0.5 for each in inputs]


def measured(subscripts: str, dtype: str, lengths: str, rounds: int) -> Row:
    """In interleaved rounds, in random order. Raises UserError if we are wrong."""
    import opt_einsum

    arrays = operands(subscripts, dtype, lengths)
    calls: dict[str, Callable[[], Any]] = {
        OURS: lambda: schedsearch.einsum(subscripts, *arrays),
        NUMPY: lambda: np.einsum(subscripts, *arrays, optimize=True),
        OTHER: lambda: opt_einsum.contract(subscripts, *arrays),
    }
    found, wanted = calls[OURS](), np.asarray(calls[NUMPY]())
    away, most = np.abs(found - wanted).max(), np.abs(wanted).max()
    if found.dtype != wanted.dtype or not away <= 1e4 * np.finfo(wanted.dtype).eps * max(most, 1):
        raise UserError(f"einsum {subscripts!r} of {dtype} is wrong by {away}")
    times = {name: _repeats(call) for name, call in calls.items()}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    order, draw = list(calls), random.Random(subscripts)
    for _ in range(rounds):
        draw.shuffle(order)
        for name in order:
            begin = perf_counter()
            for _ in range(times[name]):
                calls[name]()
            seconds[name].append((perf_counter() - begin) / times[name])
    return Row(subscripts, dtype, schedsearch.einsum.chosen(subscripts, *arrays).by, seconds)


def _repeats(call: Callable[[], Any]) -> int:
    call()
    begin = perf_counter()
    call()
    return max(1, int(SAMPLE_S / (perf_counter() - begin)))


def compare(strings: Sequence[str], dtypes: Sequence[str], rounds: int) -> Iterator[Row]:
    for subscripts in strings:
        for dtype in dtypes:
            try:
                yield measured(subscripts, dtype, STRINGS[subscripts], rounds)
            except Exception as error:  # the other rows are worth their time
                yield Row(subscripts, dtype, failed=f"{type(error).__name__}: {error}")


def einsum(
    only: Annotated[str, typer.Option(help="One string.")] = "",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, each of all contenders.")] = 21,
    json_: Annotated[Path | None, typer.Option("--json", help="Write all times there.")] = None,
) -> None:
    """Time 40 einsum strings of f32 and f64, by `schedsearch.einsum` without tuning, NumPy and
    opt_einsum: one thread on one core, without variables that direct their libraries.
    """
    undirected()
    if only not in ("", *STRINGS):
        raise UserError(f"no string is {only!r}; known: {', '.join(STRINGS)}")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rows = list(compare([only] if only else list(STRINGS), ("float32", "float64"), rounds))
    console = Console(highlight=False)
    console.print(table(rows))
    if json_:
        json_.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    ratios = [median(row.ratios) for row in rows if not row.failed]
    if ratios:
        mean = geometric_mean(ratios)
        console.print(f"geometric mean {mean:.2f}x the best of the others, {len(ratios)} rows")
    if failed := len(rows) - len(ratios):
        console.print(f"{failed} rows failed")
        raise typer.Exit(1)


def table(rows: Sequence[Row]) -> Table:
    out = Table("einsum", "type", "by", "ms", "best other", "ms", "ratio", "quartiles", box=None)
    for row in rows:
        if row.failed:
            out.add_row(row.subscripts, row.dtype, row.failed)
            continue
        ms = [f"{median(row.seconds[name]) * 1e3:.3f}" for name in (OURS, row.best)]
        ratios = row.ratios * 2 if len(row.ratios) == 1 else row.ratios
        low, middle, high = quantiles(ratios, n=4, method="inclusive")
        spread = f"{low:.2f} to {high:.2f}"
        out.add_row(
            row.subscripts, row.dtype, row.chosen, ms[0], row.best, ms[1], f"{middle:.2f}", spread
        )
    return out
