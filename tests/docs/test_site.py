"""The documentation site is built, and has what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schedsearch.transforms.registry import registry

from .pages import PAGES, ROOT, blocks

COMMANDS = ("run", "watch", "list", "best", "show", "explain", "check", "simulate", "doctor")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: broken links and anchors, pages that nobody finds, and names without a
    docstring's module are errors (`mkdocs.yml`)."""
    where = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", where],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return where


def test_the_reference_is_complete(site: Path) -> None:
    commands = (site / "reference/cli/index.html").read_text()
    for command in COMMANDS:
        assert f">schedsearch {command}</code>" in commands
    assert "--target-speedup" in commands
    transforms = (site / "reference/transforms/index.html").read_text()
    for name in registry():
        assert f'id="{name}"' in transforms
    python = (site / "reference/python/index.html").read_text()
    for name in ("tuning.tune", "tuning.Result.c", "opened.StoreView.tree", "frames.candidates"):
        assert f'id="schedsearch.api.{name}"' in python
    assert "parallelize_loop" in (site / "reference/exo/index.html").read_text()


def test_what_is_shown_of_the_library_is_the_library() -> None:
    library = (ROOT / "schedsearch/transforms/library/reorder.py").read_text()
    [shown] = blocks(ROOT / "docs/how-to/transforms.md", "python")
    assert shown.text in library


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        for loaded in ('<script src="http', '<link rel="stylesheet" href="http', "fonts.g"):
            assert loaded not in text, page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """Commands are in `sh`, where they are run; nothing is hidden in a block without a language."""
    for block in blocks(page):
        assert block.language, block.text
        if block.language != "sh":
            assert not block.text.startswith(("schedsearch ", "python -m ", "pip ", "make "))
