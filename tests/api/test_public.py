"""What programs import: lazily, typed, described, and the same everywhere."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

import schedsearch
from schedsearch import ext
from schedsearch.core.records import Target
from schedsearch.transforms.vector.instruction_sets import excerpt

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
EXTENDING = (REFERENCE / "extending.md").read_text()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PUBLIC = {"schedsearch", "schedsearch.ext"}


def stub(module: ModuleType) -> dict[str, str]:
    """Where its stub says that names are, as `_PLACES` does."""
    assert module.__file__
    found = {}
    for stmt in ast.parse(Path(module.__file__).with_suffix(".pyi").read_text()).body:
        for name in stmt.names if isinstance(stmt, ast.ImportFrom) else ():
            assert isinstance(stmt, ast.ImportFrom)
            inside = f"{stmt.module}.{name.name}"
            is_module = (ROOT / f"{inside.replace('.', '/')}.py").exists()
            place = inside if is_module else f"{stmt.module}:{name.name}"
            if stmt.module != "typing":
                found[name.asname or name.name] = place
    return found


@pytest.mark.parametrize("module", [schedsearch, ext], ids=lambda module: module.__name__)
def test_the_stub_is_in_step(module: Any) -> None:
    assert stub(module) == module._PLACES
    assert sorted(module.__all__) == sorted({*module._PLACES} - {"ext"})


def test_the_stub_names_what_stars_import() -> None:
    [names] = [
        ast.literal_eval(stmt.value)
        for stmt in ast.parse((ROOT / "schedsearch/__init__.pyi").read_text()).body
        if isinstance(stmt, ast.Assign)
    ]
    assert names == schedsearch.__all__


def test_stubs_are_shipped() -> None:
    shipped = (ROOT / "pyproject.toml").read_text()
    for name in ("py.typed", "__init__.pyi", "ext.pyi"):
        assert (ROOT / "schedsearch" / name).exists()
        assert f'"{name}"' in shipped


@pytest.mark.normal
def test_nothing_is_loaded_before_it_is_used() -> None:
    look = "import sys, schedsearch.ext; print(sorted({'exo', 'ray', 'numpy'} & {*sys.modules}))"
    assert subprocess.check_output([sys.executable, "-c", look], text=True) == "[]\n"


def test_registers_are_extensions_and_other_names_are_none() -> None:
    assert ext.VEC_F32X16.__name__ == "VEC_F32X16"
    for module, name in ((schedsearch, "tuna"), (ext, "loop"), (ext, "VEC_X")):
        with pytest.raises(AttributeError, match=name):
            getattr(module, name)
    assert ext.Target is Target
    assert {"At", "ast"} <= {*dir(ext)}


def test_a_schedule_defines_registers_that_instructions_import_from_there() -> None:
    text = "from schedsearch.ext import VEC_F32X4\n\ndef load(dst: VEC_F32X4):\n    pass\n"
    found = excerpt(text, ["load"])
    assert found.registers == {("f32", 4)}
    assert not found.imports


# -- docstrings -----------------------------------------------------------------------------


def documented() -> dict[str, Any]:
    """Everything public, by name: what both modules offer, and what the reference describes."""
    places = [*schedsearch._PLACES.values(), *ext._PLACES.values()]
    text = (REFERENCE / "python.md").read_text()
    places += re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    found = {}
    for place in places:
        named = found_at(place.replace(":", "."))
        if isinstance(named, ModuleType):
            found |= dict(defined_in(named))
        found[place] = named
    return found


def found_at(place: str) -> Any:
    parts = place.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AssertionError(place)


def defined_in(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if own and not name.startswith("_") and (inspect.isclass(value) or callable(value)):
            yield f"{module.__name__}.{name}", value


def test_everything_public_is_described() -> None:
    missing = []
    for name, value in documented().items():
        if inspect.isclass(value):
            # dataclasses without a docstring describe themselves by their signature
            if not value.__doc__ or value.__doc__.startswith(f"{value.__name__}("):
                missing.append(name)
            missing += [
                f"{name}.{member}"
                for member, made in vars(value).items()
                if not member.startswith("_") and is_undescribed(made)
            ]
        elif inspect.isfunction(value) and not value.__doc__:
            missing.append(name)
    assert not missing


def is_undescribed(made: Any) -> bool:
    for wrapper in ("fget", "func", "__func__"):
        made = getattr(made, wrapper, made)
    return inspect.isfunction(made) and not made.__doc__


@pytest.mark.parametrize("name", ["tune", "explore", "open", "kernel", "program", "tune_recorded"])
def test_entry_points_say_what_they_raise(name: str) -> None:
    assert "Raises UserError" in getattr(schedsearch, name).__doc__


# -- who extends it -------------------------------------------------------------------------


def test_the_reference_describes_what_extensions_import() -> None:
    described = {f"{Target.__module__}:{Target.__name__}"}
    assert f"(python/records.md#{Target.__module__}.{Target.__name__})" in EXTENDING
    for place, options in re.findall(r"^::: (\S+)\n    options: (.*)$", EXTENDING, re.MULTILINE):
        members = re.search(r"members: \[(.*?)\]", options)
        names = members[1].split(", ") if members else ()
        described |= {f"{place}:{name}" for name in names} or {place}
    assert described == {*ext._PLACES.values()}


def imported(code: str) -> set[str]:
    """Modules of ours that are imported."""
    found = set()
    for stmt in ast.walk(ast.parse(code)):
        if isinstance(stmt, ast.Import):
            found |= {each.name for each in stmt.names}
        elif isinstance(stmt, ast.ImportFrom):
            found.add(stmt.module or "")
    return {name for name in found if name.split(".")[0] == "schedsearch"}


def code_of(path: Path) -> str:
    if path.suffix == ".md":
        return "\n".join(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize(
    "path", [REFERENCE / "extending.md", *NOTEBOOKS], ids=lambda path: path.stem
)
def test_examples_import_public_names_alone(path: Path) -> None:
    found = imported(code_of(path))
    assert found
    assert found <= PUBLIC
