"""A statement as a procedure of its own, and back."""

from __future__ import annotations

from typing import Any

from exo import API_cursors
from exo.core import internal_cursors
from exo.stdlib import scheduling

from schedsearch.core.errors import RewriteError

TAKE_OUT, PUT_BACK = "extract_subproc", "call_eqv"
"""Exo's operators for it."""

NEST = "nest"


def take_out(procedure: Any, stmt: Any, name: str) -> Any:
    """The statement at a cursor as a procedure, with asserts about its arguments, if `name` is
    `NEST`; the whole with a call of it if not."""
    whole, own = scheduling.extract_subproc(procedure, stmt, name)
    own._taken_from = whole, stmt._impl._path
    return own if name == NEST else whole


def put_back(nest: Any) -> Any:
    """The procedure that a nest was taken out of, which calls it as it is now."""
    whole, path = taken_from(nest)
    call = API_cursors.lift_cursor(internal_cursors.Node(whole._loopir_proc, path), whole)
    return scheduling.call_eqv(whole, call, nest)


def taken_from(nest: Any) -> tuple[Any, list[tuple[str, int]]]:
    """The procedure that calls a nest instead of what was taken out of it, and Exo's path of the
    call. Raises RewriteError if it is no such nest."""
    while nest._provenance_eq_Procedure is not None:
        nest = nest._provenance_eq_Procedure
    if (found := getattr(nest, "_taken_from", None)) is None:
        raise RewriteError("this was not taken out of any procedure")
    whole, path = found
    return whole, path
