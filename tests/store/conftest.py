from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from schedsearch.store import Store

BACKENDS: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda directory: Store.open(directory / "tuning.sqlite"),
}
"""How to open, again and again, one store that keeps its data in a directory."""

Reopen = Callable[[], Store]


@pytest.fixture(params=sorted(BACKENDS))
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same store once more, as another process would."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(BACKENDS[request.param](tmp_path))


@pytest.fixture
def store(reopen: Reopen) -> Store:
    return reopen()
