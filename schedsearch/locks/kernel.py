"""Load a locked schedule on today's source, compilers and machine, and say what differs."""

from __future__ import annotations

import difflib
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedsearch import __version__
from schedsearch.core import ast as q
from schedsearch.core.alignment import ALLOCATED, UNKNOWN, arrays
from schedsearch.core.errors import UserError
from schedsearch.core.isa import NAMES
from schedsearch.core.records import Compiler, GeneratedC, Target
from schedsearch.core.text_file import read_text
from schedsearch.locks.entry import LockedTarget, LockEntry
from schedsearch.locks.isolated_replay import NoReplayError, replay_isolated
from schedsearch.locks.result import CheckEnded, Status, not_here
from schedsearch.search.reloading import require_tuned
from schedsearch.search.setup.subject import Subject, bind_fixed, make_subject
from schedsearch.search.setup.targets import read_target, require_native, resolve_target, runs_here
from schedsearch.transforms.exo.generated import code_key
from schedsearch.transforms.exo.loader import imports_exo, load_source, pick
from schedsearch.transforms.vector.instruction_sets import load_instructions

SHOWN = 12
"""Lines to show of a diff of C texts."""


@dataclass(frozen=True)
class Where:
    """The user's choices about this machine; the rest is as locked, or detected.

    `instructions` are files of instruction sets, besides those the lock names. `named` are
    files, and directories of files, that are executed because the user names them, if the lock
    does; others only if this user tuned them (`trust.py`).
    """

    cc: str | None = None
    target: str | None = None
    instructions: tuple[Path, ...] = ()
    named: tuple[Path, ...] = ()


@dataclass(frozen=True)
class LockedKernel:
    """A schedule replayed on today's source: its C, the pinned C (None if the lock has none and
    today's is another), and what is not as it was locked."""

    entry: LockEntry
    subject: Subject
    kernel: q.Proc
    code: GeneratedC
    pinned: GeneratedC | None
    notes: tuple[str, ...]


def load_locked(entry: LockEntry, root: Path, where: Where) -> LockedKernel:
    """Load, bind and replay an entry of the lock file in the directory `root`.

    Raises CheckEnded if it does not run on this machine (skipped), the procedure is another one
    (stale), or the schedule gives no kernel any more (regression); UserError if a file it needs is
    missing or not as needed, or the lock's C is not what its key says.
    """
    pinned = entry.code
    if pinned and code_key(pinned.header, pinned.source, pinned.build) != entry.keys.code:
        raise UserError("the C in the lock is not that of its code_key: one of them was edited")
    subject = locked_subject(entry, root, where)
    _require_described(entry, subject)
    notes = _changes(entry, subject)
    try:
        found = replay_isolated(subject.procedure, entry.trace, fp=subject.target.fp)
    except NoReplayError as error:
        raise CheckEnded(Status.REGRESSION, str(error), tuple(notes)) from error
    code = found.code
    if code.key != entry.keys.code or found.ast_key != entry.keys.ast:
        notes = [*_unlike(entry, code, notes), *(_difference(pinned, code) if pinned else ())]
    if code.key == entry.keys.code:
        pinned = code
    return LockedKernel(entry, subject, found.kernel, code, pinned, tuple(notes))


def locked_subject(entry: LockEntry, root: Path, where: Where) -> Subject:
    """The procedure of an entry as it is today. Raises CheckEnded and UserError."""
    target = _target(entry.target, root, where)
    own = entry.workload
    source = load_source(executed_file(root, own.source, where))
    sizes = {name: value for name, value in own.sizes if name not in own.specialized}
    try:
        bound = bind_fixed(source, pick(source, own.proc), sizes, own.fixed)
    except UserError as error:
        if source.sha == own.source_sha:
            raise
        what = f"{source.path} has changed since it was pinned: {error}"
        raise CheckEnded(Status.STALE, what) from error
    return make_subject(source, *bound, target)


def _require_described(entry: LockEntry, subject: Subject) -> None:
    """Raises CheckEnded if the schedule was pinned for something else."""
    if subject.workload.proc_key != entry.workload.proc_key:
        what = "the procedure"
    else:
        today = {each.digest for each in subject.target.instructions}
        own = (each for each in entry.target.instructions if each.path)
        what = next((each.path for each in own if each.digest not in today), "")
    if what:
        raise CheckEnded(
            Status.STALE,
            f"{what} has changed since it was pinned: `schedsearch check . --repair` fits the "
            "schedule to it and pins that; or tune it again, and `schedsearch pin`",
        )


def locked_file(root: Path, name: str) -> Path:
    """A Python file that a lock in the directory `root` may name: raises UserError unless it
    imports exo and lies below `root`, also when links are followed."""
    path = root / name
    if not imports_exo(read_text(path)):
        raise UserError(f"{path} is not executed: it is none of Python that imports exo")
    if not path.resolve().is_relative_to(root.resolve()):
        raise UserError(f"{path} is not executed: it is a link to what is not below {root}")
    return path


