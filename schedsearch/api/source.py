"""What `tune` and `explore` are given, as options; workers load the procedure's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exo.API import Procedure

from schedsearch.core.errors import UserError
from schedsearch.core.floats import floating_point
from schedsearch.evaluate.run.timing import Cache
from schedsearch.frontends.files import lowered_from
from schedsearch.frontends.lowered import Lowered
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.procedure_file import (
    defines,
    file_for,
    file_of,
    is_imported,
    write_for,
)


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
    file, only = source_of(proc, name)
    return Options(
        file,
        only,
        {**(proc.sizes if isinstance(proc, Lowered) else {}), **(sizes or {})},
        fp=floating_point(fp),
        instructions=tuple(map(Path, instructions)),
        transforms=None if transforms is None else tuple(transforms),
        cache=Cache(cache),
        **others,
    )


def source_of(proc: Any, name: str | None = None) -> tuple[Path, str | None]:
    """The file of what is to be tuned, and the procedure's name (None: the file's only one).

    `proc` is a path, an Exo procedure, or what a front end made (`Lowered`, or what has one as
    `lowered`). For a procedure it is the imported module that defines it, or one that is written
    for it, in the cache directory, named after its contents; so it is for what front ends make,
    also of files (`frontends/files.py`), in which `name` is the function. A program that is running
    is never loaded again. Raises UserError if the procedure cannot be written.
    """
    if isinstance(proc, str | Path):
        made = lowered_from(Path(proc), name)
        return (file_for(made), made.name) if made else (Path(proc), name)
    lowered = proc if isinstance(proc, Lowered) else getattr(proc, "lowered", None)
    if isinstance(lowered, Lowered):
        return file_for(lowered), name or lowered.name
    if not isinstance(proc, Procedure):
        raise UserError(f"an Exo procedure or a path is tuned, not {type(proc).__name__}")
    file = file_of(proc)
    if is_imported(file) and defines(file, proc):
        return file, name or proc.name()
    return write_for(proc), name or proc.name()
