"""`schedsearch doctor`"""

from __future__ import annotations

import importlib.metadata
import logging
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from schedsearch.cli.options import CcOption, FpOption, InstructionsOption, TargetOption
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Failure, Measurement, Target, TimingKind
from schedsearch.evaluate.build.host import host_state
from schedsearch.evaluate.build.openmp import with_openmp
from schedsearch.evaluate.roof.peak import Limits, measure_limits
from schedsearch.evaluate.run.sandbox import Sandbox
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.present import format as fmt
from schedsearch.search.setup.subject import Subject, bench_of, cache_dir, load_subject
from schedsearch.search.setup.targets import read_target, resolve_target, runs_here
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.vector.instruction_sets import find

NOISE = TimingPlan(kind=TimingKind.NOISE, min_rounds=10, max_rounds=10)

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
) -> None:
    """Check this machine: target, compilers, instruction sets, Exo, Ray, peaks, timing noise.

    With --target, what a run with that target would see; a foreign one is not measured.
    """
    console = Console(highlight=False)
    files = tuple(instructions or ())
    found = resolve_target(read_target(target), cc, instructions=files, fp=fp)
    _show_target(console, found)
    if not runs_here(found.isa):
        _line(console, "timing", f"not on this machine: {found.isa} is foreign to it")
        return
    _measure(console, cc, target, files, found.fp)
    _line(console, "host", ", ".join(f"{name} {value}" for name, value in host_state()))
    _ray(console)


def _show_target(console: Console, target: Target) -> None:
    caches = [f"L{n} {size // 1024} KiB" for n, size in enumerate(target.cache_bytes, 1)]
    vectors = f"{target.vector_bits}-bit" if target.vector_bits else "scalar"
    _line(console, "cpu", f"{target.cpu}, {fmt.count(target.cores, 'core')}")
    _line(console, "caches", f"{', '.join(caches)}, lines of {target.line_bytes} bytes")
    _line(console, "isa", f"{target.isa}, {target.vector_registers} {vectors} registers")
    sets = [
        f"{each.name} ({len(find(each.name, each.digest).procedures)})"
        for each in target.instructions
    ]
    _line(console, "sets", f"{', '.join(sets) or 'none'}; vector code in C's vector extension")
    compilers = (target.compiler, *target.other_compilers)
    _line(console, "compiler", ", ".join(f"{each.kind} {each.version}" for each in compilers))
    _line(console, "fp", fmt.contract(target.fp))
    _line(console, "flags", " ".join(target.flags))
    _line(console, "openmp", _openmp(target))
    _line(console, "exo", f"{target.exo_version}, z3 {target.z3_version}")


def _openmp(target: Target) -> str:
    """Whether `--threads` can be used, with the reason if not."""
    if not runs_here(target.isa):
        return "not tried"
    try:
        able = with_openmp(target, cache_dir() / "artifacts")
    except UserError as error:
        said, *because = str(error).splitlines()
        return f"no: {because[0] if because else said}"
    return ", ".join(each.kind for each in (able.compiler, *able.other_compilers))


def _measure(
    console: Console,
    cc: str | None,
    target_request: str | None,
    instructions: tuple[Path, ...],
    fp: FloatingPoint,
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "probe.py")
        file.write_text(PROBE)
        subject = load_subject(
            file, None, {}, cc, target_request=target_request, instructions=instructions, fp=fp
        )
        with measuring_slot():
            _roofs(console, subject)
        with console.status("timing a kernel against itself ..."):
            bench = bench_of(subject, Path(scratch, "bench"))
            with measuring_slot():
                found = bench.time_baseline(NOISE).result
        _noise(console, found)
        _line(console, "sandbox", _guards(bench.sandbox))


def _roofs(console: Console, subject: Subject) -> None:
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
    for kind in ("f16", "f32", "f64", "i32", "i8"):
        unit = "GFLOP/s" if kind.startswith("f") else "GOP/s"
        rates = [f"{limits.peaks.rate(kind):.0f}" for limits in found]
        table.add_row("peak", f"{kind} multiply-adds, {unit}", *rates)
    for level, way in found[0].bandwidths:
        rates = [f"{limits.bandwidths[level, way]:.3g}" for limits in found]
        table.add_row("bandwidth", f"{level} {way}, GB/s", *rates)
    console.print(table)


def _noise(console: Console, result: Measurement | Failure) -> None:
    if isinstance(result, Failure):
        raise UserError(f"the probe kernel cannot be measured here: {result.message}")
    estimate = result.ratio
    width = estimate.high - estimate.low
    verdict = "quiet" if width < NOISY else "noisy: small speed-ups will be inconclusive"
    _line(console, "noise", f"A/A ratio {fmt.speedup(estimate)}, {verdict}")


def _guards(sandbox: Sandbox) -> str:
    layers = ", ".join(("limits", *sandbox.layers))
    return f"{layers}; {sandbox.warning}" if sandbox.warning else layers


def _ray(console: Console) -> None:
    """Start and stop Ray as a run does."""
    # Ray takes 0.4 s to load, and `schedsearch --help` loads this module.
    import ray

    from schedsearch.search.workers.ray_hosts import own_ray

    logging.getLogger("ray").setLevel(logging.ERROR)  # it tells how its tokens are turned off
    with console.status("starting Ray ..."):
        try:
            with own_ray(1):
                answer = ray.get(ray.remote(lambda: "answers").remote())
        except RuntimeError as error:
            answer = f"does not start: {error}; without it: --executor inline"
    _line(console, "ray", f"{importlib.metadata.version('ray')} {answer}")


def _line(console: Console, name: str, value: str) -> None:
    console.print(f"[bold]{name:>{_NAMES}}[/]  {value.replace('[', chr(92) + '[')}", soft_wrap=True)
