"""`--against`: what a kernel is compared with."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.peers.against import FORMS, Compared, Kernel, compare
from schedsearch.peers.contender import directing
from schedsearch.present.against import against_lines
from schedsearch.search.subject import Subject, cache_dir

AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="A,B,...",
        help=f"Also time it against {FORMS}: in the same rounds, on the same data (repeatable). "
        "FILE.py is executed.",
    ),
]

_BUILD_S = 120.0


def compare_kernel(subject: Subject, code: GeneratedC, requests: Sequence[str]) -> list[Compared]:
    """A schedule's C of `subject` against all peers asked for; says meanwhile what it does."""
    artifact = subject.builder.build(code, _BUILD_S)
    if isinstance(artifact, Failure):
        raise UserError(f"{subject.name} does not compile again: {artifact.message}")
    print(f"comparing with {', '.join(requests)} ...", file=sys.stderr)
    kernel = Kernel(
        subject.ast,
        subject.binding,
        subject.code,
        subject.target,
        artifact,
        code.proc,
        cache_dir() / "artifacts",
    )
    return compare(kernel, requests)


def show_against(console: Console, results: Sequence[Compared]) -> None:
    """After the result itself; nothing if nothing was asked for."""
    if not results:
        return
    console.print("\nagainst others, on arrays as NumPy allocates them:")
    for line in against_lines(results):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    if names := ", ".join(directing(os.environ)):
        console.print(f"  (without {names} of this environment)", markup=False, soft_wrap=True)
