"""Options that several commands share, and the panels of the help that options are in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from schedsearch.cli import completing
from schedsearch.cli.parse import integer, parse_id
from schedsearch.core.floats import FloatingPoint, floating_point
from schedsearch.core.store_name import DEFAULT_STORE as DEFAULT_STORE
from schedsearch.core.store_name import STORE

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

DEFAULT_OUT = Path(".")
SHORTENING = "1m"

KERNEL = "Kernel"
SEARCH = "Search"
MEASUREMENT = "Measurement"
PARALLEL = "Parallel"
OUTPUT = "Output"
SHORTENED = "Shortening"


def candidate_argument(metavar: str, help_text: str) -> Any:
    """An id, completed from the store."""
    return typer.Argument(
        metavar=metavar, help=help_text, parser=parse_id, autocompletion=completing.candidates
    )


def integer_option(name: str, help_text: str, panel: str, metavar: str = "N") -> Any:
    """Of a number that is refused in the words of the option."""
    return typer.Option(
        name, metavar=metavar, parser=integer(name), help=help_text, rich_help_panel=panel
    )


CandidateArgument = Annotated[int, candidate_argument("ID", "As `best` prints it.")]
StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="STORE",
        envvar=STORE,
        help="Tuning store: a file, or postgresql://USER@HOST/DATABASE.",
        rich_help_panel=OUTPUT,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT),
]
ThreadsOption = Annotated[
    int,
    integer_option("--threads", "Threads a kernel may use (OpenMP); timed on N cores.", PARALLEL),
]
WorkersOption = Annotated[
    int | None,
    integer_option(
        "--workers", "Processes that rewrite and compile. Default: cores - threads.", PARALLEL
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="ray, or inline (one process, deterministic).",
        rich_help_panel=PARALLEL,
    ),
]
OutOption = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where to write the schedule, C and header.",
        rich_help_panel=OUTPUT,
    ),
]
CcOption = Annotated[
    str | None,
    typer.Option(
        "--cc",
        metavar="CC",
        help="Use this C compiler only: gcc, clang-19, a path. Default: gcc and clang are tried.",
        rich_help_panel=KERNEL,
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="ISA",
        help="Instruction set: avx512, avx2, sse2, scalar, ..., or a TOML file that describes the "
        "target. Default: this machine's.",
        rich_help_panel=KERNEL,
    ),
]
FpOption = Annotated[
    FloatingPoint | None,
    typer.Option(
        "--fp",
        metavar="MODE",
        parser=floating_point,
        help="How far floating-point results may differ. strict: not at all. reassociate: by the "
        "order of sums. fast: as -ffast-math allows. Default: fast, or what --target says.",
        rich_help_panel=KERNEL,
    ),
]
InstructionsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--instructions",
        metavar="FILE",
        help="Python file of more Exo instructions (repeatable). It is executed.",
        rich_help_panel=KERNEL,
    ),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="The procedure's file, if it has moved, or was tuned elsewhere. It is executed.",
        rich_help_panel=KERNEL,
    ),
]
FilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        metavar="PATH",
        exists=True,
        help="A kernel's file, or a directory of them, that was tuned elsewhere and may be "
        "executed (repeatable).",
        rich_help_panel=KERNEL,
    ),
]
DefineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--define",
        "-D",
        metavar="N=100",
        help="Macro, for C (repeatable).",
        rich_help_panel=KERNEL,
    ),
]
IncludeOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--include",
        "-I",
        metavar="DIR",
        help="Headers, for C (repeatable).",
        rich_help_panel=KERNEL,
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="GLOB",
        help="Procedures or files like this: 'gemm*' (repeatable).",
        rich_help_panel=KERNEL,
    ),
]
LockOption = Annotated[
    Path | None,
    typer.Option(
        "--lock",
        metavar="FILE",
        help="Lock file. Default: schedules.lock here or above, else at the top of the repository.",
    ),
]
MinimalOption = Annotated[
    bool,
    typer.Option(
        "--minimal",
        help="Leave out rewrites that do not change the speed; the shorter schedule is verified, "
        "measured and kept in the store.",
        rich_help_panel=SHORTENED,
    ),
]
ShorteningOption = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Time for --minimal: 90, 90s, 2m. Confirming comes on top.",
        rich_help_panel=SHORTENED,
    ),
]
