"""Sums beside other elements of their arrays are kept in scalars, and vectorised with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.analysis.walkers import loops
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("pairs")
[STAGE] = select(["stage_sums"])
[VECTORISE] = select(["vectorise_reduction"])
STRICT = replace(TARGET, fp=FloatingPoint.STRICT)
REFUSED = sorted(name for name in PROCEDURES if name.startswith("no_"))
NAMES = sorted(set(PROCEDURES) - set(REFUSED))


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    """Also with the sums in registers, where the first or the last row has no element."""
    procedure = PROCEDURES[name]
    assert not list(VECTORISE.rewrites(mirror(procedure), TARGET))
    # Of a symmetric matrix, strips of rows do so where sums may change their order.
    [rewrite] = STAGE.rewrites(mirror(procedure), STRICT)
    made = apply(procedure, mirror(procedure), rewrite)
    trace, state = Trace((rewrite,)), State(made, mirror(made))
    states = [(trace, state)]
    for rewrite in VECTORISE.rewrites(state.ast, TARGET):
        made = apply(state.procedure, state.ast, rewrite)
        states.append((trace.then(rewrite), State(made, mirror(made))))
    assert len(states) > 1
    sizes = [{"n": n} for n in (1, 2, 3, 40)]
    assert_same_meaning(procedure, states, sizes, tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused(name: str) -> None:
    procedure, ast = PROCEDURES[name], mirror(PROCEDURES[name])
    assert not list(STAGE.rewrites(ast, TARGET))
    loop = [*loops(ast)][-1]
    rewrite = Rewrite(STAGE.name, 1, loop.path, label(loop), ())
    with pytest.raises(RewriteError, match="adds to no element"):
        apply(procedure, ast, rewrite)
