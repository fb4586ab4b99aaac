from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from store_backends import BACKENDS, KINDS, Reopen, servers

from schedsearch.store import Store


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    with servers:
        yield


@pytest.fixture(params=KINDS)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same store once more, as another process would."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(BACKENDS[request.param](tmp_path))


@pytest.fixture
def store(reopen: Reopen) -> Store:
    return reopen()
