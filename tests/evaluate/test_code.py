"""Machine code of kernels: which loops are hot, what they do, and what counts it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from transforms.helpers import Procedures

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.records import Compiler, GeneratedC
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import find_compiler, other_compilers
from schedsearch.evaluate.code import mca
from schedsearch.evaluate.code.c_lines import Line, c_lines
from schedsearch.evaluate.code.counted import counted
from schedsearch.evaluate.code.hottest import HotLoop, hottest
from schedsearch.evaluate.code.listing import (
    Instruction,
    disassemble,
    innermost_loops,
    parse,
)
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from .two_loops import SIZES, SOURCE, TWO, c


def compilers() -> list[Compiler]:
    found = find_compiler()
    return [found, *other_compilers(found)]


def loops_of(builder: Builder, code: GeneratedC, proc: q.Proc = TWO) -> tuple[HotLoop, ...]:
    compiled = builder.with_lines(code, 60)
    assert isinstance(compiled, tuple), compiled
    assert compiled[1], "line tables change the code"
    return hottest(disassemble(compiled[0]), c_lines(code, proc, SIZES))


def instruction(text: str, address: int = 0) -> Instruction:
    return Instruction(address, text)


def test_lines_of_c_have_their_statements_and_how_often_they_run() -> None:
    lines = {line.text: line for line in c_lines(c(), TWO, SIZES).values()}
    assert lines["y[i6] += x[i6];"].statement == "y[k] += x[k]"
    assert lines["y[i6] += x[i6];"].runs == 100 * 4096
    assert lines["a[i4] = x[i4];"].runs == 64
    assert lines["for (int_fast32_t i6 = 0; i6 < n; i6++) {"].statement == "for k in seq(0, n):"


SIGNS = "+= x", "+= 2.0f"


@pytest.mark.parametrize(("n", "runs"), [(300, (300, 0)), (40, (0, 40))])
def test_a_branch_that_sizes_rule_out_does_not_run(n: int, runs: tuple[int, int]) -> None:
    procedure = Procedures("two_lengths")["two_lengths"]
    code = generate_c(procedure)
    found = c_lines(code, mirror(procedure), Binding((("n", n),))).values()
    long, short = (next(each for each in found if sign in each.text) for sign in SIGNS)
    assert (long.runs, short.runs) == runs


def test_lines_without_a_counterpart_have_no_statement() -> None:
    """Two statements in C, one of which we cannot tell from the other."""
    source = SOURCE.replace("  a[i4] = x[i4];", "  a[i4] = x[i4];\n  other();")
    two = c_lines(c(source), replace(TWO, body=TWO.body[1:]), SIZES)
    assert not any(line.statement for line in two.values())


LISTING = """
0000000000000000 <f>:
f():
/tmp/<stdin>:7
   0:\tmov    %rsp,%rbp
/tmp/<stdin>:8 (discriminator 3)
  52:\tvmulps (%rsi),%ymm0,%ymm1
  56:\tvmovups %ymm1,-0x20(%rsi,%rax,4)
/usr/include/other.h:99
  5a:\tadd    $0x20,%rsi
  62:\tjne    52 <f+0x52>
  64:\tjmp    0 <f>
"""


def test_a_listing_is_read() -> None:
    [(name, function)] = parse(LISTING).items()
    assert name == "f"
    assert [each.line for each in function] == [7, 8, 8, 0, 0, 0]
    assert function[2].operands == ("%ymm1", "-0x20(%rsi,%rax,4)")
    [inner] = innermost_loops(function)
    assert [each.address for each in inner] == [0x52, 0x56, 0x5A, 0x62]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vfmadd231pd 0x40(%rax),%zmm1,%zmm2", {"fmas": 1, "loads": 1, "operations": 16}),
        ("vfmadd231ps (%rax){1to16},%zmm1,%zmm2", {"bytes": 4, "operations": 32}),
        ("vaddss (%rax),%xmm1,%xmm2", {"width": 64, "operations": 1, "bytes": 4}),
        ("addss %xmm1,%xmm2", {"chain": 4, "chains": 1, "operations": 1}),
        ("vaddps %ymm0,%ymm1,%ymm1", {"chain": 4, "chains": 1, "operations": 8}),
        ("vaddps %ymm0,%ymm1,%ymm2", {"chain": 0, "chains": 0}),
        ("vmovups %ymm1,0x20(%rsp)", {"stores": 1, "spills": 1, "bytes": 32, "loads": 0}),
        ("vmovups 0x20(%rsp,%rax,4),%ymm1", {"loads": 1, "spills": 0}),
        ("vmovups -0x20(%rbp),%ymm1", {"loads": 1, "spills": 0}),
        ("vdivpd %ymm0,%ymm1,%ymm2", {"divisions": 1, "operations": 4}),
        ("lea 0x40(%rax),%rbx", {"loads": 0, "stores": 0}),
        ("cmp %rax,0x8(%rsp)", {"loads": 1, "stores": 0}),
        ("addq $0x1,0x8(%rax)", {"loads": 1, "stores": 1, "bytes": 16}),
        ("vxorps %xmm0,%xmm0,%xmm0", {"chain": 0, "operations": 0}),
    ],
)
def test_what_an_instruction_does(text: str, expected: dict[str, int]) -> None:
    found = vars(counted([instruction(text)]))
    assert {name: found[name] for name in expected} == expected


def test_spills_are_seen_through_a_frame_pointer() -> None:
    assert counted([instruction("vmovups -0x20(%rbp),%ymm1")], framed=True).spills == 1


def test_a_chain_over_several_instructions() -> None:
    texts = ("vaddps %ymm0,%ymm1,%ymm2", "vmulps %ymm2,%ymm3,%ymm1")
    assert counted([instruction(text) for text in texts]).chain == 8


@pytest.mark.normal
@pytest.mark.parametrize("compiler", compilers(), ids=lambda each: each.kind)
def test_the_hot_loop_of_two_is_found(builder: Builder, compiler: Compiler) -> None:
    own = replace(builder, compiler=compiler, other_compilers=())
    first, *_ = loops_of(own, c())
    assert first.share > 0.9
    assert "y[k] += x[k]" in [line.statement for line in first.lines]
    assert first.counts.width > 64
    done = first.iterations * first.counts.operations
    assert 0.9 < done / (100 * 4096) <= 1.001


@pytest.mark.normal
def test_stores_say_how_often_a_loop_runs(builder: Builder) -> None:
    """A sum of neighbours over several lines: gcc computes parts of it for several elements."""
    total = "\n    + ".join(f"x[i6 + {k}]" for k in range(8))
    source = SOURCE.replace("y[i6] += x[i6];", f"y[i6] = {total};")
    (first, *_) = loops_of(builder, c(source))
    lanes = first.counts.width / 32 * first.counts.stores
    assert first.iterations == pytest.approx(100 * 4096 / lanes, rel=0.01)


def test_the_loop_of_vectors_comes_before_one_with_more_stores() -> None:
    """That for arrays that overlap has branches: of its stores few are carried out."""
    found = parse(
        """
