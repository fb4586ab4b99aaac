"""The report of `run` at its end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from schedsearch.cli.telling import typed
from schedsearch.core.build import DEFAULT_BUILD
from schedsearch.core.decision import Decision
from schedsearch.core.records import Measurement, Outcome
from schedsearch.present import format as fmt
from schedsearch.present.live import rate
from schedsearch.search.engine.ending import margin
from schedsearch.search.engine.progress import Best
from schedsearch.search.result import Result
from schedsearch.search.setup.budget import Stop
from schedsearch.search.warmstart.counterpart import Counterpart
from schedsearch.transforms.exo.fixed_sizes import specialize_lines
from schedsearch.transforms.export import schedule_lines

_MOST_FAULTS = 3
_NOT_WRITTEN = (
    "No files are written, as no schedule is faster for certain. "
    "`schedsearch export ID` writes one all the same."
)


@dataclass(frozen=True)
class Written:
    """The files of a result, what their user has to know (`transforms/contract.py`), and what
    limits the kernel."""

    paths: tuple[Path, ...] = ()
    caveats: tuple[str, ...] = ()
    limited: str = ""


def _times(best: Best) -> str:
    return fmt.speedup(best.measurement.speedup).replace("[", r"\[")


def _beside(other: Counterpart) -> str:
    kind = "For these sizes alone (--specialize)" if other.specialized else "For any sizes"
    measured = other.measurement
    return (
        f"{kind}, an earlier run: {fmt.duration(measured.candidate_ns * 1e-9)}, "
        f"{fmt.speedup(measured.speedup)} the speed of that procedure as written; candidate "
        f"{other.candidate_id}, run of {other.when:%Y-%m-%d %H:%M} UTC, "
        "not interleaved with this one."
    )


def _nothing_gained(console: Console, level: Best, noise: Measurement | None) -> None:
    rewrites = fmt.count(len(level.trace), "rewrite")
    times = escape(fmt.speedup(level.measurement.ratio))
    console.print(f"The fastest has {rewrites}: {times} its speed.", soft_wrap=True)
    console.print(fmt.tested(level.measurement, margin(noise)))


def _foundation(console: Console, result: Result) -> None:
    subject = result.setting.subject
    console.print(f"Floating point {fmt.contract(subject.target.fp)}.", soft_wrap=True)
    baseline = result.setting.baseline
    if baseline.extrapolated:
        took = fmt.duration(baseline.call_s)
        said = f"{subject.name} as written takes about {took}{baseline.extrapolated}."
        console.print(said, soft_wrap=True)
    console.print(fmt.reference(subject.name, baseline.agreement), soft_wrap=True)


def _written(console: Console, what: str, paths: list[Path]) -> None:
    console.print(f"\n{what}:")
    for path in paths:
        console.print(f"  {path}", markup=False, soft_wrap=True)


def _nothing(result: Result) -> str:
    name, progress = result.setting.subject.name, result.progress
    ever = progress.measured or progress.outcomes.get(Outcome.CORRECT, 0) > 1  # besides the root
    if result.stop is Stop.TIME and not ever:
        return fmt.nothing_measured(name, progress.elapsed_s, progress.before_s)
    return fmt.nothing_faster(name)


def report(
    console: Console, result: Result, written: Written, target_speedup: float | None = None
) -> None:
    """Say what was found, how sure that is, where it was written, and how to go on."""
    subject = result.setting.subject
    progress = result.progress
    console.print()
    if result.best is None:
        console.print(f"[bold]{_nothing(result)}[/]")
        if result.level is not None:
            _nothing_gained(console, result.level, result.noise)
        _foundation(console, result)
        for caveat in result.setting.baseline.agreement.caveats:
            console.print(f"Schedules of it are {caveat}.", markup=False, soft_wrap=True)
        console.print(f"\n{_NOT_WRITTEN}", soft_wrap=True)
    else:
        measurement = result.best.measurement
        decision = measurement.verdict(margin(result.noise))
        clearly = decision is Decision.FASTER and measurement.speedup.low > 1.0
        console.print(
            f"[bold {'green' if clearly else 'yellow'}]{_times(result.best)}[/] the speed of "
            f"{subject.name} as written: {rate(subject, result.roof, measurement.candidate_ns)}",
            soft_wrap=True,
        )
        console.print(fmt.tested(measurement, margin(result.noise)))
        for line in fmt.elsewhere(result.elsewhere):
            console.print(line, markup=False, soft_wrap=True)
        if result.noise is not None:
            console.print(fmt.noise(result.noise), soft_wrap=True)
        rounds = f"{len(measurement.rounds)} interleaved rounds"
        sure = (
            "confirmed on {} after the search"
            if result.best.confirmed
            else ("screened on {}, not confirmed yet")
        )
        verdict = result.setting.baseline.agreement.verdict
        said = f"{verdict[0].upper()}{verdict[1:]}, {sure.format(rounds)}."
        console.print(said, markup=False, soft_wrap=True)
        for line in fmt.sanitized(progress.inspection):
            console.print(line, markup=False, soft_wrap=True)
        _foundation(console, result)
        for caveat in written.caveats:
            console.print(f"[yellow]{escape(caveat)}[/]", soft_wrap=True)
        lines = specialize_lines(subject.name, subject.workload.fixed)
        lines += schedule_lines(subject.procedure, result.best.trace)
        rewrites = fmt.count(len(result.best.trace), "rewrite")
        operators = fmt.count(len(lines), "Exo operator")
        shorter = f", shortened from {whole}" if (whole := progress.shortened_from) else ""
        console.print(f"\nschedule ({rewrites}, {operators}{shorter}):")
        for line in lines:
            console.print(f"  {line}", markup=False, soft_wrap=True)
        if (build := result.best.trace.build) != DEFAULT_BUILD:
            overlap = ", arguments declared not to overlap" if build.restrict else ""
            compiled = fmt.compiled(subject.target, build)
            console.print(f"compiled by {compiled}{overlap}", markup=False, soft_wrap=True)
        if written.paths:
            _written(console, "written", list(written.paths))
        else:
            console.print(f"\n{_NOT_WRITTEN}", soft_wrap=True)
    if result.counterpart is not None:
        console.print(f"\n{_beside(result.counterpart)}", markup=False, soft_wrap=True)
    console.print(f"\n{result.stop}: {fmt.counted(progress)} in {progress.elapsed_s:.0f} s")
    if result.stop is Stop.TARGET and target_speedup is not None:
        reached = result.best.measurement.speedup.value if result.best else 1.0
        if reached < target_speedup:
            console.print("It was reached while searching, but not when measured again.")
    console.print(f"candidates: {fmt.outcomes(progress.outcomes)}")
    for fault in progress.faults[:_MOST_FAULTS]:
        console.print(f"{fault}; please report it", style="yellow", markup=False, soft_wrap=True)
    if written.limited:
        console.print(written.limited, markup=False, soft_wrap=not console.is_terminal)
    if result.stop is not Stop.EXHAUSTED:
        console.print(f"continue: {typed(without='--fresh')}", markup=False, soft_wrap=True)
    if written.paths:
        console.print(
            "next: schedsearch best, then schedsearch explain ID --asm; schedsearch pin",
            soft_wrap=True,
        )


def gained(result: Result) -> bool:
    """Whether there is a schedule to be written: its interval, if it has one, is above 1."""
    if result.best is None:
        return False
    speedup = result.best.measurement.speedup
    return speedup.low > 1.0 if speedup.bounded else speedup.value > 1.0


def as_json(result: Result, written: Written) -> dict[str, Any]:
    """The same for programs; `schema` is raised when a field changes its meaning."""
    subject, best = result.setting.subject, result.best
    inspection = result.progress.inspection
    found: dict[str, Any] | None = None
    if best is not None:
        speedup = best.measurement.speedup
        found = {
            "trace_key": best.key,
            "speedup": speedup.to_json(),
            "confirmed": best.confirmed,
            "decision": best.measurement.verdict(margin(result.noise)),
            "of_roof": result.roof.share(best.measurement.candidate_ns * 1e-9),
            "over_roof": result.roof.exceeded(best.measurement.candidate_ns * 1e-9),
            "candidate_ns": best.measurement.candidate_ns,
            "trace": [step.to_json() for step in best.trace.steps],
            "build": best.trace.build.to_json(),
            "files": [str(path) for path in written.paths],
            "caveats": list(written.caveats),
        }
    return {
        "schema": 1,
        "proc": subject.name,
        "sizes": dict(subject.workload.sizes),
        "specialized": list(subject.workload.specialized),
        "workload_key": subject.workload.key,
        "target_key": subject.target.key,
        "fp": subject.target.fp,
        "run": result.run_id,
        "stop": str(result.stop),
        "inspection": inspection.to_json() if inspection else None,
        "reference": asdict(result.setting.baseline.agreement),
        "roof": result.roof.to_json() | {"limit": result.roof.limit, "name": result.roof.name},
        "noise": result.noise.to_json() if result.noise else None,
        "align": subject.target.align,
        "elsewhere": result.elsewhere.to_json() if result.elsewhere else None,
        "baseline_ns": result.setting.baseline.measurement.candidate_ns,
        "known": {
            "candidates": result.setting.known.candidates,
            "measured": result.setting.known.measured,
            "tried_first": [origin.candidate_id for origin in result.setting.known.origins],
        },
        "measured": result.progress.measured,
        "expanded": result.progress.expanded,
        "elapsed_s": result.progress.elapsed_s,
        "outcomes": {
            outcome.value if outcome else "not_measured": count
            for outcome, count in result.progress.outcomes.items()
        },
        "faults": list(result.progress.faults),
        "curve": [list(point) for point in result.progress.curve],
        "best": found,
        "files": [str(path) for path in written.paths],
        "limited_by": written.limited or None,
        "counterpart": _other_json(result.counterpart) if result.counterpart else None,
    }


def _other_json(other: Counterpart) -> dict[str, Any]:
    return {
        "specialized": other.specialized,
        "candidate": other.candidate_id,
        "candidate_ns": other.measurement.candidate_ns,
        "run_started": other.when.isoformat(),
    }
