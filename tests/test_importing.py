"""Importing schedsearch leaves the process as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "importing.py"

pytestmark = pytest.mark.normal


def changed_by(action: str) -> tuple[list[str], list[int]]:
    """What a process sees change, and how it collects garbage afterwards."""
    said = subprocess.check_output([sys.executable, SCRIPT, action], text=True)
    names, numbers = said.splitlines()
    return names.split(), [int(number) for number in numbers.split()]


@pytest.mark.normal
def test_importing_changes_nothing() -> None:
    assert changed_by("import")[0] == []


@pytest.mark.normal
def test_what_is_changed_is_seen() -> None:
    changed, (frozen, threshold) = changed_by("prepare")
    for key in ("gc", "rlimit", "ctrl_c", "exo.rewrite.new_eff.get_basic_locsets"):
        assert key in changed
    assert frozen > 50_000  # what is loaded is not searched for garbage
    assert threshold > 10_000
