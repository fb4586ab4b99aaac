"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedsearch.core.floats import FloatingPoint
from schedsearch.core.store_name import DEFAULT_STORE as DEFAULT_STORE

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

DEFAULT_OUT = Path(".")
SHORTENING = "1m"

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        help="Tuning store: a file (SQLite) or postgresql://USER@HOST/DATABASE.",
        show_default=True,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to write the schedule, C and header.")
]
CcOption = Annotated[
    str | None,
    typer.Option(
        "--cc",
        metavar="CC",
        help="Use this C compiler only: gcc, clang-19, a path. Default: gcc, clang as a choice.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="ISA|FILE",
        help="Tune for this ISA (avx512, avx2, sse2, scalar, ...) or for what a TOML file says. "
        "Default: this machine.",
    ),
]
FpOption = Annotated[
    FloatingPoint | None,
    typer.Option(
        "--fp",
        help="What may change floating-point results. strict: nothing. reassociate: the order of "
        "sums, else IEEE. fast: -ffast-math. Default: what --target says, else fast.",
    ),
]
InstructionsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--instructions",
        metavar="FILE",
        help="Python file of Exo instructions to use besides those known (repeatable). It is "
        "executed, as the procedure's file is.",
    ),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="The procedure's file, if it has moved, or was not tuned as it is by you on this "
        "machine. It is executed.",
    ),
]
FilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        metavar="FILE|DIR",
        exists=True,
        help="File of a kernel, or a directory of them, that is executed although you did not "
        "tune it as it is on this machine (repeatable).",
    ),
]
DefineOption = Annotated[
    list[str] | None,
    typer.Option("--define", "-D", metavar="N=100", help="Macro, for C (repeatable)."),
]
IncludeOption = Annotated[
    list[Path] | None,
    typer.Option("--include", "-I", metavar="DIR", help="Headers, for C (repeatable)."),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="GLOB", help="Procedures or files like this: 'gemm*' (repeatable)."
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
    ),
]
ShorteningOption = Annotated[
    str, typer.Option("--budget", help="Time for --minimal: 90, 90s, 2m. Confirming comes on top.")
]
