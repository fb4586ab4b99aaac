"""What `tune` and `explore` are given, as options; workers load the procedure's file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exo.API import Procedure

from schedsearch.api.arguments import read_arguments
from schedsearch.core.errors import UserError
from schedsearch.core.given import (
    given_paths,
    given_sizes,
    given_text,
    given_texts,
    optional,
)
from schedsearch.deploy.kernel import Kernel
from schedsearch.frontends.files import lowered_from
from schedsearch.frontends.lowered import Lowered
from schedsearch.search.setup.budget import Budget
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
    budget: Budget,
    define: Any = (),
    include: Any = (),
    **given: Any,
) -> Options:
    """The arguments of `tune` as options; `given` are fields of `Options`. Everything is checked
    before the procedure is loaded. Raises UserError for what the command refuses too, and as
    `source_of` does."""
    own_sizes = given_sizes(sizes)
    options = Options(Path(), budget=budget, **read_arguments(given))
    options.check()
    _ = options.selected
    macros = given_texts("--define", define)
    file, only = source_of(
        proc, optional(given_text, "name", name), macros, given_paths("--include", include)
    )
    known = proc.sizes if isinstance(proc, Lowered) else {}
    return replace(options, file=file, proc=only, sizes={**known, **own_sizes})


def source_of(
    proc: Any,
    name: str | None = None,
    macros: Sequence[str] = (),
    include: Sequence[Path] = (),
) -> tuple[Path, str | None]:
    """The file of what is to be tuned, and the procedure's name (None: the file's only one).

    `proc` is a path, an Exo procedure, a kernel of one, or what a front end made (`Lowered`, or
    what has one as `lowered`). For a procedure it is the imported module that defines it, or one
    that is written for it, in the cache directory, named after its contents; so it is for what
    front ends make, also of files (`frontends/files.py`), in which `name` is the function. A
    program that is running is never loaded again. `macros` and `include` are macros and headers,
    for files of C. Raises UserError if the procedure cannot be written.
    """
    if isinstance(proc, str | Path):
        made = lowered_from(Path(proc), name, macros, include)
        return (file_for(made), made.name) if made else (Path(proc), name)
    if macros or include:
        raise UserError("macros and headers are for files of C")
    if isinstance(proc, Kernel):
        proc = proc.proc
    lowered = proc if isinstance(proc, Lowered) else getattr(proc, "lowered", None)
    if isinstance(lowered, Lowered):
        return file_for(lowered), name or lowered.name
    if not isinstance(proc, Procedure):
        hint = (
            "; put @proc of Exo above it, or @schedsearch.jit if it computes on NumPy arrays"
            if inspect.isfunction(proc)
            else ""
        )
        raise UserError(f"an Exo procedure or a path is tuned, not {type(proc).__name__}{hint}")
    file = file_of(proc)
    if is_imported(file) and defines(file, proc):
        return file, name or proc.name()
    return write_for(proc), name or proc.name()
