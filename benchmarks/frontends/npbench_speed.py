"""Calls of npbench's functions from Python: ours, NumPy's, numba's, in the same rounds.

Each function is tuned, then timed, in processes of its own, so that none ends the table:
`python -m benchmarks.frontends.npbench_speed tune|measure FOLDER NAME PRESET BUDGET DIR`.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import schedsearch
from benchmarks.command import run_command
from benchmarks.frontends.npbench_cases import Benchmark, compared, infos, loaded
from benchmarks.suite.folders import Folder
from benchmarks.suite.stores import searched
from benchmarks.suite.tune import logged
from schedsearch.core.errors import UserError
from schedsearch.core.stats import Estimate
from schedsearch.peers.rounds import Plan, clock_of, ratio, seconds, time_interleaved

OURS, UNTUNED, NUMPY, NUMBA = "schedsearch", "untuned", "NumPy", "numba"
PEERS = (NUMPY, NUMBA)

VARIANTS = ("n", "np", "npr", "o", "op", "opr")
"""Of npbench's numba versions: without objects or with them, parallel (on one thread), `prange`."""

LIMIT = 1e-5
"""npbench's, of relative errors."""

LEAST_S = 5.0
"""Not worth another search."""

GRACE_S = 600.0
"""Of a search over its budget, and for what is timed."""

WIDE = 200
"""Columns of a table that is no terminal's."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Terms:
    """What all functions have alike: a checkout of npbench, which of its sizes, seconds of tuning,
    and where results go."""

    npbench: Path
    preset: str
    budget: float
    results: Path

    def place(self, name: str) -> Folder:
        return Folder(self.results / name)


def rows(names: Sequence[str], terms: Terms) -> Iterator[Row]:
    """A row for each function, with an `error` if it is not taken or fails. Rows of an earlier run
    with the same terms are kept, and so is what it has searched."""
    for name in names:
        place = terms.place(name)
        row = place.read_row()
        if row is None or row["error"] or row["terms"] != _alike(terms):
            row = _made(name, terms)
            place.write_row(row)
        yield row


def _alike(terms: Terms) -> list[Any]:
    return [terms.preset, terms.budget]


def _made(name: str, terms: Terms) -> Row:
    place = terms.place(name)
    place.row.unlink(missing_ok=True)
    problem = _step("tune", name, terms, terms.budget + GRACE_S)
    row = place.read_row()  # why it is refused
    if row is None:
        failed = _step("measure", name, terms, GRACE_S)
        if failed:  # numba may have ended or stopped the process
            again = _step("without_numba", name, terms, GRACE_S)
            failed = again or f"with numba the process {failed}"
        row = place.read_row() or {"name": name, "error": failed}
        row["missing"] = {**row.get("missing", {}), **({NUMBA: failed} if failed else {})}
    return {**row, "terms": _alike(terms), "tuning": problem}


def _step(step: str, name: str, terms: Terms, limit_s: float) -> str:
    """Do one step in a process of its own; says how it failed."""
    place = terms.place(name)
    place.path.mkdir(parents=True, exist_ok=True)
    values = (terms.npbench, name, terms.preset, terms.budget, terms.results)
    command = [sys.executable, "-m", "benchmarks.frontends.npbench_speed", step]
    return logged([*command, *map(str, values)], place.log, limit_s)


def tune(benchmark: Benchmark, place: Folder, budget: float) -> None:
    """As a user tunes a function, for as long as earlier searches have left of the budget. A
    function that is refused has a row that says so."""
    try:
        lowered = schedsearch.jit(benchmark.function).lowered(*benchmark.copies())
    except UserError as error:
        place.write_row({"name": benchmark.name, "error": f"refused: {error}"})
        return
    spent, exhausted = searched(place.store)
    if not exhausted and (not spent or budget - spent >= LEAST_S):
        schedsearch.tune(lowered, budget=budget - spent, store=place.store, progress=False)


def measure(benchmark: Benchmark, place: Folder, plan: Plan, numba: bool = True) -> Row:
    """Check results, then time calls. Raises UserError if ours are wrong."""
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    setting = _Setting.of(benchmark)
    ours = {
        OURS: schedsearch.jit(
            benchmark.function, store=place.store if place.store.exists() else None
        ),
        UNTUNED: schedsearch.jit(benchmark.function),
    }
    for name, function in ours.items():
        if wrong := setting.wrong(function, typed=True):
            raise UserError(f"{name} is wrong: {wrong}")
    functions: dict[str, Callable[..., Any]] = {**ours, NUMPY: benchmark.function}
    variants, missing = _numba(benchmark) if numba else ({}, {})
    for name, function in list(variants.items()):
        if wrong := setting.wrong(function, typed=False):
            missing[name] = wrong
            del variants[name]
    ran = min(variants, key=lambda name: setting.glance(variants[name]), default=None)
    if ran:
        functions[NUMBA] = variants[ran]
    samples = time_interleaved({n: _Call(setting, f) for n, f in functions.items()}, plan)
    return {
        "name": benchmark.name,
        "error": "",
        "seconds": {name: seconds(own) for name, own in samples.items()},
        "ratios": {
            name: ratio(own, samples[OURS]).to_json()
            for name, own in samples.items()
            if name != OURS
        },
        "numba": ran,
        "missing": missing,
        "ran": str(ours[OURS].explain(*setting.restored())),
        "samples": samples,
    }


def _numba(benchmark: Benchmark) -> tuple[dict[str, Callable[..., Any]], dict[str, str]]:
    """npbench's numba versions, and why others cannot be loaded."""
    found, missing = {}, {}
    function = benchmark.function.__name__
    for variant in VARIANTS:
        name = f"{benchmark.place}_numba_{variant}"
        try:
            found[variant] = getattr(importlib.import_module(name), function)
        except ModuleNotFoundError as error:
            if error.name != name:
                missing[variant] = str(error)
        except Exception as error:  # it is others' code
            missing[variant] = _said(error)
    return found, missing


