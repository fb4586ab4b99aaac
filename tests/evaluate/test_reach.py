"""Sizes come from the candidate: all residues around its tiles, and calls that run every block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exo.stdlib.scheduling import divide_loop, specialize

from schedsearch.analysis.inline import inline_calls
from schedsearch.core.records import Artifact, Failure, Outcome
from schedsearch.evaluate.arguments.binding import Binding, bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.reach import Reach, Reacher
from schedsearch.evaluate.roof.work import stores_run
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.findings import Finding
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.sanitize import COVERAGE, Inspector, blocks, counting
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from . import control, procs


def everything(call: Binding) -> bool:
    return True


def reach(
    procedure: Any,
    kernel: Any,
    affordable: Callable[[Binding], bool] = everything,
    **sizes: int,
) -> Reach:
    general = mirror(procedure)
    return Reacher(general, bind(general, sizes), affordable, affordable).reach(mirror(kernel))


def values(found: Reach, name: str) -> set[int]:
    return {call.value(name) for call in found.bindings}


def test_all_residues_of_a_small_tile() -> None:
    kernel = divide_loop(procs.matmul, "i", 12, ["io", "ii"], tail="cut")
    found = values(reach(procs.matmul, kernel, M=60, N=8, K=8), "M")
    assert {value % 12 for value in found if value < 12} == set(range(1, 12))
    assert {value % 12 for value in found if value >= 24} == set(range(12))
    assert {59, 61} <= found


def test_both_ends_of_a_large_tile() -> None:
    kernel = divide_loop(procs.copied, "i", 128, ["io", "ii"], tail="cut")
    found = values(reach(procs.copied, kernel, n=1000), "n")
    beyond = {value % 128 for value in found if value >= 256}
    assert {0, 1, 2, 3, 63, 64, 65, 126, 127} <= beyond
    assert len(found) < 60


def test_beyond_the_largest_tiles() -> None:
    kernel = divide_loop(procs.copied, "i", 1024, ["io", "ii"], tail="cut")
    kernel = divide_loop(kernel, "ii", 512, ["im", "ii"], perfect=True)
    found = values(reach(procs.copied, kernel, n=10_000), "n")
    for tile in (512, 1024):
        beyond = {value % tile for value in found if value >= 2 * tile}
        assert {0, 1, 2, 3, tile // 2, tile - 2, tile - 1} <= beyond
        assert tile - 1 in found
    assert len(found) < 60
    few = reach(procs.copied, kernel, lambda call: call.value("n") < 600, n=10_000)
    assert max(values(few, "n")) < 600


def test_thresholds_are_met_and_passed() -> None:
    kernel = specialize(procs.copied, procs.copied.body()[0], ["n > 77"])
    assert {76, 77, 78} <= values(reach(procs.copied, kernel, n=10), "n")


def test_a_branch_that_no_usual_size_takes() -> None:
    kernel = specialize(procs.copied, procs.copied.body()[0], ["n % 139 == 57"])
    found = reach(procs.copied, kernel, n=10)
    assert any(value % 139 == 57 for value in values(found, "n"))
    assert not found.unreached


def test_a_branch_that_no_affordable_call_takes() -> None:
    kernel = specialize(procs.copied, procs.copied.body()[0], ["n > 5000"])
    small = reach(procs.copied, kernel, lambda call: call.value("n") < 1000, n=10)
    assert len(small.unreached) == 2  # the branch, and the loop in it
    assert "n > 5000" in small.unreached[0]
    assert not reach(procs.copied, kernel, n=10).unreached
    assert not reach(procs.copied, kernel, lambda call: call.value("n") < 1000, n=6000).unreached


def test_a_larger_call_where_no_small_one_runs_a_block() -> None:
    """As of a tile that is as large as small calls may be."""
    kernel = specialize(procs.copied, procs.copied.body()[0], ["n > 5000"])
    general = mirror(procs.copied)

    def small(call: Binding) -> bool:
        return call.value("n") < 1000

    found = Reacher(general, bind(general, {"n": 10}), small, everything).reach(mirror(kernel))
    assert not found.unreached
    assert max(values(found, "n")) > 5000


def test_code_that_no_call_runs_is_dead() -> None:
    kernel = specialize(procs.copied, procs.copied.body()[0], ["n < 1"])
    found = reach(procs.copied, kernel, n=10)
    assert found.dead == 2
    assert not found.unreached


@pytest.mark.parametrize(("least", "dead"), [(2**31 - 1, 2), (2**31 - 2, 0)])
def test_no_size_is_larger_than_control_values_are(least: int, dead: int) -> None:
    kernel = specialize(procs.copied, procs.copied.body()[0], [f"n <= {least}"])
    found = reach(procs.copied, kernel, lambda call: call.value("n") < 1000, n=10)
    assert found.dead == dead
    assert bool(found.unreached) is not bool(dead)


def test_asserts_hold() -> None:
    kernel = divide_loop(procs.divided, "i", 16, ["io", "ii"], tail="cut")
    found = values(reach(procs.divided, kernel, n=64), "n")
    assert len(found) > 3
    assert all(value % 8 == 0 and value <= 100 for value in found)


@pytest.mark.normal
def test_windows_have_strides() -> None:
    kernel = divide_loop(procs.windowed, "j", 8, ["jo", "ji"], tail="guard")
    for call in reach(procs.windowed, kernel, n=64, m=64).bindings:
        assert {name for name, _ in call.strides} == {"y", "x"}


def test_indices_have_residues_too() -> None:
    """Where a loop begins decides on its tail, too."""
    kernel = divide_loop(control.shifted, "i", 8, ["io", "ii"], tail="cut")
    found = values(reach(control.shifted, kernel, n=64), "k")
    assert {value % 8 for value in found} == set(range(8))
    assert max(found) > 8


@pytest.mark.normal
def test_both_values_of_a_flag_meet_all_residues() -> None:
    kernel = divide_loop(control.flagged, "i #1", 8, ["io", "ii"], tail="cut")
    calls = reach(control.flagged, kernel, n=64).bindings
    for flag in (0, 1):
        residues = {call.value("n") % 8 for call in calls if call.value("flag") == flag}
        assert residues == set(range(8))


def test_flags_meet_where_sizes_are_constant() -> None:
    """The usual calls have both true or both false."""
    for affordable in (everything, lambda call: False):
        found = reach(control.both, control.both, affordable)
        assert not found.unreached
        flags = {(call.value("a"), call.value("b")) for call in found.bindings}
        assert (1, 0) in flags
    assert not found.dead


def test_constant_sizes_need_no_calls() -> None:
    assert reach(procs.triple, procs.triple).bindings == ()


SPOILT = {
    "the last of an odd size": "if (n % 2 && n > 8) y[n - 1] += 1;",
    "sizes of 4 modulo 8": "if (n % 8 == 4) y[0] += 1;",
    "2 to 6": "if (n >= 2 && n <= 6) y[0] += 1;",
    "beyond the timed size": "if (n > 256) y[256] += 1;",
    "far beyond the timed size": "if (n > 300) y[n - 1] += 1;",
    "its own branch": "if (n % 16 == 0) y[5] += 1;",
}


FAR = {
    "the rest of a large tile": "if (n > 512 && n % 512 == 511) y[n - 1] += 1;",
    "one beyond": "if (n > 512 && n % 512 == 1) y[0] += 1;",
    "whole tiles": "if (n > 512 && n % 512 == 0) y[511] += 1;",
}


@pytest.fixture(scope="module")
def bench(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    proc = mirror(procs.copied)
    code, work = generate_c(procs.copied), tmp_path_factory.mktemp("work")
    return prepare(proc, code, bind(proc, {"n": 100}), builder, work)


@pytest.fixture(scope="module")
def kernel() -> Any:
    kernel = divide_loop(procs.copied, "i", 8, ["io", "ii"], tail="cut")
    return specialize(kernel, kernel.body()[0], ["n % 16 == 0"])


@pytest.mark.normal
@pytest.mark.parametrize("fault", SPOILT.values(), ids=SPOILT.keys())
def test_faults_of_certain_sizes(bench: Bench, builder: Builder, kernel: Any, fault: str) -> None:
    """Planted in the C of a kernel with tiles of 8 and a branch for multiples of 16."""
    assert_found(bench, builder, kernel, fault)


@pytest.mark.normal
@pytest.mark.parametrize("fault", FAR.values(), ids=FAR.keys())
def test_faults_beyond_large_tiles(bench: Bench, builder: Builder, fault: str) -> None:
    kernel = divide_loop(procs.copied, "i", 512, ["io", "ii"], tail="cut")
    assert_found(bench, builder, kernel, fault)


def assert_found(bench: Bench, builder: Builder, kernel: Any, fault: str) -> None:
    general = bench.plan.proc
    found = Reacher(general, bind(general, {"n": 256}), everything, everything).reach(
        mirror(kernel)
    )
    code = generate_c(kernel)
    for source, right in ((code.source, True), (_with_fault(code.source, fault), False)):
        built = builder.build(procs.handwritten(code, source), 60)
        assert isinstance(built, Artifact), built
        result = bench.verify(replace(built, calls=found.bindings))
        assert (result is None) == right
        if isinstance(result, Failure):
            assert result.outcome is Outcome.INCORRECT


def _with_fault(source: str, fault: str) -> str:
    end = source.rindex("}")
    return f"{source[:end]}{fault}\n}}\n"


@pytest.mark.normal
def test_what_is_run_is_counted(bench: Bench, builder: Builder, tmp_path: Path) -> None:
    """The static answer and flags in the compiled kernel agree; without the calls they do not."""
    kernel = specialize(procs.copied, procs.copied.body()[0], ["n % 139 == 57"])
    code, general = generate_c(kernel), bench.plan.proc
    assert len(blocks(code.source)) == 4
    assert counting(code).source.count("schedsearch_reached[") == 5
    inspector = Inspector(general, generate_c(procs.copied), bench, builder)
    found = Reacher(general, bench.cases[-1].binding, everything, everything).reach(mirror(kernel))
    verdicts = {}
    for name, calls in (("with", found), ("without", Reach())):
        checks = inspector.inspect(code, calls)
        (verdicts[name],) = (check for check in checks if check.what == COVERAGE)
    assert verdicts["with"].verdict is Finding.PASSED
    assert verdicts["without"].verdict is Finding.FAILED
    assert "n % 139" in verdicts["without"].detail


def test_statements_of_callees_are_told_apart() -> None:
    """They have the same paths: that of `even` is not run where that of `odd` is."""
    inlined = inline_calls(mirror(procs.by_parity))
    runs = [stores_run(inlined, bind(inlined, {"n": n})) for n in (4, 5)]
    assert [len(each) for each in runs] == [1, 1]
    assert runs[0] != runs[1]
