"""Kernels that front ends made find schedules as others do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.frontends.lowered import Lowered
from schedsearch.locks.entry import Lock
from schedsearch.locks.place import write_lock
from schedsearch.transforms.exo.loader import import_file

from .locked import entry

pytestmark = pytest.mark.normal

MINE = """
from pathlib import Path
import schedsearch

@schedsearch.jit
def product(C, A, B):
    C[:] = A @ B

equations = schedsearch.program(FILE)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Any:
    equations, file = tmp_path / "sums.eq", tmp_path / "mine.py"
    equations.write_text("C[i,j] += A[i,k] * B[k,j]")
    file.write_text(
        f"from pathlib import Path\n{MINE.replace('FILE', f'Path({str(equations)!r})')}"
    )
    return import_file(file)


def pinned(lowered: Lowered, folder: Path) -> None:
    """A lock file with a schedule, as after `lower`, `run` and `pin`."""
    file = folder / f"{lowered.name}.py"
    file.write_text(lowered.text)
    sizes = dict.fromkeys(
        [name for name in lowered.parameters if f"{name}: size" in lowered.text], 8
    )
    write_lock(
        folder / "schedules.lock", Lock().having([entry(file, lowered.name, sizes, "reorder")])
    )


def test_the_lock_beside_the_users_file_is_found(mine: Any, tmp_path: Path) -> None:
    c, a, b = (np.ones((8, 8), "f4") for _ in range(3))
    pinned(mine.product.lowered(c, a, b), tmp_path)
    mine.product(c, a, b)
    assert (c == 8).all()
    assert mine.product.explain(c, a, b).as_json()["source"] == str(tmp_path / "schedules.lock")


def test_that_of_equations_too(mine: Any, tmp_path: Path) -> None:
    c, a, b = (np.ones((8, 8), "f4") for _ in range(3))
    pinned(mine.equations.lowered, tmp_path)
    native = mine.equations.compile("native")
    native(C=c, A=a, B=b)
    assert (c == 9).all()
    assert native.kernel.explain(C=c, A=a, B=b).as_json()["source"] == str(
        tmp_path / "schedules.lock"
    )


def test_a_place_that_is_none_is_said_before_any_call(mine: Any) -> None:
    with pytest.raises(UserError, match="store= is a path, not int"):
        schedsearch.jit(mine.product.__schedsearch_function__, store=5)
