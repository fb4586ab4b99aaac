"""The Python that the documentation shows runs: the blocks of a page one after the other, as the
cells of a notebook. Blocks with a title are files, of the reader or of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from schedsearch.transforms.registry import registry

from .pages import PAGES, ROOT, blocks
from .reader import FEW, Reader, small


def cells(page: Path) -> list[str]:
    """Without those that need PyTorch, if it is not installed."""
    found = [block.text for block in blocks(page, "python") if not block.title]
    return [text for text in found if find_spec("torch") or "torch" not in text]


@pytest.fixture
def _library() -> Iterator[None]:
    """Transforms that a page registers are known only to this test."""
    known = dict(registry())
    yield
    registry().clear()
    registry().update(known)


@pytest.mark.slow
@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("page", [p for p in PAGES if cells(p)], ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path, reader: Reader) -> None:
    for block in blocks(page):
        reader.save(block)
    names: dict[str, Any] = {"__name__": "reader"}
    for number, cell in enumerate(cells(page)):
        file = reader.home / f"cell_{number}.py"  # Exo reads a procedure's source
        file.write_text(short(small(cell)))
        exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), names)


def short(text: str) -> str:
    """With searches that take no time."""
    text = text.replace("budget=120", 'budget=16, executor="inline"')
    text = text.replace("budget=60", 'budget=150, trials=1, executor="inline"')
    return re.sub(r"\b(tune|explore)\(([^,)]+)(?!.*transforms=)", rf"\1(\2, transforms={FEW}", text)


def test_files_of_the_repository_are_shown_as_they_are() -> None:
    shown = [b for page in PAGES for b in blocks(page) if (ROOT / b.title).is_file()]
    assert any(block.title.endswith("primitives/reorder.py") for block in shown)
    for block in shown:
        assert block.text == (ROOT / block.title).read_text()
