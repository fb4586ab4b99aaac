"""Who competes on a kernel: our schedule, the procedure as written, and the peers."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.case import Case
from benchmarks.suite.compilers import CompilerPeer, compiler_peers, with_restrict
from benchmarks.suite.data import Arrays
from benchmarks.suite.rounds import Call
from schedsearch.core.records import Failure, GeneratedC, Target
from schedsearch.evaluate.builder import Builder
from schedsearch.search.subject import Subject, cache_dir
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

OURS, BASELINE = "schedsearch", "as written"

_BUILD_S = 120.0
_BEST = 1000


@dataclass(frozen=True)
class Contender:
    """A call that does what the procedure does on the shared arrays."""

    name: str
    call: Call


@dataclass(frozen=True)
class Absent:
    """A contender that cannot compete here, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Tuned:
    """The best confirmed candidate of a store, with what builds it."""

    candidate: StoredCandidate
    code: GeneratedC
    builder: Builder


def best_tuned(store: Path, case: Case, threads: int) -> Tuned | None:
    """The fastest candidate of `case` that was confirmed for `threads` threads; the procedure
    as written if none is faster. None if the store knows nothing of it.
    """
    if not store.exists():
        return None
    found: list[Tuned] = []
    with Store.open(store, create=False) as opened:
        for scope in opened.scopes():
            workload, target = opened.workload(scope), opened.target(scope)
            if workload.proc != case.proc or target.threads != threads:
                continue
            for candidate in opened.best(scope, _BEST):
                measurement = candidate.record.measurement
                code = opened.code(candidate.record.keys.code or "")
                if code and measurement and measurement.kind in ("confirm", "baseline"):
                    found.append(Tuned(candidate, code, _builder(target)))
                    break
    return max(found, key=lambda tuned: tuned.candidate.record.speedup or 0.0, default=None)


def _builder(target: Target) -> Builder:
    artifacts = cache_dir() / "artifacts"
    return Builder(target.compiler, target.flags, artifacts, target.other_compilers)


def contenders(
    case: Case, subject: Subject, arrays: Arrays, tuned: Tuned | None
) -> Iterator[Contender | Absent]:
    """Everybody, the procedure as written first."""
    yield native(BASELINE, subject.builder, subject.code, arrays)
    if tuned is None:
        yield Absent(OURS, "not tuned yet")
    else:
        yield native(OURS, tuned.builder, tuned.code, arrays)
    if case.c_peers:
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
    function = ctypes.CDLL(artifact.path)[code.proc]
    function.restype = None
    # Converted once: a call then costs less than a microsecond.
    converted = [None, *map(_argument, arrays.args)]
    return Contender(name, lambda: function(*converted))


def _argument(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else ctypes.c_void_p(value.ctypes.data)
