"""PolyBench/C's kernels from C, tuned, beside what compilers make of the same file.

Both get the same macros: loops and arrays have constant sizes, and arrays do not overlap.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.frontends.polybench import files, kernel_of
from benchmarks.suite.__main__ import compared
from benchmarks.suite.case import PYTHON_PEERS, Case, Original
from benchmarks.suite.catalogue import POLYBENCH
from benchmarks.suite.folders import folder, write_json
from benchmarks.suite.measure import compare
from benchmarks.suite.report import as_json, show
from benchmarks.suite.stores import searched
from benchmarks.suite.tune import tune
from schedsearch.cli.parse import parse_seconds
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph
from schedsearch.frontends.c import Prototype, c_kernel, prototype
from schedsearch.frontends.lower import lower
from schedsearch.peers.arrays import Fill
from schedsearch.peers.rounds import Plan

Row = dict[str, Any]

DEFINES = ("MEDIUM_DATASET", "POLYBENCH_USE_SCALAR_LB", "POLYBENCH_USE_RESTRICT")

SIZES = {"gramschmidt": ("M=240", "N=200")}
"""Macros beside those. Of more columns than rows, as all its data sets have, the last are but
rounding errors, which no two orders of summation agree on."""

GCC = "gcc -O3"
PEERS = (GCC, "clang -O3", "clang +Polly")

CALLED = "called"
"""The function that calls the original."""

# What the suite's own procedures call arguments of PolyBench's.
_RENAMED = {"bases": "seq"}
# The number of rows, as data: with a number near 1 columns would be far from what they are.
_COUNTED = {"float_n": Fill(260.0, 260.0)}


def polybench_speed(
    polybench: Annotated[
        Path, typer.Option(metavar="DIR", help="A checkout of PolyBench/C 4.2.1.")
    ],
    base: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where stores and results are kept.")
    ] = Path("polybench-results"),
    budget: Annotated[str, typer.Option(help="Search time per kernel: 60, 60s, 5m.")] = "60",
    only: Annotated[
        str, typer.Option(metavar="A,B,...", help="Kernels, by name or pattern (`jacobi*`).")
    ] = "*",
    define: Annotated[
        list[str] | None,
        typer.Option("--define", "-D", metavar="NAME", help="Macros, instead of those above."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, help="Interleaved rounds per kernel, at most.")
    ] = 20,
    seconds: Annotated[float, typer.Option(help="Time for the rounds of one kernel.")] = 20.0,
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write everything there.")
    ] = None,
) -> None:
    """Tune PolyBench's kernels from C, and time them beside gcc, clang and Polly on the same file.

    Macros are MEDIUM_DATASET, POLYBENCH_USE_SCALAR_LB and POLYBENCH_USE_RESTRICT: compilers and
    schedsearch know sizes, and that arrays do not overlap. Compilers get the suite's options, -O3
    -march=native -ffast-math. Interrupted or repeated, it goes on where it stopped.

    Example: [bold]python -m benchmarks.frontends polybench-speed --polybench PolyBenchC-4.2.1[/]
    """
    # Being terminated (by `timeout`, say) is as Ctrl-C: a search that runs ends first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    budget_s, plan, base = parse_seconds(budget), Plan(rounds, seconds), base.resolve()
    console, chosen = Console(highlight=False), select(polybench, only)
    rows: list[Row] = []
    try:
        for file in chosen:
            include = (polybench.resolve() / "utilities", file.parent)
            rows.append(tried(console, file, define or DEFINES, include, base, budget_s, plan))
            if json_:
                write_json(json_, as_json(rows, len(chosen)) | {"over": over(rows)})
    finally:
        show(console, rows, len(chosen))
        for line in summary(rows):
            console.print(line, markup=False, soft_wrap=True)


def select(checkout: Path, only: str) -> list[Path]:
    """The files that any of the comma-separated patterns names."""
    found = [file.resolve() for file in files(checkout)]
    patterns = [pattern.strip() for pattern in only.split(",")]
    for pattern in patterns:
        if not any(fnmatch(file.stem, pattern) for file in found):
            names = ", ".join(file.stem for file in found)
            raise UserError(f"no kernel is {pattern!r}; known: {names}")
    return [file for file in found if any(fnmatch(file.stem, each) for each in patterns)]


def tried(
    console: Console,
    file: Path,
    defines: Sequence[str],
    include: Sequence[Path],
    base: Path,
    budget_s: float,
    plan: Plan,
    options: Sequence[str] = (),
) -> Row:
    """The row of a file, from what is known of it or by tuning and comparing it. Whatever fails is
    in the row: a table takes most of an hour."""

    def say(text: str) -> None:
        console.print(f"{file.stem:<20}{text}", markup=False, soft_wrap=True)

    try:
        case = case_of(file, defines, include, base)
        place = folder(base, case)
        say(f"tuning for {budget_s:.0f} s ...")
        say(tune(case, place, budget_s, options=options))
        row = place.read_row()
        if row is None or not compared(row, searched(place.store)[0]):
            say("comparing ...")
            row = compare(case, base, plan, 1)
            place.write_row(row)
    except Exception as error:
        reason = str(error) if isinstance(error, UserError) else repr(error)
        row = {"kernel": file.name, "error": reason, "absent": {}, "wrong": {}}
    ratios = (f"{each['value']:.2f}x {name}" for name, each in row.get("ratios", {}).items())
    say(", ".join(ratios) or row.get("error") or "no tuned schedule that is right")
    return row


def case_of(file: Path, defines: Sequence[str], include: Sequence[Path], base: Path) -> Case:
    """The kernel of a file, written as a module into its folder; results of another module that
    are there are removed. Raises UserError if it is refused."""
    function = kernel_of(file)
    defines = (*defines, *SIZES.get(file.stem, ()))
    program = c_kernel(file, function, defines, include)
    lowered = lower(program)
    own = prototype(file, function, defines, include)
    names = dict(zip(own.parameters, lowered.parameters, strict=True))
    case = Case(
        name=file.name,
        file=base / file.name / f"{lowered.name}.py",
        proc=lowered.name,
        fills=tuple((names[name], fill) for name, fill in fills(file.stem) if name in names),
        without=PYTHON_PEERS,
        group="polybench",
        original=Original(CALLED, called(file, defines, program, own), tuple(include)),
    )
    text = f"# {function} of {file.name}: {' '.join(defines)}\n{lowered.text}"
    if not case.file.exists() or case.file.read_text() != text:
        shutil.rmtree(case.file.parent, ignore_errors=True)
        case.file.parent.mkdir(parents=True)
        case.file.write_text(text)
    return case


def fills(kernel: str) -> list[tuple[str, Fill]]:
    """Contents of arguments, by their names in C: as of the suite's own procedure."""
    same = f"pb_{kernel.replace('-', '_')}"
    found = [fill for case in POLYBENCH if case.name == same for fill in case.fills]
    return [*((_RENAMED.get(name, name), fill) for name, fill in found), *_COUNTED.items()]


