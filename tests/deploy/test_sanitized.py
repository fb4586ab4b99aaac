"""No call writes or reads out of bounds, as AddressSanitizer sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import schedsearch

pytestmark = pytest.mark.slow


def sanitized(home: Path, calls: str) -> subprocess.CompletedProcess[str]:
    ask = ["gcc", "-print-file-name=libasan.so"]
    library = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip("gcc has no libasan here")
    tests = Path(__file__).parents[1]
    own = {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps much to its end
        "PYTHONMALLOC": "malloc",
        "XDG_CACHE_HOME": str(home),
        "PYTHONPATH": os.pathsep.join([str(Path(schedsearch.__file__).parents[1]), str(tests)]),
    }
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("sanitized.py")), calls],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_random_calls_stay_within_bounds(tmp_path: Path) -> None:
    ended = sanitized(tmp_path, "10000")
    assert ended.returncode == 0, ended.stderr
    returned, refused = map(int, ended.stdout.split())
    assert returned > 1000
    assert refused > 1000
    assert returned + refused >= 9000  # hypothesis may run out of new ones


def test_a_caller_that_checks_no_shapes_is_found_out(tmp_path: Path) -> None:
    ended = sanitized(tmp_path, "fault")
    assert ended.returncode != 0
    # past the end of an array there may be one that was freed
    assert re.search(r"AddressSanitizer: heap-(buffer-overflow|use-after-free)", ended.stderr)
