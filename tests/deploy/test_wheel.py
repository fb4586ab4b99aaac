"""`schedsearch build --wheel`: kernels on arrays, without schedsearch."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from schedsearch.deploy.library.building import Ordered, build
from schedsearch.locks.entry import Lock
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen, read_lock, write_lock

from .locked import copied, entry

pytestmark = pytest.mark.normal  # kernels are compiled and verified

SIZES = {"M": 32, "N": 32, "K": 32}


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("kernels")
    file = copied(home)
    entries = [
        entry(file, "matmul", SIZES, "register_block"),
        entry(file, "row", {"n": 8, "m": 64}, "vectorise"),
        entry(file, "through_static", {"n": 8}, "vectorise"),
        entry(file, "windows", {"n": 8, "m": 8}, "reorder"),
    ]
    write_lock(home / "schedules.lock", Lock().having(entries))
    return home / "schedules.lock"


def built(lock: Path, out: Path) -> Path:
    chosen = Chosen(lock, read_lock(lock).entries)
    where = Where(named=(lock.parent,))
    found = build(chosen, where, Ordered("fast", "1.2", out, wheel=True), lambda text: None)
    assert found.left_out == ()
    return found.path


@pytest.fixture(scope="module")
def wheel(lock: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(lock, tmp_path_factory.mktemp("wheels") / "out")


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip installed it, without a network."""
    folder = tmp_path_factory.mktemp("site")
    install = ["install", "--quiet", "--no-index", "--no-deps", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(wheel)], check=True)
    return folder


def python(site: Path, text: str, **environment: str) -> Any:
    """What a program prints as JSON, which has NumPy and the wheel, and no schedsearch."""
    numpy = Path(__import__("numpy").__file__).parents[1]
    only = site.parent / f"{site.name}-numpy"
    only.mkdir(exist_ok=True)
    for each in numpy.glob("numpy*"):
        if not (only / each.name).exists():
            (only / each.name).symlink_to(each)
    own = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(map(str, (site, only)))}
    command = [sys.executable, "-S", "-c", text]
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_but_numpy_is_loaded(site: Path) -> None:
    loaded = python(
        site,
        "import numpy, sys; before = set(sys.modules)\n"
        "import fast, json; print(json.dumps(sorted(set(sys.modules) - before)))",
    )
    modules = ("fast._module_matmul", "fast._module_row", "fast._refusals")
    assert set(modules) <= set(loaded)
    own = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert own == {"fast"}


CALLS = """
import json, fast
import numpy as np
rng = np.random.default_rng(0)
names = []
for m, n, k in rng.integers(1, 50, (30, 3)).tolist():
    a, b = (rng.integers(-9, 9, s).astype("f4") for s in ((m, k), (k, n)))
    c = np.zeros((m, n), "f4")
    assert fast.matmul(c, a, B=b) is None
    assert (c == a @ b).all()
    names.append(fast.variant(fast.matmul, c, a, b))
out, x = np.zeros(40, "i4"), rng.integers(0, 9, (6, 40)).astype("i4")
fast.row(out, x, k=3, twice=True)
assert (out == 2 * x[3]).all()
whole = np.arange(24.0).reshape(4, 6)
even, odd = whole[:, ::2], whole[:, 1::2]
wanted = even + 2 * odd
fast.windows(2.0, even, odd)
assert (even == wanted).all()
manifest = fast.manifest()["procedures"]["matmul"]["variants"]
assert set(names) <= set(manifest)
tiny = np.full(9, 1e-40, "f4") * np.float32(1)
print(json.dumps([fast.isa(), sorted(set(names)), bool((tiny > 0).all()), fast.__version__]))
"""


def test_calls(site: Path) -> None:
    level, names, denormals, version = python(site, CALLS)
    assert names == [level]
    assert denormals
    assert version == "1.2"
    level, names, denormals, _ = python(site, CALLS, FAST_ISA="sse2")
    assert names == [level]


