"""Who competes on a kernel: our schedule, the procedure as written, and the peers."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.case import Case
from benchmarks.suite.compilers import CompilerPeer, compiler_peers, with_restrict
from benchmarks.suite.data import Arrays
from benchmarks.suite.rounds import Call
from benchmarks.suite.stores import Tuned
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.evaluate.builder import Builder
from schedsearch.search.subject import Subject, cache_dir

OURS, BASELINE = "schedsearch", "as written"
SINGLE = "schedsearch, 1 thread"
"""Our schedule for one thread, where more are compared."""

_BUILD_S = 120.0


@dataclass(frozen=True)
class Contender:
    """A call that does what the procedure does on the shared arrays. `renewed` returns one of
    the same code elsewhere in memory; None of code that is not ours to load."""

    name: str
    call: Call
    renewed: Callable[[], Call] | None = None


@dataclass(frozen=True)
class Absent:
    """A contender that cannot compete here, and why."""

    name: str
    reason: str


def contenders(
    case: Case, subject: Subject, arrays: Arrays, tuned: dict[str, Tuned | None]
) -> Iterator[Contender | Absent]:
    """Everybody, the procedure as written first; `tuned` are ours, by name."""
    yield native(BASELINE, subject.builder, subject.code, arrays)
    for name, own in tuned.items():
        if own is None:
            yield Absent(name, "not tuned yet")
        else:
            yield native(name, own.builder, own.code, arrays)
    code = with_restrict(subject.code)
    for peer in compiler_peers(subject.target, cache_dir() / "artifacts"):
        if isinstance(peer, CompilerPeer):
            yield native(peer.name, peer.builder, code, arrays)
        else:
            yield Absent(*peer)
    for library in case.python_peers:
        if importlib.util.find_spec(library) is None:
            yield Absent(library, "not installed")
        else:
            yield _prepared(library, case, arrays)


def _prepared(library: str, case: Case, arrays: Arrays) -> Contender | Absent:
    try:
        return Contender(library, python_peer(library, case.form)(*arrays.arrays))
    except Exception as error:  # another version of the library; the others still compete
        return Absent(library, f"cannot prepare {case.form}: {type(error).__name__}: {error}")


def python_peer(library: str, form: str) -> Any:
    """The function that prepares `form` with an installed library."""
    return getattr(importlib.import_module(f"benchmarks.suite.peers.with_{library}"), form)


def native(name: str, builder: Builder, code: GeneratedC, arrays: Arrays) -> Contender | Absent:
    artifact = builder.build(code, _BUILD_S)
    if isinstance(artifact, Failure):
        return Absent(name, f"does not compile: {artifact.message}")
    # Converted once: a call then costs less than a microsecond.
    converted = [None, *map(_argument, arrays.args)]

    def loaded(path: str) -> Call:
        function = ctypes.CDLL(path)[code.proc]
        function.restype = None
        return lambda: function(*converted)

    def renewed() -> Call:
        with tempfile.NamedTemporaryFile(suffix=".so") as copy:
            copy.write(Path(artifact.path).read_bytes())
            copy.flush()
            return loaded(copy.name)

    return Contender(name, loaded(artifact.path), renewed)


def _argument(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else ctypes.c_void_p(value.ctypes.data)
