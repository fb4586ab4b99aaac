"""npbench's functions, their arguments, and whether results are right.

npbench is not part of schedsearch: what is read is a checkout of github.com/spcl/npbench.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core.errors import UserError

SMALL = 32
"""Sizes above can be made about as small, where results are compared and not times."""

TOLERANCE = {"float32": 2e-3, "float64": 1e-7}


@dataclass(frozen=True)
class Benchmark:
    """A function and its arguments, by name. `limit`: npbench's own, of errors; none: 0."""

    name: str
    place: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    values: Mapping[str, Any]
    limit: float = 0.0

    def copies(self) -> list[Any]:
        given = (self.values[each] for each in self.arguments)
        return [each.copy() if isinstance(each, np.ndarray) else each for each in given]


def infos(folder: Path) -> dict[str, dict[str, Any]]:
    """What a checkout tells of its functions, by name. Raises UserError if it is none."""
    files = sorted((folder / "bench_info").glob("*.json"))
    if not files:
        raise UserError(f"{folder} is no checkout of npbench: no bench_info/*.json")
    found = [json.loads(file.read_text())["benchmark"] for file in files]
    return {info["module_name"]: info for info in found}


def loaded(folder: Path, info: dict[str, Any], preset: str) -> Benchmark:
    """A function with arguments of one of npbench's presets. Raises UserError if it has none so
    called."""
    if preset not in info["parameters"]:
        known = ", ".join(info["parameters"])
        raise UserError(f"{info['module_name']} has no preset {preset!r}; known: {known}")
    return _with_values(folder, info, dict(info["parameters"][preset]))


def small(folder: Path, info: dict[str, Any]) -> Benchmark:
    """A function with smaller arguments, of different lengths, if its sizes may be any."""
    sizes = dict(info["parameters"]["S"])
    order = sorted({n for n in sizes.values() if isinstance(n, int) and n > SMALL})
    reduced = {k: 12 + 2 * order.index(n) if n in order else n for k, n in sizes.items()}
    try:
        return _with_values(folder, info, reduced)
    except Exception:  # sizes that depend on each other
        return _with_values(folder, info, sizes)


def _with_values(folder: Path, info: dict[str, Any], sizes: dict[str, Any]) -> Benchmark:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    name = info["module_name"]
    place = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{name}"
    function = getattr(importlib.import_module(f"{place}_numpy"), info["func_name"])
    values = dict(sizes)
    if start := info.get("init"):
        module = importlib.import_module(place)
        made = getattr(module, start["func_name"])(*(values[n] for n in start["input_args"]))
        names = start["output_args"]
        values |= dict(zip(names, made if len(names) > 1 else (made,), strict=True))
    limit = float(info.get("norm_error", 0.0))
    return Benchmark(name, place, function, tuple(info["input_args"]), values, limit)


def compared(wanted: Any, found: Any, limit: float = 0.0, typed: bool = True) -> tuple[float, str]:
    """The largest error, relative to the largest number, and what is wrong; `typed`: types count.
    Errors up to `limit` are right, or up to what rounding explains."""
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return 0.0, "another number of results"
        parts = [compared(a, b, limit, typed) for a, b in zip(wanted, found, strict=True)]
        wrong = next((text for _, text in parts if text), "")
        return max([error for error, _ in parts], default=0.0), wrong
    if wanted is None or found is None:
        return 0.0, "" if wanted is found else "a result is missing"
    a, b = np.asarray(wanted), np.asarray(found)
    if a.shape != b.shape or (typed and a.dtype != b.dtype):
        return 0.0, f"{b.dtype}{list(b.shape)} instead of {a.dtype}{list(a.shape)}"
    if a.dtype.kind not in "fiu":
        return 0.0, "" if np.array_equal(a, b) else "different"
    same = a == b  # also where both are infinite
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
    with np.errstate(invalid="ignore"):
        away = np.abs(np.where(same, 0, a.astype(float) - b.astype(float)))
    finite = np.abs(a[np.isfinite(a)])
    error = float(away.max(initial=0.0) / max(float(finite.max(initial=0.0)), 1e-30))
    most = max(limit, TOLERANCE.get(a.dtype.name, 0.0))
    return error, "" if error <= most else f"error {error:.1e}"
