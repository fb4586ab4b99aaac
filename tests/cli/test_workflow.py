"""The action of this repository, and the workflow with it that users copy."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .invoke import Answer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / "docs" / "ci" / "github-actions.yml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
JOB: list[dict[str, Any]] = WORKFLOW["jobs"]["check"]["steps"]
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
GH = """#!/bin/sh
echo "gh $*" | head -n 1 >> calls
for last; do :; done
case "$*" in
  *--jq*) [ ! -f earlier ] || echo 77 ;;
  *) printf '%s\\n' "$@" | sed -n '/^body=/,$p' > body; exit "$ALLOWED" ;;
esac
"""


def step(name: str) -> str:
    (found,) = (str(each["run"]) for each in STEPS if each.get("name") == name)
    return found


def ran(
    name: str, tmp_path: Path, programs: dict[str, str], **env: str
) -> subprocess.CompletedProcess[str]:
    """A step as runners run it, with these programs on the path."""
    for program, text in programs.items():
        (tmp_path / program).write_text(text)
        (tmp_path / program).chmod(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin", **env}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)]
    return subprocess.run(
        shell, env=path, cwd=tmp_path, capture_output=True, text=True, check=False
    )


def test_actions_are_pinned_to_commits() -> None:
    actions = [str(each["uses"]) for each in (*JOB, *STEPS) if "uses" in each]
    assert len(actions) == 5
    actions.remove("OWNER/schedsearch@COMMIT")
    for action in actions:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action)


def test_inputs_and_options_are_those_that_there_are(run: Callable[..., Answer]) -> None:
    (own,) = (each["with"] for each in JOB if each.get("uses") == "OWNER/schedsearch@COMMIT")
    assert own.keys() <= ACTION["inputs"].keys()
    used = " ".join((own["options"], step("Check")))
    known = run("check", "--help").out
    options = re.findall(r"--\w+", used)
    assert len(options) == 3
    for option in options:
        assert f" {option} " in known
    for text in re.findall(r"\$\{\{ inputs\.(\w+)", str(STEPS)):
        assert text in ACTION["inputs"]


def test_no_step_has_text_of_others_in_its_script() -> None:
    """`${{ }}` would put it there before the shell reads it."""
    assert not any("${{" in str(each.get("run", "")) for each in STEPS)


def test_the_check_keeps_its_exit_code_and_its_table(tmp_path: Path) -> None:
    words = '#!/bin/sh\nprintf "%s\\n" "$@" > words\nexit 6\n'
    env = {"PATHS": "a b", "OPTIONS": "--json x", "TABLE": "t.md", "GITHUB_OUTPUT": "output"}
    done = ran("Check", tmp_path, {"schedsearch": words}, **env)
    assert done.returncode == 0, done.stderr
    given = (tmp_path / "words").read_text().split()
    assert given == ["check", "a", "b", "--json", "x", "--markdown", "t.md"]
    assert (tmp_path / "output").read_text() == "exit-code=6\n"


@pytest.mark.parametrize(
    ("code", "job", "says"),
    [
        *((code, code, "") for code in (0, 1, 2, 4, 6, 70)),
        (3, 0, "::warning::"),
        (5, 0, "::notice::"),
    ],
)
def test_what_says_nothing_about_the_code_does_not_fail_the_job(
    code: int, job: int, says: str, tmp_path: Path
) -> None:
    done = ran("Result", tmp_path, {}, CODE=str(code))
    assert done.returncode == job
    assert done.stdout.startswith(says)


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("allowed", [0, 1])
def test_one_comment_is_kept(earlier: bool, allowed: int, tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("### schedsearch check\n| `$(touch no)` |\n")
    if earlier:
        (tmp_path / "earlier").touch()
    env = {"COMMENTS": "issues/1/comments", "COMMENT": "comments", "TABLE": "t.md"}
    done = ran("Comment", tmp_path, {"gh": GH}, ALLOWED=str(allowed), **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::notice::") == bool(allowed)
    call = (tmp_path / "calls").read_text().splitlines()[-1]
    wanted = "--method PATCH comments/77" if earlier else "--method POST issues/1/comments"
    assert wanted in call
    body = (tmp_path / "body").read_text()
    assert body.startswith("body=<!-- schedsearch check -->\n### schedsearch check\n")
    assert "`$(touch no)`" in body
    assert "no" not in os.listdir(tmp_path)


def test_without_a_table_there_is_no_comment(tmp_path: Path) -> None:
    done = ran("Comment", tmp_path, {"gh": GH}, TABLE="t.md", ALLOWED="0")
    assert done.returncode == 0
    assert not (tmp_path / "calls").exists()
