"""What counts the instructions of a call, and what is read of its answer.

The texts in `said` are those of perf 6.1, valgrind 3.19 and llvm-mca 14, shortened. The numbers of
perf's hardware counters are made up: its lines are as those of software's, which are not.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from schedsearch.core.records import Artifact
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import find_compiler
from schedsearch.evaluate.code import counters, mca
from schedsearch.evaluate.code.listing import Instruction

from .two_loops import SIZES, TWO, c

SAID = Path(__file__).parent / "said"


def fake(tool: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH on which a tool is this script."""
    program = tmp_path / tool
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def answer(name: str) -> str:
    """Of a script: prints one of the texts where the tools print theirs."""
    return f"cat {SAID / name}.txt >&2"


NOP = Instruction(0, "nop")


def test_the_model_of_a_loop_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = f"cat > /dev/null; cat {SAID / 'llvm_mca.txt'}"
    fake("llvm-mca", script, tmp_path, monkeypatch)
    assert mca.modelled([NOP]).cycles == 1.64


@pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="needs llvm-mca")
def test_an_installed_model_answers() -> None:
    found = mca.modelled([Instruction(0, "vaddss %xmm1, %xmm0, %xmm0")])
    assert found.cycles is not None, found.why
    assert 1.5 < found.cycles < 5.5  # the latency of an addition


@pytest.fixture
def kernel(builder: Builder) -> Artifact:
    built = builder.build(c(), 60)
    assert isinstance(built, Artifact)
    return built


def count(builder: Builder, kernel: Artifact) -> counters.Counters:
    return counters.count(builder, kernel, c(), TWO, SIZES, 1e-4, 1000.0)


def test_lines_of_perf_are_read() -> None:
    software = (SAID / "perf_software_20000.txt").read_text()
    assert counters._of_perf(software) == {"task-clock": 5.73, "page-faults": 53}
    assert counters._of_perf((SAID / "perf_unsupported.txt").read_text()) == {}


def test_a_call_is_what_calls_add(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake("perf", f"for last; do :; done\n{answer('perf_software_$last')}", tmp_path, monkeypatch)
    found = counters._difference(["perf"], 20_000, counters._of_perf)
    assert found == {
        "task-clock": pytest.approx((5.73 - 0.63) / 20_000),
        "page-faults": pytest.approx(1 / 20_000),
    }


PERF = """
for last; do :; done
case $last in 0) n=1000;; *) n=$((1000 + 500 * last));; esac
echo "$n,,instructions:u,1,100.00,," >&2
echo "$((n / 2)),,cycles:u,1,100.00,," >&2
echo "<not supported>,,cache-misses:u,0,100.00,," >&2
"""


@pytest.mark.normal
def test_perf_is_asked_first(
    builder: Builder, kernel: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake("perf", PERF, tmp_path, monkeypatch)
    found = count(builder, kernel)
    assert found.source == counters.BY_PERF
    assert found.instructions == 500
    assert found.per_cycle == pytest.approx(2.0, rel=0.01)
    assert found.cache_misses is None


@pytest.mark.normal
def test_where_perf_may_not_count_valgrind_simulates(
    builder: Builder, kernel: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake("perf", answer("perf_unsupported"), tmp_path, monkeypatch)
    fake("valgrind", f"for last; do :; done\n{answer('valgrind_$last')}", tmp_path, monkeypatch)
    found = count(builder, kernel)
    assert found.source == counters.BY_VALGRIND
    assert found.instructions == 137_852 - 130_679
    assert (found.branch_misses, found.l1_misses, found.cache_misses) == (7, 0, 0)
    assert found.cycles is None
    assert "perf cannot count here" in found.refused[0]


@pytest.mark.normal
def test_code_that_valgrind_does_not_know_is_estimated(
    builder: Builder, kernel: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake("perf", f"{answer('perf_refused')}; exit 255", tmp_path, monkeypatch)
    fake("valgrind", f"{answer('valgrind_avx512')}; exit 132", tmp_path, monkeypatch)
    found = count(builder, kernel)
    assert found.source == counters.BY_ESTIMATE
    assert found.instructions == 1000.0
    assert found.refused == (
        "perf: it ended with 255: Access to performance monitoring and observability operations "
        "is limited.",
        "valgrind: it does not support instructions that this kernel has (AVX-512, above all)",
    )


@pytest.mark.normal
def test_without_perf_and_valgrind(
    builder: Builder, kernel: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    count(builder, kernel)  # compiles what runs the kernel
    monkeypatch.setenv("PATH", str(tmp_path))
    found = count(builder, kernel)
    assert found.source == counters.BY_ESTIMATE
    assert found.refused == ("perf is not installed", "valgrind is not installed")


@pytest.mark.normal
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_tools_of_this_system_count(tmp_path: Path) -> None:
    """Perf, where it may; else valgrind, which knows the instructions of plain code."""
    plain = Builder(find_compiler(), ("-O1", "-std=gnu11"), tmp_path)
    kernel = plain.build(c(), 60)
    assert isinstance(kernel, Artifact)
    found = count(plain, kernel)
    assert found.source in (counters.BY_PERF, counters.BY_VALGRIND), found.refused
    iterations = 100 * 4096
    assert 4 * iterations < (found.instructions or 0) < 9 * iterations


@pytest.mark.normal
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_to_find_the_kernel_is_no_part_of_a_call(builder: Builder) -> None:
    signature = "void two(void *ctxt, int_fast32_t n, const float *x, float *y, float *a)"
    code = c(f"{signature} {{ *y += *x; }}")
    built = builder.build(code, 60)
    assert isinstance(built, Artifact)
    program = counters._program(code, TWO, SIZES)
    assert program is not None
    running = counters._executable(builder, built, code, program)
    found = counters._valgrind(running, 1e-9)
    assert isinstance(found, counters.Counters), found
    assert found.instructions is not None
    assert 0 < found.instructions < 60
