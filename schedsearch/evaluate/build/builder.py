"""C text -> shared object, through a content-addressed cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from schedsearch.core.build import ALWAYS, by_text, compile_flags, link_flags
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.records import (
    Artifact,
    Compiler,
    Failure,
    GeneratedC,
    Outcome,
    choose_compiler,
)
from schedsearch.evaluate.build.disk import disk_explained, refuse_full_disk
from schedsearch.evaluate.build.elf import code_identity
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.evaluate.build.process import KILLED, Finished, limited, run_group

_CACHE_VERSION = 2

_PROGRAM_FLAGS = ("-O2", "-march=native", "-ffp-contract=off", "-std=gnu11", "-pthread")
_NO_OTHER_STACK = "--param=asan-use-after-return=0"
"""There, gcc 12 takes arrays beside registers of 64 bytes for aligned, and they are not."""

_LINE_TABLES = "-g1"
_RELOCATABLE = ("-r", "-nostdlib")

# For C that makes a compiler eat memory, or write without end; large kernels take a tenth.
_COMPILER_BYTES, _COMPILED_BYTES = 4 << 30, 1 << 30

_NAMES_AN_ERROR = re.compile(r"error|undefined reference|cannot find")
# Messages of gcc, its collect2 and clang when a program that they started was killed.
_PART_KILLED = re.compile(
    r"Killed signal terminated program|terminated with signal 9|unable to execute command: Killed"
)
_FEW_ERRORS = {"gcc": "-fmax-errors=20", "clang": "-ferror-limit=20"}


@dataclass(frozen=True)
class Builder:
    """Compiles kernels with `compiler` and `flags`, or as their build options ask.

    `cache_dir` may be shared by concurrent processes.
    """

    compiler: Compiler
    flags: tuple[str, ...]
    cache_dir: Path
    other_compilers: tuple[Compiler, ...] = ()

    @cached_property
    def key(self) -> str:
        """Identity of everything but the C text, for kernels with default build options."""
        return self._key(self.compiler, self.flags)

    @staticmethod
    def _key(compiler: Compiler, flags: tuple[str, ...]) -> str:
        """The CPU counts because of -march=native."""
        own = [compiler.kind, compiler.version]
        return digest_of([_CACHE_VERSION, own, flags, ALWAYS, cpu_identity()])

    @disk_explained()
    def build(self, code: GeneratedC, timeout_s: float) -> Artifact | Failure:
        """Shared object of `code`, from the cache if it is there and intact.

        Failures: COMPILE_ERROR with the compiler's first errors, or because the one
        asked for is not here; TIMEOUT after `timeout_s` seconds of compiling or of
        linking; CRASH if somebody kills the compiler (`runner.was_killed`). Raises UserError
        if the cache cannot be written.
        """
        compiler = choose_compiler((self.compiler, *self.other_compilers), code.build)
        if compiler is None:
            return Failure(
                Outcome.COMPILE_ERROR,
                f"it is to be built by {code.build.compiler}, which is not there; "
                f"install it, or build with {self.compiler.kind} something else",
            )
        flags = code.build.flags(self.flags)
        own = self._key(compiler, (*flags, *by_text(flags, code.source, compiler.kind)))
        key = digest_of([own, code.key, code.header, code.source])
        library = self.cache_dir / key[:2] / f"{key}.so"
        binary_key = _intact(library)
        if binary_key is None:
            library.parent.mkdir(parents=True, exist_ok=True)
            text = f"{code.header}\n{code.source}"
            built = self._compile(compiler, flags, text, library, timeout_s)
            if isinstance(built, Failure):
                return built
            binary_key = built
        return Artifact(str(library), binary_key, code.key)

    def _compile(
        self,
        compiler: Compiler,
        flags: tuple[str, ...],
        text: str,
        library: Path,
        timeout_s: float,
    ) -> str | Failure:
        """Compile and link into place, as the files that are exported say; returns the binary
        key."""
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            object_file, linked = Path(scratch, "kernel.o"), Path(scratch, "kernel.so")
            compile_args: list[str | Path] = [
                *compile_flags(flags, text, compiler.kind),
                _FEW_ERRORS[compiler.kind],
                "-c",
                "-x",
                "c",
                "-",
                "-o",
                object_file,
            ]
            failure = _run(compiler, compile_args, text, scratch, timeout_s)
            if failure is None:
                link_args: list[str | Path] = [
                    *link_flags(flags, text),
                    "-shared",
                    object_file,
                    "-o",
                    linked,
                    "-Wl,--no-undefined",
                    "-lm",
                ]
                failure = _run(compiler, link_args, "", scratch, timeout_s)
            if failure is not None:
                return failure
            binary_key = code_identity(object_file.read_bytes())
            _install(linked, library, binary_key)
        return binary_key

    @disk_explained()
    def with_lines(self, code: GeneratedC, timeout_s: float) -> tuple[bytes, bool] | Failure:
        """The object file of `code` with line tables, compiled as it is measured, and whether its
        machine code is the measured one byte for byte. Failures as `build`."""
        built = self.build(code, timeout_s)
        if isinstance(built, Failure):
            return built
        compiler = choose_compiler((self.compiler, *self.other_compilers), code.build)
        assert compiler is not None, "it has built it"
        with tempfile.TemporaryDirectory() as scratch:
            object_file = Path(scratch, "kernel.o")
            flags = compile_flags(code.build.flags(self.flags), code.source, compiler.kind)
            args: list[str | Path] = [*flags, _LINE_TABLES, "-c", "-x", "c", "-", "-o", object_file]
            text = f"{code.header}\n{code.source}"
            failure = _run(compiler, args, text, scratch, timeout_s)
            if failure is not None:
                return failure
            image = object_file.read_bytes()
        return image, code_identity(image) == built.binary_key

    @disk_explained()
    def instrumented(self, code: GeneratedC, sanitizers: str, timeout_s: float) -> Path | Failure:
        """`code` for programs that have these sanitizers (`address,undefined`), of this
        compiler; OpenMP is the program's. Variables on the stack start with large numbers."""
        flags = (*self.flags, "-O1", "-g", "-fno-omit-frame-pointer")
        flags = (*flags, "-ftrivial-auto-var-init=pattern")
        flags = (*flags, f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
        if "address" in sanitizers and self.compiler.kind == "gcc":
            flags = (*flags, _NO_OTHER_STACK)
        own = (*flags, *by_text(flags, code.source, self.compiler.kind))
        key = digest_of([self.key, own, code.key, code.header, code.source])
        library = self.cache_dir / key[:2] / f"{key}.so"
        if _intact(library) is None:
            library.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
                object_file, linked = f"{scratch}/kernel.o", f"{scratch}/kernel.so"
                compiling = [
                    *compile_flags(flags, code.source, self.compiler.kind),
                    "-c",
                    "-x",
                    "c",
                    "-",
                ]
                linking = [f"-fsanitize={sanitizers}", "-shared", object_file, "-lm"]
                compile_ = [*compiling, "-o", object_file], f"{code.header}\n{code.source}"
                failure = _run(self.compiler, *compile_, scratch, timeout_s)
                link = [*linking, "-o", linked], ""
                failure = failure or _run(self.compiler, *link, scratch, timeout_s)
                if failure is not None:
                    return failure
                _install(Path(linked), library, key)
        return library

    @disk_explained()
    def executable(
        self,
        sources: Mapping[str, str],
        timeout_s: float,
        flags: tuple[str, ...] = (),
        shared: Mapping[str, str] | None = None,
    ) -> Path:
        """A program of our own, from C files by name; cached like kernels. Those of `shared`,
        whose headers the others may include, are compiled once for all programs.

        Compiled without the kernels' flags: the harness must see NaNs, which
        -ffast-math assumes away. Raises UserError if the compiler refuses it.
        """
        flags = (*_PROGRAM_FLAGS, *flags)
        parts, headers = list[Path](), dict[str, str]()
        # clang would link the sanitizers' own code into that part, too.
        whole = self.compiler.kind == "clang" and any("-fsanitize" in each for each in flags)
        if shared and whole:
            sources = {**shared, **sources}
        elif shared:
            parts = [self._linked(shared, (*flags, *_RELOCATABLE), [], timeout_s)]
            headers = {name: text for name, text in shared.items() if name.endswith(".h")}
        return self._linked({**headers, **sources}, (*flags, "-lm", "-ldl"), parts, timeout_s)

    @disk_explained()
    def python_module(
        self, sources: Mapping[str, str], timeout_s: float, flags: tuple[str, ...] = ()
    ) -> Path:
        """An extension module of this Python, from C files by name; cached like kernels. `flags`
        come last. Raises UserError if the compiler refuses it."""
        headers = sysconfig.get_paths()["include"]
        # Asserts in Python's headers would keep the names of the files, which are temporary.
        own = ("-shared", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", f"-I{headers}")
        flags = (*_PROGRAM_FLAGS, *own, *flags)
        return self._linked(sources, flags, [], timeout_s)

    def _linked(
        self,
        sources: Mapping[str, str],
        flags: tuple[str, ...],
        parts: Sequence[Path],
        timeout_s: float,
    ) -> Path:
        key = digest_of([self.key, flags, dict(sources), [part.name for part in parts]])
        program = self.cache_dir / key[:2] / key
        if _intact(program) is None:
            program.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
                for name, text in sources.items():
                    with disk_explained(scratch):
                        Path(scratch, name).write_text(text)
                files = [Path(scratch, name) for name in sources if name.endswith(".c")]
                linked = Path(scratch, "program")
                # Libraries come after the objects that need them.
                args: list[str | Path] = [*files, *parts, *flags, "-o", linked]
                failure = _run(self.compiler, args, "", scratch, timeout_s)
                if failure is not None and failure.message.startswith(KILLED):
                    raise UserError(f"the compiler was {failure.message}; run again")
                if failure is not None:
                    raise UserError(
                        f"{self.compiler.path} cannot compile what runs kernels:\n"
                        f"{failure.message.replace(f'{scratch}/', '')}\n"
                        "Headers of Linux, and to call kernels from Python also those of Python "
                        "(python3-dev), are needed. If they are there, it is a fault of "
                        "schedsearch: please report it."
                    )
                _install(linked, program, key)
        return program


def _run(
    compiler: Compiler, args: Sequence[str | Path], text: str, scratch: str, timeout_s: float
) -> Failure | None:
    """Run a compiler with `text` on its stdin and its files in `scratch`, where a killed one
    leaves them; None if it succeeded."""
    finished = run_group(
        limited([compiler.path, *args], _COMPILER_BYTES, _COMPILED_BYTES),
        text=text,
        timeout_s=timeout_s,
        scratch=scratch,
    )
    if finished is None:
        return Failure(Outcome.TIMEOUT, f"{compiler.kind} took more than {timeout_s:g} s")
    if finished.code != 0:
        refuse_full_disk(finished.stderr, scratch)
        if _was_killed(finished):
            return Failure(Outcome.CRASH, f"{KILLED}: {compiler.kind}")
        return Failure(Outcome.COMPILE_ERROR, _first_errors(finished.stderr))
    return None


def _was_killed(finished: Finished) -> bool:
    """The compiler, or a program that it started; or that a script around it did."""
    return finished.code in (-signal.SIGKILL, 128 + signal.SIGKILL) or bool(
        _PART_KILLED.search(finished.stderr)
    )


def _first_errors(text: str) -> str:
    """The first lines of a compiler's output that name errors."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _NAMES_AN_ERROR.search(line)]
    return "\n".join((errors or lines)[:5]) or "the compiler failed without a message"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _install(built: Path, place: Path, binary_key: str) -> None:
    """Move a finished file into the cache, with a note by which damage is noticed.

    Another process may install the same key at the same time. Linkers are
    deterministic, so either file goes with either note; should that ever fail,
    the checksum does not match and the file is built again.
    """
    note = built.with_suffix(".json")
    with disk_explained(note):
        note.write_text(json.dumps({"sha256": _sha256(built), "binary_key": binary_key}))
    os.replace(built, place)
    os.replace(note, place.with_suffix(".json"))


def _intact(place: Path) -> str | None:
    """Binary key of a cached file, None if it is missing or damaged."""
    try:
        note = json.loads(place.with_suffix(".json").read_text())
        if note["sha256"] == _sha256(place):
            return str(note["binary_key"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    return None
