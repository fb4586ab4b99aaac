"""Procedures whose mutants are verified: the suite's, the examples', and fuzzed ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.procedures import drawn, procedures

from schedsearch.core.errors import CodegenError, UserError
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source

_ROOT = Path(__file__).parents[2]
FILES = (
    *sorted((_ROOT / "benchmarks" / "suite" / "kernels").glob("[a-z]*.py")),
    *sorted((_ROOT / "examples").glob("*.py")),
)


def of_file(path: Path) -> dict[str, Any]:
    """The Exo procedures of a file, by name."""
    return dict(load_source(path).procs)


def fuzzed(number: int, count: int) -> Iterator[tuple[Any, dict[str, int]]]:
    """The procedures of a seed that Exo accepts and has C for, and the sizes to time them at."""
    with TemporaryDirectory() as folder:
        for (generated,) in drawn(number, count, procedures()):
            path = Path(folder, "fuzzed.py")
            path.write_text(generated.text)
            with suppress(UserError, CodegenError):
                procedure = load_source(path).procs["fuzzed"]
                generate_c(procedure)
                yield procedure, dict(generated.sizes[-1])
