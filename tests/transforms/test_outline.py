"""Outlines of loop nests, of real procedures and what rewrites make of them."""

from __future__ import annotations

from exo import DRAM, proc
from exo.stdlib.scheduling import divide_loop, unroll_loop

from schedsearch.core.outline import changes, outline
from schedsearch.transforms.exo.mirror import mirror


@proc
def nest(x: f32[32] @ DRAM, y: f32[32] @ DRAM):  # noqa: F821
    for i in seq(0, 32):  # noqa: F821
        t: f32  # noqa: F821
        t = x[i]
        if i < 16:
            y[i] = t
        else:
            y[i] += t


def test_an_outline_has_loops_buffers_branches_and_statements() -> None:
    assert outline(mirror(nest)) == (
        "for i in seq(0, 32):",
        "  t: f32 @ DRAM",
        "  t = x[i]",
        "  if (i < 16):",
        "    y[i] = t",
        "  else:",
        "    y[i] += t",
    )


def test_what_unrolling_leaves_is_one_line_with_its_count() -> None:
    split = divide_loop(nest, "i", 4, ["io", "ii"], perfect=True)
    unrolled = unroll_loop(split, "ii")
    lines = outline(mirror(unrolled))
    assert lines[0] == "for io in seq(0, 8):"
    assert len(lines) < len(str(unrolled).splitlines())
    assert all(line.count("# ") <= 1 for line in lines)


def test_alike_statements_are_counted() -> None:
    @proc
    def four(x: f32[4] @ DRAM):  # noqa: F821
        for i in seq(0, 4):  # noqa: F821
            x[i] = 0.0

    assert outline(mirror(unroll_loop(four, "i"))) == ("x[0] = 0.0  # 4 alike",)


def test_changes_are_what_went_and_what_came() -> None:
    before = outline(mirror(nest))
    after = outline(mirror(divide_loop(nest, "i", 4, ["io", "ii"], perfect=True)))
    found = changes(before, after)
    assert "- for i in seq(0, 32):" in found
    assert "+ for io in seq(0, 8):" in found
    assert changes(before, before) == ()


def test_far_changes_are_apart() -> None:
    before = tuple(f"x[{'a' * n}] = 0.0" for n in range(1, 30))
    after = ("first", *before, "last")
    assert changes(before, after).count("...") == 1
