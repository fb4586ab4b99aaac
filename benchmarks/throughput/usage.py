"""CPU time of this process and of all its descendants, from /proc (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")

RAY_SERVICES = ("raylet", "gcs_server", "ray/dashboard", "ray/_private", "ray::IDLE")


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU of a process, and of the children that it has waited for."""

    command: str
    own_s: float
    children_s: float


def tree_usage() -> dict[int, Usage]:
    """By process id: this process and its descendants."""
    found = dict(_processes())
    root = os.getpid()
    inside: dict[int, Usage] = {}
    for pid in found:
        chain = pid
        while chain != root and chain in found:
            chain = found[chain][0]
        if chain == root:
            inside[pid] = found[pid][1]
    return inside


def _processes() -> Iterator[tuple[int, tuple[int, Usage]]]:
    """Every process: `(pid, (parent, usage))`."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        # The name is in parentheses and may hold anything; the rest is numbers.
        fields = stat.rpartition(")")[2].split()
        parent, times = int(fields[1]), [int(ticks) * _TICK_S for ticks in fields[11:15]]
        yield int(folder.name), (parent, Usage(command, sum(times[:2]), sum(times[2:])))


def is_expanding(usage: Usage) -> bool:
    """Whether it is an expansion worker."""
    return "ExpandActor" in usage.command


def by_role(before: Mapping[int, Usage], after: Mapping[int, Usage]) -> dict[str, float]:
    """Seconds of CPU between two looks: driver, Ray, workers by kind, and what these started."""
    seconds = dict.fromkeys(("driver", "ray", "expand", "build", "compiler", "benchmark"), 0.0)
    for pid, usage in after.items():
        start = before.get(pid, Usage("", 0.0, 0.0))
        own, children = usage.own_s - start.own_s, usage.children_s - start.children_s
        if pid == os.getpid():
            seconds["driver"] += own
        elif is_expanding(usage):
            seconds["expand"] += own
        elif "BuildActor" in usage.command:
            seconds["build"] += own
            seconds["compiler"] += children
        elif "BenchWorker" in usage.command:
            seconds["benchmark"] += own + children
        elif any(service in usage.command for service in RAY_SERVICES):
            seconds["ray"] += own
    return seconds
