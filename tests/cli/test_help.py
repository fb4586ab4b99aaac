"""Help that can be read on a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import typer

from schedsearch.cli import main

from .invoke import Answer

ALL = typer.main.get_command(main.app).commands
COMMANDS = tuple(ALL)

MANY = 8
"""Options, from which on a help without panels is a wall."""


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
    described = ALL[command]
    texts = [described.help, *(getattr(each, "help", None) for each in described.params)]
    shown = _flowing(answer.out)
    for text in filter(None, texts):
        # `[notebook]` would be markup, and not be shown
        plain = text.replace("[bold]", "").replace("[/]", "").replace("\\[", "[")
        assert _flowing(plain) in shown


def _flowing(text: str) -> str:
    """Without frames, columns and line breaks: a long description has its lines in a column of its
    own, and a word of the column before it in some of them."""
    return re.sub(r"[\s\u2500-\u257f]+", "", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_long_commands_are_in_panels(command: str) -> None:
    own = [each for each in ALL[command].params if each.param_type_name == "option"]
    apart = [each.name for each in own if not getattr(each, "rich_help_panel", None)]
    if len(own) >= MANY:
        assert apart == []


@pytest.mark.parametrize("command", COMMANDS)
def test_what_an_option_takes_has_a_name_of_its_own(command: str) -> None:
    for each in ALL[command].params:
        assert each.metavar is not None or getattr(each, "is_flag", False), each.name


def test_the_version(run: Callable[..., Answer]) -> None:
    answer = run("--version")
    assert answer.code == 0
    assert answer.out.startswith("schedsearch ")
