"""Which variants a library has: schedules of a lock, replayed, compiled as they are packed, and
verified; beside them the procedure as written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.build import has_threads
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.isa import KNOWN, Isa, isa
from schedsearch.core.lasting import lasting_memory
from schedsearch.core.records import Compiler, GeneratedC
from schedsearch.core.trace import AS_WRITTEN, ArgValue, Trace
from schedsearch.deploy.library.levels import baseline, flags, levels, needs, tuning
from schedsearch.deploy.variants import Written
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.isolated_replay import NoReplayError, replay_isolated
from schedsearch.locks.kernel import LockedKernel, Where, load_locked, locked_subject
from schedsearch.locks.result import CheckEnded
from schedsearch.locks.verifying import built, make_bench, verify
from schedsearch.search.setup.subject import Subject
from schedsearch.search.verified import place_of, recall

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Variant:
    """Verified code of a procedure. It runs on processors that have `level` and `needs`, for sizes
    as in `fixed`; of those that fix the same, that which was `tuned` for the nearest other sizes.
    `trace` is its schedule, `entry` what that comes from; None: it is the procedure as written.

    `flags` are those of the compiler without those that every kernel has. `cases` is in how many
    calls it was right, `machine_code` identifies the code that was.
    """

    name: str
    level: Isa
    needs: frozenset[str]
    fixed: Mapping[str, int]
    tuned: Mapping[str, int]
    code: GeneratedC
    flags: tuple[str, ...]
    compiler: Compiler
    trace: Trace
    entry: LockEntry | None
    cases: int
    caveats: tuple[str, ...]
    machine_code: str

    @property
    def static(self) -> bool:
        """Whether calls share memory, so that only one at a time may run."""
        return bool(lasting_memory(self.code.source))

    @property
    def threads(self) -> bool:
        """Whether calls run on several threads."""
        return has_threads(self.code.source)


@dataclass(frozen=True)
class Packed:
    """A procedure with its variants, the better level first, then those for fixed sizes."""

    written: Written
    variants: tuple[Variant, ...]

    @property
    def name(self) -> str:
        return self.written.proc.name


@dataclass(frozen=True)
class LeftOut:
    """What is not packed, and why."""

    what: str
    why: str


def pack(
    entries: Sequence[LockEntry], root: Path, where: Where, tell: Tell
) -> tuple[tuple[Packed, ...], tuple[LeftOut, ...]]:
    """The procedures of a lock file in the directory `root`. Raises UserError for two of one name,
    for files that are not there or may not be executed, and for procedures that cannot be called
    or are not right as written."""

    def source(entry: LockEntry) -> tuple[str, str]:
        return entry.workload.proc, entry.workload.source

    groups = [list(own) for _, own in groupby(sorted(entries, key=source), key=source)]
    names = [own[0].workload.proc for own in groups]
    if twice := next((name for name in names if names.count(name) > 1), None):
        files = ", ".join(own[0].workload.source for own in groups if own[0].workload.proc == twice)
        raise UserError(f"{twice} is in several files ({files}): choose with --only FILE")
    packers = [_Packer(tuple(own), root, where, tell) for own in groups]
    found = tuple(packer.pack() for packer in packers)
    return found, tuple(each for packer in packers for each in packer.left_out)


class _Packer:
    """Packs one procedure."""

    def __init__(
        self, entries: tuple[LockEntry, ...], root: Path, where: Where, tell: Tell
    ) -> None:
        self.entries, self.root, self.where, self.tell = entries, root, where, tell
        self.left_out: list[LeftOut] = []

    def pack(self) -> Packed:
        first = self.entries[0]
        unscheduled = replace(
            first,
            workload=replace(first.workload, specialized=()),
            target=replace(first.target, isa=baseline().name, threads=1),
        )
        try:
            subject = locked_subject(unscheduled, self.root, self.where)
        except CheckEnded as end:
            raise UserError(f"{first.name}: {end}") from end
        written = Written.of(subject.procedure)
        kernels = list(self._kernels(written))
        variants, tuned = list[Variant](), False  # for any sizes, here or below
        for level in reversed(levels(self.entries)):
            packed = [*filter(None, (self._variant(each, level, kernels) for each in kernels))]
            tuned = tuned or any(not each.fixed and not each.needs for each in packed)
            if not tuned:
                packed.append(self._as_written(subject, level))
            packed.sort(key=_place)
            variants = [*_numbered(packed), *variants]
        return Packed(written, tuple(variants))

    def _kernels(self, written: Written) -> Iterator[LockedKernel]:
        """The entries replayed; of those for one purpose the fastest."""
        sizes = {arg.var.name for arg in written.proc.args if arg.type == "size"}
        chosen = dict[object, str]()
        for entry in sorted(self.entries, key=_rank):
            own = entry.workload
            purpose = (entry.target.isa, own.specialized, own.sizes)
            if not own.fixed.keys() <= sizes:
                self._leave(entry.name, "it is for one value of what is no size")
            elif purpose in chosen:
                self._leave(entry.name, f"{chosen[purpose]} is for the same")
            else:
                self.tell(f"replaying {entry.name}")
                try:
                    yield load_locked(entry, self.root, self.where)
                    chosen[purpose] = entry.name
                except CheckEnded as end:
                    self._leave(entry.name, str(end))

    def _variant(
        self, locked: LockedKernel, level: Isa, kernels: Sequence[LockedKernel]
    ) -> Variant | None:
        """The schedule for its own level, or for a lower one that no entry is for."""
        entry, subject = locked.entry, locked.subject
        kernel, code = locked.kernel, locked.code
        fp, trace, what = subject.target.fp, entry.trace, entry.name
        if entry.target.isa == level.name:
            options = flags(level, fp, needs(entry), tuning(entry, subject))
        else:
            higher = KNOWN.index(isa(entry.target.isa)) < KNOWN.index(level)
            taken = any(each.entry.target.isa == level.name for each in kernels)
            if taken or needs(entry) or not higher:
                return None
            options, what = flags(level, fp), f"{entry.name}, for {level.name}"
            shorter = narrowed(trace, isa(entry.target.isa), level)
            try:
                found = replay_isolated(subject.procedure, shorter, fp=fp)
                kernel, code, trace = found.kernel, found.code, shorter
            except NoReplayError:
                pass  # compilers make short vectors of long ones, too
        try:
            return self._verified(subject, kernel, code, level, options, trace, entry)
        except CheckEnded as end:
            self._leave(what, str(end))
            return None

    def _as_written(self, subject: Subject, level: Isa) -> Variant:
        """Built as the strictest entry allows."""
        order = [*FloatingPoint]
        fp = min((entry.target.fp for entry in self.entries), key=order.index)
        subject = replace(subject, target=replace(subject.target, fp=fp))
        options = flags(level, fp)
        try:
            own = subject.ast, subject.code
            return self._verified(subject, *own, level, options, AS_WRITTEN, None)
        except CheckEnded as end:
            raise UserError(f"{subject.name} as written, for {level.name}: {end}") from end

    def _verified(
        self,
        subject: Subject,
        kernel: q.Proc,
        code: GeneratedC,
        level: Isa,
        options: tuple[str, ...],
        trace: Trace,
        entry: LockEntry | None,
    ) -> Variant:
        """Raises CheckEnded."""
        own = replace(subject.builder, flags=options)
        target = replace(subject.target, isa=level.name, flags=options)
        subject = replace(subject, target=target, builder=own)
        artifact = built(own, code)
        found = recall(place_of(subject, artifact))
        if found is None:
            self.tell(f"verifying {entry.name if entry else subject.name}, for {level.name}")
            _, found = verify(make_bench(subject), subject, kernel, artifact)
        compiler = target.compiler_for(code.build)
        assert compiler is not None, "it was compiled"
        fixed = dict(subject.workload.fixed)
        open_ = {arg.var.name for arg in subject.ast.args if arg.type == "size"}
        tuned = {name: value for name, value in subject.workload.sizes if name in open_}
        return Variant(
            level.name,
            level,
            needs(entry) if entry and entry.target.isa == level.name else frozenset(),
            fixed,
            tuned if entry else {},
            code,
            code.build.flags(options),
            compiler,
            trace,
            entry,
            found.cases,
            found.caveats,
            artifact.binary_key,
        )

    def _leave(self, what: str, why: str) -> None:
        self.left_out.append(LeftOut(what, why))


def narrowed(trace: Trace, own: Isa, level: Isa) -> Trace:
    """The trace with vectors as short as the registers of the level are, and for as many."""
    if not level.vector_bits:
        return trace
    ratio = own.vector_bits // level.vector_bits
    most = level.vector_registers

    def fitting(name: str, value: ArgValue) -> ArgValue:
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        if name in ("lanes", "bits"):
            return max(value // ratio, 1)
        return min(value, most) if name in ("registers", "edges") else value

    return Trace(
        tuple(
            replace(step, args=tuple((name, fitting(name, value)) for name, value in step.args))
            for step in trace.steps
        )
    )


def _rank(entry: LockEntry) -> tuple[bool, float]:
    return entry.target.cpu != cpu_identity()[0], entry.speed.call_ns


def _place(variant: Variant) -> tuple[Any, ...]:
    """What is for less comes first, and what is for the same together."""
    fixed, needs = sorted(variant.fixed.items()), sorted(variant.needs)
    return -len(fixed), fixed, -len(needs), needs


def _numbered(variants: Sequence[Variant]) -> Iterator[Variant]:
    """With names that are unique, and parts of names in C."""
    seen = dict[str, int]()
    for each in variants:
        name = "_".join(
            [each.level.name, *(f"{size}{value}" for size, value in each.fixed.items())]
        )
        seen[name] = seen.get(name, 0) + 1
        yield replace(each, name=name if seen[name] == 1 else f"{name}_{seen[name]}")
