"""`schedsearch build`"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from schedsearch.cli.options import (
    KERNEL,
    OUTPUT,
    CcOption,
    FilesOption,
    InstructionsOption,
    OnlyOption,
)
from schedsearch.cli.telling import say, told
from schedsearch.deploy.library.building import Ordered
from schedsearch.deploy.library.building import build as build_library
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import choose, choose_lock


def build(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where to install: a new directory.",
            rich_help_panel=OUTPUT,
        ),
    ],
    name: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Of the library: libNAME.so, NAME_gemm().",
            rich_help_panel=OUTPUT,
        ),
    ],
    lock: Annotated[
        Path | None,
        typer.Option(
            "--lock",
            metavar="FILE",
            help="Lock file. Default: schedules.lock here or above.",
            rich_help_panel=KERNEL,
        ),
    ] = None,
    only: OnlyOption = None,
    wheel: Annotated[
        bool,
        typer.Option(
            "--wheel",
            help="A wheel for this Python, to call on arrays; it needs NumPy alone.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    release: Annotated[
        str,
        typer.Option(metavar="VERSION", help="The library's own version.", rich_help_panel=OUTPUT),
    ] = "0.1.0",
    cc: CcOption = None,
    file: FilesOption = None,
    instructions: InstructionsOption = None,
) -> None:
    """Build the kernels of schedules.lock into a library that needs no schedsearch.

    DIR gets lib/libNAME.so and .a, include/NAME.h, files for CMake and pkg-config, and the C in
    src/NAME, with a CMakeLists.txt. Each procedure is one function, NAME_gemm(M, N, K, ...). It
    runs the schedule that is for this processor and these sizes; NAME_gemm_variant(M, N, K) says
    which. The environment variable NAME_ISA=avx2 forces an instruction set.

    Every schedule is replayed and verified with the options that the library is compiled with;
    what is not right is left out, and said. Processors without the instructions of a schedule run
    it compiled for theirs, or the procedure as written: tune for them too, with
    `run --target avx2`.

    As in `check`, what is executed is what you tuned on this machine, and what --file names.
    """
    ordered = Ordered(name, release, out, wheel)
    ordered.check()
    chosen = choose_lock(lock, only or ()) if lock else choose((), only or ())
    where = Where(cc, None, tuple(instructions or ()), tuple(file or ()))
    # Kernels' files may print; standard output is for the result alone.
    with redirect_stdout(sys.stderr), told() as tell:
        built = build_library(chosen, where, ordered, tell)
    for left in built.left_out:
        say(f"left out: {left.what}: {left.why.splitlines()[0]}")
    for proc in built.procs:
        print(f"{name}_{proc.name}: {', '.join(each.name for each in proc.variants)}")
    print(f"written: {built.path}")
    if not any(each.entry for proc in built.procs for each in proc.variants):
        say("error: no schedule is in it, only procedures as written")
        raise typer.Exit(1)