0000000000000000 <f>:
/tmp/<stdin>:8
   0:\tvmaxps (%rsi),%ymm1,%ymm1
   4:\tvmovups %ymm1,(%rsi)
   8:\tjne    0 <f>
"""
        + "".join(f"  1{n:x}:\tvmovss %xmm1,0x{4 * n:x}(%rsi)\n" for n in range(9))
        + "  20:\tjne    10 <f+0x10>\n"
    )
    line = Line(8, "x[i] = max(x[i], m);", runs=800.0, inside=(7,), bits=32)
    first, other = hottest(found, {8: line})
    assert (first.counts.width, first.iterations) == (256, 100)
    assert (other.counts.width, other.iterations) == (64, 0)


def test_a_line_of_many_operations_runs_once_for_each_lane() -> None:
    """A density of particles was said to run an eighth as often as it does."""
    found = parse(
        """
0000000000000000 <f>:
/tmp/<stdin>:8
   0:\tvsubpd (%rsi),%zmm1,%zmm2
   4:\tvmulpd %zmm2,%zmm2,%zmm2
   8:\tvsqrtpd %zmm2,%zmm2
   c:\tvmulpd %zmm2,%zmm3,%zmm2
  10:\tvaddpd %zmm2,%zmm4,%zmm4
  14:\tjne    0 <f>
"""
    )
    text = "t += h * sqrt((x[2 * i + 1] - y) * (x[2 * i + 1] - y));"
    for shown, runs in ((text, 100), ("t += x[i];", 20)):
        [loop] = hottest(found, {8: Line(8, shown, runs=800.0, inside=(7,), bits=64)})
        assert loop.iterations == runs
        assert loop.uncounted == 0
    [other] = hottest(found, {9: Line(9, text, runs=800.0, inside=(7,), bits=64)})
    assert other.uncounted == 1


@pytest.mark.normal
def test_a_scalar_loop_is_one(builder: Builder) -> None:
    """Each element needs the one before."""
    code = c(SOURCE.replace("y[i6] += x[i6];", "y[i6 + 1] = y[i6] / x[i6];"))
    first, *_ = loops_of(builder, code)
    assert first.counts.width == 64
    assert first.counts.chain >= 13
    assert first.binds == "latency"


@pytest.mark.normal
def test_spills_are_counted(builder: Builder) -> None:
    """Forty sums in a loop: more than there are registers."""
    names = [f"s{n}" for n in range(40)]
    body = "".join(f"double {name} = x[{n}];\n" for n, name in enumerate(names))
    steps = "".join(
        f"{name} = {name} * x[i4 + {n}] + {names[n - 1]};\n" for n, name in enumerate(names)
    )
    ends = "".join(f"y[{n}] = {name};\n" for n, name in enumerate(names))
    source = (
        "void two( void *ctxt, int_fast32_t n, const float* x, float* y, float* a ) {\n"
        f"{body}for (int_fast32_t i4 = 0; i4 < 64; i4++) {{\n{steps}}}\n{ends}}}\n"
    )
    first, *_ = loops_of(builder, c(source))
    assert first.counts.spills >= 8
    few = loops_of(builder, c())
    assert few[0].counts.spills == 0


def test_without_objdump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="binutils"):
        disassemble(b"")


def test_without_llvm_mca(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = mca.modelled([instruction("nop")])
    assert found.cycles is None
    assert "not installed" in found.why
