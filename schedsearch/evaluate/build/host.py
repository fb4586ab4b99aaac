"""The machine, and its state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

import archspec.cpu
import archspec.cpu.detect

from schedsearch.core.floats import FloatingPoint
from schedsearch.core.isa import best_isa
from schedsearch.core.records import Compiler, Target

_CPUINFO = Path("/proc/cpuinfo")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CPUS = Path("/sys/devices/system/cpu")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

# Where sysfs does not tell (containers, other systems): a small desktop core of
# the last ten years. Only tile-size heuristics depend on it.
FALLBACK_CACHES = (32 * 1024, 512 * 1024, 8 * 1024 * 1024)
FALLBACK_LINE = 64

_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


def probe_target(
    compiler: Compiler,
    flags: tuple[str, ...],
    threads: int = 1,
    other_compilers: tuple[Compiler, ...] = (),
    fp: FloatingPoint = FloatingPoint.FAST,
) -> Target:
    """The target kernels are built and timed for on this machine."""
    name, features = cpu_identity()
    isa = best_isa(features)
    return Target(
        cpu=name,
        features=features,
        isa=isa.name,
        vector_bits=isa.vector_bits,
        vector_registers=isa.vector_registers,
        line_bytes=_line_bytes(),
        cache_bytes=_cache_bytes(),
        cores=len(usable_cores()),
        compiler=compiler,
        flags=flags,
        exo_version=version("exo-lang"),
        z3_version=version("z3-solver"),
        threads=threads,
        other_compilers=other_compilers,
        fp=fp,
    )


@cache
def cpu_identity() -> tuple[str, tuple[str, ...]]:
    """Microarchitecture name and instruction-set features, by archspec.

    Virtual machines hide a feature here and there, upon which archspec falls back
    to a generic name (`x86_64_v4`) and its short list. Then vendor, family and
    model are added to the name, or different CPUs would share records; features
    are always those detected, as far as archspec has a use for them.
    """
    host = archspec.cpu.host()
    known = frozenset[str]().union(*(cpu.features for cpu in archspec.cpu.TARGETS.values()))
    features = host.features | (archspec.cpu.detect.detected_info().features & known)
    name = f"{host.name} {_model()}".strip() if host.vendor == "generic" else host.name
    return name, tuple(sorted(features))


def _model() -> str:
    """`vendor-family-model` of the first core; empty where the kernel does not say."""
    lines = (line.partition(":") for line in _read(_CPUINFO).splitlines())
    info: dict[str, str] = {}
    for key, _, value in lines:
        info.setdefault(key.strip(), value.strip())
    names = ("vendor_id", "cpu family", "model")
    return "-".join(info[name] for name in names) if info.keys() >= set(names) else ""


def usable_cores() -> tuple[int, ...]:
    """Cores this process may run on, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


def measuring_cores(threads: int) -> tuple[int, ...]:
    """The cores that kernels with `threads` threads are timed on, ascending.

    The last ones, since interrupts favour the first; hardware threads that share a
    core only where there are no cores left.
    """
    alone: list[int] = []
    sharing: list[int] = []
    seen: set[str] = set()
    for core in reversed(usable_cores()):
        physical = _read(_CPUS / f"cpu{core}" / "topology" / "thread_siblings_list") or str(core)
        (sharing if physical in seen else alone).append(core)
        seen.add(physical)
    return tuple(sorted([*alone, *sharing][:threads]))


def host_state() -> tuple[tuple[str, str], ...]:
    """Load, frequency governor and page policy: stored with each measurement, sorted by name."""
    state = {"load": f"{os.getloadavg()[0]:.2f}"}
    for name, path in (("governor", _GOVERNOR), ("huge_pages", _HUGE_PAGES)):
        if text := _read(path):
            state[name] = text
    return tuple(sorted(state.items()))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _data_caches() -> Iterator[Path]:
    for index in sorted(_CACHES.glob("index*")):
        if _read(index / "type") in ("Data", "Unified"):
            yield index


def _cache_bytes() -> tuple[int, ...]:
    """Data cache sizes in bytes, first level first."""
    sizes = {}
    for index in _data_caches():
        size, level = _read(index / "size"), _read(index / "level")
        if size[:-1].isdigit() and size[-1] in _UNITS and level.isdigit():
            sizes[int(level)] = int(size[:-1]) * _UNITS[size[-1]]
    return tuple(sizes[level] for level in sorted(sizes)) or FALLBACK_CACHES


def _line_bytes() -> int:
    lines = (_read(index / "coherency_line_size") for index in _data_caches())
    return next((int(line) for line in lines if line.isdigit()), FALLBACK_LINE)
