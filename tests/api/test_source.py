"""What file a procedure object is tuned from."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedsearch.api.source import options_of, source_of
from schedsearch.core.errors import UserError
from schedsearch.frontends.lowered import Lowered
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.procedure_file import procedure_of
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.loader import load_source

TEXT = """from __future__ import annotations
from exo import proc

@proc
def fill(n: size, x: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file, and the module that was imported from it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "fills.py"
    file.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("fills", file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fills", loaded)
    spec.loader.exec_module(loaded)
    return file


def test_an_imported_procedure_is_tuned_from_its_file(module: Path) -> None:
    assert source_of(sys.modules["fills"].fill) == (module, "fill")
    assert source_of(str(module)) == (module, None)


def test_what_was_made_of_it_gets_a_file_of_its_own(module: Path) -> None:
    made = specialize(sys.modules["fills"].fill, {"n": 8})
    file, name = source_of(made)
    assert file.parent.name == "procedures"
    assert name == "fill_n8"
    assert str(load_source(file).procs[name]) == str(made)
    assert source_of(made) == (file, name)


def test_what_a_front_end_made_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lowered = Lowered("fill", TEXT, ("n", "x"), ("x",))
    file, name = source_of(lowered)
    assert (file.parent.name, file.read_text(), name) == ("procedures", TEXT, "fill")
    assert source_of(SimpleNamespace(lowered=lowered)) == (file, name)
    assert source_of(lowered, "fill_nest1") == (file, "fill_nest1")
    assert procedure_of(lowered).name() == "fill"


def test_it_is_tuned_at_the_sizes_of_its_examples() -> None:
    lowered = Lowered("fill", TEXT, ("n", "x"), ("x",), sizes={"n": 9})
    assert options_of(lowered, None, None, budget=Budget(1.0)).sizes == {"n": 9}
    assert options_of(lowered, None, {"n": 8}, budget=Budget(1.0)).sizes == {"n": 8}


@pytest.mark.parametrize("load", [source_of, procedure_of])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x[i] =", "x[i + 1] =", "fill.txt:7: x is written outside of its bounds"),
        ("x[i] =", "x[j] =", "fill.txt:7: variable 'j' undefined"),
        ("f32[n]", "f32[n - 1]", "fill.txt: `n - 1` may be zero or less"),
        ("fill(", "int(", "fill.txt: in int, int: words of C"),
    ],
)
def test_what_exo_refuses_is_said_of_the_users_lines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    load: Callable[[Lowered], object],
    old: str,
    new: str,
    said: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = TEXT.replace(old, new)
    line = next(n for n, each in enumerate(TEXT.splitlines(), 1) if "x[i] =" in each)
    name = "int" if "int(" in text else "fill"
    lowered = Lowered(name, text, ("n", "x"), ("x",), (), {line: 7}, "fill.txt")
    for _ in range(2):
        with pytest.raises(UserError) as refusal:
            load(lowered)
        assert str(refusal.value).startswith(said)
        assert "cache" not in str(refusal.value)


@pytest.mark.normal
def test_a_running_program_is_not_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "program.py"
    program.write_text(
        TEXT + "from schedsearch.api.source import source_of\nprint(source_of(fill)[0])\n"
    )
    ended = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=60
    )
    [printed] = ended.stdout.splitlines()  # once: it was not imported
    assert Path(printed).parent.name == "procedures"


def test_anything_else_is_refused() -> None:
    with pytest.raises(UserError, match="not int"):
        source_of(3)
