"""`schedsearch doctor`"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from schedsearch.cli.options import (
    CcOption,
    FpOption,
    InstructionsOption,
    JsonOption,
    TargetOption,
)
from schedsearch.cli.telling import say
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Failure, Measurement, Target, TimingKind
from schedsearch.evaluate.build.host import host_state
from schedsearch.evaluate.build.openmp import with_openmp
from schedsearch.evaluate.roof.peak import Limits, measure_limits
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.present import format as fmt
from schedsearch.search.setup.subject import Subject, bench_of, load_subject
from schedsearch.search.setup.targets import read_target, resolve_target, runs_here
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.vector.instruction_sets import find

NOISE = TimingPlan(kind=TimingKind.NOISE, min_rounds=10, max_rounds=10)

_KINDS = ("f16", "f32", "f64", "i32", "i8")
_NAMES = 9  # characters of the longest

NOISY = 0.05
"""An A/A interval wider than this makes small speed-ups doubtful."""

PROBE = """from __future__ import annotations

from exo import proc


@proc
def probe(C: f32[64, 64], A: f32[64, 64], B: f32[64, 64]):
    for i in seq(0, 64):
        for k in seq(0, 64):
            for j in seq(0, 64):
                C[i, j] += A[i, k] * B[k, j]
"""


def doctor(
    cc: CcOption = None,
    target: TargetOption = None,
    fp: FpOption = None,
    instructions: InstructionsOption = None,
    json_: JsonOption = False,
) -> None:
    """Check this machine: target, compilers, instruction sets, Exo, Ray, peaks, timing noise.

    With --target, what a run with that target would see; a foreign one is not measured.

    With --json the same facts are one object on standard output: target, openmp, peaks, noise,
    sandbox, host and ray; those that were not looked at are missing. The text is on standard
    error then.
    """
    console = Console(stderr=json_, highlight=False)
    files = tuple(instructions or ())
    found = resolve_target(read_target(target), cc, instructions=files, fp=fp)
    facts: dict[str, Any] = {"schema": 1, "native": runs_here(found.isa)}
    facts |= _show_target(console, found)
    if facts["native"]:
        facts |= _measure(console, cc, target, files, found.fp)
        facts["host"] = dict(host_state())
        _line(console, "host", ", ".join(f"{key} {value}" for key, value in facts["host"].items()))
        facts["ray"] = _ray(console)
    else:
        _line(console, "timing", f"not on this machine: {found.isa} is foreign to it")
    if json_:
        print(json.dumps(facts, indent=2))


def _show_target(console: Console, target: Target) -> dict[str, Any]:
    caches = [f"L{n} {size // 1024} KiB" for n, size in enumerate(target.cache_bytes, 1)]
    vectors = f"{target.vector_bits}-bit" if target.vector_bits else "scalar"
    _line(console, "cpu", f"{target.cpu}, {fmt.count(target.cores, 'core')}")
    _line(console, "caches", f"{', '.join(caches)}, lines of {target.line_bytes} bytes")
    _line(console, "isa", f"{target.isa}, {target.vector_registers} {vectors} registers")
    sets = {each.name: len(find(each.name, each.digest).procedures) for each in target.instructions}
    named = ", ".join(f"{name} ({count})" for name, count in sets.items())
    _line(console, "sets", f"{named or 'none'}; vector code in C's vector extension")
    compilers = (target.compiler, *target.other_compilers)
    _line(console, "compiler", ", ".join(f"{each.kind} {each.version}" for each in compilers))
    _line(console, "fp", fmt.contract(target.fp))
    _line(console, "flags", " ".join(target.flags))
    openmp = _openmp(target)
    able = ", ".join(each["kind"] for each in openmp["compilers"])
    _line(console, "openmp", able or openmp["why_not"])
    _line(console, "exo", f"{target.exo_version}, z3 {target.z3_version}")
    about = {
        "cpu": target.cpu,
        "cores": target.cores,
        "cache_bytes": target.cache_bytes,
        "line_bytes": target.line_bytes,
        "isa": target.isa,
        "vector_registers": target.vector_registers,
        "vector_bits": target.vector_bits,
        "instructions": sets,
        "compilers": [asdict(each) for each in compilers],
        "fp": target.fp,
        "flags": target.flags,
        "exo": target.exo_version,
        "z3": target.z3_version,
    }
    return {"target": about, "openmp": openmp}


def _openmp(target: Target) -> dict[str, Any]:
    """Whether `--threads` can be used, with the reason if not."""
    if not runs_here(target.isa):
        return {"compilers": [], "why_not": "not tried"}
    try:
        able = with_openmp(target)
    except UserError as error:
        said, *because = str(error).splitlines()
        return {"compilers": [], "why_not": f"no: {because[0] if because else said}"}
    compilers = [asdict(each) for each in (able.compiler, *able.other_compilers)]
    return {"compilers": compilers, "why_not": None}


def _measure(
    console: Console,
    cc: str | None,
    target_request: str | None,
    instructions: tuple[Path, ...],
    fp: FloatingPoint,
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "probe.py")
        file.write_text(PROBE)
        subject = load_subject(
            file, None, {}, cc, target_request=target_request, instructions=instructions, fp=fp
        )
        with measuring_slot(say):
            peaks = _roofs(console, subject)
        with console.status("timing a kernel against itself ..."):
            bench = bench_of(subject, Path(scratch, "bench"))
            with measuring_slot(say):
                found = bench.time_baseline(NOISE).result
        noise = _noise(console, found)
        layers = ["limits", *bench.sandbox.layers]
        sandbox = {"layers": layers, "warning": bench.sandbox.warning}
        warned = f"; {bench.sandbox.warning}" if bench.sandbox.warning else ""
        _line(console, "sandbox", ", ".join(layers) + warned)
    return {"peaks": peaks, "noise": noise, "sandbox": sandbox}


def _roofs(console: Console, subject: Subject) -> list[dict[str, Any]]:
    """Peaks and bandwidths, a column for each count of threads."""
    found: list[Limits] = []
    with console.status("measuring what the cores can do ...") as status:
        for limits in measure_limits(subject.builder, subject.target):
            found.append(limits)
            status.update(f"measured {fmt.count(limits.threads, 'thread')} ...")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", min_width=_NAMES, style="bold")
    table.add_column("")
    for limits in found:
        table.add_column(fmt.count(limits.threads, "thread"), justify="right")
    for kind in _KINDS:
        unit = "GFLOP/s" if kind.startswith("f") else "GOP/s"
        rates = [f"{limits.peaks.rate(kind):.0f}" for limits in found]
        table.add_row("peak", f"{kind} multiply-adds, {unit}", *rates)
    for level, way in found[0].bandwidths:
        rates = [f"{limits.bandwidths[level, way]:.3g}" for limits in found]
        table.add_row("bandwidth", f"{level} {way}, GB/s", *rates)
    console.print(table)
    return [
        {
            "threads": limits.threads,
            "giga_operations_per_s": {kind: limits.peaks.rate(kind) for kind in _KINDS},
            "bandwidths": [
                {"level": level, "way": way, "gb_per_s": rate}
                for (level, way), rate in limits.bandwidths.items()
            ],
        }
        for limits in found
    ]


def _noise(console: Console, result: Measurement | Failure) -> dict[str, Any]:
    if isinstance(result, Failure):
        raise UserError(f"the probe kernel cannot be measured here: {result.message}")
    estimate = result.ratio
    quiet = estimate.high - estimate.low < NOISY
    verdict = "quiet" if quiet else "noisy: small speed-ups will be inconclusive"
    _line(console, "noise", f"A/A ratio {fmt.speedup(estimate)}, {verdict}")
    return {"ratio": asdict(estimate), "quiet": quiet}


def _ray(console: Console) -> dict[str, Any]:
    """Start and stop Ray as a run does."""
    # Ray takes 0.4 s to load, and `schedsearch --help` loads this module.
    import ray

    from schedsearch.search.workers.ray_hosts import own_ray

    logging.getLogger("ray").setLevel(logging.ERROR)  # it tells how its tokens are turned off
    failure = None
    with console.status("starting Ray ..."):
        try:
            with own_ray(1):
                ray.get(ray.remote(lambda: None).remote())
        except RuntimeError as error:
            failure = str(error)
    version = importlib.metadata.version("ray")
    answer = f"does not start: {failure}; without it: --executor inline" if failure else "answers"
    _line(console, "ray", f"{version} {answer}")
    return {"version": version, "answers": failure is None, "failure": failure}


def _line(console: Console, name: str, value: str) -> None:
    console.print(f"[bold]{name:>{_NAMES}}[/]  {value.replace('[', chr(92) + '[')}", soft_wrap=True)
