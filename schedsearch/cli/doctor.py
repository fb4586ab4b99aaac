"""`schedsearch doctor`"""

from __future__ import annotations

import importlib.metadata
import tempfile
from pathlib import Path

from rich.console import Console

from schedsearch.cli import format as fmt
from schedsearch.cli.options import CcOption
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, Measurement
from schedsearch.evaluate.bench import TimingPlan, prepare
from schedsearch.evaluate.host import host_state
from schedsearch.evaluate.peak import calibrate
from schedsearch.search.subject import load_subject

NOISE = TimingPlan(kind="noise", min_rounds=10, max_rounds=10)

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


def doctor(cc: CcOption = None) -> None:
    """Check this machine: compiler, instruction set, Exo, Ray, peaks, timing noise."""
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "probe.py")
        file.write_text(PROBE)
        subject = load_subject(file, None, {}, cc)
        target = subject.target
        caches = ", ".join(f"{size // 1024} KiB" for size in target.cache_bytes)
        _line(console, "compiler", f"{target.compiler.kind} {target.compiler.version}")
        _line(console, "flags", " ".join(target.flags))
        _line(console, "cpu", f"{target.cpu}, {target.cores} cores, caches {caches}")
        _line(console, "vectors", f"{target.vector_bits} bits")
        _line(console, "exo", f"{target.exo_version}, z3 {target.z3_version}")
        peaks = calibrate(subject.builder, target)
        _line(console, "peak", f"f32 {peaks.f32:.0f}, f64 {peaks.f64:.0f} GFLOP/s on one core")
        _line(console, "copy", f"{peaks.bandwidth:.1f} GB/s")
        bench = prepare(
            subject.ast, subject.code, subject.binding, subject.builder, Path(scratch, "bench")
        )
        _noise(console, bench.time_baseline(NOISE).result)
    _line(console, "host", ", ".join(f"{name} {value}" for name, value in host_state()))
    _ray(console)


def _noise(console: Console, result: Measurement | Failure) -> None:
    if isinstance(result, Failure):
        raise UserError(f"the probe kernel cannot be measured here: {result.message}")
    estimate = result.speedup
    width = estimate.high - estimate.low
    verdict = "quiet" if width < NOISY else "noisy: small speed-ups will be inconclusive"
    _line(console, "noise", f"A/A ratio {fmt.speedup(estimate)}, {verdict}")


def _ray(console: Console) -> None:
    """Start and stop Ray as a run would."""
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    answer = ray.get(ray.remote(lambda: "answers").remote())
    ray.shutdown()
    _line(console, "ray", f"{importlib.metadata.version('ray')} {answer}")


def _line(console: Console, name: str, value: str) -> None:
    console.print(f"[bold]{name:>9}[/]  {value.replace('[', chr(92) + '[')}", soft_wrap=True)
