"""Statements that a rewrite holds while its operators move them about."""

from __future__ import annotations

from typing import Any, TypeAlias

from exo.API_cursors import StmtCursor
from exo.core.internal_cursors import InvalidCursorError

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, OpArg, Steps, cursor_at

Cursor: TypeAlias = Any
"""An Exo cursor of a statement, of the procedure now or before any of the operators so far."""


class Cursors:
    """The procedure inside a rewrite. Exo forwards cursors through its operators: a cursor means
    the same statement until that is gone. Paths are of the procedure as it is at the moment."""

    def __init__(self, procedure: Any) -> None:
        self.procedure = procedure

    @property
    def ast(self) -> q.Proc:
        """The query AST of the procedure as it is now."""
        return mirror(self.procedure)

    def at(self, path: q.Path) -> Cursor:
        """Raises RewriteError if there is no statement."""
        return cursor_at(self.procedure, path)

    def path(self, cursor: Cursor, *inside: int) -> q.Path:
        """Where the statement is, or one inside of it. Raises RewriteError if it is gone, or if
        Exo cannot tell after so many edits."""
        try:
            now = self.procedure.forward(cursor)._impl._path
        except InvalidCursorError as error:
            raise RewriteError("the statement is gone") from error
        except RecursionError as error:
            raise RewriteError(str(error)) from error
        found: list[int | str] = []
        for branch, position in now:
            found += ["e", position] if branch == "orelse" else [position]
        return (*found, *inside)

    def stmt(self, cursor: Cursor) -> q.Stmt:
        """The statement as it is now."""
        return self.ast.by_path[self.path(cursor)]

    def do(self, operator: str, *args: Cursor | OpArg, **kwargs: OpArg) -> Steps:
        """Apply one operator; a cursor among its arguments stands for its statement."""
        given = [At(self.path(arg)) if isinstance(arg, StmtCursor) else arg for arg in args]
        self.procedure = yield Op(operator, tuple(given), tuple(kwargs.items()))
