"""C files as syntax trees: `cc -E` with small headers of ours, then pycparser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pycparser import c_ast, c_parser

from schedsearch.core.errors import UserError
from schedsearch.core.text_file import read_text
from schedsearch.frontends.c.naming import INCLUDE, settled

SECONDS = 30
"""A file that includes itself through macros may keep the preprocessor busy."""

DEEPEST = "the expressions or blocks are nested too deeply; split the function"

_ERROR = re.compile(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
_PLACE = re.compile(r"^(.*?):(\d+)(?::\d+)?: (.*)$", re.DOTALL)


def parsed(path: Path, defines: Sequence[str] = (), include: Sequence[Path] = ()) -> c_ast.FileAST:
    """The tree of a file. `defines` (`N=100`) and `include` are the compiler's -D and -I."""
    read_text(path)  # whatever is not a file of text is refused here, in our words
    text = preprocessed(path, defines, include)
    try:
        return settled(c_parser.CParser().parse(text, str(path)))
    except RecursionError:
        raise UserError(f"{path}: {DEEPEST}") from None
    except Exception as error:  # beside ParseError other kinds, for some texts that are no C
        raise UserError(_syntax_error(str(error), text, path)) from None


def preprocessed(path: Path, defines: Sequence[str], include: Sequence[Path]) -> str:
    """Text after the preprocessor, with its line markers."""
    command = ["-E", "-std=gnu11", "-nostdinc", "-x", "c"]
    command += ["-I", str(path.resolve().parent)]
    for each in include:
        command += ["-I", str(each)]
    command += ["-isystem", str(INCLUDE), "-include", str(INCLUDE / "schedsearch_prelude.h")]
    command += [f"-D{each}" for each in defines]
    command += ["--", str(path)] if str(path).startswith("-") else [str(path)]
    done = _compiler(command, path)
    if done.returncode:
        raise UserError(_preprocessor_error(done.stderr, path))
    return done.stdout


def _compiler(
    arguments: Sequence[str], path: Path, text: str = ""
) -> subprocess.CompletedProcess[str]:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise UserError("no C compiler to preprocess with: install gcc or clang")
    try:
        return subprocess.run(
            [compiler, *arguments],
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: the compiler did not run: {error}") from error
    except subprocess.TimeoutExpired:
        raise UserError(f"{path}: the compiler took over {SECONDS} seconds") from None


def _preprocessor_error(said: str, path: Path) -> str:
    found = _ERROR.search(said)
    if not found:
        lines = said.strip().splitlines() or ["it failed"]
        return f"{path}: preprocessor: {lines[-1]}"
    file, line, message = found.groups()
    advice = "; give its folder (`include`)" if "No such file" in message else ""
    return f"{file}:{line}: preprocessor: {message}{advice}"


def _syntax_error(said: str, text: str, path: Path) -> str:
    """The compiler's words, which are better; if it has none, the parser's."""
    checked = _compiler(["-fsyntax-only", "-w", "-x", "cpp-output", "-"], path, text)
    if found := _ERROR.search(checked.stderr):
        file, line, rest = found.groups()
        return f"{file}:{line}: syntax error: {rest}"
    if place := _PLACE.match(said):
        file, line, rest = place.groups()
        return f"{file}:{line}: syntax error: {rest}; use the C of the standard"
    return f"{path}: syntax error: {said.removeprefix(f'{path}: ')}; use the C of the standard"
