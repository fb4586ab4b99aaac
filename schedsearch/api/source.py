"""What `tune` and `explore` are given, as options; workers load the procedure's file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exo.API import Procedure

from schedsearch.core.errors import UserError
from schedsearch.core.floats import floating_point
from schedsearch.core.keys import digest
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.subject import cache_dir
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.written import written


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
    file = Path(proc._loopir_proc.srcinfo.filename)
    if _is_imported(file) and _defines(file, proc):
        return file, proc.name()
    text = written(proc)
    file = cache_dir() / "procedures" / f"{proc.name()}-{digest(text)}.py"
    _write(file, text)
    if not _defines(file, proc):
        raise UserError(
            f"{proc.name()}, as Exo prints it, is another procedure. Save it with what it needs "
            "in a Python file, and give the file's path"
        )
    return file, proc.name()


def _is_imported(file: Path) -> bool:
    """Whether a module other than the program itself was loaded from it."""
    names = [
        name
        for name, module in list(sys.modules.items())
        if (where := getattr(module, "__file__", None)) and Path(where) == file
    ]
    return bool(names) and "__main__" not in names


def _defines(file: Path, proc: Any) -> bool:
    found = load_source(file).procs.get(proc.name())
    return found is not None and ast_key(mirror(found)) == ast_key(mirror(proc))


def _write(file: Path, text: str) -> None:
    """At once: another session may be loading it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
        draft.write(text)
    os.replace(draft.name, file)
