"""Kernels timed in the library that is measured, and built in other ways."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.linking.builds import TIMES, Exported, exported, main_c, scheduled
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, Target
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.elf import code_identity
from schedsearch.transforms.exo.loader import load_source

ROUNDS = 5
SIZES = {"M": 256, "N": 256, "K": 256}
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Timed:
    """Nanoseconds of a kernel's fastest call by the way it was linked; `same`: whether the
    object file has the machine code that was measured."""

    kernel: str
    way: str
    ns: dict[str, float]
    same: bool

    def ratio(self, build: str) -> float:
        return self.ns[build] / self.ns["measured"]


def procedures() -> Iterator[tuple[str, Any]]:
    for path in [*sorted(EXAMPLES.glob("*.py")), Path(__file__).with_name("kernels.py")]:
        yield from load_source(path).procs.items()


def measure(name: str, procedure: Any, target: Target, folder: Path) -> Iterator[Timed]:
    """As written, and with vector instructions. Raises UserError if a build fails."""
    builder = Builder(target.compiler, target.flags, folder / "cache")
    ways = {"written": procedure, "vectors": scheduled(procedure, target)}
    for way, each in ways.items():
        found = exported(each, target, folder / f"{name}-{way}")
        artifact = builder.build(found.kernel.code, 120)
        if isinstance(artifact, Failure):
            raise UserError(artifact.message)
        same = code_identity(found.compiled().read_bytes()) == artifact.binary_key
        linked = {
            "measured": artifact.path,
            "shared": found.shared(),
            "static": found.static(),
            "object": f"{found.name}.o",
        }
        programs = {build: _program(found, build, path) for build, path in linked.items()}
        other = exported(each, target, folder / f"{name}-{way}-global")
        _with_global_helpers(other)
        programs["global helpers"] = _program(other, "global", other.shared())
        yield Timed(name, way, _race(programs), same)


def _program(found: Exported, build: str, linked: str) -> Path:
    main = main_c(found.kernel.proc, found.name, SIZES, TIMES)
    return found.folder / found.program(main, linked, f"program-{build}")


def _with_global_helpers(found: Exported) -> None:
    """Exo's external functions as Exo prints them."""
    source = found.folder / f"{found.name}.c"
    source.write_text(source.read_text().replace("static inline float _", "float _"))
    found.compiled()


def _race(programs: dict[str, Path]) -> dict[str, float]:
    """The programs by turns; the fastest call of each."""
    least = dict.fromkeys(programs, float("inf"))
    for _ in range(ROUNDS):
        for build, program in programs.items():
            done = subprocess.run([program], cwd=program.parent, check=True, capture_output=True)
            least[build] = min(least[build], float(done.stdout))
    return least
