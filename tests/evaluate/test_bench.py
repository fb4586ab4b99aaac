"""Whole path: Exo procedure -> C -> verified and timed."""

from __future__ import annotations

import pickle
import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from exo.stdlib.scheduling import divide_loop, rename, reorder_loops

from schedsearch.core.errors import DiskError, UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC, Measurement, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.host import usable_cores
from schedsearch.evaluate.oracle.agreement import Told
from schedsearch.evaluate.oracle.harness import Case
from schedsearch.evaluate.run import bench as bench_module
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.reports import Verdict
from schedsearch.evaluate.run.timing import Cache, TimingPlan
from schedsearch.transforms.exo.mirror import mirror

from . import procs

pytestmark = pytest.mark.normal

PLAN = TimingPlan("screen", 2, 2, sample_ns=1e5)


def make(procedure: Any, builder: Builder, work: Path, threads: int = 1, **sizes: int) -> Bench:
    proc = mirror(procedure)
    code = procs.generate(procedure)
    return prepare(proc, code, bind(proc, sizes), builder, work, threads=threads)


def judge(bench: Bench, builder: Builder, code: GeneratedC) -> Measurement | Failure:
    artifact = builder.build(code, 60)
    assert isinstance(artifact, Artifact), artifact
    return bench.evaluate(artifact, PLAN, Anchor(bench.baseline, "baseline")).result


def edited(procedure: Any, old: str, new: str) -> GeneratedC:
    """The procedure's own C with one mistake put in."""
    code = procs.generate(procedure)
    assert old in code.source
    return procs.handwritten(code, code.source.replace(old, new))


