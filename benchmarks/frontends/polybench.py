"""PolyBench/C's kernel functions, unmodified: how many are taken, and why not the others.

PolyBench is not part of schedsearch, and is not built here: `--polybench` is a checkout of version
4.2.1, `--originals` a folder with a shared library for each file, `gemm.so`, that has its kernel
function under its name.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import schedsearch
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, FLOATS
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_kernel
from schedsearch.frontends.lower import lower
from schedsearch.transforms.exo.loader import load_source, pick

DEFINES = ("SMALL_DATASET", "POLYBENCH_USE_C99_PROTO")

LEAST_SIZE = 11
"""Sizes are this and the numbers after it, each another: all are within the smallest data sets."""

TOLERANCE = 1e-12
"""Of results, relative."""


@dataclass(frozen=True)
class Row:
    """What became of a function. `reason`: why it is refused. `difference`: the largest, relative;
    None if there was nothing to compare with."""

    name: str
    reason: str = ""
    asserts: tuple[str, ...] = ()
    seconds: float = 0.0
    difference: float | None = None

    @property
    def right(self) -> bool:
        return not self.reason and (self.difference is None or self.difference <= TOLERANCE)


def polybench(
    polybench: Annotated[
        Path, typer.Option(metavar="DIR", help="A checkout of PolyBench/C 4.2.1.")
    ],
    originals: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Shared libraries of the kernels, for their results."),
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("--define", "-D", metavar="NAME", help="A macro.")
    ] = None,
) -> None:
    """Translate all of PolyBench/C, and compare results with those of the originals.

    The originals have to be compiled with the same macros, by default SMALL_DATASET and
    POLYBENCH_USE_C99_PROTO, and without -ffast-math.

    Example: [bold]python -m benchmarks.frontends polybench --polybench PolyBenchC-4.2.1[/]
    """
    rows = list(compare(polybench, originals, tuple(define or DEFINES)))
    console = Console(highlight=False)
    console.print(table(rows))
    taken = sum(not row.reason for row in rows)
    wrong = [row.name for row in rows if not row.reason and not row.right]
    console.print(f"{taken} of {len(rows)} taken; {len(wrong)} wrong {' '.join(wrong)}".rstrip())


def files(folder: Path) -> list[Path]:
    """The files with kernels, in PolyBench's order."""
    listed = folder / "utilities" / "benchmark_list"
    if not listed.is_file():
        raise UserError(f"{folder} is no checkout of PolyBench/C: no utilities/benchmark_list")
    return [folder / line.strip() for line in listed.read_text().splitlines() if line.strip()]


def kernel_of(file: Path) -> str:
    """The name of a file's kernel function."""
    return f"kernel_{file.stem.replace('-', '_')}"


def compare(folder: Path, originals: Path | None, defines: Sequence[str]) -> Iterator[Row]:
    """A row for each file."""
    for file in files(folder):
        function = kernel_of(file)
        begin = perf_counter()
        try:
            program = c_kernel(file, function, defines, [folder / "utilities", file.parent])
            with tempfile.TemporaryDirectory() as written:
                module = Path(written) / f"{function}.py"
                lowered = lower(program)
                module.write_text(lowered.text)
                procedure = pick(load_source(module), lowered.name)
                seconds = perf_counter() - begin
                difference = None
                if originals is not None:
                    original = _original(originals / f"{file.stem}.so", function)
                    difference = _difference(program, procedure, original)
        except UserError as error:
            yield Row(file.stem, str(error))
            continue
        yield Row(file.stem, "", lowered.asserts, seconds, difference)


def _original(library: Path, function: str) -> Any:
    try:
        return ctypes.CDLL(str(library.resolve()))[function]
    except (OSError, AttributeError) as error:
        raise UserError(f"{library}: no original to compare with: {error}") from error


def _difference(program: graph.Program, procedure: Any, original: Any) -> float:
    """The largest relative difference of results on random data."""
    sizes, data = arguments(program)
    wanted, found = ({name: each.copy() for name, each in data.items()} for _ in range(2))
    original(*(_passed(p, sizes, wanted) for p in program.parameters))
    kernel = schedsearch.kernel(procedure)
    names = [arg.name for arg in program.parameters if isinstance(arg, graph.Array)]
    kernel(*(found[n] if found[n].ndim else found[n].item() for n in names), **sizes)
    return max(_relative(wanted[name], found[name]) for name in names)


def arguments(program: graph.Program) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and data by name. Square matrices are positive definite, so that all can be factored,
    and vectors are short."""
    found = [each for each in program.parameters if isinstance(each, q.Var)]
    known = {var: LEAST_SIZE + number for number, var in enumerate(found)}
    random = np.random.default_rng(0)
    data: dict[str, Any] = {}
    for array in program.parameters:
        if not isinstance(array, graph.Array):
            continue
        shape = [q.evaluate_affine(n, lambda atom: known[atom]) for n in array.shape]  # type: ignore[index]
        values: Any
        if array.type in FLOATS:
            values = random.random(shape)
            if len(shape) == 2 and shape[0] == shape[1]:
                values = values @ values.T + shape[0] * np.eye(shape[0])
            elif len(shape) == 1:
                values /= 10 * shape[0]
        else:
            values = random.integers(0, 4, shape)
        data[array.name] = np.asarray(values, ELEMENT_TYPES[array.type].numpy)
    return {var.name: size for var, size in known.items()}, data


def _passed(parameter: Any, sizes: dict[str, int], data: dict[str, Any]) -> Any:
    """What C is called with."""
    if isinstance(parameter, q.Var):
        return ctypes.c_long(sizes[parameter.name])
    values = data[parameter.name]
    if values.ndim:
        return ctypes.c_void_p(values.ctypes.data)
    kinds = {"f32": ctypes.c_float, "f64": ctypes.c_double}
    return kinds.get(parameter.type, ctypes.c_long)(values.item())


def _relative(wanted: Any, found: Any) -> float:
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    with np.errstate(all="ignore"):
        away = np.where((a == b) | np.isnan(a), 0, np.abs(a - b) / np.abs(a))
    return float(away.max(initial=0))


def table(rows: Sequence[Row]) -> Table:
    out = Table("kernel", "translation", "ms", "largest difference", "requires", box=None)
    for row in rows:
        difference = "" if row.difference is None else f"{row.difference:.1e}"
        asserts = ", ".join(each.strip("()") for each in row.asserts)
        ms = "" if row.reason else f"{row.seconds * 1e3:.0f}"
        out.add_row(row.name, row.reason or "ok", ms, difference, asserts)
    return out