@dataclass(frozen=True)
class _Setting:
    """The arguments that all are called with, and what NumPy makes of them: its result, which may
    be one of them, and those that it changes, by position."""

    originals: Sequence[Any]
    arguments: list[Any]
    result: Any
    returns_argument: bool
    changed: Mapping[int, Any]
    limit: float
    clock: Callable[[], int]

    @staticmethod
    def of(benchmark: Benchmark) -> _Setting:
        originals, arguments = benchmark.copies(), benchmark.copies()
        result = benchmark.function(*arguments)
        changed = {
            place: _copied(now)
            for place, (before, now) in enumerate(zip(originals, arguments, strict=True))
            if isinstance(before, np.ndarray) and not np.array_equal(before, now, equal_nan=True)
        }
        clock = time.process_time_ns if clock_of(1) == "cpu" else time.perf_counter_ns
        limit = benchmark.limit or LIMIT
        same = any(result is each for each in arguments if isinstance(each, np.ndarray))
        return _Setting(originals, arguments, _copied(result), same, changed, limit, clock)

    def restored(self) -> list[Any]:
        """The arguments as they were."""
        for before, now in zip(self.originals, self.arguments, strict=True):
            if isinstance(before, np.ndarray):
                np.copyto(now, before)
        return self.arguments

    def wrong(self, function: Callable[..., Any], typed: bool) -> str:
        """What is wrong with a function, if anything; a failure is that too."""
        try:
            result = function(*self.restored())
        except Exception as error:  # also of others' code
            return _said(error)
        if result is None and self.returns_argument:
            result = self.result  # some of numba's versions do not return what they write
        found = [result, *(self.arguments[place] for place in self.changed)]
        return compared([self.result, *self.changed.values()], found, self.limit, typed)[1]

    def glance(self, function: Callable[..., Any]) -> float:
        """About how long a call lasts."""
        best, until = inf, time.perf_counter() + 1.0
        for _ in range(10):
            best = min(best, self.timed(function))
            if time.perf_counter() > until:
                break
        return best

    def timed(self, function: Callable[..., Any]) -> float:
        """Seconds of a call, on arguments as they were."""
        for place in self.changed:
            np.copyto(self.arguments[place], self.originals[place])
        begin = self.clock()
        function(*self.arguments)
        return (self.clock() - begin) * 1e-9


@dataclass(frozen=True)
class _Call:
    """A function to be sampled in rounds."""

    setting: _Setting
    function: Callable[..., Any]

    def sample(self, calls: int, *, warm: bool) -> float:
        if warm:
            self.setting.timed(self.function)
        return sum(self.setting.timed(self.function) for _ in range(calls)) / calls

    def renew(self) -> None:
        """Others' code stays where it is, so ours does."""


def _copied(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_copied(each) for each in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def _said(error: Exception) -> str:
    """The kind of an error, and its first line that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {(lines or [''])[0][:200]}"


def show(console: Console, found: Sequence[Row]) -> None:
    """The table, which versions are missing and why, and geometric means."""
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table(found))
    for row in found:
        for variant, reason in row.get("missing", {}).items():
            text = f"{row['name']}: not numba's {variant}: {reason}"
            console.print(text, markup=False, soft_wrap=True)
        if row.get("tuning"):
            console.print(f"{row['name']}: tuning {row['tuning']}", markup=False, soft_wrap=True)
    for peer in PEERS:
        ratios = {r["name"]: r["ratios"][peer] for r in found if peer in r.get("ratios", {})}
        if ratios:
            mean = geometric_mean(each["value"] for each in ratios.values())
            slower = [name for name, each in ratios.items() if _estimate(each).high < 1]
            console.print(
                f"geometric mean over {peer}: {mean:.2f}x, of {len(ratios)} functions; "
                f"slower: {', '.join(slower) or 'none'}",
                soft_wrap=True,
            )


def table(found: Sequence[Row]) -> Table:
    """One line a function; ratios are times of others to ours, with 95 % intervals."""
    titles = ("function", "untuned ms", "tuned ms", "NumPy ms", "numba ms", "", "over NumPy")
    out = Table(*titles, "over numba", box=None)
    for row in found:
        if row["error"]:
            out.add_row(row["name"], "", "", "", "", "", "", row["error"])
            continue
        names = (UNTUNED, OURS, NUMPY, NUMBA)
        times = [f"{row['seconds'][n] * 1e3:.3f}" if n in row["seconds"] else "-" for n in names]
        judged = [str(_estimate(row["ratios"][p])) if p in row["ratios"] else "-" for p in PEERS]
        cells = [row["name"], *times, row["numba"] or "", *judged]
        out.add_row(*(each.replace("[", r"\[") for each in cells))
    return out


def _estimate(data: Mapping[str, float | None]) -> Estimate:
    low, high = data["low"], data["high"]
    return Estimate(data["value"] or 0.0, low or 0.0, inf if high is None else high)


def _run(step: str, npbench: Path, name: str, preset: str, budget: float, results: Path) -> None:
    """One step for one function."""
    place = Terms(npbench, preset, budget, results).place(name)
    benchmark = loaded(npbench, infos(npbench)[name], preset)
    if step == "tune":
        tune(benchmark, place, budget)
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    place.write_row(measure(benchmark, place, Plan(), numba=step == "measure"))


if __name__ == "__main__":
    os.environ["NUMBA_NUM_THREADS"] = "1"  # numba is not loaded yet
    run_command(_run)
