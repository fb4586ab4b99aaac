"""What competes on a kernel: our schedule, the procedure as written, and the peers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.suite.case import Case
from benchmarks.suite.compilers import CompilerPeer, compiler_peers
from benchmarks.suite.exoblas import NAME, exoblas_c
from benchmarks.suite.originals import preprocessed
from benchmarks.suite.records import place, recorded, replayed
from benchmarks.suite.stores import Tuned
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.evaluate.build.builder import Builder
from schedsearch.peers.against import as_experts_compile
from schedsearch.peers.configurations import USUAL, of_openblas, of_torch
from schedsearch.peers.contender import What
from schedsearch.peers.trial import Peer
from schedsearch.search.setup.subject import Subject, cache_dir

ROOT = Path(__file__).parents[2]

OURS, BASELINE = "schedsearch", "as written"
SINGLE = "schedsearch, 1 thread"
"""Our schedule for one thread, where more are compared."""

AGAIN = "schedsearch again"
"""Our schedule as its own peer: how far from 1 its ratio is, is this machine's noise."""

RECORD = "record"
"""The best schedule that the record book has."""

OWN = (OURS, AGAIN, BASELINE, SINGLE, RECORD)
"""Contenders that are no peers."""

_BUILD_S = 120.0


@dataclass(frozen=True)
class Absent:
    """A contender that cannot compete here, and why."""

    name: str
    reason: str


def contenders(
    case: Case,
    subject: Subject,
    tuned: dict[str, Tuned | None],
    exoblas: Path | None = None,
) -> Iterator[Peer | Absent]:
    """Everybody, the procedure as written first; `tuned` are ours, by name, `exoblas` is a checkout
    of ExoBLAS."""
    yield native(BASELINE, subject.builder, subject.code)
    for name, own in tuned.items():
        if own is None:
            yield Absent(name, "not tuned yet")
        else:
            yield native(name, own.builder, own.code)
    yield from _record(case, subject)
    for peer in compiler_peers(subject.target, cache_dir() / "artifacts"):
        if isinstance(peer, CompilerPeer):
            yield _compiled(case, subject, peer)
        else:
            yield Absent(*peer)
    if exoblas is not None:
        yield from _hand_made(case, subject, exoblas)
    for library in case.python_peers:
        if importlib.util.find_spec(library) is None:
            yield Absent(library, "not installed")
        else:
            yield python_peer(library, case.form, frozenset(subject.target.features))


def _compiled(case: Case, subject: Subject, peer: CompilerPeer) -> Peer | Absent:
    if case.original is None:
        return native(peer.name, peer.builder, as_experts_compile(subject.code))
    try:
        found = native(peer.name, peer.builder, preprocessed(case.original, peer.builder))
    except UserError as error:
        return Absent(peer.name, str(error))
    if isinstance(found, Absent):
        return found
    return replace(found, how=f"the original, {found.how} {' '.join(peer.builder.flags)}")


def _record(case: Case, subject: Subject) -> Iterator[Peer | Absent]:
    try:
        schedule = recorded(place(case, subject.target))
        if schedule is not None:
            yield native(RECORD, subject.builder, replayed(subject, schedule))
    except UserError as error:
        yield Absent(RECORD, str(error))


def _hand_made(case: Case, subject: Subject, checkout: Path) -> Iterator[Peer | Absent]:
    try:
        code = exoblas_c(case, subject, checkout)
    except UserError as error:
        yield Absent(NAME, str(error))
    else:
        if code is not None:
            yield native(NAME, subject.builder, code)


def python_peer(library: str, form: str, features: frozenset[str]) -> Peer:
    """The function that prepares `form` with an installed library, in all configurations."""
    ways = {"numpy": of_openblas, "scipy": of_openblas, "torch": of_torch}
    configurations = tuple(ways[library](features)) if library in ways else (USUAL,)
    place = f"benchmarks.suite.peers.with_{library}"
    return Peer(library, What("module", form, place, library=library), "", configurations)


def native(name: str, builder: Builder, code: GeneratedC) -> Peer | Absent:
    artifact = builder.build(code, _BUILD_S)
    if isinstance(artifact, Failure):
        return Absent(name, f"does not compile: {artifact.message}")
    how = f"{builder.compiler.kind} {builder.compiler.version}"
    return Peer(name, What("native", code.proc, artifact.path, context=True), how)