def test_each_round_is_of_a_new_process_and_what_is_calibrated_stays(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[str] = []
    run = bench_module.run_harness

    def watched(executable: Path, job: Any, *rest: Any, **named: Any) -> Failure | None:
        def kept(nonce: str) -> str:
            jobs.append(job(nonce))
            return jobs[-1]

        return run(executable, kept, *rest, **named)

    bench = make(procs.twice, builder, tmp_path)
    monkeypatch.setattr(bench_module, "run_harness", watched)
    monkeypatch.setattr(Verdict, "_stays", lambda self: not self.plan.fresh)
    for fresh, processes in ((False, 1), (True, 4)):
        jobs.clear()
        plan = TimingPlan("confirm", 4, 4, sample_ns=1e5, fresh=fresh)
        result = bench.time_baseline(plan).result
        assert isinstance(result, Measurement), result
        assert len(result.rounds) == 4
        assert len({len(each.candidate_ns) for each in result.rounds}) == 1
        first, *later = [job.splitlines()[4].split()[-5:-2] for job in jobs]
        assert first == ["15", "0", "0"]
        assert all(int(samples) <= 15 and int(calls) > 0 for samples, calls, _ in later)
        assert len(later) == processes - 1
        verified = [int(job.splitlines()[5]) for job in jobs]
        assert verified == [len(bench.cases), *[1] * (processes - 1)]
        assert len({*map(tuple, later)}) <= 1


ALL = [
    procs.every_type,
    procs.windowed,
    procs.unit_stride,
    procs.configured,
    procs.calls,
    procs.triangle,
    procs.branches,
    procs.divided,
    procs.rooted,
    procs.rectified,
    procs.waves,
    procs.in_static,
    procs.twice,
    procs.matmul_acc,
]


@pytest.mark.slow
@pytest.mark.parametrize("procedure", ALL, ids=lambda p: p.name())
def test_a_procedure_agrees_with_itself(procedure: Any, builder: Builder, tmp_path: Path) -> None:
    bench = make(procedure, builder, tmp_path)
    result = bench.time_baseline(PLAN).result
    assert isinstance(result, Measurement), result
    assert all(len(r.candidate_ns) == len(r.reference_ns) for r in result.rounds)


@pytest.mark.parametrize("samples", [1, 5, 15])
def test_a_plan_says_how_many_samples_a_round_has(
    samples: int, builder: Builder, tmp_path: Path
) -> None:
    bench = make(procs.twice, builder, tmp_path)
    plan = TimingPlan("screen", 2, 2, sample_ns=1e5, samples=samples)
    result = bench.time_baseline(plan).result
    assert isinstance(result, Measurement), result
    assert all(len(r.candidate_ns) <= samples for r in result.rounds)
    assert max(len(r.candidate_ns) for r in result.rounds) > samples // 2


MISTAKES = [
    (procs.every_type, "s[j] * s[j]", "s[j] * s[j] + (n == 1)", "n=1"),
    (procs.every_type, "s[j] * s[j]", "s[j] * s[j] + (n > 64 && n % 8)", "n=131"),
    (procs.every_type, "f[k] = *a", "f[k] = *a + (k == 0)", "k=0"),
    (procs.every_type, "s[j] * s[j]", "s[j] * s[j] + (j == 200)", "s[200] is "),
    (procs.every_type, "u[j] * ((uint8_t) 3.0)", "u[j] * ((uint8_t) 5.0)", "u["),
    (procs.every_type, "w[j] += w[j]", "w[j] += 1", "w["),
    (procs.every_type, "i[j] += ", "i[j] -= ", "i[0] is "),
    (procs.every_type, "d[j] * 2.0", "d[j] * 2.0000001", "d[0] is "),
    (procs.every_type, "h[j] * ", "h[j] + ", "h[0] is "),
    (procs.every_type, "r[j] * 0.5f", "r[j] * 0.5001f", "r[0] is "),
    (procs.every_type, "f[k] = *a", "f[0] = *a", "f[0] is "),
    (procs.every_type, "if (b)", "if (true)", "b=0"),
    (procs.windowed, "i * y.strides[0]", "i * m", "y[1, "),
    (procs.windowed, "x.strides[1]", "1", "y[0, 1] is "),
    (procs.configured, "ctxt->Cfg.scale", "1.0f", "x[0] is "),
    (procs.configured, "ctxt->Cfg.count = n", "ctxt->Cfg.count = n + 1", "Cfg.count is "),
    (procs.configured, "Cfg.enabled = false", "Cfg.enabled = true", "Cfg.enabled is 1, expected 0"),
    (procs.triangle, "j < i", "j < i - (i == 36)", "y[36] is "),
]


@pytest.mark.parametrize(("procedure", "old", "new", "part"), MISTAKES)
def test_a_small_mistake_is_found(
    procedure: Any, old: str, new: str, part: str, builder: Builder, tmp_path: Path
) -> None:
    bench = make(procedure, builder, tmp_path)
    result = judge(bench, builder, edited(procedure, old, new))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT
    assert part in result.message


def test_verification_alone_finds_the_same_and_times_nothing(
    builder: Builder, tmp_path: Path
) -> None:
    bench = make(procs.triangle, builder, tmp_path)
    assert bench.verify(bench.baseline) is None
    wrong = builder.build(edited(procs.triangle, "j < i", "j < i - (i == 36)"), 60)
    assert isinstance(wrong, Artifact)
    found = bench.verify(wrong)
    assert found is not None
    assert found.outcome is Outcome.INCORRECT
    assert "y[36] is " in found.message


NORMALISE = """
#include <math.h>
void normalise(void *ctxt, const float *x, float *y) {
    double mean = 0, spread = 0;
    for (int i = LAST; i >= 0; i--) mean += x[i];
    mean /= 256;
    for (int i = 255; i >= 0; i--) spread += (x[i] - mean) * (x[i] - mean);
    for (int i = 0; i < 256; i++) y[i] = (x[i] - mean) / sqrt(spread / 256 + 0.00001);
}"""


@pytest.mark.parametrize(("last", "accepted"), [("255", True), ("254", False)])
def test_rounding_differences_are_accepted_and_a_missed_element_is_not(
    last: str, accepted: bool, builder: Builder, tmp_path: Path
) -> None:
    """Double precision in reverse order against single precision, through a division."""
    bench = make(procs.normalise, builder, tmp_path)
    code = procs.generate(procs.normalise)
    candidate = procs.handwritten(code, NORMALISE.replace("LAST", last))
    result = judge(bench, builder, candidate)
    assert isinstance(result, Measurement) is accepted, result


def test_write_between_the_rows_of_a_window(builder: Builder, tmp_path: Path) -> None:
    bench = make(procs.windowed, builder, tmp_path, n=4, m=5)
    code = edited(procs.windowed, "j < m", "j < m + (i < n - 1)")
    result = judge(bench, builder, code)
    assert isinstance(result, Failure)
    assert "wrote between the rows of y" in result.message


def test_division_of_sizes_that_only_odd_ones_reveal(builder: Builder, tmp_path: Path) -> None:
    """Correct for the timed size, wrong for sizes that are not multiples of 8."""
    bench = make(procs.waves, builder, tmp_path, n=64)
    result = judge(bench, builder, edited(procs.waves, "i < n", "i < n / 8 * 8"))
    assert isinstance(result, Failure)
    assert "n=64" not in result.message


def test_scheduled_candidate_and_anchor(builder: Builder, tmp_path: Path) -> None:
    bench = make(procs.matmul, builder, tmp_path, M=96, N=96, K=96)
    faster = rename(reorder_loops(procs.matmul, "j k"), "matmul")
    split = rename(divide_loop(faster, "j", 8, ["jo", "ji"], tail="cut"), "matmul")
    first = builder.build(procs.generate(faster), 60)
    second = builder.build(procs.generate(split), 60)
    assert isinstance(first, Artifact)
    assert isinstance(second, Artifact)
    incumbent = Anchor(first, "incumbent", speedup=4.0)
    evaluation = bench.evaluate(second, PLAN, incumbent)
    result = evaluation.result
    assert isinstance(result, Measurement)
    assert (result.reference, result.reference_speedup) == ("incumbent", 4.0)
    ratios = sorted(r.speedup for r in result.rounds)
    assert result.ratio.low == pytest.approx(ratios[0])
    assert result.speedup.value == pytest.approx(4 * result.ratio.value)
    assert Measurement.from_json(result.to_json()) == result
    assert evaluation.verify_s > 0
    assert evaluation.time_s > 0


def test_bench_can_be_sent_to_another_process(builder: Builder, tmp_path: Path) -> None:
    bench = make(procs.triple, builder, tmp_path)
    copy = pickle.loads(pickle.dumps(bench))
    assert copy == bench
    assert isinstance(copy.time_baseline(PLAN).result, Measurement)


def test_kernels_with_threads(builder: Builder, tmp_path: Path) -> None:
    code = procs.generate(procs.triple)
    cores = len(usable_cores())
    for threads in {1, cores}:
        bench = make(procs.triple, builder, tmp_path, threads)
        for counts, fine in (("THREADS || n == 2 * THREADS + 1", True), ("THREADS", False)):
            loop = f"int n = omp_get_num_threads(); y[i] = 3.0f * x[i] + !(n == {counts});"
            source = f"""
                #include <omp.h>
                void triple(void *ctxt, float *y, const float *x) {{
                    #pragma omp parallel for
                    for (int i = 0; i < 64; i++) {{ {loop} }}
                }}"""
            result = judge(
                bench, builder, procs.handwritten(code, source.replace("THREADS", str(threads)))
            )
            assert isinstance(result, Measurement) is fine, result


def test_a_race_is_found_out(builder: Builder, tmp_path: Path) -> None:
    source = """
        void long_sum(void *ctxt, float *s, const float *x) {
            #pragma omp parallel for
            for (int i = 0; i < 4000000; i++) { s[0] += x[i] * x[i]; }
        }"""
    bench = make(procs.long_sum, builder, tmp_path, len(usable_cores()))
    racy = procs.handwritten(procs.generate(procs.long_sum), source)
    result = judge(bench, builder, racy)
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT


WHERE = """
#include <stdint.h>
#include <stdio.h>

static int asks_for_huge_pages(const void *x)
{
    char line[512];
    uintptr_t first, end;
    int here = 0, asks = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
            here = first <= (uintptr_t)x && (uintptr_t)x < end;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            asks = strstr(line, " hg ") != NULL;
    }
    if (maps)
        fclose(maps);
    return asks;
}
"""


@pytest.mark.parametrize("align", [16, 64, 256])
def test_timed_arrays_are_as_far_past_a_page_as_asked(
    align: int, builder: Builder, tmp_path: Path
) -> None:
    """A kernel that is wrong if all its arrays are just there is wrong in the case that is timed,
    and in no other."""
    code = procs.generate(procs.triple)
    for where, agrees in ((align, False), (2 * align, True), (align // 2, True)):
        source = f"""#include <stdint.h>
            void triple(void *ctxt, float *y, const float *x) {{
                int there = (uintptr_t)x % 4096 == {where} && (uintptr_t)y % 4096 == {where};
                for (int i = 0; i < 64; i++) {{ y[i] = there ? 0.0f : 3.0f * x[i]; }}
            }}"""
        proc = mirror(procs.triple)
        bench = prepare(proc, code, bind(proc, {}), builder, tmp_path, align=align)
        result = judge(bench, builder, procs.handwritten(code, source))
        if agrees:
            assert isinstance(result, Measurement), result
            assert dict(result.host)["align"] == str(align)
        else:
            assert isinstance(result, Failure)
            assert result.outcome is Outcome.INCORRECT


def test_timed_arrays_ask_for_no_huge_pages(builder: Builder, tmp_path: Path) -> None:
    """Of 16 MB; a kernel is wrong if it finds that they do, where they are timed. Those of other
    cases ask for them: that it can find out is shown on these."""
    bench = make(procs.long_sum, builder, tmp_path)
    code = procs.generate(procs.long_sum)
    for timed, agrees in (("==", True), ("!=", False)):
        source = f"""{WHERE}
            void long_sum(void *ctxt, float *s, const float *x) {{
                float sum = 0;
                for (int i = 0; i < 4000000; i++) {{ sum += x[i] * x[i]; }}
                if ((uintptr_t)x % 4096 {timed} 16 && asks_for_huge_pages(x)) sum = 0;
                s[0] += sum;
            }}"""
        result = judge(bench, builder, procs.handwritten(code, source))
        assert isinstance(result, Measurement if agrees else Failure), result


def test_one_kernel_is_timed_on_arrays_of_two_alignments(builder: Builder, tmp_path: Path) -> None:
    """It does ten times the work on arrays that are not aligned to 64 bytes."""
    source = """#include <stdint.h>
        void triple(void *ctxt, float *y, const float *x) {
            volatile float *out = y;
            for (int t = 0; t < ((uintptr_t)x % 64 ? 100 : 10); t++)
                for (int i = 0; i < 64; i++) { out[i] = 3.0f * x[i]; }
        }"""
    bench = make(procs.triple, builder, tmp_path)
    artifact = builder.build(procs.handwritten(procs.generate(procs.triple), source), 60)
    assert isinstance(artifact, Artifact)
    for fresh in (False, True):
        plan = replace(PLAN, min_rounds=3, max_rounds=3, fresh=fresh)
        result = bench.time_elsewhere(artifact, 64, plan).result
        assert isinstance(result, Measurement), result
        assert dict(result.host)["align"] == "16/64"
        assert len(result.rounds) == 3
        assert 0.05 < result.ratio.value < 0.2
        assert result.candidate_ns > 5 * result.reference_ns


def test_rounds_begin_at_every_place_of_a_stack(builder: Builder, tmp_path: Path) -> None:
    """It does ten times the work where the caller's stack is not aligned to 32 bytes."""
    source = """#include <stdint.h>
        void triple(void *ctxt, float *y, const float *x) {
            volatile float *out = y;
            uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
            for (int t = 0; t < (stack & 16 ? 100 : 10); t++)
                for (int i = 0; i < 64; i++) { out[i] = 3.0f * x[i]; }
        }"""
    bench = make(procs.triple, builder, tmp_path)
    artifact = builder.build(procs.handwritten(procs.generate(procs.triple), source), 60)
    assert isinstance(artifact, Artifact)
    plan = replace(PLAN, min_rounds=24, max_rounds=24)
    result = bench.evaluate(artifact, plan, Anchor(bench.baseline, "baseline")).result
    assert isinstance(result, Measurement), result
    took = [min(each.candidate_ns) for each in result.rounds]
    assert max(took) > 5 * min(took)


def test_a_kernel_is_verified_on_arrays_of_both_alignments(
    builder: Builder, tmp_path: Path
) -> None:
    source = """#include <stdint.h>
        void triple(void *ctxt, float *y, const float *x) {
            int there = (uintptr_t)x % 4096 == 64 && (uintptr_t)y % 4096 == 64;
            for (int i = 0; i < 64; i++) { y[i] = there ? 0.0f : 3.0f * x[i]; }
        }"""
    bench = make(procs.triple, builder, tmp_path)
    artifact = builder.build(procs.handwritten(procs.generate(procs.triple), source), 60)
    assert isinstance(artifact, Artifact)
    own = bench.evaluate(artifact, PLAN, Anchor(bench.baseline, "baseline")).result
    assert isinstance(own, Measurement), own
    result = bench.time_elsewhere(artifact, 64, PLAN).result
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT


@pytest.mark.parametrize("cache", Cache)
def test_caches_are_warm_or_cold_and_the_record_says_which(
    cache: Cache, builder: Builder, tmp_path: Path
) -> None:
    bench = replace(make(procs.matmul_acc, builder, tmp_path), cache=cache)
    result = bench.time_baseline(PLAN).result
    assert isinstance(result, Measurement), result
    assert dict(result.host)["cache"] == cache
    assert dict(result.host)["clock"] in ("cpu", "wall")
    assert all(ns > 0 for each in result.rounds for ns in each.candidate_ns)


def test_one_thread_is_timed_by_the_processor_if_its_clock_is_fine(
    builder: Builder, tmp_path: Path
) -> None:
    def fine() -> bool:
        readings = [time.process_time_ns() for _ in range(200)]
        return all(earlier < later for earlier, later in pairwise(readings))

    before = {fine() for _ in range(20)}
    result = make(procs.twice, builder, tmp_path).time_baseline(PLAN).result
    assert isinstance(result, Measurement), result
    told = {"cpu": True, "wall": False}[dict(result.host)["clock"]]
    assert told in before | {fine() for _ in range(20)}  # a clock may stand still now and then


LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *now)
{
    static struct timespec before;
    static long readings;
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(which, now);
    if (which != CLOCK_PROCESS_CPUTIME_ID)
        return failed;
    if (++readings > 1000 && readings % 7 == 0)
        *now = before;
    before = *now;
    return failed;
}
"""


def test_a_clock_that_stands_still_now_and_then_is_no_fault_of_the_kernel(
    builder: Builder, tmp_path: Path
) -> None:
    """That of a process on a virtual machine may, by what is subtracted late."""
    bench = make(procs.twice, builder, tmp_path)
    (tmp_path / "late.c").write_text(LATE)
    late, script = tmp_path / "late.so", tmp_path / "script"
    command = [builder.compiler.path, "-shared", "-fPIC", tmp_path / "late.c", "-o", late, "-ldl"]
    subprocess.run(command, check=True)
    script.write_text(f'#!/bin/sh\nLD_PRELOAD={late} exec {bench.executable} "$@"\n')
    script.chmod(0o755)
    plan = TimingPlan("screen", 200, 200, sample_ns=1e4)
    result = replace(bench, executable=script).time_baseline(plan).result
    assert isinstance(result, Measurement), result
    assert all(ns > 0 for each in result.rounds for ns in each.candidate_ns)


def test_cold_caches_are_cold(builder: Builder, tmp_path: Path) -> None:
    """What fits into a cache is read several times as fast from there as from memory: 4 KB here,
    20 times as fast where it was tried."""
    bench = make(procs.shifted, builder, tmp_path)
    plan = replace(PLAN, max_rounds=3)
    times = {}
    for cache in Cache:
        result = replace(bench, cache=cache).time_baseline(plan).result
        assert isinstance(result, Measurement), result
        times[cache] = min(ns for each in result.rounds for ns in each.candidate_ns)
    assert times[Cache.COLD] > 2 * times[Cache.WARM]


@pytest.mark.skipif(len(usable_cores()) < 2, reason="two threads need two cores")
def test_threads_have_cores_of_their_own_and_the_wall_says_how_long(
    builder: Builder, tmp_path: Path
) -> None:
    """In the sandbox. Each of two threads takes 1 ms of CPU time; the result is right if they
    were on two cores, in one of 20 attempts at least."""
    source = """
        #define _GNU_SOURCE
        #include <omp.h>
        #include <sched.h>
        #include <time.h>
        static double cpu_ms(void) {
            struct timespec t;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
        }
        void triple(void *ctxt, float *y, const float *x) {
            int at[2] = {0, 0}, threads = 0;
            for (int attempt = 0; attempt < 20 && at[0] == at[1]; attempt++) {
                #pragma omp parallel for schedule(static, 32)
                for (int i = 0; i < 64; i++) {
                    double start = cpu_ms();
                    y[i] = 3.0f * x[i];
                    while (cpu_ms() - start < 1.0 / 32) {}
                    at[i / 32] = sched_getcpu();
                    threads = omp_get_num_threads();
                }
            }
            if (threads == 2 && at[0] == at[1]) y[0] += 1.0f;
        }"""
    bench = make(procs.triple, builder, tmp_path, threads=2)
    result = judge(bench, builder, procs.handwritten(procs.generate(procs.triple), source))
    assert isinstance(result, Measurement), result
    assert dict(result.host)["clock"] == "wall"
    assert all(ns > 1e6 for each in result.rounds for ns in each.candidate_ns)


def test_several_cores_are_timed_by_the_wall(builder: Builder, tmp_path: Path) -> None:
    bench = make(procs.matmul_acc, builder, tmp_path, threads=2)
    result = bench.time_baseline(PLAN).result
    assert isinstance(result, Measurement), result
    assert dict(result.host)["clock"] == "wall" or len(usable_cores()) == 1


def test_reference_that_does_not_compile(builder: Builder, tmp_path: Path) -> None:
    proc = mirror(procs.triple)
    broken = procs.handwritten(procs.generate(procs.triple), "void triple(int x) { nonsense }")
    with pytest.raises(UserError, match=r"triple.*does not compile(.|\n)*error"):
        prepare(proc, broken, bind(proc, {}), builder, tmp_path)


def test_reference_that_crashes(builder: Builder, tmp_path: Path) -> None:
    proc = mirror(procs.triple)
    source = "void triple(void *ctxt, float *y, const float *x) { __builtin_trap(); }"
    broken = procs.handwritten(procs.generate(procs.triple), source)
    with pytest.raises(UserError, match=r"triple as written fails.*SIGILL"):
        prepare(proc, broken, bind(proc, {}), builder, tmp_path)


def test_sessions_with_other_sizes_or_seeds_may_share_a_directory(
    builder: Builder, tmp_path: Path
) -> None:
    benches = [make(procs.waves, builder, tmp_path, n=n) for n in (40, 50)]
    proc = mirror(procs.waves)
    code = procs.generate(procs.waves)
    benches.append(prepare(proc, code, bind(proc, {"n": 40}), builder, tmp_path, seed=1))
    for bench in benches:
        assert isinstance(bench.time_baseline(PLAN).result, Measurement)
    assert benches[0].cases[-1].expected != benches[2].cases[-1].expected
    assert {path.suffix for path in tmp_path.iterdir()} == {".bin", ".json"}


def test_what_an_earlier_run_evaluated_is_known(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(procs.waves, builder, tmp_path, n=40)
    evaluated = list[Case]()
    own = Bench._enclosed

    def counted(bench: Bench, cases: Sequence[Case]) -> Sequence[Told]:
        evaluated.extend(cases)
        return own(bench, cases)

    monkeypatch.setattr(Bench, "_enclosed", counted)
    second = make(procs.waves, builder, tmp_path, n=40)
    assert replace(second, call_ns=first.call_ns) == first
    assert not evaluated
    damaged = first.cases[:3]
    damaged[0].expected.unlink()
    damaged[1].expected.write_bytes(b"short")
    damaged[2].expected.with_suffix(".json").write_text('{"bytes": ')
    again = make(procs.waves, builder, tmp_path, n=40)
    assert {case.expected for case in evaluated} == {case.expected for case in damaged}
    assert again.verify(again.baseline) is None


def test_truncated_reference_outputs_are_noticed(builder: Builder, tmp_path: Path) -> None:
    bench = make(procs.triple, builder, tmp_path)
    bench.cases[0].expected.write_bytes(b"short")
    result = bench.time_baseline(PLAN).result
    assert isinstance(result, Failure)
    assert "truncated" in result.message


def test_a_kernel_is_not_blamed_for_files_that_somebody_deletes(
    builder: Builder, tmp_path: Path
) -> None:
    bench = make(procs.triple, builder, tmp_path)
    for path in (bench.cases[1].expected, Path(bench.baseline.path), bench.executable):
        content, mode = path.read_bytes(), path.stat().st_mode
        path.unlink()
        with pytest.raises(DiskError, match=f"cannot use {path}: No such file"):
            bench.time_baseline(PLAN)
        path.write_bytes(content)
        path.chmod(mode)
    assert isinstance(bench.time_baseline(PLAN).result, Measurement)


# -- instructions -------------------------------------------------------------------------


@pytest.mark.skipif(platform.machine() != "x86_64", reason="counted on x86-64")
def test_instructions_are_counted_exactly(builder: Builder, tmp_path: Path) -> None:
    bench = make(procs.twice, builder, tmp_path)

    def spinning(times: int) -> Artifact:
        spin = f'for (long n = 0; n < {times}; n++) __asm__ volatile("" : "+r"(n));'
        code = procs.generate(procs.twice)
        begins = code.source.index("{\n", code.source.index(f"void {code.proc}(")) + 2
        source = f"{code.source[:begins]}{spin}\n{code.source[begins:]}"
        built = builder.build(procs.handwritten(code, source), 60)
        assert isinstance(built, Artifact)
        return built

    def count(candidate: Artifact, anchor: Artifact) -> tuple[int, int]:
        found = bench.count(candidate, anchor)
        assert not isinstance(found, Failure), found
        return found

    few, more, most = (spinning(times) for times in (1000, 2000, 3000))
    first, second = count(few, more)
    assert second - first in (2000, 3000, 4000)  # instructions of a thousand rounds
    assert count(most, few) == (2 * second - first, first)
    assert count(few, few) == (first, first)


def test_instructions_of_threads_and_of_wrong_kernels_are_not_counted(
    builder: Builder, tmp_path: Path
) -> None:
    bench = make(procs.twice, builder, tmp_path)
    threads = replace(bench, cores=(0, 1)).count(bench.baseline, bench.baseline)
    assert threads == Failure(Outcome.PRUNED, "instructions are counted of one thread")
    wrong = builder.build(edited(procs.twice, "2.0f", "3.0f"), 60)
    assert isinstance(wrong, Artifact)
    found = bench.count(wrong, bench.baseline)
    assert isinstance(found, Failure)
    assert found.outcome is Outcome.INCORRECT
