"""What limits a kernel, in a sentence."""

from __future__ import annotations

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


def test_time_that_no_count_explains_is_waiting_for_data() -> None:
    said = limit(COMPUTE, 1.0, hot(*LOOPS["latency"]))
    assert "waiting for data" in said
    assert "explain 4% of the time" in said


def test_above_the_roofline_is_said() -> None:
    assert "above the roofline" in limit(COMPUTE, 0.5e-3)


def test_tiny_calls_and_nothing_known() -> None:
    assert "overhead of a call" in limit(None, 2e-8, hot(*LOOPS["latency"]))
    assert "not known" in limit(COMPUTE, 1e-2)
