"""What was verified is remembered for as long as the modules that verified it stay as they are."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any

import pytest

from schedsearch.search import verified
from schedsearch.search.setup.subject import load_subject

PROC = """from __future__ import annotations
from exo import proc


@proc
def copy(y: f32[64], x: f32[64]):
    for i in seq(0, 64):
        y[i] = x[i]
"""


@pytest.mark.normal
@pytest.mark.parametrize("module", ["oracle/cases.py", "oracle/reach.py", "run/bench.py"])
def test_other_cases_verify_anew(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path := tmp_path / "copy.py").write_text(PROC)
    subject, kernel = (
        load_subject(path, None, {}, None),
        SimpleNamespace(binary_key="", code_key=""),
    )

    def place() -> Path:
        verified.modules.cache_clear()
        return verified.place_of(subject, kernel)  # type: ignore[arg-type]

    with as_file(files("schedsearch.evaluate")) as room:
        rooms = copytree(room, tmp_path / "evaluate")
    before = place()
    assert place() == before

    def elsewhere(package: str) -> Any:
        return rooms

    monkeypatch.setattr(verified, "files", elsewhere)
    assert place() == before
    (rooms / module).write_text((rooms / module).read_text() + "# stronger\n")
    assert place() != before
    monkeypatch.undo()
    assert place() == before
