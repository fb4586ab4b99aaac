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

The file is data from elsewhere: it is checked field by field (`lock_text.py`), nothing in
it is executed, and paths stay below its directory. `read_lock`, `write_lock` and where the
file is looked for are in `lock_place.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from schedsearch.core.alignment import ALLOCATED, UNKNOWN, arrays
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.locked_target import LockedTarget
from schedsearch.core.records import GeneratedC, Keys, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace


@dataclass(frozen=True)
class LockedRoof:
    """What the machine could do: `share` of it was reached (0.9: 90 %); `name` says what limits."""

    share: float
    name: str


@dataclass(frozen=True)
class LockedSpeed:
    """How fast the schedule was when it was pinned: `ratio` times the procedure as written,
    with its interval, from `rounds` interleaved rounds on the day `measured`.

    `call_ns` is nanoseconds of one call, `cache` what caches held (`warm`, `cold`), `noise`
    that session's relative error (the schedule against itself: `|ratio - 1|`), None if it
    was not measured; `confirmed`: by rounds of their own, after the search that found it.
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
    `workload.signature` is not kept.

    `schedsearch` is the version that pinned it. Build options are `trace.build`. `caveats` are
    what its user has to keep in mind (`not re-entrant: ...`). `code` is the pinned C; entries of
    schedsearch before it was kept have none.
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
        """What there is one entry of. No versions and no digests: what is pinned with a newer
        compiler, or of a changed procedure, takes the place of the older entry."""
        own = self.workload
        return (own.source, own.proc, own.specialized, own.sizes, *self.target.kind)


@dataclass(frozen=True)
class Lock:
    """All entries of a lock file, by slot."""

    entries: tuple[LockEntry, ...] = field(default=())

    def having(self, entries: Iterable[LockEntry]) -> Lock:
        """With these, each in the place of the entry of its slot, if there is one."""
        by_slot = {entry.slot: entry for entry in (*self.entries, *entries)}
        return Lock(tuple(by_slot[slot] for slot in sorted(by_slot)))

    def at(self, slot: tuple[Any, ...]) -> LockEntry | None:
        """The entry of a slot, None if there is none."""
        return next((entry for entry in self.entries if entry.slot == slot), None)
