"""The documentation site is built, and has what it should."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import schedsearch
from schedsearch.cli import main
from schedsearch.transforms.registry import registry

from .pages import PAGES, ROOT, blocks

pytestmark = pytest.mark.normal

PUBLIC = ("schedsearch.api.", "schedsearch.core.")


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


def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    page = (site / "reference/cli/index.html").read_text()
    for name, command in typer.main.get_command(main.app).commands.items():
        assert f">schedsearch {name}</code>" in page
        section = page.split(f">schedsearch {name}</code>")[1].split("<h2")[0]
        for option in (each for param in command.params for each in param.opts):
            assert not option.startswith("--") or option in section, f"{name} {option}"


def test_every_transform_is_in_the_reference(site: Path) -> None:
    page = (site / "reference/transforms/index.html").read_text()
    for name in registry():
        assert f'id="{name}"' in page
    assert "parallelize_loop" in (site / "reference/exo/index.html").read_text()


def test_what_python_programs_meet_is_in_the_reference(site: Path) -> None:
    """The public names, the classes that these return, and so on; with all public members."""
    pages = "".join(page.read_text() for page in (site / "reference").rglob("index.html"))
    public = [getattr(schedsearch, name) for name in schedsearch.__all__]
    met = [each if hasattr(each, "__qualname__") else type(each) for each in public]
    missing = []
    for each in met:  # grows
        name = f"{each.__module__}.{each.__qualname__}"
        known = [name, *(f"{name}.{member}" for member in public_members(each))]
        missing += [each for each in known if f'id="{each}"' not in pages]
        met += [found for found in returned(each) if found not in met]
    assert not missing


def public_members(each: Any) -> list[str]:
    own = [*vars(each), *inspect.get_annotations(each)] if isinstance(each, type) else []
    return [name for name in own if not name.startswith("_")]


def returned(each: Any) -> list[type]:
    """Classes of what a function, or a class's public methods and properties, give programs."""
    functions = [vars(each).get(name) for name in public_members(each)] or [each]
    functions = [getattr(f, "fget", None) or getattr(f, "func", None) or f for f in functions]
    answers = [inspect.get_annotations(f).get("return", "") for f in functions if callable(f)]
    classes = [named(word, each) for word in re.findall(r"[\w.]+", " ".join(map(str, answers)))]
    ours = [c for c in classes if isinstance(c, type) and c.__module__.startswith(PUBLIC)]
    return list(dict.fromkeys(ours))


def named(word: str, where: Any) -> Any:
    """What `a.b` means in the module of `where`; None: nothing that is there when it runs."""
    found: Any = sys.modules[where.__module__]
    for part in word.split("."):
        found = getattr(found, part, None)
    return found


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
