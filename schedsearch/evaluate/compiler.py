"""Finding and identifying a C compiler."""

from __future__ import annotations

import shutil

from schedsearch.core.errors import UserError
from schedsearch.core.records import Compiler
from schedsearch.evaluate.process import run_group

_MACROS = "__clang__ __clang_major__ __clang_minor__ __clang_patchlevel__ " + (
    "__GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__"
)
_INSTALL = "Install gcc or clang (Debian and Ubuntu: `apt install gcc`), or name another compiler."


def find_compiler(request: str | None = None) -> Compiler:
    """The C compiler called `request` (a name on PATH, or a path); by default gcc, then clang.

    What it is, is asked of its preprocessor: `cc` may be either, and a file
    name says nothing. Raises UserError if it is missing or neither gcc nor clang.
    """
    names = [request] if request else ["gcc", "clang"]
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        raise UserError(f"no C compiler: {' and '.join(names)} not found on PATH. {_INSTALL}")
    return _identify(path)


def _identify(path: str) -> Compiler:
    try:
        answer = run_group([path, "-E", "-P", "-x", "c", "-"], text=_MACROS, timeout_s=20)
    except OSError as error:
        raise UserError(f"cannot run the C compiler {path}: {error}. {_INSTALL}") from error
    if answer is None or answer.code != 0:
        raise UserError(f"{path} does not answer as a C compiler does. {_INSTALL}")
    words = answer.stdout.split()
    if len(words) == 7 and words[0] == "1":
        return Compiler("clang", ".".join(words[1:4]), path)
    if len(words) == 7 and words[4].isdigit():
        return Compiler("gcc", ".".join(words[4:7]), path)
    raise UserError(f"{path} is neither gcc nor clang. {_INSTALL}")


def default_flags() -> tuple[str, ...]:
    """Optimisation flags of every kernel.

    `-ffast-math`: Exo itself treats `+=` as associative and commutative, so the
    compiler may too.
    """
    return ("-O3", "-march=native", "-ffast-math")
