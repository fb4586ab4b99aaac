"""Files that procedures can be loaded from: those that define them, or are written for them."""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.text_file import read_text
from schedsearch.frontends.lowered import Lowered
from schedsearch.search.setup.subject import cache_dir
from schedsearch.search.setup.trust import remember
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source, pick
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.written import written


def file_of(procedure: Any) -> Path:
    """Where an Exo procedure was defined; a notebook's cells are no files."""
    return Path(procedure._loopir_proc.srcinfo.filename)


def is_imported(file: Path) -> bool:
    """Whether a module other than the program itself was loaded from it."""
    names = _modules_of(file)
    return bool(names) and "__main__" not in names


def file_to_load(procedure: Any) -> Path | None:
    """A file from which other processes can load a procedure, also after this one: that which
    defines it, unless loading it would run the program that runs now; else one that is written.
    None if it cannot be written. It is noted, if possible, as one that this user had executed
    (`trust.py`)."""
    file = file_of(procedure)
    if not (is_imported(file) or _is_guarded(file)):
        try:
            file = write_for(procedure)
        except (UserError, OSError):
            return None
    with suppress(UserError):
        remember(file, digest(read_text(file)))
    return file.resolve()


def _is_guarded(file: Path) -> bool:
    """Whether it is the program that runs, and what it does is below
    `if __name__ == "__main__":`."""
    if "__main__" not in _modules_of(file):
        return False
    try:
        tree = ast.parse(read_text(file))
    except (UserError, ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    tests = [ast.unparse(each.test) for each in tree.body if isinstance(each, ast.If)]
    return any("__name__" in test and "__main__" in test for test in tests)


def write_for(procedure: Any) -> Path:
    """A file with the procedure as Exo prints it, in the cache directory, named after its
    contents. Raises UserError if the procedure cannot be written."""
    name = procedure.name()
    file = _kept(name, written(procedure))
    if not defines(file, procedure):
        raise UserError(
            f"{name}(), as Exo prints it, is another procedure. Save it with what it needs "
            "in a Python file, and give the file's path"
        )
    return file


def file_for(lowered: Lowered) -> Path:
    """The same for what a front end made. Exo reads it here once: what it refuses is said of the
    user's lines, for all that load the file later. Raises UserError then."""
    known = _place(lowered.name, lowered.text).exists()
    file = _kept(lowered.name, lowered.text)
    if not known:
        try:
            _loaded(file, lowered)
        except UserError:
            file.unlink(missing_ok=True)
            raise
    return file


def procedure_of(lowered: Lowered) -> Any:
    """The Exo procedure that a front end made, loaded. Raises UserError if Exo refuses it."""
    return _loaded(_kept(lowered.name, lowered.text), lowered)


def _loaded(file: Path, lowered: Lowered) -> Any:
    try:
        return pick(load_source(file), lowered.name)
    except UserError as error:
        raise UserError(lowered.in_users_terms(str(error), str(file))) from error


def _place(name: str, text: str) -> Path:
    return cache_dir() / "procedures" / f"{name}-{digest(text)}.py"


def is_kept(file: Path) -> bool:
    """Whether it is one that was written here, which users do not see."""
    return file.resolve().parent == (cache_dir() / "procedures").resolve()


def _kept(name: str, text: str) -> Path:
    """A file with a text, in the cache directory."""
    file = _place(name, text)
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
        draft.write(text)
    os.replace(draft.name, file)  # at once: another session may be loading it
    return file


def defines(file: Path, procedure: Any) -> bool:
    """Whether a file, which is loaded, defines a procedure as it is."""
    found = load_source(file).procs.get(procedure.name())
    return found is not None and ast_key(mirror(found)) == ast_key(mirror(procedure))


def _modules_of(file: Path) -> list[str]:
    return [
        name
        for name, module in list(sys.modules.items())
        if (where := getattr(module, "__file__", None)) and Path(where) == file
    ]
