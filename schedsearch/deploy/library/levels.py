"""The instruction sets that a library has variants for, and what each is compiled with.

Nothing depends on the machine that builds: `-march=native` is spelled out.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable

from schedsearch.core.floats import FloatingPoint, contract_flags
from schedsearch.core.isa import ANY, KNOWN, Isa, isa
from schedsearch.evaluate.build.compiler import native_tuning
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.locks.entry import LockEntry
from schedsearch.search.setup.subject import Subject

FEATURES = {"avx512_vnni": "-mavx512vnni", "asimddp": "-march=armv8.2-a+dotprod"}
"""Options for what instruction sets need besides their ISA. C asks for it as `has_avx512_vnni()`
(runtime/isa.h)."""

NATIVE = "-march=native"


def baseline() -> Isa:
    """What every processor of this kind has."""
    own = [each for each in KNOWN if each.machine == platform.machine()]
    return own[-1] if own else isa("scalar")


def levels(entries: Iterable[LockEntry]) -> tuple[Isa, ...]:
    """The best first, none better than what the entries are for: their own, those that instructions
    are known for, and the baseline. This processor has all of them, so they can be verified."""
    asked = {entry.target.isa for entry in entries}
    best = min(n for n, each in enumerate(KNOWN) if each.name in asked or each == baseline())
    have = frozenset(cpu_identity()[1])
    return tuple(
        each
        for each in KNOWN[best:]
        if each.machine in (platform.machine(), ANY)
        and each.needs <= have
        and (each.name in asked or each == baseline() or each.instructions)
    )


def flags(
    level: Isa, fp: FloatingPoint, needs: Iterable[str] = (), tune: str = ""
) -> tuple[str, ...]:
    """What C for a level is compiled with, before the schedule's own options; `needs` are of its
    instruction sets."""
    more = tuple(FEATURES[each] for each in sorted(needs))
    tuning = (f"-mtune={tune}",) if tune else ()
    return ("-O3", *level.march, *more, *tuning, *contract_flags(fp))


def needs(entry: LockEntry) -> frozenset[str]:
    """Features that the instruction sets of its schedule need besides its ISA."""
    used = {value for step in entry.trace.steps for name, value in step.args if name == "set"}
    sets = isa(entry.target.isa).instructions
    return frozenset[str]().union(*(own for name, own in sets if name in used))


def tuning(entry: LockEntry, subject: Subject) -> str:
    """The processor that the entry's code was tuned for when it was measured, as the compiler calls
    it: that of `-march=native`, if it was measured on processors as this one. Other code is for
    processors of any kind."""
    if NATIVE not in entry.target.flags or entry.target.cpu != cpu_identity()[0]:
        return ""
    compiler = subject.target.compiler_for(entry.trace.build)
    return native_tuning(compiler) if compiler else ""
