"""A wheel and a source archive have all that the command needs, without a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import numpy
import pytest

from schedsearch import __version__

from .invoke import KERNELS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PARTS = ("schedsearch", "pyproject.toml", "README.md", "LICENSE")
RUN = ("--executor", "inline", "--budget", "150s", "--trials", "1", "--transforms", "reorder")


def run(*command: str | Path, home: Path, path: str = "") -> str:
    """What the command prints; run in the directory `home`, which is the user's home too."""
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": path, "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Built from a copy, so that nothing is left in the checkout. No network is used."""
    home = tmp_path_factory.mktemp("release")
    source = home / "source"
    source.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part)
        else:
            shutil.copy(ROOT / part, source)
    build = "import sys; from setuptools import build_meta as b; getattr(b, sys.argv[1])('..')"
    run(sys.executable, "-c", build, "build_wheel", home=source)
    run(sys.executable, "-c", build, "build_sdist", home=source)
    [wheel], [sdist] = home.glob("*.whl"), home.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def files(folder: Path) -> set[str]:
    paths = (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc")
    return {str(path.relative_to(folder)) for path in paths}


def test_a_wheel_has_every_file_of_the_package(archives: dict[str, Path]) -> None:
    names = set(ZipFile(archives["wheel"]).namelist())
    assert archives["wheel"].name.startswith(f"schedsearch-{__version__}-")
    missing = {f"schedsearch/{name}" for name in files(ROOT / "schedsearch")} - names
    assert not missing
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_runs_in_an_empty_environment(
    archives: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    """Dependencies are those of the tests: they are found, but no `.pth` file of theirs counts,
    such as the one that makes a checkout importable."""
    alone = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")
    installed = tmp_path / "installed"
    pip = (sys.executable, "-m", "pip", "install", *alone, "--target", installed)
    run(*pip, archives[kind], home=tmp_path)
    venv.create(tmp_path / "empty", symlinks=True)
    path = os.pathsep.join([str(installed), str(Path(numpy.__file__).parents[1])])

    def command(*args: str) -> str:
        script = installed / "bin" / "schedsearch"
        return run(tmp_path / "empty/bin/python", script, *args, home=tmp_path, path=path)

    assert command("--version").strip() == f"schedsearch {__version__}"
    where = "import schedsearch; print(schedsearch.__file__)"
    found = run(tmp_path / "empty/bin/python", "-c", where, home=tmp_path, path=path)
    assert Path(found.strip()).is_relative_to(installed)

    shutil.copy(KERNELS / "matmul32.py", tmp_path)
    assert "Verified" in command("run", "matmul32.py", *RUN)  # C runtime, migrations
    command("report", "--out", "report.html")  # web files
    assert (tmp_path / "report.html").stat().st_size
