"""Procedures with some of their sizes bound to constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exo.stdlib.scheduling import rename

from schedsearch.core.errors import UserError
from schedsearch.core.records import specialized_name
from schedsearch.transforms.exo.compat import EXO_ERRORS, prepare
from schedsearch.transforms.exo.messages import said


def specialize(procedure: Any, fixed: Mapping[str, int]) -> Any:
    """The procedure without the arguments `fixed`, named after them; itself if there are none.

    Raises UserError if Exo cannot bind them.
    """
    if not fixed:
        return procedure
    prepare()
    try:
        bound = procedure.partial_eval(**fixed)
        return rename(bound, specialized_name(procedure.name(), fixed))
    except EXO_ERRORS as error:
        raise UserError(f"Exo cannot bind sizes of {procedure.name()}: {said(error)}") from error


def specialize_lines(name: str, fixed: Mapping[str, int]) -> list[str]:
    """The same as lines of Exo scheduling code, `p` being the procedure `name`."""
    if not fixed:
        return []
    values = ", ".join(f"{size}={value}" for size, value in fixed.items())
    return [f"p = p.partial_eval({values})", f'p = rename(p, "{specialized_name(name, fixed)}")']
