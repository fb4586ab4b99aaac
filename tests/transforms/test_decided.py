"""What is answered without a solver is what Exo would answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from exo.core.internal_cursors import Cursor
from exo.core.LoopIR import LoopIR, T
from exo.core.memory import DRAM
from exo.core.prelude import null_srcinfo
from exo.rewrite import new_eff
from exo.rewrite.new_eff import SchedulingError
from exo.stdlib import scheduling
from hypothesis import given, settings
from hypothesis import strategies as st
from z3.z3types import Z3Exception

from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.speed import decided, exo_as_is
from schedsearch.transforms.exo.speed.facts import Undecided
from transforms.helpers import PROCS, source
from transforms.verdicts import SUITE, disagreements, sample, states

FILES = [PROCS / "kernels.py", PROCS / "nests.py", SUITE / "stencils.py", SUITE / "gemm.py"]


@pytest.mark.normal
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rewrites_are_as_legal_as_exo_finds_them(file: Path) -> None:
    """A sample; `python -m transforms.verdicts` compares all of them."""
    procs = sorted(load_source(file).procs.items())
    for number, (_, procedure) in enumerate(procs[:3]):
        for state in states(procedure, number, 1):
            assert not list(disagreements(state, sample(state, number, 2)))


# -- random nests: every check that is answered, against Exo's own ---------------------

EXAMPLES = 25
"""300 others were compared when this was written."""

coefficients = st.sampled_from([0, 0, 1, 1, 1, 2, 4, -1])


@st.composite
def indices(draw: st.DrawFn) -> str:
    """Control expressions of `n`, `i`, `j`, `k`."""
    terms = [f"{draw(coefficients)} * {name}" for name in ("i", "j", "k")]
    linear = f"({' + '.join(terms)} + {draw(st.integers(-2, 3))})"
    by = draw(st.integers(2, 4))
    forms = [linear] * 3 + [f"{linear} / {by}", f"{linear} % {by}", f"{by} * (n / {by}) + i"]
    return draw(st.sampled_from(forms))


@st.composite
def nests(draw: st.DrawFn) -> str:
    """A nest of `i`, `j` and `k` around two or three statements."""

    def access(name: str) -> str:
        return f"{name}[{draw(indices())} + 60, {draw(indices())} + 60]"

    lines = []
    operators = draw(st.sampled_from([("+=",), ("=", "+=", "+=")]))
    for _ in range(draw(st.integers(2, 3))):
        target, source = draw(st.sampled_from(["xy", "xy", "xy", "xx", "yx"]))
        place = access(target)
        operator = draw(st.sampled_from(operators))
        read = place if draw(st.booleans()) and target == source else access(source)
        lines.append(f"                {place} {operator} {read}")
    j_hi = draw(st.sampled_from(["3", "i + 1", "n", "n / 2", "n % 4", "4"]))
    text = [
        "from __future__ import annotations",
        "from exo import proc",
        "@proc",
        "def nest(n: size, x: f32[200, 200], y: f32[200, 200]):",
        "    assert n <= 8",
        f"    for i in seq({draw(st.integers(0, 2))}, {draw(st.sampled_from(['5', 'n + 2']))}):",
        f"        for j in seq(0, {j_hi}):",
        f"            for k in seq(0, {draw(st.integers(1, 3))}):",
        *lines,
    ]
    return "\n".join(text) + "\n"


def exo_refuses(check: Any, *args: Any) -> bool:
    """Not so if z3 gives up, which depends on how variables are called."""
    try:
        return check(*args) is False
    except new_eff.SchedulingError:
        return True
    except TypeError as error:
        if "unknown result" not in str(error):
            raise
        return False


def loop_parts(procedure: Any) -> tuple[Any, Any, Any, list[Any]]:
    i_loop = procedure.body[0]
    j_loop = i_loop.body[0]
    k_loop = j_loop.body[0]
    return i_loop, j_loop, k_loop, k_loop.body


def integer(value: int) -> Any:
    return LoopIR.Const(value, T.int, null_srcinfo())


def compare(known: Any, exo: Any, *args: Any) -> None:
    """Exo does not say no where we say yes."""
    try:
        yes = known(*args)
    except Undecided:
        yes = False
    if yes:
        answered[exo.__name__] += 1
        with exo_as_is():
            assert not exo_refuses(exo, *args), exo.__name__


def compare_all(nest: str, file: Path, draw: Any) -> None:
    """Put every check to a nest."""
    file.write_text(nest)
    procedure = load_source(file).procs["nest"]._loopir_proc
    i_loop, j_loop, k_loop, body = loop_parts(procedure)
    for loop in (i_loop, j_loop):
        compare(decided._may_reorder, new_eff.Check_ReorderLoops, procedure, loop)
    parts = (procedure, k_loop, body[:1], body[1:])
    compare(decided._may_fission, new_eff.Check_FissionLoop, *parts)
    index, here = body[0].idx[draw(st.integers(0, 1))], [body[0]]
    limit = draw(st.sampled_from([48, 56, 58, 60, 63, 66, 70, 80]))
    for op in draw(st.sampled_from([("<", ">="), ("==", "<="), (">", "<=")])):
        compare(decided._bound, new_eff.Check_ExprBound, procedure, here, index, op, limit)
        condition = LoopIR.BinOp(op, index, integer(limit), T.bool, null_srcinfo())
        for value in (True, False):
            truth = LoopIR.Const(value, T.bool, null_srcinfo())
            args = (procedure, condition, here, truth)
            compare(decided._equal, new_eff.Check_ExprEqvInContext, *args)
    other = body[-1].idx[0]
    compare(decided._equal, new_eff.Check_ExprEqvInContext, procedure, index, here, other)
    extent = [integer(draw(st.sampled_from([63, 66, 70, 80, 100]))) for _ in range(2)]
    for name in {stmt.name for stmt in body}:
        alloc = LoopIR.Alloc(name, T.Tensor(extent, False, T.f32), DRAM, null_srcinfo())
        compare(decided._in_bounds, new_eff.Check_Bounds, procedure, alloc, [i_loop])


answered: Counter[str] = Counter()


# -- accesses in windows, which may never happen ---------------------------------------


@st.composite
def windows(draw: st.DrawFn) -> str:
    """An access to `x`, in loops and branches that may be empty. The indices of `w` are the first
    and the last element of a window."""
    i_hi = draw(st.sampled_from(["n", "n / 4", "n / 20", "n % 4", "n - 1", "1"]))
    j_hi = draw(st.sampled_from(["i", "n % 4", "n - 4 * (n / 4)", "4", "0", "4 * i"]))
    index, more = draw(
        st.sampled_from(
            [
                ("i", "i"),
                ("j", "0"),
                ("4 * i + j", "4 * i"),
                ("4 * (n / 4) + j", "4 * (n / 4)"),
                ("n - j", "n - i"),
            ]
        )
    )
    length = draw(st.sampled_from(["0", "3", "4", "i", "n % 4", "n"]))
    branch = draw(st.sampled_from(["", "if n % 4 > 0:", "if i > 2:", "if n < 1:", "if j < 0:"]))
    inner = [
        "            " + "    " * bool(branch) + line
        for line in (f"x[{index} + 60] += 1.0", f"w[{more} + 60, {more} + {length} + 60] = 0.0")
    ]
    if branch and draw(st.booleans()):
        branch = f"{branch}\n                y = 1.0\n            else:"
    return "\n".join(
        [
            "from __future__ import annotations",
            "from exo import proc",
            "@proc",
            "def nest(n: size, x: f32[400], y: f32, w: f32[400, 400]):",
            f"    assert n <= {draw(st.sampled_from([9, 9, 9, 25]))}",
            f"    for i in seq(0, {i_hi}):",
            f"        for j in seq(0, {j_hi}):",
            *([f"            {branch}"] if branch else []),
            *inner,
        ]
    )


def compare_windows(nest: str, file: Path) -> None:
    """The window of one block, and the one after it."""
    file.write_text(nest)
    procedure = load_source(file).procs["nest"]._loopir_proc
    outer = Cursor.create(procedure)._child_block("body")[0]
    loop = outer.body()[0]
    first = loop.body()[0]
    if isinstance(first._node, LoopIR.If):
        access, window = (first.orelse() if first._node.orelse else first.body())[0:2]
    else:
        access, window = loop.body()[0:2]
    lo, last = window._node.idx
    hi = LoopIR.BinOp("+", last, integer(1), T.index, null_srcinfo())
    for block in (outer.as_block(), loop.as_block()):
        for part in ((lo, hi), lo):
            args = (procedure, access, [part], block)
            compare(decided._in_window, new_eff.Check_Access_In_Window, *args)


@pytest.mark.slow
def test_accesses_that_are_in_a_window_for_certain_are_so_for_exo(tmp_path: Path) -> None:
    @settings(max_examples=EXAMPLES)
    @given(windows())
    def compare_one(nest: str) -> None:
        compare_windows(nest, tmp_path / "nest.py")

    compare_one()
    assert answered["Check_Access_In_Window"]


@pytest.mark.slow
def test_every_answer_on_random_nests_is_exos(tmp_path: Path) -> None:
    @settings(max_examples=EXAMPLES)
    @given(nests(), st.data())
    def compare_one(nest: str, data: st.DataObject) -> None:
        compare_all(nest, tmp_path / "nest.py", data.draw)

    compare_one()
    checks = "ReorderLoops FissionLoop ExprBound ExprEqvInContext Bounds"
    assert answered.keys() >= {f"Check_{name}" for name in checks.split()}


@pytest.mark.normal
def test_loops_with_one_symbol_are_not_taken_for_each_other() -> None:
    """Fission copies loops with their symbols: the `j` inside `k` is not that of the first."""
    columns = source("compat").procs["column_sums"]
    apart = scheduling.fission(columns, columns.find("s[_] = _").after())
    turned = scheduling.reorder_loops(apart, apart.body()[1])
    clear, add = turned.body()
    assert clear._impl._node.iter is add.body()[0]._impl._node.iter
    with pytest.raises(SchedulingError, match="Cannot fission"):
        scheduling.fuse(turned, clear, add)


@pytest.mark.normal
def test_what_exo_alone_cannot_check_is_no_rewrite() -> None:
    """It would be answered here, and the exported schedule would not run."""
    procedure = source("compat").procs["never_runs"]
    with pytest.raises(Z3Exception, match="Boolean"):
        scheduling.eliminate_dead_code(procedure, procedure.find_loop("i"))
    with exo_as_is(), pytest.raises(Z3Exception, match="Boolean"):
        scheduling.eliminate_dead_code(procedure, procedure.find_loop("i"))
    shorter = scheduling.eliminate_dead_code(procedure, procedure.find_loop("j"))
    assert "for j" not in str(shorter)