REFUSED = """
import json, fast
import numpy as np
a, c = np.zeros((4, 4), "f4"), np.zeros((4, 4), "f4")
x = np.zeros((3, 8), "i4")
said = []
for call in (
    lambda: fast.matmul(c, a, a.astype("f8")),
    lambda: fast.matmul(c, a, a[:3]),
    lambda: fast.matmul(c, a, c),
    lambda: fast.matmul(c, a),
    lambda: fast.matmul(c, a, a, a),
    lambda: fast.row(x[0], x, twice=True),
    lambda: fast.row(np.zeros(8, "i4"), x, k=9, twice=True),
    lambda: fast.windows(1.0, c.astype("f8")[:0], a.astype("f8")[:0]),
    lambda: fast.variant(fast.matmul, c, a, a[:3]),
    lambda: fast.variant(print, c, a, a),
):
    try:
        call()
    except (TypeError, ValueError) as error:
        said.append(f"{type(error).__name__}: {error}")
assert not c.any()
print(json.dumps(said))
"""


def test_refusals_are_those_of_kernels(site: Path) -> None:
    assert python(site, REFUSED) == [
        "TypeError: matmul, argument B: wanted float32 array of shape (K, N); "
        "got float64 array of shape (4, 4)",
        "ValueError: matmul, argument B: wanted shape (K, N) with M=4, N=4, K=4; got shape (3, 4)",
        "ValueError: matmul, argument C: wanted an output apart from all other arguments; "
        "got memory of B too",
        "TypeError: matmul, argument B: wanted float32 array of shape (K, N); got nothing",
        "TypeError: matmul: wanted 3 arrays by position (C, A, B); got 4",
        "TypeError: row, argument k: wanted an integer of 32 bits, as k=..., because no shape "
        "tells it; got nothing",
        "ValueError: row: wanted k < n + 1; got n=2, m=8, k=9, twice=1",
        "ValueError: windows: wanted n >= 1; got n=0, m=4",
        "ValueError: matmul, argument B: wanted shape (K, N) with M=4, N=4, K=4; got shape (3, 4)",
        "TypeError: <built-in function print> is no kernel of fast: it has matmul, row, "
        "through_static, windows",
    ]


def test_the_record_is_right(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (own,) = (name for name in names if name.endswith(".dist-info/RECORD"))
        rows = {row[0]: row[1:] for row in csv.reader(archive.read(own).decode().splitlines())}
        assert set(rows) == set(names)
        for name in set(names) - {own}:
            digest = hashlib.sha256(archive.read(name)).digest()
            text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            assert rows[name] == [f"sha256={text}", str(len(archive.read(name)))]
    python_ = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.startswith(f"fast-1.2-{python_}-{python_}-linux_")


def test_the_same_lock_gives_the_same_bytes(
    lock: Path, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing was compiled before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert built(lock, tmp_path / "out").read_bytes() == wheel.read_bytes()
    assert (tmp_path / "cache").is_dir()


def test_help_tells_what_to_give(site: Path) -> None:
    text = python(site, "import fast, json; print(json.dumps(fast.__doc__))")
    assert (
        "\nmatmul(C, A, B, *, M=..., N=..., K=...)\n    C: float32 array of shape (M, N)\n" in text
    )
    assert "*, n=..., m=..., k, twice)\n" in text


TYPED = """
import fast
import numpy as np
a = np.zeros((4, 4), np.float32)
fast.matmul(a, a, B=bytearray(64), M=np.int64(4))
fast.row(a, a, k=1, twice=False)
fast.windows(2.0, a, a)
name: str = fast.variant(fast.matmul, a, a, a) + fast.isa()
fast.row(a, a, twice=False)
fast.matmul(a, a, "text")
"""


def test_type_checkers_know_the_kernels(site: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(TYPED)
    mypy = ["-m", "mypy", "--strict", "--no-incremental", "--config-file=", "user.py"]
    own = {**os.environ, "MYPYPATH": str(site)}
    command = [sys.executable, *mypy]
    done = subprocess.run(
        command, cwd=tmp_path, env=own, capture_output=True, text=True, check=False
    )
    errors = [
        line.partition(": error: ") for line in done.stdout.splitlines() if ": error: " in line
    ]
    assert [where for where, _, _ in errors] == ["user.py:9", "user.py:10"], done.stdout
