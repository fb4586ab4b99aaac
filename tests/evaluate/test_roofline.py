"""Roofs: what is measured once here, and what follows from it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from transforms.helpers import TARGET

from schedsearch.core.records import Artifact, Measurement, Target, TimingKind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.host import measuring_cores, probe_target
from schedsearch.evaluate.build.process import Finished, run_group
from schedsearch.evaluate.roof import ceilings, peak
from schedsearch.evaluate.roof.ceilings import measure_ceilings
from schedsearch.evaluate.roof.functions import function_libraries
from schedsearch.evaluate.roof.peak import (
    WAYS,
    Peaks,
    measure_limits,
    measure_peaks,
    thread_counts,
)
from schedsearch.evaluate.roof.roofline import Roof, level, measure_roof, roof_of
from schedsearch.evaluate.roof.traffic import Streams
from schedsearch.evaluate.roof.work import Work
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.subject import bench_of, load_subject
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.vector.fused.timed import function_loops

ROOF = Roof(2e-3, 1e-3, peak=100.0, kind="f32", bandwidth=20.0, level="L2")


def test_the_slower_of_both_limits_is_the_roof() -> None:
    assert (ROOF.least_s, ROOF.limit) == (2e-3, "compute")
    assert ROOF.name == "f32 multiply-add peak, 100 GFLOP/s"
    memory = replace(ROOF, memory_s=3e-3)
    assert (memory.least_s, memory.limit) == (3e-3, "memory")
    assert memory.name == "L2 bandwidth of its loads and stores, 20 GB/s"


def test_a_function_is_named() -> None:
    roof = replace(ROOF, kind="f32 expf", rates=(("f32", 118.0), ("f32 expf", 5.06)))
    assert (roof.name, roof.unit) == ("f32 expf peak, 5.06 G/s", "GFLOP/s")
    assert replace(roof, threads=2).name == "f32 expf peak of 2 threads, 5.06 G/s"
    for kind, name in (("f64 /", "division"), ("f64 sqrt", "square root"), ("f64 sin_", "sin")):
        own = replace(ROOF, kind=kind, rates=((kind, 3.25),))
        assert own.name == f"f64 {name} peak, 3.25 G/s"


def test_what_is_above_its_roof_is_told() -> None:
    assert ROOF.share(4e-3) == pytest.approx(0.5)
    assert not ROOF.exceeded(1.95e-3)
    assert ROOF.exceeded(1.8e-3)


def test_of_two_measurements_each_limit_is_the_better_one() -> None:
    other = replace(ROOF, compute_s=1.5e-3, peak=133.0, memory_s=2e-3, bandwidth=10.0)
    assert ROOF.highest(other) == replace(ROOF, compute_s=1.5e-3, peak=133.0)
    assert ROOF.highest(other) == other.highest(ROOF)


def test_a_roof_survives_the_store() -> None:
    assert Roof.from_json(ROOF.to_json()) == ROOF
    earlier = {k: v for k, v in ROOF.to_json().items() if k not in ("threads", "rates")}
    assert Roof.from_json(earlier) == ROOF
    own = replace(ROOF, kind="f32 expf", rates=(("f32", 118.0), ("f32 expf", 5.0)))
    assert Roof.from_json(json.loads(json.dumps(own.to_json()))) == own


@pytest.mark.normal
def test_a_roof_is_of_the_work_and_measured_once(builder: Builder) -> None:
    target = probe_target(builder.compiler, builder.flags)
    work = Work((("f32", 1e6), ("f64", 1e3)), Streams(read=8000, written=4000, updated=100))
    roof = roof_of(builder, target, work)
    assert roof is roof_of(builder, target, work)
    assert (roof.kind, roof.level) == ("f32", "L1")
    assert roof.compute_s == pytest.approx(1.001e-3 / roof.peak)
    assert roof.memory_s == pytest.approx(12200e-9 / roof.bandwidth)


def rates(monkeypatch: pytest.MonkeyPatch, **functions: float) -> None:
    """Peaks that are not measured."""
    own = {"f32": 100.0} | {f"f32 {name}": rate for name, rate in functions.items()}
    found = Peaks(1.0, 100.0, 1.0, 1.0, 4.0, functions=tuple(own.items()))
    monkeypatch.setattr(peak, "measure_peaks", lambda *_: (found, (1.0,)))


def test_units_overlap_and_what_takes_longest_is_the_limit(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most operations are multiply-adds, which may start while functions compute."""
    rates(monkeypatch, expf=5.0, log=2.0, sqrt=10.0, **{"/": 20.0})
    target = probe_target(builder.compiler, builder.flags)

    def roof(*ops: tuple[str, float]) -> Roof:
        return measure_roof(builder, target, Work(ops, Streams(0, 0, 0)))

    softmax = roof(("f32", 3e9), ("f32 expf", 1e9), ("f32 /", 1e6))
    assert (softmax.compute_s, softmax.kind) == (pytest.approx(0.2), "f32 expf")
    assert softmax.peak == pytest.approx(4.001e9 / 0.2 / 1e9)
    both = roof(("f32", 3e9), ("f32 expf", 1e9), ("f32 log", 1e9))
    assert (both.compute_s, both.kind) == (pytest.approx(0.7), "f32 log")
    divided = roof(("f32", 3e9), ("f32 /", 1e9), ("f32 sqrt", 1e9))
    assert (divided.compute_s, divided.kind) == (pytest.approx(0.15), "f32 sqrt")
    product = roof(("f32", 1e12), ("f32 expf", 1e9), ("f32 tanh", 1e3))  # tanh: not measured
    assert (product.compute_s, product.kind) == (pytest.approx(10.0), "f32")
    part = Work((("f32", 1e6), ("f32 expf", 1e9)), Streams(0, 0, 0))
    assert product.computing_s(part) == pytest.approx(0.2)


