"""Finding and identifying a C compiler."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from schedsearch.core.build import COMPILERS
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint, contract_flags
from schedsearch.core.records import Compiler
from schedsearch.core.suggest import did_you_mean
from schedsearch.evaluate.build.process import run_group

_MACROS = "__clang__ __clang_major__ __clang_minor__ __clang_patchlevel__ " + (
    "__GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__"
)
_VERSIONED = re.compile(r"(gcc|clang)-(\d+)")
_INSTALL = "Install gcc or clang (Debian and Ubuntu: `apt install gcc`), or name another compiler."


def find_compiler(request: str | None = None) -> Compiler:
    """The C compiler called `request` (a name on PATH, or a path); by default gcc, then clang,
    then the newest of `gcc-13`, `clang-19` and the like.

    Its preprocessor tells its kind: `cc` may be either, and a file name says nothing. Raises
    UserError if it is missing or neither gcc nor clang.
    """
    names = [request] if request else [*_names("gcc"), *_names("clang")]
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        missing = request or " and ".join(COMPILERS)
        known = filter(shutil.which, [*_names("gcc"), *_names("clang")])
        close = did_you_mean(missing, known) or "."
        raise UserError(f"no C compiler: {missing} not found on PATH{close} {_INSTALL}")
    return _identify(path)


def other_compilers(chosen: Compiler) -> tuple[Compiler, ...]:
    """One compiler on PATH of every kind but that of `chosen`: its plain name, else the newest."""
    firsts = (next(_installed(kind), None) for kind in COMPILERS if kind != chosen.kind)
    return tuple(first for first in firsts if first is not None)


def is_installed(compiler: Compiler) -> bool:
    """Whether a compiler of this kind and version is on PATH."""
    return compiler in _installed(compiler.kind)


def _installed(kind: str) -> Iterator[Compiler]:
    for path in filter(None, map(shutil.which, _names(kind))):
        try:
            compiler = _identify(path)
        except UserError:
            continue  # a broken installation is no reason not to use another one
        if compiler.kind == kind:
            yield compiler


def _names(kind: str) -> Iterator[str]:
    """`clang`, then `clang-19`, `clang-18`, ... as far as PATH has them."""
    yield kind
    versions = set()
    for directory in os.get_exec_path():
        for file in Path(directory).glob(f"{kind}-*"):
            match = _VERSIONED.fullmatch(file.name)
            if match:
                versions.add(int(match.group(2)))
    for version in sorted(versions, reverse=True):
        yield f"{kind}-{version}"


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


@cache
def native_tuning(compiler: Compiler) -> str:
    """The processor that this compiler tunes for with `-march=native` here, by its own name
    (`znver3`); empty if it does not say."""
    asked = ["-march=native", "-###", "-S", "-x", "c", "-", "-o", "-"]
    answer = run_group([compiler.path, *asked], timeout_s=20)
    option = r'-mtune=([\w.-]+)|"-target-cpu" "([\w.-]+)"'
    found = re.search(option, answer.stderr) if answer and answer.code == 0 else None
    return (found[1] or found[2]) if found else ""


def default_flags(fp: FloatingPoint = FloatingPoint.FAST) -> tuple[str, ...]:
    """Optimisation flags of every kernel under a floating-point contract."""
    return ("-O3", "-march=native", *contract_flags(fp))
