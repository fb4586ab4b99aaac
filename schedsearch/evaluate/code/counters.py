"""Hardware counters of a kernel: by perf where the system allows it, else by valgrind's simulation.

Both run a program of ours that calls the kernel some times, and once more without a call; the
difference is the kernel's. The program is not sandboxed: it is for kernels that were verified.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.records import Artifact, GeneratedC
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.arguments.layout import Buffer, layout
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.process import run_group

_COMPILE_S, _COUNT_S = 60.0, 60.0
_FLAGS = (
    "-Wl,-z,now",  # bound lazily, the first call takes 600 instructions more
    "-fno-tree-vectorize",  # valgrind may know the kernel's instructions; those of loops before it
)
_LONG_S = 0.3  # of calls that perf counts: the start of a process is noise beside it
_MOST_CALLS = 1_000_000
_MOST_SIMULATED_S = 1.0  # valgrind takes fifty times as long
_EVENTS = ("instructions", "cycles", "cache-misses", "branch-misses")
_SIMULATED = {
    "instructions": r"I +refs: +([\d,]+)",
    "l1_misses": r"D1 +misses: +([\d,]+)",
    "cache_misses": r"LLd misses: +([\d,]+)",
    "branch_misses": r"Mispredicts: +([\d,]+)",
}
_UNKNOWN_CODE = re.compile(r"unhandled instruction|Unrecognised instruction")
_NO_CAUSE = ("", "Error:")  # perf's cause is in the line after

BY_PERF = "hardware counters, by perf"
BY_VALGRIND = "valgrind's simulation of the caches and of branches: no cycles"
BY_ESTIMATE = "an estimate: instructions of the loops times their trip counts"


@dataclass(frozen=True)
class Counters:
    """Of one call; None: not known from this `source`. `refused`: why better sources do not say."""

    source: str
    instructions: float | None
    cycles: float | None = None
    l1_misses: float | None = None
    cache_misses: float | None = None
    branch_misses: float | None = None
    refused: tuple[str, ...] = ()

    @property
    def per_cycle(self) -> float | None:
        """Instructions per cycle."""
        if not self.instructions or not self.cycles:
            return None
        return self.instructions / self.cycles

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"instructions_per_cycle": self.per_cycle}


def count(
    builder: Builder,
    artifact: Artifact,
    code: GeneratedC,
    proc: q.Proc,
    binding: Binding,
    seconds: float,
    estimated: float,
) -> Counters:
    """From the best source there is; `estimated` instructions of a call are the last. `seconds`
    are of a call."""
    source = _program(code, proc, binding)
    if source is None:
        why = "arguments that are windows, or configuration, are not set up to be counted"
        return Counters(BY_ESTIMATE, estimated, refused=(why,))
    program = _executable(builder, artifact, code, source)
    refused: list[str] = []
    for attempt in (_perf, _valgrind):
        found = attempt(program, seconds)
        if isinstance(found, Counters):
            return replace(found, refused=tuple(refused))
        refused.append(found)
    return Counters(BY_ESTIMATE, estimated, refused=tuple(refused))


def _program(code: GeneratedC, proc: q.Proc, binding: Binding) -> str | None:
    """C that calls the kernel as often as its argument says, on arrays of ones."""
    if any(arg.window for arg in proc.args) or binding.config:
        return None
    made, passed = [], ["0"]
    for number, item in enumerate(layout(proc, binding)):
        if not isinstance(item, Buffer):
            passed.append(str(int(item)))
            continue
        kind = ELEMENT_TYPES[item.type].c
        elements = max(item.elements, 1)
        made += [
            f"    {kind} *a{number} = malloc({elements}ul * sizeof *a{number});",
            f"    for (long i = 0; i < {elements}l; i++) a{number}[i] = 1;",
        ]
        passed.append(f"a{number}")
    return "\n".join(
        [
            "#include <stdlib.h>",
            '#include "kernel.h"',
            "int main(int count, char **words) {",
            "    long calls = count > 1 ? atol(words[1]) : 0;",
            *made,
            f"    for (long k = 0; k < calls; k++) {code.proc}({', '.join(passed)});",
            "    return 0;",
            "}",
        ]
    )


def _executable(builder: Builder, artifact: Artifact, code: GeneratedC, source: str) -> Path:
    sources = {"kernel.h": code.header, "main.c": source}
    return builder.executable(sources, _COMPILE_S, (*_FLAGS, artifact.path))


def _perf(program: Path, seconds: float) -> Counters | str:
    tool = shutil.which("perf")
    if tool is None:
        return "perf is not installed"
    calls = max(1, min(_MOST_CALLS, int(_LONG_S / max(seconds, 1e-9))))
    command: list[str | Path] = [
        tool,
        "stat",
        "-x",
        ",",
        "-e",
        ",".join(f"{each}:u" for each in _EVENTS),
        program,
    ]
    found = _difference(command, calls, _of_perf)
    if isinstance(found, str):
        return f"perf: {found}"
    if "instructions" not in found:
        return "perf cannot count here (not allowed, or a virtual machine without counters)"
    return Counters(
        BY_PERF,
        found["instructions"],
        cycles=found.get("cycles"),
        cache_misses=found.get("cache-misses"),
        branch_misses=found.get("branch-misses"),
    )


def _of_perf(text: str) -> dict[str, float]:
    """Lines of `perf stat -x,` begin with `value,unit,event`; `<not supported>` is no value."""
    found = {}
    for line in text.splitlines():
        words = line.split(",")
        if len(words) > 2 and re.fullmatch(r"[\d.]+", words[0]):
            found[words[2].split(":")[0]] = float(words[0])
    return found


def _valgrind(program: Path, seconds: float) -> Counters | str:
    tool = shutil.which("valgrind")
    if tool is None:
        return "valgrind is not installed"
    if seconds > _MOST_SIMULATED_S:
        return f"valgrind would take too long: a call takes {seconds:.3g} s without it"
    options = ("--cache-sim=yes", "--branch-sim=yes", "--cachegrind-out-file=/dev/null")
    found = _difference([tool, "--tool=cachegrind", *options, program], 1, _of_valgrind)
    if isinstance(found, str):
        return f"valgrind: {found}"
    if "instructions" not in found:
        return "valgrind printed no counts"
    return Counters(
        BY_VALGRIND,
        found["instructions"],
        l1_misses=found.get("l1_misses"),
        cache_misses=found.get("cache_misses"),
        branch_misses=found.get("branch_misses"),
    )


def _of_valgrind(text: str) -> dict[str, float]:
    matches = {name: re.search(pattern, text) for name, pattern in _SIMULATED.items()}
    return {name: float(m[1].replace(",", "")) for name, m in matches.items() if m}


def _difference(
    command: Sequence[str | Path], calls: int, read: Callable[[str], Mapping[str, float]]
) -> dict[str, float] | str:
    """Counts of one call, or why there are none."""
    both = []
    for times in (0, calls):
        finished = run_group([*command, str(times)], timeout_s=_COUNT_S)
        if finished is None:
            return f"no end after {_COUNT_S:g} s"
        if _UNKNOWN_CODE.search(finished.stderr):
            return "it does not support instructions that this kernel has (AVX-512, above all)"
        if finished.code != 0:
            lines = map(str.strip, finished.stderr.splitlines())
            said = next((line for line in lines if line not in _NO_CAUSE), "no message")
            return f"it ended with {finished.code}: {said}"
        both.append(read(finished.stderr))
    none, some = both
    return {name: max(some[name] - none.get(name, 0.0), 0.0) / calls for name in some}
