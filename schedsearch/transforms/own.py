"""Transforms that are not in the library: a notebook or a program defines and registers them.

Their process knows them, and the workers that it starts. A store keeps their text, so that what
a schedule was made by can be read later; it is never executed from there.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from textwrap import dedent
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.transforms.registry import LIBRARY, Transform, registry


def register(transform: Transform) -> None:
    """Make a transform known to this process: by name, and among all transforms.

    One of the same name that was registered before is replaced. Raises UserError for what
    could not be told from another transform later, or not be read again: a name of the
    library, or functions whose text Python does not have.
    """
    name, version = transform.name, transform.version
    if not name.isidentifier():
        raise UserError(f"a transform is named by letters, digits and _, not {name!r}")
    if name in LIBRARY:
        raise UserError(f"{name} is a transform of the library; choose another name")
    if not isinstance(version, int) or version < 1:
        raise UserError(f"the version of {name} is an integer from 1 on, not {version!r}")
    definition(transform)
    install([transform])


def install(transforms: Iterable[Transform]) -> None:
    """Registered elsewhere, known here from now on."""
    registry().update((transform.name, transform) for transform in transforms)


def own(transforms: Iterable[Transform]) -> tuple[Transform, ...]:
    """Those that are not in the library."""
    return tuple(transform for transform in transforms if transform.name not in LIBRARY)


def definition(transform: Transform) -> str:
    """The text of its two functions, without comments and layout. What they call, and what else
    they take from their module, is not in it. Raises UserError if Python does not have it."""
    return "\n\n\n".join(
        _text(transform.name, part) for part in (transform.propose, transform.steps)
    )


def definitions(transforms: Iterable[Transform]) -> dict[str, str]:
    """Of those that are not in the library, by name: what they are, for later ones."""
    return {each.name: f"# version {each.version}\n{definition(each)}" for each in own(transforms)}


def _text(name: str, part: Callable[..., Any]) -> str:
    try:
        return ast.unparse(ast.parse(dedent(inspect.getsource(part))))
    except (OSError, TypeError, SyntaxError) as error:
        raise UserError(
            f"the text of {name} is needed, so that its schedules can be made again later: give "
            f"functions that `def` defines in a notebook or a file, not {part!r}"
        ) from error
