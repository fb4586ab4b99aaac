"""schedules.lock: the schedules a repository relies on, as text that is reviewed and merged.

One entry per kernel (source, procedure, sizes) and kind of target. `schedsearch pin`
writes it, `schedsearch check` replays and times what it says, people read its diffs:

```toml
schema = 1

[[kernel]]
proc = "gemv"
source = "kernels/gemv.py"           # relative to this file
source_sha = "0f..."                 # of the file's text when it was pinned
proc_key = "1c..."                   # of the procedure as written (transforms.identity)
sizes = { K = 512 }
specialized = []                     # sizes that are constants of the procedure
schedsearch = "0.1.0"
ast_key = "9a..."                    # of the scheduled procedure
code_key = "77..."                   # of its C
caveats = []                         # such as "not re-entrant: ..."; left out if empty
trace = [
  { transform = "unroll", version = 1, path = "0.0", label = "for j in seq(0, 4)", args = {} },
]

[kernel.target]                      # see LockedTarget
cpu = "zen5"
...

[kernel.speed]                       # see LockedSpeed
ratio = 24.8
...

[kernel.c]                           # what `check` compares today's C with
header = '''
...'''
source = '''
...'''
```

The file is untrusted data: `format.py` checks every field, nothing in it is executed, and
paths stay below its directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any

from schedsearch.core.alignment import ALLOCATED, UNKNOWN, arrays
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Compiler, GeneratedC, InstructionSet, Keys, Target, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace


@dataclass(frozen=True)
class LockedTarget:
    """Fields are those of `Target`, in its units; `features` is a digest of the CPU's features
    (a hundred names tell a reader nothing). Compilers have no path. Instruction sets that come
    with schedsearch have none either, the user's own are relative to the lock file.
    """

    cpu: str
    isa: str
    features: str
    vector_bits: int
    vector_registers: int
    line_bytes: int
    cache_bytes: tuple[int, ...]
    cores: int
    threads: int
    compiler: Compiler
    other_compilers: tuple[Compiler, ...]
    flags: tuple[str, ...]
    exo_version: str
    z3_version: str
    instructions: tuple[InstructionSet, ...]
    fp: FloatingPoint = FloatingPoint.FAST
    align: int = UNKNOWN

    @staticmethod
    def of(target: Target, instructions: tuple[InstructionSet, ...]) -> LockedTarget:
        """`instructions` are the target's, with the paths that the lock file has."""
        own = {each.name: getattr(target, each.name) for each in fields(LockedTarget)}
        return LockedTarget(
            **own
            | {
                "features": features_digest(target),
                "compiler": replace(target.compiler, path=""),
                "other_compilers": tuple(replace(c, path="") for c in target.other_compilers),
                "instructions": instructions,
            }
        )

    @property
    def kind(self) -> tuple[Any, ...]:
        """The kind of machine and build, without versions."""
        return (self.cpu, self.isa, self.vector_bits, self.compiler.kind, self.threads, self.fp)

    def differences(self, target: Target) -> dict[str, tuple[Any, Any]]:
        """Fields that differ from `target`: the locked value and the target's."""
        here = LockedTarget.of(target, target.instructions)
        pairs = {
            each.name: (getattr(self, each.name), getattr(here, each.name))
            for each in fields(LockedTarget)
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def features_digest(target: Target) -> str:
    return digest_of(list(target.features))


@dataclass(frozen=True)
class LockedRoof:
    """The limit of the machine: the schedule reached `share` of it (0.9: 90 %); `name` says what
    limits."""

    share: float
    name: str


@dataclass(frozen=True)
class LockedSpeed:
    """How fast the schedule was when it was pinned: `ratio` times the baseline, with its interval,
    from `rounds` interleaved rounds on the day `measured`.

    `call_ns` is nanoseconds of one call, `cache` what caches held (`warm`, `cold`), `noise` that
    session's relative error (the schedule against itself: `|ratio - 1|`), None if it was not
    measured. `confirmed`: the rounds are fresh ones, after the search that found it.
    """

    ratio: Estimate
    rounds: int
    confirmed: bool
    cache: str
    call_ns: float
    measured: date
    noise: float | None = None
    roof: LockedRoof | None = None


@dataclass(frozen=True)
class LockEntry:
    """One kernel on one target. `workload.source` is relative to the lock file, with `/`;
    `workload.signature` is empty.

    `schedsearch` is the version that pinned it. Build options are `trace.build`. `caveats`
    warn its user (`not re-entrant: ...`). `code` is the pinned C; old entries have none.
    """

    workload: Workload
    target: LockedTarget
    trace: Trace
    keys: Keys
    speed: LockedSpeed
    schedsearch: str
    caveats: tuple[str, ...] = ()
    code: GeneratedC | None = None

    @property
    def name(self) -> str:
        """For people: `gemv (K=512) of kernels/gemv.py for zen5 avx512, gcc`"""
        own = self.workload
        sizes = ", ".join(f"{name}={value}" for name, value in own.sizes)
        only = " only" if own.specialized else ""
        kernel = f"{own.proc} ({sizes}{only})" if sizes else own.proc
        threads = f", {self.target.threads} threads" if self.target.threads > 1 else ""
        fp = "" if self.target.fp is FloatingPoint.FAST else f", fp {self.target.fp}"
        align = self.target.align
        where = "" if align in (ALLOCATED, UNKNOWN) else f", {arrays(align)}"
        place = f"{self.target.cpu} {self.target.isa}, {self.target.compiler.kind}{threads}{fp}"
        return f"{kernel} of {own.source} for {place}{where}"

    @property
    def slot(self) -> tuple[Any, ...]:
        """The key of an entry: there is one per key. It has no versions and no digests, so a
        schedule that is pinned with a newer compiler, or for a changed procedure, replaces the
        older entry."""
        own = self.workload
        return (own.source, own.proc, own.specialized, own.sizes, *self.target.kind)


@dataclass(frozen=True)
class Lock:
    """All entries of a lock file, by slot."""

    entries: tuple[LockEntry, ...] = field(default=())

    def having(self, entries: Iterable[LockEntry]) -> Lock:
        """Add these; each replaces the entry of its slot, if there is one."""
        by_slot = {entry.slot: entry for entry in (*self.entries, *entries)}
        return Lock(tuple(by_slot[slot] for slot in sorted(by_slot)))

    def at(self, slot: tuple[Any, ...]) -> LockEntry | None:
        """The entry of a slot, None if there is none."""
        return next((entry for entry in self.entries if entry.slot == slot), None)
