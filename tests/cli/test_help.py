"""Help that can be read on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import typer

from schedsearch.cli import main

from .invoke import Answer

COMMANDS = tuple(typer.main.get_command(main.app).commands)


def test_help_names_every_command(run: Callable[..., Answer]) -> None:
    answer = run("--help")
    assert answer.code == 0
    for command in COMMANDS:
        assert f" {command} " in answer.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run: Callable[..., Answer], command: str) -> None:
    answer = run(command, "--help")
    assert answer.code == 0
    assert f"Usage: schedsearch {command}" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    # Markup that was meant for the terminal, not for the reader.
    assert "[bold]" not in answer.out
    assert "[[" not in answer.out


def test_the_version(run: Callable[..., Answer]) -> None:
    answer = run("--version")
    assert answer.code == 0
    assert answer.out.startswith("schedsearch ")
