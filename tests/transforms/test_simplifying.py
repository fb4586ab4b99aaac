"""What is left alone is what Exo's own `simplify` would have made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exo import API
from exo.rewrite import LoopIR_scheduling
from exo.stdlib.scheduling import simplify

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.compat import generate_c, prepare
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.speed import exo_as_is, simplifying
from schedsearch.transforms.exo.speed.forwarding import MOST_EDITS, edits
from schedsearch.transforms.operators.ops import At, Op, run_op
from transforms.helpers import kernels

TEXT = """from __future__ import annotations
from exo import proc


@proc
def remainders(n: size, x: f32[n + 16], y: f32[16]):
    for i in seq(0, 16):
        y[i % 8] += x[0 + i + n - n]
    for i in seq(0, 16):
        for j in seq(0, 4):
            if i == 3:
                y[i] = y[i + 0 * j]
            else:
                y[i] = 1.0
    for i in seq(0, n):
        x[i] = 2.0


@proc
def guarded(n: size, m: size, x: f32[n + m + 60]):
    for i in seq(0, n):
        if m - n < 3:
            x[i] = 1.0


@proc
def twice(x: f32[8]):
    for i in seq(0, 8):
        if i == 3:
            x[i] = 0.0
        else:
            x[i] = 0.0
"""


@pytest.fixture
def procs(tmp_path: Path) -> dict[str, Any]:
    prepare()
    (file := tmp_path / "remainders.py").write_text(TEXT)
    return dict(load_source(file).procs)


def same_as_exo(procedure: Any) -> Any:
    found = simplify(procedure)
    with exo_as_is():
        assert str(found) == str(simplify(procedure))
    return found


def edited(procedure: Any) -> list[int]:
    done = LoopIR_scheduling.DoSimplify(procedure)
    return [edits(done.normal.fwd), edits(done.fwd), len(done.normal.known)]


@pytest.mark.normal
def test_three_times_are_as_those_of_exo(procs: dict[str, Any]) -> None:
    for procedure in (*procs.values(), *kernels().values()):
        for _ in range(3):
            procedure = same_as_exo(procedure)


def test_edits_count_where_nothing_is_edited(
    procs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for procedure in (*procs.values(), *kernels().values()):
        simple = simplify(simplify(procedure))
        *counted, known = edited(simple)
        assert known or "==" in str(procedure)
        monkeypatch.setattr(simplifying, "_simple", ByIdentity(1))
        assert edited(simple) == [*counted, 0]
        monkeypatch.undo()


@pytest.mark.normal
def test_more_edits_than_exo_can_forward_through_are_refused(tmp_path: Path) -> None:
    """Also if none of them is made: what Exo could not replay is not offered."""
    lines = "\n".join(f"    x[{n}] = 0.0" for n in range(MOST_EDITS + 10))
    (file := tmp_path / "long.py").write_text(
        f"from __future__ import annotations\nfrom exo import proc\n\n\n"
        f"@proc\ndef long(x: f32[{MOST_EDITS + 10}]):\n{lines}\n"
    )
    procedure = load_source(file).procs["long"]
    for _ in range(3):
        with pytest.raises(RewriteError):
            run_op(procedure, Op("simplify"))


def with_range(procedure: Any, end: int) -> Any:
    """The first loop ends there; what is inside are the same nodes."""
    proc = procedure._loopir_proc
    loop = proc.body[0]
    shorter = loop.update(hi=loop.hi.update(val=end))
    return API.Procedure(proc.update(body=[shorter, *proc.body[1:]]))


def test_a_statement_is_another_where_its_loops_are(procs: dict[str, Any]) -> None:
    simple = simplify(simplify(procs["remainders"]))
    assert "y[i % 8]" in str(simple)
    shorter = with_range(simple, 8)
    assert shorter._loopir_proc.body[0].body[0] is simple._loopir_proc.body[0].body[0]
    assert "y[i] +=" in str(same_as_exo(shorter))


def test_a_condition_around_says_more(procs: dict[str, Any]) -> None:
    """Both branches have one and the same statement."""
    proc = simplify(simplify(procs["twice"]))._loopir_proc
    loop = proc.body[0]
    branch = loop.body[0]
    shared = branch.update(body=branch.orelse)
    both = API.Procedure(proc.update(body=[loop.update(body=[shared])]))
    assert "x[3] = 0.0" in str(same_as_exo(both))


def test_generated_code_is_the_same(procs: dict[str, Any]) -> None:
    procedure = procs["remainders"]
    for _ in range(2):
        procedure = run_op(procedure, Op("simplify"))
    divided = run_op(procedure, Op("divide_loop", (At((2,)), 4, ("o", "i")), (("tail", "cut"),)))
    found = generate_c(run_op(divided, Op("simplify")))
    with exo_as_is():
        assert generate_c(simplify(divided)) == found


def test_what_an_equality_decides_is_simplified_again(procs: dict[str, Any]) -> None:
    state = simplify(simplify(procs["guarded"]))
    state = run_op(state, Op("specialize", (At((0, 0)), ("m == 4",))))
    state = run_op(state, Op("specialize", (At((0, 0, 0)), ("n == 4",))))
    assert "-4 + 4" not in str(same_as_exo(state))