def test_levels_take_no_time_from_the_roof(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def measured(
        builder: Builder, target: Target, mixes: Sequence[Streams]
    ) -> tuple[Peaks, tuple[float, ...]]:
        calls.append(list(mixes))
        return Peaks(1.0, 2.0, 1.0, 1.0, 4.0), tuple(float(mix.footprint) for mix in mixes)

    for module in (peak, ceilings):
        monkeypatch.setattr(module, "measure_peaks", measured)
    caches = 32 << 10, 1 << 20, 32 << 20
    target = replace(TARGET, cache_bytes=caches)
    streams = Streams(read=8000, written=4000, updated=0)
    assert measure_roof(builder, target, Work((("f32", 1e6),), streams)).bandwidth == 12000
    assert calls == [[streams]]
    found = measure_ceilings(builder, target, streams)
    assert [name for name, _ in found] == ["L2", "L3", "memory"]
    assert dict(found) == pytest.approx(
        {"L2": 1 << 19, "L3": 16 << 20, "memory": 128 << 20}, rel=1e-4
    )
    assert len(calls) == 2
    assert all(mix.read == pytest.approx(2 * mix.written, rel=1e-3) for mix in calls[1])
    large = replace(target, cache_bytes=(*caches[:2], 256 << 20))  # memory would take long
    assert [name for name, _ in measure_ceilings(builder, large, streams)] == ["L2", "L3"]
    assert measure_ceilings(builder, target, Streams(0, 0, 0)) == ()


@pytest.mark.normal
def test_inner_levels_are_faster(builder: Builder) -> None:
    target = probe_target(builder.compiler, builder.flags)
    found = measure_ceilings(builder, target, Streams(4 * max(target.cache_bytes), 0, 0))
    names = [name for name, _ in found]
    assert names == [f"L{number}" for number in range(1, len(target.cache_bytes) + 1)]
    assert found[0][1] > found[-1][1] > 0


@pytest.mark.normal
def test_work_that_does_or_moves_nothing_has_no_limit_of_that_kind(builder: Builder) -> None:
    target = probe_target(builder.compiler, builder.flags)
    idle = roof_of(builder, target, Work((), Streams(0, 0, 0)))
    assert idle.least_s == 0
    copying = roof_of(builder, target, Work((), Streams(4096, 4096, 0)))
    assert (copying.limit, copying.compute_s) == ("memory", 0)


@pytest.mark.normal
def test_a_roof_says_of_how_many_threads_it_is(builder: Builder) -> None:
    assert "threads" not in ROOF.name
    together = replace(ROOF, threads=2)
    assert together.name == "f32 multiply-add peak of 2 threads, 100 GFLOP/s"
    assert (
        replace(together, memory_s=3e-3).name
        == "L2 bandwidth of its loads and stores by 2 threads, 20 GB/s"
    )
    target = replace(probe_target(builder.compiler, builder.flags), threads=2)
    assert measure_roof(builder, target, Work((), Streams(4096, 0, 0))).threads == 2


@pytest.mark.normal
def test_as_many_threads_measure_each_on_a_core_of_its_own(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []

    def watch(argv: list[str], timeout_s: float) -> Finished:
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        while child.poll() is None:
            seen.append(set(allowed_cores(child.pid)))
        return Finished(child.returncode, child.stdout.read() if child.stdout else "", "")

    monkeypatch.setattr("schedsearch.evaluate.roof.peak.run_group", watch)
    target = replace(probe_target(builder.compiler, builder.flags), threads=2)
    measure_peaks(builder, target, [Streams(1 << 16, 0, 0)])
    assert {str(core) for core in measuring_cores(2)} in seen


@pytest.mark.normal
def test_a_peak_is_of_fused_multiply_adds(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_code(argv: list[str], timeout_s: float) -> Finished:
        code = subprocess.run(["objdump", "-d", argv[0]], stdout=subprocess.PIPE, check=True)
        fused.update(re.findall(rb"vfn?madd\d+(p[sd])", code.stdout))
        return run_group(argv, timeout_s=timeout_s)

    fused = set[bytes]()
    target = probe_target(builder.compiler, builder.flags)
    if "fma" not in target.features:
        pytest.skip("this machine multiplies and adds apart")
    monkeypatch.setattr("schedsearch.evaluate.roof.peak.run_group", list_code)
    measure_peaks(builder, target, [Streams(1 << 16, 0, 0)])
    assert fused == {b"ps", b"pd"}


def allowed_cores(pid: int) -> Iterator[str]:
    """Of each thread of a process."""
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            found = re.search(r"Cpus_allowed_list:\s*(\S+)", status.read_text())
        except OSError:
            continue  # it has ended
        if found:
            yield found[1]


@pytest.mark.slow
def test_limits_are_of_every_count_of_threads_level_and_way(builder: Builder) -> None:
    target = replace(
        probe_target(builder.compiler, builder.flags),
        cores=2,
        cache_bytes=(1 << 15, 1 << 18, 1 << 20),
    )
    single, both = measure_limits(builder, target)
    assert (single.threads, both.threads) == (1, 2)
    levels = ("L1", "L2", "L3", "memory")
    assert list(both.bandwidths) == [(level, way) for level in levels for way in WAYS]
    assert min(both.bandwidths.values()) > 0
    assert [thread_counts(cores) for cores in (1, 4, 6)] == [(1,), (1, 2, 4), (1, 2, 4, 6)]


@pytest.mark.normal
def test_peaks_of_threads_and_without_vectors(builder: Builder) -> None:
    target = replace(probe_target(builder.compiler, builder.flags), threads=2, vector_bits=0)
    peaks, (bandwidth,) = measure_peaks(builder, target, [Streams(1 << 16, 0, 1 << 16)])
    assert min(peaks.f16, peaks.f32, peaks.f64, peaks.i32, peaks.i8, bandwidth) > 0
    assert min(peaks.f32_min, peaks.f64_min, peaks.i32_min) > 0
    assert peaks.rate("f64 min") == peaks.f64_min
    assert peaks.rate("f16 min") == peaks.f16
    assert peaks.rate("ui16") == peaks.i8
    assert peaks.rate("f64") == peaks.f64


def test_levels_are_of_all_threads_but_for_the_last_cache(builder: Builder) -> None:
    target = replace(
        probe_target(builder.compiler, builder.flags), cache_bytes=(100, 1000, 10000), threads=2
    )
    assert [level(n, target) for n in (200, 201, 2001, 10001)] == ["L1", "L2", "L3", "memory"]


KINDS = ("f32 /", "f32 expf", "f32 sqrt", "f64 /", "f64 exp", "f64 pow_", "f64 sqrt")


def function_peaks(builder: Builder, target: Target) -> tuple[Peaks, dict[str, float]]:
    own = tuple(function_loops(KINDS, target.vector_bits))
    peaks, _ = measure_peaks(builder, target, [], KINDS, own)
    assert [kind for kind, _ in peaks.functions] == [*KINDS]
    return peaks, {kind: peaks.rate(kind) for kind in KINDS}


@pytest.mark.normal
@pytest.mark.parametrize("without_vectors", [False, True])
def test_functions_are_slower_than_multiply_adds_but_not_by_far(
    without_vectors: bool, builder: Builder
) -> None:
    """Libraries compute a number at a time in 2 to 20 ns. A loop that a compiler drops would be
    faster than a multiply-add. Compilers have vectors where we have none."""
    target = probe_target(builder.compiler, builder.flags)
    peaks, rates = function_peaks(builder, target)
    if without_vectors:
        _, rates = function_peaks(builder, replace(target, vector_bits=0))
    for kind, rate in rates.items():
        most = peaks.rate(kind.partition(" ")[0])
        assert most / (500 if kind == "f64 pow_" else 100) < rate < most / 2, kind
    assert rates["f64 exp"] < rates["f32 expf"] / 1.5
    assert rates["f64 /"] < rates["f32 /"]
    assert rates["f64 pow_"] < rates["f64 exp"]


@pytest.mark.normal
def test_functions_of_two_threads_are_counted_together(builder: Builder) -> None:
    target = probe_target(builder.compiler, builder.flags)
    if target.cores < 2:
        pytest.skip("needs two cores")
    _, one = function_peaks(builder, target)
    _, two = function_peaks(builder, replace(target, threads=2))
    for kind, rate in one.items():
        assert 1.3 * rate < two[kind] < 2.3 * rate, kind


@pytest.mark.normal
def test_our_code_of_functions_compiles_and_is_what_is_fastest(builder: Builder) -> None:
    """Without it C's library would be the limit, which ours passes."""
    target = probe_target(builder.compiler, builder.flags)
    if target.vector_bits < 256:
        pytest.skip("no vectors to gain from")
    ours = tuple(function_loops(KINDS, target.vector_bits))
    assert [kind for kind, *_ in ours] == [*KINDS]
    assert [*function_libraries(builder, target, KINDS, ours, 60.0)]
    peaks, _ = measure_peaks(builder, target, [], ("f32 expf",), ours)
    library, _ = measure_peaks(builder, target, [], ("f32 expf",), ())
    assert peaks.rate("f32 expf") > 1.1 * library.rate("f32 expf")


PLAN = TimingPlan(kind=TimingKind.NOISE, min_rounds=3, max_rounds=3, sample_ns=1e6, samples=5)
KERNEL = """\
from __future__ import annotations
from exo import proc
from exo.libs.externs import expf, sqrt

@proc
def powers(y: f32[1024], x: f32[1024]):
    for i in seq(0, 1024):
        y[i] = expf(x[i])

@proc
def quotients(y: f64[1024], x: f64[1024]):
    for i in seq(0, 1024):
        y[i] = y[i] / x[i]
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["powers", "quotients"])
def test_no_schedule_of_functions_is_above_its_roof(name: str, tmp_path: Path) -> None:
    """In L1, where nothing else takes time."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    subject = load_subject(file, name, {}, None)
    roof = measure_roof(subject.builder, subject.target, subject.work)
    assert roof.of_functions
    assert roof.limit == "compute"
    bench = bench_of(subject, tmp_path / "bench")
    rewrites = list(select(["vectorise"])[0].rewrites(subject.ast, subject.target))[:4]
    assert rewrites
    seconds = []
    for rewrite in rewrites:
        code = generate_c(apply(subject.procedure, subject.ast, rewrite))
        artifact = subject.builder.build(code, 60)
        assert isinstance(artifact, Artifact)
        timed = bench.evaluate(artifact, PLAN, bench.standard).result
        assert isinstance(timed, Measurement)
        seconds.append(timed.candidate_ns * 1e-9)
    if roof.exceeded(min(seconds)):
        roof = roof.highest(measure_roof(subject.builder, subject.target, subject.work))
    assert not roof.exceeded(min(seconds))
    assert roof.share(min(seconds)) > 0.4  # what is counted is what it takes
