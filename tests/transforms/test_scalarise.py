"""Small arrays of an iteration become scalars, its small loops statements."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("small_arrays")
[SCALARISE] = select(["scalarise"])
[SUMS] = select(["vectorise_reduction"])
REFUSED = sorted(name for name in PROCEDURES if name.startswith("no_"))
NAMES = sorted(set(PROCEDURES) - set(REFUSED))


@cache
def scalarised(name: str) -> list[tuple[Trace, State]]:
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    found = []
    for rewrite in SCALARISE.rewrites(ast, TARGET):
        made = apply(procedure, ast, rewrite)
        found.append((Trace().then(rewrite), State(made, mirror(made))))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    sizes = [{"n": n} for n in (1, 2, 19)]
    assert_same_meaning(PROCEDURES[name], scalarised(name), sizes, tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_the_loop_can_be_carried_out_in_registers(name: str) -> None:
    *registers, (_, scalars) = scalarised(name)
    allocs = [s for s in q.walk(scalars.ast.body) if isinstance(s, q.Alloc)]
    assert allocs
    assert not any(alloc.shape for alloc in allocs)
    assert bool(registers) == (name != "pairs")
    assert bool(list(SUMS.rewrites(scalars.ast, TARGET))) == (name == "pairs")
    for _, state in registers:
        assert any(isinstance(s, q.Call) for s in q.walk(state.ast.body))


def test_arrays_on_the_stack_become_scalars_too() -> None:
    procedure = PROCEDURES["triangles"]
    [rewrite, *_] = select(["place"])[0].rewrites(mirror(procedure), TARGET)
    placed = apply(procedure, mirror(procedure), rewrite)
    *_, scalars = SCALARISE.rewrites(mirror(placed), TARGET)
    after = apply(placed, mirror(placed), scalars)
    assert {s.mem for s in q.walk(mirror(after).body) if isinstance(s, q.Alloc)} == {"DRAM"}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused(name: str) -> None:
    procedure, ast = PROCEDURES[name], mirror(PROCEDURES[name])
    assert not list(SCALARISE.rewrites(ast, TARGET))
    loop = ast.body[0]
    rewrite = Rewrite(SCALARISE.name, 1, loop.path, label(loop), ())
    with pytest.raises(RewriteError, match="no loop with small arrays"):
        apply(procedure, ast, rewrite)
