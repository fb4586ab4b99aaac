"""`python -m benchmarks.calling`: what does it cost to call a kernel from Python?"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from timeit import timeit
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.calling.kernels import first_sum, product
from benchmarks.command import run_command
from schedsearch.deploy.kernel import kernel
from schedsearch.deploy.recorder import record
from schedsearch.deploy.variants import Written, load_as_written

CALLS, ROUNDS, REPEATS = 2000, 30, 3
SIZES = (2, 4, 8, 16, 32, 64)
"""Of products, with a store."""

RECORDED = "kernel(z, x, y), recorded"
"""What is called while calls are counted; other contenders are not."""

Contender = Callable[[], object]


@dataclass(frozen=True)
class Timed:
    """Nanoseconds of one call in each round: the least of `REPEATS` samples."""

    name: str
    ns: tuple[float, ...]

    def ratio(self, other: Timed) -> float:
        """How many times as long as `other`: the median over rounds."""
        return median(a / b for a, b in zip(self.ns, other.ns, strict=True))

    def over(self, other: Timed) -> float:
        """Nanoseconds more than `other`: the median over rounds."""
        return median(a - b for a, b in zip(self.ns, other.ns, strict=True))


def calling(
    store: Annotated[
        str | None, typer.Option(help="Store with schedules of product, to time it too.")
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write everything here.")
    ] = None,
) -> None:
    """Time calls of a kernel that does next to nothing, with three arrays: by the generated caller
    with all of its checks, also while calls are recorded, and by ctypes without any. With a store,
    time also products of 2 x 2 to 64 x 64 matrices, and NumPy's: for small ones the call may cost
    more than the product.

    Example: [bold]schedsearch run benchmarks/calling/kernels.py product --size M=64 --size N=64
    --size K=64 --store calling.sqlite[/], then
    [bold]python -m benchmarks.calling --store calling.sqlite[/]
    """
    found = [rounds(small_calls())]
    if store:
        found += [rounds(products(store, n)) for n in SIZES]
    console = Console(highlight=False)
    for timed in found:
        console.print(table(timed))
    if json_:
        json_.write_text(json.dumps([asdict(each) for timed in found for each in timed], indent=1))


def small_calls() -> Mapping[str, Contender]:
    x, y, z = (np.ones(8, np.float32) for _ in range(3))
    called = kernel(first_sum)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, *[ctypes.c_void_p] * 3)(
        load_as_written(Written.of(first_sum))
    )
    nothing: Callable[..., None] = lambda z, x, y: None  # noqa: E731
    return {
        "a function of Python that does nothing": lambda: nothing(z, x, y),
        "kernel(z, x, y)": lambda: called(z, x, y),
        RECORDED: lambda: called(z, x, y),
        "ctypes, unchecked": lambda: function(
            None, len(x), z.ctypes.data, x.ctypes.data, y.ctypes.data
        ),
        "numpy.add(x, y, out=z)": lambda: np.add(x, y, out=z),
    }


def products(store: str, n: int) -> Mapping[str, Contender]:
    a, b, c = (np.ones((n, n), np.float32) for _ in range(3))
    tuned = kernel(product, store=store)
    return {
        f"numpy.matmul(a, b, out=c), {n} x {n}": lambda: np.matmul(a, b, out=c),
        "numpy.einsum('ik,kj', a, b, out=c)": lambda: np.einsum("ik,kj", a, b, out=c),
        "kernel(c, a, b), tuned": lambda: tuned(c, a, b),
    }


def rounds(contenders: Mapping[str, Contender]) -> list[Timed]:
    """Interleaved: disturbances of the machine meet all alike."""
    ns: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()  # what is compiled is compiled now
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            with record() if name == RECORDED else nullcontext():
                call()  # asks whether it is counted, and where
                least = min(timeit(call, number=CALLS) for _ in range(REPEATS))
            ns[name].append(least / CALLS * 1e9)
    return [Timed(name, tuple(each)) for name, each in ns.items()]


def table(found: list[Timed]) -> Table:
    """Beside the first."""
    out = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("", "ns", "over the first", "ratio"):
        out.add_column(title, justify="right" if title else "left")
    for timed in found:
        over, ratio = timed.over(found[0]), timed.ratio(found[0])
        out.add_row(timed.name, f"{median(timed.ns):.0f}", f"{over:+.0f}", f"{ratio:.2f}")
    return out


if __name__ == "__main__":
    run_command(calling)
