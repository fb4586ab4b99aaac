"""Calls of functions: those of `math.h`, and those of the file, which are inlined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, numbers
from schedsearch.frontends.c.affine.linear import Layout, Polynomial
from schedsearch.frontends.c.arithmetic import Whole
from schedsearch.frontends.c.c_types import DOUBLE, FLOAT, INT, CType
from schedsearch.frontends.c.declarations import declared
from schedsearch.frontends.c.jumps import RESULT, returning
from schedsearch.frontends.c.scopes import File
from schedsearch.frontends.c.symbols import Cursor, Data, Number, Open, Operand, Pointer, Symbol
from schedsearch.frontends.c.trees import assigned, line_of, names_in, parameters, places
from schedsearch.frontends.c.truths import Truths, chosen

_ONE = (*("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "erf", "floor", "rint"),)
_TWO = ("pow", "atan2")
MATH = {
    **{name: (name, 1) for name in _ONE},
    **{name: (name, 2) for name in _TWO},
    "fabs": ("abs", 1),
    "ceil": ("ceil", 1),
    "trunc": ("trunc", 1),
    "round": ("round", 1),
    "fmax": ("fmax", 2),
    "fmin": ("fmin", 2),
}
"""C's functions of double, and ours; an `f` at the end makes them of float."""

MOST_INLINED = 20
"""Calls within calls."""