def executed_file(root: Path, name: str, where: Where, option: str = "--file") -> Path:
    """The same, if the user has tuned it or names it as well, by `option` or among `named`.
    Raises UnnamedFileError for others."""
    path = locked_file(root, name)
    place = path.resolve()
    if not any(place.is_relative_to(each.resolve()) for each in where.named):
        require_tuned(path, option)
    return path


def locked_sets(locked: LockedTarget, root: Path, where: Where) -> tuple[Path, ...]:
    """Files of instruction sets: the user's, and those the lock names besides. Raises
    UserError as `executed_file`."""
    given = {load_instructions(path).digest for path in where.instructions}
    named = (each for each in locked.instructions if each.path and each.digest not in given)
    more = (executed_file(root, each.path, where, "--instructions") for each in named)
    return (*where.instructions, *more)


def _target(locked: LockedTarget, root: Path, where: Where) -> Target:
    """This machine as far as it was locked: instruction set, threads, first compiler, the
    floating-point contract, and how arrays are aligned. Flags are this machine's own: what a
    lock file says is never given to a compiler."""
    if locked.isa not in NAMES:
        raise not_here(f"locked for {locked.isa}, which this schedsearch does not know")
    if not runs_here(locked.isa):
        here = platform.machine()
        raise not_here(f"kernels for {locked.isa} do not run on this {here} machine")
    files = locked_sets(locked, root, where)
    target = resolve_target(
        read_target(where.target or locked.isa), where.cc, locked.threads, files, locked.fp
    )
    if target.cores < locked.threads:
        raise not_here(f"locked for {locked.threads} threads, this machine has {target.cores}")
    try:
        require_native(target)
    except UserError as error:
        raise not_here(str(error)) from error
    compilers = (target.compiler, *target.other_compilers)
    first = _of_kind(compilers, locked.compiler.kind)
    if first is None:
        raise not_here(f"locked with {locked.compiler.kind}, which is not on PATH")
    others = tuple(each for each in compilers if each != first)
    align = locked.align or ALLOCATED
    return replace(target, compiler=first, other_compilers=others, align=align)


def _of_kind(compilers: tuple[Compiler, ...], kind: str) -> Compiler | None:
    return next((each for each in compilers if each.kind == kind), None)


def foreign_to(locked: LockedTarget, target: Target) -> str:
    """Why this is another kind of processor, or other arrays, whatever the versions of tools; empty
    if it is not."""
    pairs = {
        "processor": (locked.cpu, target.cpu),
        "instruction set": (locked.isa, target.isa),
        "vector bits": (locked.vector_bits, target.vector_bits),
    }
    found = [
        f"locked on another {what} ({then}, here {now})"
        for what, (then, now) in pairs.items()
        if then != now
    ]
    if locked.align == UNKNOWN:
        found.append(
            f"locked on {arrays(UNKNOWN)}, by an earlier version; pin it again to have its speed "
            "checked"
        )
    return ", ".join(found)


def _changes(entry: LockEntry, subject: Subject) -> list[str]:
    """The inputs of the machine code that have changed, in words."""
    target = subject.target
    found = []
    if entry.schedsearch != __version__:
        found.append(f"schedsearch was {entry.schedsearch}, is {__version__}")
    build = entry.trace.build
    names = {"cpu": "processor", "exo_version": "Exo", "z3_version": "z3", "flags": "flags"}
    for name, (then, now) in entry.target.differences(target).items():
        if name in names:
            found.append(f"{names[name]} was {_text(then)}, is {_text(now)}")
    locked = (entry.target.compiler, *entry.target.other_compilers)
    used = {entry.target.compiler.kind, build.compiler or entry.target.compiler.kind}
    for kind in sorted(used):
        then = _of_kind(locked, kind)
        now = _of_kind((target.compiler, *target.other_compilers), kind)
        if now is None:
            raise not_here(f"it is built by {kind}, which is not on PATH")
        if then != now:
            version = then.version if then else "unknown"
            found.append(f"{kind} was {version}, is {now.version}")
    return found


def _text(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _unlike(entry: LockEntry, code: GeneratedC, changes: list[str]) -> list[str]:
    """Notes for keys that differ from the locked ones."""
    what = "the scheduled procedure" if code.key == entry.keys.code else "the generated C"
    unexplained = (
        "nothing that it is made from has changed: the lock's trace or keys were edited, or are "
        "of different entries"
    )
    return [f"{what} is not the locked one", *(changes or [unexplained])]


def _difference(before: GeneratedC, code: GeneratedC) -> list[str]:
    """The first lines of the diff."""
    texts = (before.source.splitlines(), code.source.splitlines())
    lines = list(difflib.unified_diff(*texts, "locked", "today", n=1, lineterm=""))
    more = [f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]
