"""What limits a kernel, in a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedsearch.evaluate.code.counted import counted
from schedsearch.evaluate.code.hottest import HotLoop
from schedsearch.evaluate.code.listing import Instruction
from schedsearch.evaluate.roof.limit import limit
from schedsearch.evaluate.roof.roofline import Roof

COMPUTE = Roof(1e-3, 1e-4, 200.0, "f32", 20.0, "L2")
MEMORY = Roof(1e-4, 1e-3, 200.0, "f32", 20.0, "memory")


def hot(*texts: str) -> HotLoop:
    code = tuple(Instruction(4 * number, text) for number, text in enumerate(texts))
    return HotLoop("f", code, counted(code), (), 3e7, 0.9)


LOOPS = {
    "latency": ("vaddps (%rax),%ymm1,%ymm1", "add $32,%rax"),
    "divider": ("vdivpd (%rax),%ymm1,%ymm2",),
    "spilled registers": ("vmovups %ymm1,(%rsp)", "vmovups 0x20(%rsp),%ymm1"),
    "stores": ("vmovups %ymm1,(%rax)", "vmovups %ymm1,32(%rax)"),
    "scalar code": ("vmulss %xmm1,%xmm2,%xmm3", "vmulss %xmm4,%xmm2,%xmm5"),
    "arithmetic": tuple(f"vfmadd231ps %ymm0,%ymm1,%ymm{n}" for n in range(2, 12)),
    "conversions, comparisons and shuffles": (
        "vpmovzxbd (%rax),%zmm1",
        "vcvtdq2ps %zmm1,%zmm2",
        "vmulps %zmm0,%zmm2,%zmm3",
        "vcvttps2dq %zmm3,%zmm4",
        "vpmovdb %zmm4,%xmm4",
        "vmovdqu %xmm4,(%rdx)",
    ),
    "a core starts": ("vaddps %ymm0,%ymm1,%ymm2", *("add $1,%rax",) * 8),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_says_what_limits_it(name: str) -> None:
    said = limit(COMPUTE, 1e-2, hot(*LOOPS[name]))
    assert name in said
    assert "90% of the time" in said
    assert "10% of its roofline" in said
    assert "estimated" in said


def test_the_roofline_that_is_reached_is_the_limit() -> None:
    slow_loop = hot(*LOOPS["latency"])
    compute = limit(COMPUTE, 1.1e-3, slow_loop)
    assert "f32 multiply-add peak" in compute
    assert "91%" in compute
    assert "measured" in compute
    memory = limit(MEMORY, 1.1e-3, slow_loop)
    assert "bandwidth of memory" in memory
    assert "20 GB/s" in memory


FUNCTIONS = Roof(
    1e-3, 1e-4, 25.0, "f32 expf", 20.0, "L2", rates=(("f32", 118.0), ("f32 expf", 5.06))
)


def test_functions_and_divisions_are_limits_of_their_own() -> None:
    said = limit(FUNCTIONS, 1.1e-3, None)
    assert said.startswith("Limited by functions, the f32 expf peak, 5.06 G/s: it reaches 91%")
    divided = limit(replace(FUNCTIONS, kind="f64 /", rates=(("f64 /", 3.28),)), 1.1e-3)
    assert "by divisions and roots, the f64 division peak, 3.28 G/s: it" in divided


def test_what_is_below_such_a_limit_is_told_of_it() -> None:
    said = limit(FUNCTIONS, 2e-3, hot(*LOOPS["stores"]))
    assert "it reaches 50% of its roofline, which is that of functions, the f32 expf peak" in said
    plain = limit(COMPUTE, 2e-3, hot(*LOOPS["stores"]))
    assert "of its roofline (estimated" in plain


def test_time_that_no_count_explains_is_waiting_for_data() -> None:
    said = limit(COMPUTE, 1.0, hot(*LOOPS["latency"]))
    assert "waiting for data" in said
    assert "explain 4% of the time" in said


def test_loops_that_are_not_counted_may_be_what_takes_time() -> None:
    """A recurrence that is one instruction for a row was said to wait for data."""
    loop = replace(hot(*LOOPS["latency"]), uncounted=2)
    said = limit(COMPUTE, 1.0, loop)
    assert "not known: 2 loops" in said
    assert "4%" not in said
    assert "latency" in limit(COMPUTE, 0.05, loop)  # that is explained


def test_what_vector_units_do_besides_arithmetic_explains_time() -> None:
    """A blend of bytes was said to wait for data: its conversions take twice what its arithmetic
    does."""
    loop = hot(*LOOPS["conversions, comparisons and shuffles"])
    assert loop.counts.vector == 5
    assert "waiting for data" not in limit(COMPUTE, 0.03, loop)


def test_moves_need_no_vector_unit() -> None:
    moves = ("vmovups (%rax),%ymm1", "vmovdqu8 %zmm1,(%rdx)", "vbroadcastss 4(%rax),%zmm2")
    zero = ("vxorps %xmm0,%xmm0,%xmm0", "vmovaps %zmm1,%zmm2", "vmovss (%rax),%xmm1")
    assert hot(*moves, *zero).counts.vector == 0
    assert hot("vbroadcastss %xmm1,%zmm2", "vmovshdup %zmm1,%zmm2").counts.vector == 2


def test_time_in_functions_that_a_loop_calls_is_not_waiting_for_data() -> None:
    loop = hot("call 1060 <_ZGVdN4v_exp@plt>", "vmulpd %ymm0,%ymm1,%ymm2", "jmp 0")
    assert "functions that it calls" in (said := limit(COMPUTE, 1.0, loop))
    assert "has 1 call an iteration" in said
    assert "waiting for data" not in said


def test_a_root_of_one_element_beside_whole_vectors_takes_the_divider_shortly() -> None:
    """Distances were said to be limited by the divider, which has one root for 37 squares."""
    squares = (f"vfmadd231ps %zmm{n},%zmm{n},%zmm{n + 10}" for n in range(9))
    loop = hot(*squares, "vsqrtss %xmm30,%xmm30,%xmm31")
    assert loop.counts.bounds["divider"] == 4.0
    assert "the divider" not in limit(COMPUTE, 1e-2, loop)


def test_one_of_a_thing_is_said_so() -> None:
    loop = hot("vmovups (%rax),%ymm1", "vmovups 32(%rax),%ymm2", "vmovups 64(%rax),%ymm3")
    assert "3 loads and 0 stores" in limit(COMPUTE, 1e-2, loop)
    stored = hot("vmovups %ymm1,(%rax)", "add $1,%rax")
    assert "0 loads and 1 store, for 0 operations" in limit(COMPUTE, 1e-2, stored)


def test_above_the_roofline_is_said() -> None:
    assert "above the roofline" in limit(COMPUTE, 0.5e-3)


def test_tiny_calls_and_nothing_known() -> None:
    assert "overhead of a call" in limit(None, 2e-8, hot(*LOOPS["latency"]))
    assert "not known" in limit(COMPUTE, 1e-2)
