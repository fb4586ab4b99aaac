"""What a process of the campaign does: all procedures of a file, or of a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

from mutation.judging import Verdicts, judge
from mutation.subjects import fuzzed, of_file
from schedsearch.core.errors import BaselineError, UserError
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler

PROCEDURES = 20
"""Drawn from one seed."""


def verdicts(kind: str, what: str, most: int) -> tuple[list[Verdicts], list[str]]:
    """Of all procedures of a file or a seed, and those that cannot be prepared, with the reason."""
    builder = Builder(find_compiler(), default_flags(), Path(gettempdir(), "schedsearch-mutation"))
    found, failed = list[Verdicts](), list[str]()
    for name, procedure, sizes in _procedures(kind, what):
        try:
            own = judge(procedure, builder, sizes, most)
            found.append(replace(own, name=name))
        except BaselineError as error:
            failed.append(f"FALSE ALARM: {name}: {error}\n{procedure}")
        except UserError as error:
            failed.append(f"not prepared: {name}: {error}\n{procedure}")
        except AssertionError as error:
            failed.append(f"WRONG: {name}: {error}\n{procedure}")
    return found, failed


def _procedures(kind: str, what: str) -> Iterator[tuple[str, object, dict[str, int]]]:
    if kind == "file":
        for name, procedure in of_file(Path(what)).items():
            yield f"{Path(what).stem}.{name}", procedure, {}
        return
    for number, (procedure, sizes) in enumerate(fuzzed(int(what), PROCEDURES)):
        yield f"seed {what}, {number}", procedure, sizes
