"""Names, and what they stand for where a statement stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends.c.affine.knowledge import Knowledge
from schedsearch.frontends.c.c_types import INT, CType, Unsupported
from schedsearch.frontends.c.declarations import base_type
from schedsearch.frontends.c.symbols import Known, Operand, Symbol
from schedsearch.frontends.c.trees import is_constant


@dataclass
class File:
    """A file's definitions."""

    path: str
    typedefs: dict[str, Any]
    functions: dict[str, c_ast.FuncDef]
    variables: dict[str, c_ast.Decl]
    enumerators: dict[str, int]
    declarations: dict[str, Any]
    """What declares each type, enumerator and variable, in order."""


class Scopes(Knowledge, ABC):
    """Variables of the blocks around, of the function, and of its file."""

    def __init__(self, file: File) -> None:
        super().__init__(file.path)
        self.file = file
        self.scopes: list[dict[str, Symbol]] = [{}]
        self.numbers: Known = {}

    @abstractmethod
    def expr(self, node: Any) -> Operand:
        """The value of an expression. Raises UserError for what kernels do not have."""

    @abstractmethod
    def converted(self, operand: Operand, kind: CType, node: Any) -> Operand:
        """As by a cast or an assignment."""

    def named(self, name: str) -> Symbol | None:
        """A variable of the function."""
        return next((each[name] for each in reversed(self.scopes) if name in each), None)

    def lookup(self, node: c_ast.ID) -> Symbol:
        found = self.named(node.name)
        if found is not None:
            return found
        if node.name in self.file.enumerators:
            return Operand(INT, q.Affine(self.file.enumerators[node.name]))
        if node.name in self.file.variables:
            return self.global_variable(node)
        if node.name in ("INFINITY", "NAN", "HUGE_VAL", "HUGE_VALF"):
            reason, instead = "kernels have finite constants only", "use a number, or FLT_MAX"
            raise self.refusal(node, node.name, reason, instead)
        if node.name in self.file.declarations:
            reason = "its value is no constant expression of `int` that can be read here"
            raise self.refusal(node, f"enumerator {node.name}", reason, "write the number")
        raise self.refusal(node, node.name, "it is not declared", "declare it in the function")

    def global_variable(self, node: c_ast.ID) -> Symbol:
        decl = self.file.variables[node.name]
        scalar = isinstance(decl.type, c_ast.TypeDecl)
        if not is_constant(decl):
            raise self.refusal(
                node,
                f"global variable {node.name}",
                "a kernel has its arguments and local variables only",
                "pass it as a parameter, or make it const",
            )
        if not scalar or decl.init is None:
            raise self.refusal(
                node,
                f"global array {node.name}",
                "a kernel has its arguments and local variables only",
                "pass it as a parameter",
            )
        scopes, self.scopes = self.scopes, [{}]
        try:
            return self.converted(self.expr(decl.init), self.type_of(decl.type), decl)
        finally:
            self.scopes = scopes

    def type_of(self, node: Any) -> CType:
        try:
            return base_type(node, self.file.typedefs)
        except Unsupported as error:
            raise self.refusal(node, *error.parts) from None