def called(file: Path, defines: Sequence[str], program: graph.Program, own: Prototype) -> str:
    """C of the file and a function `CALLED`, that calls the original and is called as Exo's C is.

    The original may be `static`. `main` is made so, for it needs what is not here, and goes away.
    The call goes by a pointer: Polly does next to nothing with what was inlined into a caller
    that does not know its arrays.
    """
    declared, passed = ["void *context"], []
    for name, parameter in zip(own.parameters, program.parameters, strict=True):
        if isinstance(parameter, q.Var):
            declared.append(f"int_fast32_t {name}")
            passed.append(name)
        elif isinstance(parameter, graph.Array) and parameter.shape:
            declared.append(f"void *{name}")
            passed.append(name)
        else:
            declared.append(f"const {ELEMENT_TYPES[parameter.type].c} *{name}")
            passed.append(f"*{name}")
    macros = (f"#define {name} {value}" for name, _, value in (d.partition("=") for d in defines))
    lines = ["#include <stdint.h>", *macros, "#define main static never_called"]
    lines += [f'#include "{file}"', "", f"void {CALLED}({', '.join(declared)})"]
    body = [f"__typeof__({own.name}) *volatile original = {own.name};"]
    body += [f"original({', '.join(passed)});"]
    return "\n".join([*lines, "{", *(f"    {line}" for line in body), "}", ""])


def over(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """By peer: the geometric mean of its time over ours, and over how many kernels."""
    found = {}
    for peer in PEERS:
        ratios = [row["ratios"][peer]["value"] for row in rows if peer in row.get("ratios", {})]
        if ratios:
            found[peer] = {"value": geometric_mean(ratios), "kernels": len(ratios)}
    return found


def summary(rows: Sequence[Row]) -> list[str]:
    """The means, and what is slower than gcc."""
    lines = [
        f"geometric mean over {peer}: {mean['value']:.2f}x ({mean['kernels']:.0f} kernels)"
        for peer, mean in over(rows).items()
    ]
    slower = [
        f"{row['kernel']} {row['ratios'][GCC]['value']:.2f}x"
        for row in rows
        if row.get("ratios", {}).get(GCC, {"value": 1})["value"] < 1
    ]
    return [*lines, f"slower than {GCC}: {', '.join(slower) or 'none'}"]
