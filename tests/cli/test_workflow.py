"""The workflow that users copy (docs/ci/github-actions.yml)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .invoke import Answer

FILE = Path(__file__).parents[2] / "docs" / "ci" / "github-actions.yml"


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())["jobs"]["check"]["steps"]
    return found


def script() -> str:
    (found,) = (str(step["run"]) for step in steps() if step.get("name") == "Check")
    return found


def test_actions_are_pinned_to_commits() -> None:
    actions = [str(step["uses"]) for step in steps() if "uses" in step]
    assert len(actions) == 4
    for action in actions:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action)


def test_it_uses_options_that_there_are(run: Callable[..., Answer]) -> None:
    (options,) = re.findall(r"schedsearch check (.*) \|\|", script())
    known = run("check", "--help").out
    for option in re.findall(r"--\w+", options):
        assert f" {option} " in known


@pytest.mark.parametrize(
    ("code", "job", "says"),
    [(0, 0, ""), (1, 1, ""), (2, 2, ""), (4, 4, ""), (3, 0, "::warning::"), (5, 0, "::notice::")],
)
def test_what_says_nothing_about_the_code_does_not_fail_the_job(
    code: int, job: int, says: str, tmp_path: Path
) -> None:
    command = tmp_path / "schedsearch"
    command.write_text(f"#!/bin/sh\nexit {code}\n")
    command.chmod(0o755)
    shell = ["bash", "-e", "-c", script()]  # as runners do where no `shell:` is given
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(shell, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == job
    assert done.stdout.startswith(says)
