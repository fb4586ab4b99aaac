from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.run import allowance
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.mirror import mirror

from .procs import generate, triple


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    cache: Path = tmp_path_factory.mktemp("cache")
    return Builder(find_compiler(), default_flags(), cache)


@pytest.fixture(scope="session")
def bench(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Of `triple`, whose candidates hostile.py writes."""
    proc = mirror(triple)
    return prepare(proc, generate(triple), bind(proc, {}), builder, tmp_path_factory.mktemp("work"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with a file in it; afterwards there must be just that file, as
    it was, and no process that was started meanwhile."""
    mark = f"{uuid.uuid4()}"
    monkeypatch.setenv("STARTED_BY_TEST", mark)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(allowance, "_VERIFY_S", 0.5)
    (tmp_path / "precious").write_text("data")
    yield tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    assert (tmp_path / "precious").read_text() == "data"
    assert (tmp_path / "precious").stat().st_mode & 0o777 == 0o644
    assert not list(descendants(mark))


def descendants(mark: str) -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                yield entry.name
        except OSError:
            continue