class Calls(Truths):
    """Functions in the place of their calls."""

    def __init__(self, file: File, extents: dict[str, tuple[Layout, graph.Array]]) -> None:
        super().__init__(file, extents)
        self.calls: list[str] = []
        self.places: frozenset[str] = frozenset()
        """Names of integers that the function's indices and bounds are made of."""
        self.before: list[graph.Statement] = []
        """What has to be computed before the statement that is translated."""

    @abstractmethod
    def block(self, node: Any) -> list[graph.Statement]:
        """The statements of a block, or of a statement in the place of one."""

    def call(self, node: c_ast.FuncCall) -> Operand:
        name = node.name.name if isinstance(node.name, c_ast.ID) else "pointer to a function"
        args = list(node.args.exprs) if node.args is not None else []
        if name in self.file.functions:
            return self._inlined(name, args, node)
        single = name.endswith("f") and name[:-1] in MATH
        if single or name in MATH:
            kind = FLOAT if single else DOUBLE
            function, arity = MATH[name[:-1] if single else name]
            if len(args) != arity:
                raise self.refusal(node, name, f"it has {arity} arguments", "give these")
            values = tuple(self.data(self.expr(each), kind) for each in args)
            return Operand(kind, _function(function, values, c_types.element(kind)))
        if name == "isnan" and len(args) == 1:
            found = self.expr(args[0])
            value = self.data(found, found.type if found.type.floating else DOUBLE)
            one, zero = graph.Constant(1, "i32"), graph.Constant(0, "i32")
            return Operand(INT, graph.Select(graph.Compare("!=", value, value), one, zero))
        if name == "abs" and len(args) == 1:
            value = self.data(self.expr(args[0]), INT)
            return Operand(INT, graph.Apply("abs", (value,), "i32", ()))
        raise self.refusal(
            node,
            f"call of {name}",
            "neither this file nor kernels have the function",
            f"define it as a static function of the file, or use {', '.join(MATH)}",
        )

    def _inlined(self, name: str, args: list[Any], node: Any) -> Operand:
        """A call of a function that declares constants, and returns expressions, or of one that
        computes its result before."""
        function = self.file.functions[name]
        result = self.type_of(function.decl.type.type)
        with self.entered(name, args, node):
            found = self._returned(function.body.block_items or [], result)
        return self._computed(name, args, node, result) if found is None else found

    def _computed(self, name: str, args: list[Any], node: Any, result: CType) -> Operand:
        array = graph.Array(name, c_types.element(result))
        if self._only_types:
            return Operand(result, graph.Load(array))
        function = self.file.functions[name]
        outer, self.places = self.places, places(function, self.file.functions)
        place, self.place = self.place, replace(self.place, guards=())  # it has no effects
        body: list[graph.Statement] = []
        try:
            with self.entered(name, args, node, body):
                self.scopes[0][RESULT] = Data(array, result)
                body += self.block(returning(function.body))
        finally:
            self.places, self.place = outer, place
        body.insert(0, graph.Allocate(array, line_of(node)))
        own = {
            each.array for each in graph.statements(tuple(body)) if isinstance(each, graph.Allocate)
        }
        stores = [
            each.array for each in graph.statements(tuple(body)) if isinstance(each, graph.Store)
        ]
        if not own.issuperset(stores) or array not in stores:
            raise self.refusal(
                node,
                f"call of {name}",
                "it changes arrays, or returns nothing",
                "make it void, call it as a statement, and let it store its result",
            )
        self.before += body
        return Operand(result, graph.Load(array))

    def _returned(self, items: list[Any], result: CType) -> Operand | None:
        """What statements return; None if they do something else, or nothing."""
        outer, self.scopes = self.scopes, [*self.scopes, {}]
        try:
            for number, each in enumerate(items):
                rest = items[number + 1 :]
                match each:
                    case tuple():  # the end of a block: the scopes around it
                        self.scopes = [*each, {}]
                    case c_ast.Pragma() | c_ast.EmptyStatement():
                        pass
                    case c_ast.Decl() if each.init is not None and _is_value(each):
                        kind = self.type_of(each.type)
                        self.scopes[-1][each.name] = self.converted(
                            self.expr(each.init), kind, each
                        )
                    case c_ast.Return() if each.expr is not None:
                        return self.converted(self.expr(each.expr), result, each)
                    case c_ast.Compound():
                        inside = [*(each.block_items or []), tuple(self.scopes)]
                        return self._returned([*inside, *rest], result)
                    case c_ast.If():
                        return self._returned_either(each, rest, result)
                    case _:
                        return None
            return None
        finally:
            self.scopes = outer

    def _returned_either(self, node: c_ast.If, rest: list[Any], result: CType) -> Operand | None:
        """What a branch or what comes after it returns."""
        truth = self.truth(node.cond)
        other = [node.iffalse, *rest] if node.iffalse is not None else rest
        if isinstance(truth, bool):
            return self._returned([node.iftrue, *rest] if truth else other, result)
        pair = self._returned([node.iftrue, *rest], result), self._returned(other, result)
        if pair[0] is None or pair[1] is None:
            return None
        then, otherwise = (self.data(each, result) for each in pair if each is not None)
        return Operand(result, chosen(truth, then, otherwise))

    @contextmanager
    def entered(
        self, name: str, args: list[Any], node: Any, before: list[graph.Statement] | None = None
    ) -> Iterator[None]:
        """The scope of a function that is called, its parameters bound to the arguments: to copies
        of data, made by statements `before`, if the function has statements."""
        if name in self.calls or len(self.calls) > MOST_INLINED:
            raise self.refusal(node, f"call of {name}", "kernels do not recur", "use a loop")
        function = self.file.functions[name]
        scope: dict[str, Symbol] = {}
        self.prototyped(function)
        params = parameters(function)
        if len(params) != len(args):
            raise self.refusal(
                node, f"call of {name}", f"it has {len(params)} parameters", "give these"
            )
        written = frozenset() if before is None else assigned(function.body)
        pairs = list(zip(params, args, strict=True))
        arrays = [pair for pair in pairs if not isinstance(pair[0].type, c_ast.TypeDecl)]
        for param, arg in pairs:
            if isinstance(param.type, c_ast.TypeDecl):
                kind = self.type_of(param.type)
                value = self.converted(self.expr(arg), kind, arg)
                scope[param.name] = (
                    value if before is None else self._own(param, value, written, before)
                )
        passed = [(param, self._array(param, arg), arg) for param, arg in arrays]
        outer, self.scopes = self.scopes, [scope]
        try:
            for param, symbol, arg in passed:
                self.same_layout(param, symbol, arg)
                scope[param.name] = self.moving(param, symbol) if param.name in written else symbol
            self.calls.append(name)
            try:
                yield
            finally:
                self.calls.pop()
        finally:
            self.scopes = outer

    def unused(self, function: c_ast.FuncDef) -> list[graph.Statement]:
        """A place for a result that nobody reads."""
        kind = function.decl.type.type
        if not isinstance(kind, c_ast.TypeDecl) or getattr(kind.type, "names", 0) == ["void"]:
            return []
        result = self.type_of(kind)
        array = graph.Array("unused", c_types.element(result))
        self.scopes[0][RESULT] = Data(array, result)
        return [graph.Allocate(array, line_of(function))]

    def _own(
        self,
        param: c_ast.Decl,
        value: Operand,
        written: frozenset[str],
        before: list[graph.Statement],
    ) -> Symbol:
        """A parameter as a variable of a function that is called."""
        whole = isinstance(value.value, Whole)
        if whole and param.name not in written:
            return value
        if whole and (param.name in self.places or value.type.element is None):
            number = Number(param.name, value.type)
            self.numbers[number] = value.whole
            return number
        array = graph.Array(param.name, c_types.element(value.type))
        line = param.coord.line
        before += [
            graph.Allocate(array, line),
            graph.Store(array, (), (), self.data(value, value.type), line=line),
        ]
        return Data(array, value.type)

    def moving(self, param: c_ast.Decl, symbol: Data | Open | Pointer) -> Cursor:
        """A pointer that is a parameter, and that the function moves."""
        cursor = Cursor(param.name, param)
        none = (Polynomial(()),)
        self.numbers[cursor] = symbol if isinstance(symbol, Pointer) else Pointer(symbol, none)
        return cursor

    def prototyped(self, function: c_ast.FuncDef) -> None:
        if function.param_decls:
            raise self.refusal(
                function.decl,
                f"parameters of {function.decl.name}",
                "they are declared in C's old style, before the body",
                "declare them between the parentheses, `void f(int n, double x[n])`",
            )
        outer = self.file.enumerators.keys() | self.file.variables.keys()
        params = parameters(function)
        later = {each.name for each in params} & outer
        for each in params:  # what comes later does not hide a name of the file's here
            if hidden := sorted(later & names_in(each.type)):
                what = f"extent {hidden[0]} of {each.name}"
                reason = "a later parameter has the name"
                raise self.refusal(each, what, reason, "give the parameter another name")
            later.discard(each.name)

    def _array(self, param: c_ast.Decl, arg: Any) -> Data | Open | Pointer:
        found = self.pointer(arg)
        if found is None:
            raise self.refusal(
                arg,
                f"argument {param.name}",
                "it is no place in an array",
                "pass an array, `A + i * n`, or `&A[i]`",
            )
        return found.base if found.at == (Polynomial(()),) else found

    def same_layout(
        self, param: c_ast.Decl, symbol: Data | Open | Pointer, arg: Any, what: str = "argument"
    ) -> None:
        """C would read the same memory in another shape."""
        pointer = symbol if isinstance(symbol, Pointer) else Pointer(symbol, (Polynomial(()),))
        extents, base = declared(param, self.file.typedefs)
        inner = [self.affine(each, f"extent of {param.name}") for each in extents[1:]]
        if tuple(inner) != pointer.inner or self.type_of(base) != pointer.base.type:
            raise self.refusal(
                arg,
                f"{what} {param.name}",
                "the function declares another shape or type"
                if what == "argument"
                else "what it points to has another shape or type",
                "declare both alike",
            )


