"""Steps of time are not taken apart: no proof is tried that takes seconds to fail."""

from __future__ import annotations

from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import After, Op, run_op
from schedsearch.transforms.registry import select
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("steps")
[FISSION] = select(["fission"])


def between_the_nests(procedure: Any) -> list[q.Path]:
    return [r.path for r in FISSION.rewrites(mirror(procedure), TARGET) if r.path == (0, 0)]


@pytest.mark.parametrize("name", ["of_rows", "of_parts", "of_blocks", "of_sums"])
def test_steps_that_need_nothing_of_the_others_are_split(name: str) -> None:
    assert between_the_nests(PROCEDURES[name])
    run_op(PROCEDURES[name], Op("fission", (After((0, 0)), 1)))


def test_steps_of_time_are_not() -> None:
    assert not between_the_nests(PROCEDURES["of_time"])
    with pytest.raises(RewriteError):
        run_op(PROCEDURES["of_time"], Op("fission", (After((0, 0)), 1)))
