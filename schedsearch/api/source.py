"""What `tune` and `explore` are given, as options; workers load the procedure's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exo.API import Procedure

from schedsearch.core.errors import UserError
from schedsearch.core.floats import floating_point
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.procedure_file import defines, file_of, is_imported, write_for


def options_of(
    proc: Any,
    name: str | None,
    sizes: Mapping[str, int] | None,
    *,
    fp: str | None,
    instructions: Sequence[str | Path],
    transforms: Sequence[str] | None,
    cache: str,
    **others: Any,
) -> Options:
    """The arguments of `tune` as options; `others` are fields of `Options` as they stand. Raises
    UserError for a contract or cache that is unknown, and as `source_of` does."""
    file, only = source_of(proc)
    return Options(
        file,
        name or only,
        dict(sizes or {}),
        fp=floating_point(fp),
        instructions=tuple(map(Path, instructions)),
        transforms=None if transforms is None else tuple(transforms),
        cache=Cache(cache),
        **others,
    )


def source_of(proc: Any) -> tuple[Path, str | None]:
    """The file of what is to be tuned, and the procedure's name (None: the file's only one).

    `proc` is a path, or an Exo procedure: then it is the imported module that defines it, or
    one that is written for it, in the cache directory, named after its contents. A program that
    is running is never loaded again. Raises UserError if the procedure cannot be written.
    """
    if isinstance(proc, str | Path):
        return Path(proc), None
    if not isinstance(proc, Procedure):
        raise UserError(f"an Exo procedure or a path is tuned, not {type(proc).__name__}")
    file = file_of(proc)
    if is_imported(file) and defines(file, proc):
        return file, proc.name()
    return write_for(proc), proc.name()
