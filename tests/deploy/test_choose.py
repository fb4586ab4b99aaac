"""The choice as a function of what is asked for and what is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from samples import AVX2

from schedsearch.core.floats import FloatingPoint
from schedsearch.core.isa import isa
from schedsearch.core.records import Compiler, InstructionSet, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.deploy.choose import Offer, Passed, Request, Source, choose
from schedsearch.deploy.explanation import Explanation
from schedsearch.locks.entry import LockedRoof

REQUEST = Request(
    "mm", "key", {"M": 64, "N": 64}, "zen5", isa("avx2").needs, (AVX2.compiler,), {}, 2
)
TRACE = Trace((Rewrite("split", 1, (0,), "for i in seq(0, M)"),))
WORKLOAD = Workload("mm", "key", (("M", 64), ("N", 64)), "mm.py", "sha")
OFFER = Offer(
    *("exact", WORKLOAD, TRACE, "c0de", "zen5", "avx2", AVX2.compiler, 1),
    *(FloatingPoint.FAST, (), 1e-6, Estimate(9.0, 8.0, 10.0), LockedRoof(0.5, "L1 bandwidth")),
)


def sized(name: str, m: int, specialized: tuple[str, ...] = (), **other: object) -> Offer:
    workload = replace(WORKLOAD, sizes=(("M", m), ("N", 64)), specialized=specialized)
    return replace(OFFER, name=name, workload=workload, **other)  # type: ignore[arg-type]


NEAR, FAR = sized("near", 48), sized("far", 1024, call_s=1e-9)
ONLY_64, ONLY_65 = sized("only 64", 64, ("M",), call_s=5e-7), sized("only 65", 65, ("M",))
ELSEWHERE = replace(OFFER, name="elsewhere", cpu="zen4", call_s=1e-9)
OLD_GCC = replace(OFFER, name="old gcc", compiler=Compiler("gcc", "9.1.0", ""), call_s=1e-9)
PATCHED = replace(OFFER, name="patched", compiler=Compiler("gcc", "12.2.7", "/elsewhere/gcc"))
CLANG = replace(OFFER, name="clang", compiler=Compiler("clang", "19.1.0", ""))
AVX512 = replace(OFFER, name="avx512", isa="avx512")
VNNI = replace(AVX512, name="vnni", instructions=(InstructionSet("avx512_vnni", "d", ""),))
UNKNOWN_ISA = replace(OFFER, name="rvv", isa="rvv")
EDITED = replace(OFFER, name="edited", workload=replace(WORKLOAD, proc_key="before"))
OTHER = replace(OFFER, name="other", workload=replace(WORKLOAD, proc="mv"))
SLOW = replace(OFFER, name="slow", call_s=1e-3)
LUCKY = replace(OFFER, name="lucky", place=1, call_s=5e-7)
PARALLEL = replace(OFFER, name="parallel", threads=64, call_s=5e-7)

FULL = isa("avx512").needs


@pytest.mark.parametrize(
    ("offers", "chosen", "why"),
    [
        ([], None, "no schedule is known"),
        ([OFFER], "exact", "measured at these sizes, on this kind of machine"),
        ([SLOW, OFFER], "exact", "these sizes"),
        ([FAR, NEAR], "near", r"nearest sizes \(M=48, N=64\), on this"),
        ([NEAR, SLOW], "slow", "these sizes"),
        ([NEAR, ONLY_65], "near", "nearest"),
        ([ONLY_65], None, "no schedule"),
        ([ONLY_64, OFFER], "only 64", "these sizes"),
        ([ELSEWHERE], "elsewhere", "these sizes, on zen4 avx2, gcc 12.2"),
        ([ELSEWHERE, FAR], "far", "nearest sizes"),
        ([OLD_GCC, OFFER], "exact", "this kind of machine"),
        ([OLD_GCC], "old gcc", r"gcc 9\.1"),
        ([PATCHED], "patched", "this kind of machine"),
        ([CLANG], None, "no schedule"),
        ([AVX512], None, "no schedule"),
        ([UNKNOWN_ISA], None, "no schedule"),
        ([EDITED, OTHER], None, "no schedule"),
        ([PARALLEL, OFFER], "parallel", "these sizes"),
        ([LUCKY, OFFER], "exact", "these sizes"),
        ([LUCKY, NEAR], "lucky", "these sizes"),
    ],
)
def test_of_one_source(offers: list[Offer], chosen: str | None, why: str) -> None:
    choice = choose(REQUEST, [Source("store", tuple(offers))])
    assert (choice.offer.name if choice.offer else None) == chosen
    assert re.search(why, choice.why)
    assert len(choice.passed) == len(offers) - (choice.offer is not None)


@pytest.mark.parametrize(
    ("offer", "reason"),
    [
        (ONLY_65, "for M=65 only"),
        (CLANG, "built by clang, which is not on PATH"),
        (AVX512, "needs a CPU with avx512bw, avx512cd, avx512dq, avx512f, avx512vl"),
        (VNNI, "needs a CPU with avx512_vnni, avx512bw, avx512cd, avx512dq, avx512f, avx512vl"),
        (UNKNOWN_ISA, "needs a CPU with instruction set rvv"),
        (EDITED, "of another text of the procedure"),
        (OTHER, "of another procedure, mv"),
        (SLOW, "slower"),
        (LUCKY, "not the best of its store"),
        (NEAR, "measured at sizes that are further off"),
        (ELSEWHERE, "measured on zen4 avx2, gcc 12.2"),
    ],
)
def test_what_is_passed_over_has_a_reason(offer: Offer, reason: str) -> None:
    choice = choose(REQUEST, [Source("store", (offer, OFFER))])
    assert choice.offer is OFFER
    assert choice.passed == (Passed(offer.name, reason),)


def test_instruction_sets_need_features_of_their_own() -> None:
    wide = replace(REQUEST, features=FULL)
    assert choose(wide, [Source("store", (VNNI,))]).offer is None
    assert choose(wide, [Source("store", (AVX512,))]).offer is AVX512
    vnni = replace(REQUEST, features=FULL | {"avx512_vnni"})
    assert choose(vnni, [Source("store", (VNNI,))]).offer is VNNI


def test_the_first_source_that_fits_decides_and_later_ones_are_not_asked() -> None:
    asked: list[str] = []

    def sources() -> Iterator[Source]:
        for source in (
            Source("use=", (ONLY_65,)),
            Source("lock", (), "cannot read it"),
            Source("store", (SLOW,)),
            Source("never", (OFFER,)),
        ):
            asked.append(source.name)
            yield source

    choice = choose(REQUEST, sources())
    assert (choice.offer, choice.source) == (SLOW, "store")
    assert choice.passed == (Passed("only 65", "for M=65 only"), Passed("lock", "cannot read it"))
    assert asked == ["use=", "lock", "store"]


def test_what_failed_is_not_chosen_again() -> None:
    failed = replace(REQUEST, failed={OFFER: "it does not replay"})
    choice = choose(failed, [Source("store", (OFFER, SLOW))])
    assert choice.offer is SLOW
    assert choice.passed == (Passed("exact", "it does not replay"),)


@pytest.mark.parametrize(
    ("offer", "seconds"),
    [(OFFER, 1e-6), (NEAR, None), (ELSEWHERE, None), (PARALLEL, None), (None, None)],
)
def test_times_are_promised_only_as_measured(offer: Offer | None, seconds: float | None) -> None:
    choice = choose(REQUEST, [Source("store", (offer,) if offer else ())])
    assert choice.call_s(REQUEST) == seconds
    explanation = Explanation(REQUEST, choice)
    assert explanation.as_json()["expected_s"] == seconds
    said = "expected: 1 us a call, 50 % of its roofline (L1 bandwidth)"
    assert (said in str(explanation)) == (seconds is not None)
    roof = {"share": 0.5, "name": "L1 bandwidth"}
    assert explanation.as_json()["roof"] == (roof if seconds else None)
    assert ("runs as written" in str(explanation)) == (offer is None)


def test_fewer_cores_than_threads_are_said() -> None:
    choice = choose(REQUEST, [Source("store", (PARALLEL,))])
    assert "not measured: it has 64 threads, for 2 cores" in str(Explanation(REQUEST, choice))
    assert choice.call_s(replace(REQUEST, cores=64)) == PARALLEL.call_s
