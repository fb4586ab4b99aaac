"""A target as a lock file describes it: all that can change an answer, and no path."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from schedsearch.core.alignment import UNKNOWN
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Compiler, InstructionSet, Target


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
        """`instructions` are the target's, with paths as they are to be written."""
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
        """What kind of machine and build this is, whatever the versions."""
        return (self.cpu, self.isa, self.vector_bits, self.compiler.kind, self.threads, self.fp)

    def differences(self, target: Target) -> dict[str, tuple[Any, Any]]:
        """Fields in which `target` is another one: the locked value, and the target's."""
        here = LockedTarget.of(target, target.instructions)
        pairs = {
            each.name: (getattr(self, each.name), getattr(here, each.name))
            for each in fields(LockedTarget)
        }
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def features_digest(target: Target) -> str:
    return digest_of(list(target.features))
