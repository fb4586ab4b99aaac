"""Statements and blocks of them."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends.c import constants
from schedsearch.frontends.c.c_types import ULONG, Unsupported
from schedsearch.frontends.c.jumps import returning
from schedsearch.frontends.c.loops.bodies import Loops
from schedsearch.frontends.c.plain import Loop, loops_over
from schedsearch.frontends.c.storage import Block
from schedsearch.frontends.c.symbols import Number
from schedsearch.frontends.c.trees import STEPS, has_effects, names_in, places

_NO_DATA = {
    c_ast.Break: (
        "break",
        "how often loops run is known before, unless `if (c) break;` is their first statement",
        "put a bound into the loop",
    ),
    c_ast.Continue: ("continue", "it is within another branch", "put the rest into an `if`"),
    c_ast.Return: ("return", "something comes after it", "use `if` and `else`"),
    c_ast.Goto: ("goto", "kernels have no jumps", "use loops and conditions"),
    c_ast.Label: ("label", "kernels have no jumps", "use loops and conditions"),
    c_ast.Switch: ("switch", "kernels have no jumps", "use `if` and `else`"),
}


class Statements(Loops):
    """The translation of a function, as far as statements go."""

    def block(self, node: Any) -> Block:
        """The statements of a block, or of a statement in the place of one."""
        self.scopes.append({})
        try:
            items = node.block_items or [] if isinstance(node, c_ast.Compound) else [node]
            return [out for each in items for out in self.statement(each)]
        finally:
            self.scopes.pop()

    def statement(self, node: Any) -> Block:
        try:
            return self._any_statement(node)
        except Unsupported as error:
            raise self.refusal(node, *error.parts) from None

    def _any_statement(self, node: Any) -> Block:
        if isinstance(node, c_ast.DoWhile) and constants.value_of(node.cond, {}) == 0:
            return self.block(node.stmt)  # as macros of several statements have it
        if type(node) in _NO_DATA:
            raise self.refusal(node, *_NO_DATA[type(node)])
        match node:
            case None | c_ast.Pragma() | c_ast.EmptyStatement() | c_ast.Typedef():
                return []
            case c_ast.Compound():
                return self.block(node)
            case c_ast.Decl():
                return self.declaration(node)
            case c_ast.DeclList():
                return [each for decl in node.decls for each in self.declaration(decl)]
            case _:
                return self.split(lambda: self._statement(node), node)

    def _statement(self, node: Any) -> Block:
        match node:
            case c_ast.Assignment():
                return self.expression(node)
            case c_ast.UnaryOp() if node.op in STEPS:
                return self.expression(node)
            case c_ast.ExprList():
                return [out for each in node.exprs for out in self.statement(each)]
            case Loop():
                return self.loop(node)
            case c_ast.DoWhile():
                return self.at_least_once(node)
            case c_ast.If():
                return self.branch(node)
            case c_ast.FuncCall():
                return self._called(node)
            case c_ast.Cast():  # `(void)n;`
                return self.statement(node.expr) if has_effects(node.expr) else []
            case c_ast.ID() | c_ast.Constant():
                return []
            case _:
                raise self.refusal(
                    node,
                    type(node).__name__,
                    "kernels have no such statement",
                    "use assignments, loops and conditions",
                )

    def _called(self, node: c_ast.FuncCall) -> Block:
        """A call as a statement: of a function of the file, inlined."""
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        if name in ("memset", "memcpy") and name not in self.file.functions:
            return self._memory(name, node)
        if name == "free" and name not in self.file.functions:
            return self._freed(node)
        if name not in self.file.functions:
            raise self.refusal(
                node,
                f"call of {name or 'a pointer'}",
                "neither this file nor kernels have the function",
                "define it as a static function of the file",
            )
        function = self.file.functions[name]
        args = list(node.args.exprs) if node.args is not None else []
        outer, self.places = self.places, places(function, self.file.functions)
        try:
            before: Block = []
            with self.entered(name, args, node, before):
                before += self.unused(function)
                return [*before, *self.block(returning(function.body))]
        finally:
            self.places = outer

    def _freed(self, node: c_ast.FuncCall) -> Block:
        """Nothing: memory of the function's own ends with its block."""
        args = list(node.args.exprs) if node.args is not None else []
        what = args[0] if len(args) == 1 else node
        while isinstance(what, c_ast.Cast):
            what = what.expr
        place = self.pointer(what)
        if place is None or place.base not in self.memory:
            reason = "its argument is no memory that the function allocates"
            raise self.refusal(node, "free", reason, "free it where the function is called")
        return []

    def _memory(self, name: str, node: c_ast.FuncCall) -> Block:
        """`memset(x, 0, bytes)` and `memcpy(x, y, bytes)` as loops over elements."""
        args = list(node.args.exprs) if node.args is not None else []
        place = self.pointer(args[0]) if len(args) == 3 else None
        source = self.pointer(args[1]) if len(args) == 3 and name == "memcpy" else None
        if place is None or (name == "memcpy" and source is None):
            raise self.refusal(
                node, name, "its arguments are no places in arrays", "write a loop of assignments"
            )
        if source is not None and (source.base.type, source.inner) != (
            place.base.type,
            place.inner,
        ):
            raise self.refusal(
                node, name, "the arrays have other types or shapes", "write a loop of assignments"
            )
        value = args[1]
        if source is None and self.affine(value, f"value of {name}") != q.Affine():
            raise self.refusal(node, name, "its value is not 0", "write a loop of assignments")
        first = c_ast.Constant("int", "0", node.coord)
        size = self.expr(c_ast.UnaryOp("sizeof", c_ast.ArrayRef(args[0], first), node.coord))
        length = self.whole(args[2], f"length of {name}")
        try:
            rest = self.binary("%", length, size, node).value
        except Unsupported:  # not known
            rest = None
        if rest != q.Affine():
            reason = "its length is no multiple of what an element takes"
            raise self.refusal(node, name, reason, "write a loop of assignments")
        used = names_in(node)
        names = [f"e{n}" for n in range(99) if f"e{n}" not in used][: 1 + len(place.inner)]
        self.scopes.append({each: Number(each, ULONG) for each in names})
        try:
            return self.loop(loops_over(args[0], value, args[2], names, source is not None))
        finally:
            self.scopes.pop()
