"""A lock file's kernels as a C library, or as a wheel."""

from __future__ import annotations

import keyword
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.words import C_WORDS, CPP_WORDS
from schedsearch.deploy.library import packages, sources
from schedsearch.deploy.library.compiling import compile_files, link
from schedsearch.deploy.library.packing import LeftOut, Packed, Tell, pack
from schedsearch.deploy.library.wheel import write_wheel
from schedsearch.deploy.variants import OURS
from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen
from schedsearch.search.caches import in_use

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_OURS = re.compile(rf"({OURS[:-1]}|has|lie)(_.*)?")
"""Where names begin that are the library's own."""
_MODULES = {each.lower() for each in (*sys.stdlib_module_names, "test", "numpy", "schedsearch")}
"""What a wheel would hide from others, or pip replace by it; case does not count for pip. Python
does not list `test`."""
_PROC = re.compile(r"[A-Za-z]\w*", re.ASCII)
"""The procedures of a wheel. What begins with _ is the wheel's own."""
_NUMBER = r"(0|[1-9]\d{0,8})"
_VERSION = re.compile(rf"{_NUMBER}(\.{_NUMBER}){{0,3}}")
_TAKEN = C_WORDS | CPP_WORDS | {"main", "c", "m", "dl", "rt", "pthread"}
"""The last are libraries that `-l` would not find any more."""
_HEADERS = re.compile(
    "choose|forks|isa|cpuid|complex|immintrin|arm_neon|assert|ctype|errno|fenv|inttypes|limits|locale|math|"
    "memory|pthread|sched|semaphore|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|"
    "stdlib|stdnoreturn|string|strings|tgmath|threads|time|uchar|unistd|wchar|wctype|omp",
    re.IGNORECASE,
)
"""Headers of C, of Linux and of libraries that are built: NAME.h would be included instead."""


@dataclass(frozen=True)
class Ordered:
    """What to build: `name` is that of the library, and where its functions' names begin. The
    files go to `out`; `wheel`: a wheel for this Python instead of a C library."""

    name: str
    version: str
    out: Path
    wheel: bool = False

    def check(self) -> None:
        """Raises UserError for names that C, Python or a linker does not take, for versions that
        CMake or pip does not, and for places where the files cannot be."""
        if not _NAME.fullmatch(self.name):
            what = "letters, digits and _, at most 64, a letter first"
            raise UserError(f"--name {self.name!r} is no name for C: give {what}")
        if self.name in _TAKEN or keyword.iskeyword(self.name):
            raise UserError(f"--name {self.name} means something else already; give another")
        if _OURS.fullmatch(self.name):
            raise UserError(f"--name {self.name} begins as names inside do; give another")
        if _HEADERS.fullmatch(self.name):
            raise UserError(f"--name {self.name}: {self.name}.h is another header; give another")
        if self.wheel and self.name.endswith("_"):
            raise UserError(f"--name {self.name}: pip takes no name that ends with _; give another")
        if self.wheel and self.name.lower() in _MODULES:
            raise UserError(f"--name {self.name} is a module that others need; give another")
        if not _VERSION.fullmatch(self.version):
            raise UserError(f"--release {self.version!r} is no version: give numbers as in 1.2.3")
        if self.out.exists() and not self.out.is_dir():
            raise UserError(f"--out {self.out} is no directory: give one")
        if not self.wheel and self.out.resolve() == Path.cwd():
            raise UserError("--out is where you are: give a directory that is not there yet")
        if not self.wheel and self.out.exists() and os.listdir(self.out):
            raise UserError(f"--out {self.out} is not empty: remove it, or give another directory")


@dataclass(frozen=True)
class Built:
    """What was built: `path`, with these procedures; and what was left out."""

    path: Path
    procs: tuple[Packed, ...]
    left_out: tuple[LeftOut, ...]


def build(chosen: Chosen, where: Where, ordered: Ordered, tell: Tell) -> Built:
    """Build entries of a lock file. What does not pass verification, as compiled for the library,
    is left out; the procedure as written is not. Files appear when all of them are there.

    Raises UserError for what `Ordered.check` and `pack` refuse, for an empty lock file, for names
    that meet, and for what cannot be compiled or written.
    """
    ordered.check()
    if not chosen.entries:
        raise UserError(f"{chosen.path} has no entries: `schedsearch pin` adds them")
    with in_use():
        procs, left_out = pack(chosen.entries, chosen.path.parent, where, tell)
        _require_distinct(ordered, procs)
        tell(f"building {ordered.name}")
        with _replacing(ordered) as made:
            _install(ordered, procs, left_out, made)
            path = ordered.out
            if ordered.wheel:
                path = write_wheel(ordered.name, ordered.version, procs, made, ordered.out)
    return Built(path, procs, left_out)


RESERVED = ("variant", "manifest")
"""Functions of wheels, beside those that C libraries have."""


def _require_distinct(ordered: Ordered, procs: Sequence[Packed]) -> None:
    names = sources.symbols(ordered.name, procs)
    if ordered.wheel:
        if bad := next((each.name for each in procs if not _PROC.fullmatch(each.name)), None):
            raise UserError(
                f"a wheel has no procedure {bad}: give it a name of letters, digits and _, a "
                "letter first, or choose procedures with --only"
            )
        names += [f"{ordered.name}_{each}" for each in RESERVED]
    if twice := next((each for each in names if names.count(each) > 1), None):
        raise UserError(
            f"two functions would be called {twice}: rename a procedure, or choose with --only"
        )


def _install(
    ordered: Ordered, procs: Sequence[Packed], left_out: Sequence[LeftOut], out: Path
) -> None:
    """All files of the C library, in `out`."""
    name, version = ordered.name, ordered.version
    src = f"src/{name}"
    files = {f"{src}/{file}": text for file, text in sources.texts(name, procs).items()}
    files[f"include/{name}.h"] = files[f"{src}/{name}.h"]
    files |= packages.texts(name, version, procs)
    files[f"share/{name}/{name}.json"] = packages.manifest(name, version, procs, left_out)
    for file, text in files.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        objects = compile_files(name, procs, out / src, Path(scratch))
        link(name, procs, objects, out / "lib")


@contextmanager
def _replacing(ordered: Ordered) -> Iterator[Path]:
    """A directory that takes the place of `out` in the end; of a wheel's parts nothing is kept."""
    parent = ordered.out.resolve().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=parent, prefix=f".{ordered.name}."))
    except OSError as error:
        raise UserError(
            f"cannot write to {parent}: {error.strerror}; choose another --out"
        ) from error
    try:
        with disk_explained(draft):
            yield draft
        if not ordered.wheel:
            draft.chmod(0o755)
            os.replace(draft, ordered.out.resolve())  # also behind a link
    except OSError as error:
        raise UserError(
            f"cannot write {ordered.out}: {error.strerror}; choose another --out"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