def _function(name: str, values: tuple[graph.Value, ...], kind: str) -> graph.Value:
    match name:
        case "ceil":
            negative = numbers.folded("neg", values, kind)
            return graph.Apply("neg", (graph.Apply("floor", (negative,), kind, ()),), kind, ())
        case "trunc":
            [x] = values
            above, below = (_function(each, values, kind) for each in ("ceil", "floor"))
            return graph.Select(graph.Compare("<", x, graph.Constant(0.0, kind)), above, below)
        case "round":  # halves away from 0; -0.0 stays
            [x] = values
            size = graph.Apply("abs", values, kind, ())
            zero, half, one = (graph.Constant(number, kind) for number in (0.0, 0.5, 1.0))
            whole = graph.Apply("floor", (size,), kind, ())
            part = graph.Apply("-", (size, whole), kind, ())
            more = graph.Apply("+", (whole, one), kind, ())
            found = graph.Select(graph.Compare(">=", part, half), more, whole)
            other = graph.Select(graph.Compare("==", x, zero), x, found)
            negative = graph.Apply("neg", (found,), kind, ())
            return graph.Select(graph.Compare("<", x, zero), negative, other)
        case "fmax" | "fmin":  # of a NaN and a number, the number; which zero, C leaves open
            a, b = values
            op = ">" if name == "fmax" else "<"
            larger = graph.Select(graph.Compare(op, a, b), a, b)
            return graph.Select(graph.Compare("==", b, b), larger, a)
        case _:
            return graph.Apply(name, values, kind, ())


def _is_value(decl: c_ast.Decl) -> bool:
    return isinstance(decl.type, c_ast.TypeDecl)
