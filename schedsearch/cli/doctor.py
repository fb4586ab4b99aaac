"""`schedsearch doctor`"""

from __future__ import annotations

import importlib.metadata
import tempfile
from pathlib import Path

from rich.console import Console

from schedsearch.cli.options import CcOption, InstructionsOption, TargetOption
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, Measurement, Target
from schedsearch.evaluate.bench import TimingPlan, prepare
from schedsearch.evaluate.host import host_state
from schedsearch.evaluate.openmp import with_openmp
from schedsearch.evaluate.peak import measure_peaks
from schedsearch.evaluate.sandbox import Sandbox
from schedsearch.evaluate.traffic import Streams
from schedsearch.present import format as fmt
from schedsearch.search.subject import Subject, cache_dir, load_subject
from schedsearch.search.targets import read_target, resolve_target, runs_here
from schedsearch.transforms.instruction_sets import find

NOISE = TimingPlan(kind="noise", min_rounds=10, max_rounds=10)

MEMORY_PER_CACHE = 4
"""What is this many times larger than the largest cache is in memory."""

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
    instructions: InstructionsOption = None,
) -> None:
    """Check this machine: target, compilers, instruction sets, Exo, Ray, peaks, timing noise.

    With --target, what a run with that target would see; a foreign one is not measured.
    """
    console = Console(highlight=False)
    files = tuple(instructions or ())
    found = resolve_target(read_target(target), cc, instructions=files)
    _show_target(console, found)
    if not runs_here(found):
        _line(console, "timing", f"not on this machine: {found.isa} is foreign to it")
        return
    _measure(console, cc, target, files)
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
    _line(console, "flags", " ".join(target.flags))
    _line(console, "openmp", _openmp(target))
    _line(console, "exo", f"{target.exo_version}, z3 {target.z3_version}")


def _openmp(target: Target) -> str:
    """Whether `--threads` can be used, with the reason if not."""
    if not runs_here(target):
        return "not tried"
    try:
        able = with_openmp(target, cache_dir() / "artifacts")
    except UserError as error:
        return f"no: {str(error).splitlines()[1]}"
    return ", ".join(each.kind for each in (able.compiler, *able.other_compilers))


def _measure(
    console: Console, cc: str | None, target_request: str | None, instructions: tuple[Path, ...]
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "probe.py")
        file.write_text(PROBE)
        subject = load_subject(
            file, None, {}, cc, target_request=target_request, instructions=instructions
        )
        _roofs(console, subject)
        bench = prepare(
            subject.ast, subject.code, subject.binding, subject.builder, Path(scratch, "bench")
        )
        _noise(console, bench.time_baseline(NOISE).result)
        _line(console, "sandbox", _guards(bench.sandbox))


def _roofs(console: Console, subject: Subject) -> None:
    """Multiply-add peaks, and the bandwidth of each level with half of it in use."""
    caches = subject.target.cache_bytes
    levels = [f"L{n}" for n in range(1, len(caches) + 1)] + ["memory"]
    sizes = [size // 2 for size in caches] + [MEMORY_PER_CACHE * max(caches)]
    mixes = [Streams(*kind) for size in sizes for kind in ((size, 0, 0), (0, size, 0))]
    peaks, rates = measure_peaks(subject.builder, subject.target, mixes)
    _line(
        console,
        "peak",
        f"f16 {peaks.f16:.0f}, f32 {peaks.f32:.0f}, f64 {peaks.f64:.0f} GFLOP/s, "
        f"i32 {peaks.i32:.0f}, i8 {peaks.i8:.0f} GOP/s on one core",
    )
    pairs = zip(levels, rates[::2], rates[1::2], strict=True)
    moved = ", ".join(f"{level} {loads:.3g} and {stores:.3g}" for level, loads, stores in pairs)
    _line(console, "bandwidth", f"loads and stores in GB/s: {moved}")


def _noise(console: Console, result: Measurement | Failure) -> None:
    if isinstance(result, Failure):
        raise UserError(f"the probe kernel cannot be measured here: {result.message}")
    estimate = result.speedup
    width = estimate.high - estimate.low
    verdict = "quiet" if width < NOISY else "noisy: small speed-ups will be inconclusive"
    _line(console, "noise", f"A/A ratio {fmt.speedup(estimate)}, {verdict}")


def _guards(sandbox: Sandbox) -> str:
    layers = ", ".join(("limits", *sandbox.layers))
    return f"{layers}; {sandbox.warning}" if sandbox.warning else layers


def _ray(console: Console) -> None:
    """Start and stop Ray as a run would."""
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    answer = ray.get(ray.remote(lambda: "answers").remote())
    ray.shutdown()
    _line(console, "ray", f"{importlib.metadata.version('ray')} {answer}")


def _line(console: Console, name: str, value: str) -> None:
    console.print(f"[bold]{name:>9}[/]  {value.replace('[', chr(92) + '[')}", soft_wrap=True)
