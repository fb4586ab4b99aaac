from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.compiler import default_flags, find_compiler


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    cache: Path = tmp_path_factory.mktemp("cache")
    return Builder(find_compiler(), default_flags(), cache)
