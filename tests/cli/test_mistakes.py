"""What is wrong with a transform does not end the search."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.trace import Rewrite
from schedsearch.transforms.registry import Transform

from .invoke import KERNELS, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]


def test_a_mistake_is_told_and_the_search_goes_on(
    run: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rewrites(transform: Transform, *given: Any) -> Iterator[Rewrite]:
        if transform.name == "split":
            raise ZeroDivisionError("in vain")
        return of_each(transform, *given)

    of_each = Transform.rewrites
    monkeypatch.setattr(Transform, "rewrites", rewrites)
    shutil.copy(KERNELS / "externs.py", tmp_path)
    tune = ("externs.py", "sines", "--executor", "inline", "--budget", "150", "--trials", "2")
    done = run("run", *tune, "--transforms", "split,place")
    assert done.code == 0, done.err
    told = r"a mistake in `split`: ZeroDivisionError in test_mistakes.py:\d+: in vain"
    assert len(re.findall(f"^{told}; please report it$", done.out, re.MULTILINE)) == 1
    (fault,) = json.loads(
        run("run", *tune, "--transforms", "split,place", "--fresh", "--json").out
    )["faults"]
    assert re.fullmatch(told, fault)
