"""npbench's functions with only the decorator added: how many are taken, and why not the others.

npbench is not part of schedsearch: `--npbench` is a checkout of github.com/spcl/npbench.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import schedsearch
from schedsearch.core.errors import UserError

SMALL = 32
"""Sizes above are made about as small: results are compared, not times."""

TOLERANCE = {"float32": 2e-3, "float64": 1e-7}


@dataclass(frozen=True)
class Benchmark:
    """A function and its arguments, by name."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    values: Mapping[str, Any]

    def copies(self) -> list[Any]:
        given = (self.values[each] for each in self.arguments)
        return [each.copy() if isinstance(each, np.ndarray) else each for each in given]


@dataclass(frozen=True)
class Row:
    """What became of a function: `reason` is empty where it is taken and right."""

    name: str
    reason: str
    error: float = 0.0
    seconds: float = 0.0


def benchmarks(folder: Path, small: bool = True) -> Iterator[Benchmark]:
    """Those of a checkout, in the order of their names."""
    sys.path.insert(0, str(folder))
    for file in sorted((folder / "bench_info").glob("*.json")):
        info = json.loads(file.read_text())["benchmark"]
        yield _benchmark(info, small)


def _benchmark(info: dict[str, Any], small: bool) -> Benchmark:
    place = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}"
    name = info["module_name"]
    function = getattr(importlib.import_module(f"{place}.{name}_numpy"), info["func_name"])
    sizes = dict(info["parameters"]["S"])
    if small:
        order = sorted({n for n in sizes.values() if isinstance(n, int) and n > SMALL})
        reduced = {k: 12 + 2 * order.index(n) if n in order else n for k, n in sizes.items()}
        try:
            return _with_values(info, place, function, reduced)
        except Exception:  # sizes that depend on each other
            pass
    return _with_values(info, place, function, sizes)


def _with_values(
    info: dict[str, Any], place: str, function: Callable[..., Any], sizes: dict[str, Any]
) -> Benchmark:
    values = dict(sizes)
    if start := info.get("init"):
        module = importlib.import_module(f"{place}.{info['module_name']}")
        made = getattr(module, start["func_name"])(*(values[n] for n in start["input_args"]))
        names = start["output_args"]
        values |= dict(zip(names, made if len(names) > 1 else (made,), strict=True))
    return Benchmark(info["module_name"], function, tuple(info["input_args"]), values)


def tried(benchmark: Benchmark) -> Row:
    """Run the function as Python and as a kernel."""
    plain, ours = benchmark.copies(), benchmark.copies()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = benchmark.function(*plain)
    begin = perf_counter()
    try:
        found = schedsearch.jit(benchmark.function)(*ours)
    except (UserError, TypeError, ValueError) as error:
        return Row(benchmark.name, str(error).replace("\n", " "))
    seconds = perf_counter() - begin
    away, wrong = _compared([wanted, *plain], [found, *ours])
    return Row(benchmark.name, f"wrong: {wrong}" if wrong else "", away, seconds)


def _compared(wanted: Any, found: Any) -> tuple[float, str]:
    """The largest error, relative to the largest number, and what is wrong."""
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return 0.0, "another number of results"
        parts = [_compared(a, b) for a, b in zip(wanted, found, strict=True)]
        wrong = next((text for _, text in parts if text), "")
        return max([error for error, _ in parts], default=0.0), wrong
    if wanted is None or found is None:
        return 0.0, "" if wanted is found else "a result is missing"
    a, b = np.asarray(wanted), np.asarray(found)
    if a.shape != b.shape or a.dtype != b.dtype:
        return 0.0, f"{b.dtype}{list(b.shape)} instead of {a.dtype}{list(a.shape)}"
    if a.dtype.kind not in "fiu":
        return 0.0, "" if np.array_equal(a, b) else "different"
    same = np.isnan(a) & np.isnan(b) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    away = np.abs(np.where(same, 0, a.astype(float) - b.astype(float)))
    finite = np.abs(a[np.isfinite(a)])
    error = float(away.max(initial=0.0) / max(float(finite.max(initial=0.0)), 1e-30))
    limit = TOLERANCE.get(a.dtype.name, 0.0)
    return error, "" if error <= limit else f"error {error:.1e}"


def npbench(
    folder: Annotated[Path, typer.Option("--npbench", help="A checkout of npbench.")],
    only: Annotated[str, typer.Option(help="The name of one function.")] = "",
    json_: Annotated[Path | None, typer.Option("--json", help="Write the rows there.")] = None,
) -> None:
    """How many of npbench's functions are taken with only the decorator added?"""
    found = [tried(each) for each in benchmarks(folder) if only in ("", each.name)]
    table = Table("function", "taken", "error", "first call", "reason")
    for each in found:
        yes = "no" if each.reason else "yes"
        numbers = ("", "") if each.reason else (f"{each.error:.0e}", f"{each.seconds:.1f} s")
        table.add_row(each.name, yes, *numbers, each.reason)
    console = Console()
    console.print(table)
    console.print(f"{sum(not each.reason for each in found)} of {len(found)} taken")
    if json_:
        json_.write_text(json.dumps([each.__dict__ for each in found], indent=1))


if __name__ == "__main__":
    typer.run(npbench)
