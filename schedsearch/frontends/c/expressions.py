"""Expressions of C as values, affine expressions and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, conditions, numbers
from schedsearch.frontends.c.c_types import DOUBLE, FLOAT, INT, CType, Unsupported
from schedsearch.frontends.c.constants import character, integer
from schedsearch.frontends.c.declarations import (
    Data,
    Number,
    Open,
    Operand,
    Pointer,
    Symbol,
    base_type,
    declared,
    parameters,
)
from schedsearch.frontends.c.facts import holds, projected
from schedsearch.frontends.c.linear import Layout, Need, Polynomial, product
from schedsearch.frontends.lowered import refused

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")

_ONE = (*("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "erf", "floor", "rint"),)
_TWO = ("pow", "atan2")
MATH = {
    **{name: (name, 1) for name in _ONE},
    **{name: (name, 2) for name in _TWO},
    "fabs": ("abs", 1),
    "ceil": ("ceil", 1),
    "fmax": ("fmax", 2),
    "fmin": ("fmin", 2),
}
"""C's functions of double, and ours; an `f` at the end makes them of float."""

MOST_INLINED = 20
"""Calls within calls."""


class Split(Exception):
    """The statement depends on a condition on places: it becomes two."""

    def __init__(self, condition: q.Expr) -> None:
        super().__init__()
        self.condition = condition


@dataclass
class Place:
    """What is known where a statement stands: all of the facts, and one of the cases."""

    facts: conditions.Facts = ()
    cases: tuple[conditions.Facts, ...] = ((),)
    guards: tuple[graph.Condition, ...] = ()
    decided: dict[q.Expr, bool] = field(default_factory=dict)

    def with_facts(self, *facts: q.Affine) -> Place:
        return replace(self, facts=(*self.facts, *facts))

    def given(self, condition: q.Expr | bool) -> Place:
        found = conditions.cases_of(condition)
        if len(found) < 2:
            return self.with_facts(*conditions.facts_of(condition))
        return replace(self, cases=conditions.combined(self.cases, found))

    def where(self, condition: q.Expr, value: bool) -> Place:
        fact = condition if value else conditions.negated(condition)
        return replace(self.given(fact), decided={**self.decided, condition: value})

    def guarded(self, condition: graph.Condition) -> Place:
        return replace(self, guards=(*self.guards, condition))


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


class Expressions:
    """The translation of a function, as far as expressions go."""

    def __init__(self, file: File, extents: dict[str, tuple[Layout, graph.Array]]) -> None:
        self.file = file
        self.extents = extents
        """Of pointers, as an earlier translation found them."""
        self.needs: dict[str, list[Need]] = {}
        self.scopes: list[dict[str, Symbol]] = [{}]
        self.numbers: dict[Number, q.Affine | None] = {}
        self.sizes: list[q.Var] = []
        self.asserts: list[q.Expr] = []
        self.assert_facts: list[q.Affine] = []
        self.tables: dict[graph.Array, dict[tuple[q.Affine, ...], int]] = {}
        """Whole numbers in constant arrays, by place."""
        self.place = Place()
        self.calls: list[str] = []
        self._only_types = 0

    # -- errors, facts ---------------------------------------------------------------------------

    def refusal(self, node: Any, construct: str, reason: str, instead: str) -> UserError:
        """The error of a construct that kernels do not have."""
        coord = getattr(node, "coord", None)
        file = getattr(coord, "file", None) or self.file.path
        return refused(file, getattr(coord, "line", 0), construct, reason, instead)

    def size_facts(self) -> list[q.Affine]:
        return [q.as_affine(size) - 1 for size in self.sizes]

    def facts(self) -> list[q.Affine]:
        """What is known here in all cases."""
        return [*self.place.facts, *self.assert_facts, *self.size_facts()]

    def cases(self) -> list[list[q.Affine]]:
        """What is known here, case by case."""
        facts = self.facts()
        return [[*case, *facts] for case in self.place.cases]

    def require(self, fact: q.Affine, node: Any, construct: str, reason: str) -> None:
        """`fact >= 0`, proven from what is around, or asserted of the sizes, or refused."""
        if self._only_types:
            return
        for case in self.place.cases:
            facts = [*case, *self.facts()]
            if not holds(fact, facts):
                rows = self.violated(fact, facts)
                self._assert_not(rows, facts, node, construct, reason)

    def _assert_not(
        self, rows: list[q.Affine], facts: list[q.Affine], node: Any, construct: str, reason: str
    ) -> None:
        """That not all of these hold. Where that would say no more than that the statement, at
        which the facts hold, is never executed, it is refused."""
        allowed: q.Expr | bool = False
        for row in rows:
            allowed = conditions.either(allowed, _asserted(row))
        opposite = [row.scaled(-1) - 1 for row in rows]
        if isinstance(allowed, bool) or all(
            projected([*facts, each], frozenset()) is None for each in opposite
        ):
            raise self.refusal(
                node,
                construct,
                reason,
                "correct the bounds, or write a condition around the statement",
            )
        self.assert_facts += opposite if len(rows) == 1 else []
        if allowed not in self.asserts:
            self.asserts.append(allowed)

    def holds(self, fact: q.Affine) -> bool:
        return all(holds(fact, case) for case in self.cases())

    def violated(self, fact: q.Affine, facts: list[q.Affine]) -> list[q.Affine]:
        """What facts say of sizes where `fact >= 0` does not hold, beyond what is known of them."""
        rows = projected([*facts, fact.scaled(-1) - 1], frozenset(self.sizes)) or ()
        known = [*self.assert_facts, *self.size_facts()]
        return [row for row in rows if not holds(row, known)]

    def kept_asserts(self) -> tuple[q.Expr, ...]:
        """The asserts that do not follow from later ones."""
        kept: list[q.Expr] = []
        for each in reversed(self.asserts):
            known = [fact for other in kept for fact in conditions.facts_of(other)]
            if not _follows(each, [*known, *self.size_facts()]):
                kept.insert(0, each)
        return tuple(kept)

    def decide(self, condition: q.Expr | bool) -> bool:
        """A condition on places, known here, or for one of the two statements that it makes."""
        if isinstance(condition, bool) or self._only_types:
            return bool(condition)
        if condition in self.place.decided:
            return self.place.decided[condition]
        known = self.known(condition)
        if isinstance(known, bool):
            return known
        raise Split(condition)

    def known(self, condition: q.Expr | bool) -> q.Expr | bool:
        """True or false if that follows from what is around."""
        if isinstance(condition, bool):
            return condition
        if not self._possible(condition):
            return False
        if not self._possible(conditions.negated(condition)):
            return True
        return condition

    def _possible(self, condition: q.Expr | bool) -> bool:
        return any(
            projected([*facts, *case], frozenset()) is not None
            for case in conditions.cases_of(condition)
            for facts in self.cases()
        )

    @contextmanager
    def only_types(self) -> Iterator[None]:
        """Nothing is required of places within: the expression is not executed."""
        self._only_types += 1
        try:
            yield
        finally:
            self._only_types -= 1

    # -- names -----------------------------------------------------------------------------------

    def lookup(self, node: c_ast.ID) -> Symbol:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        if node.name in self.file.enumerators:
            return Operand(INT, q.Affine(self.file.enumerators[node.name]))
        if node.name in self.file.variables:
            return self.global_variable(node)
        raise self.refusal(node, node.name, "it is not declared", "declare it in the function")

    def global_variable(self, node: c_ast.ID) -> Symbol:
        decl = self.file.variables[node.name]
        scalar = isinstance(decl.type, c_ast.TypeDecl)
        if "const" not in _qualifiers(decl):
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

    # -- conversions -----------------------------------------------------------------------------

    def data(self, operand: Operand, kind: CType) -> graph.Value:
        """The operand as data of a type."""
        element = c_types.element(kind)
        value = operand.value
        if not isinstance(value, q.Affine):
            return numbers.cast(value, element)
        if value.is_const:
            return numbers.constant(value.const, element)
        if operand.type.bits > INT.bits and sum(abs(c) for _, c in value.terms) >= 2**22:
            text = show_affine(value)
            raise Unsupported(text, "it may be larger than double is exact", "use a double")
        if element in ("i32", "f32", "f64"):
            return graph.Count(value, element)
        return graph.Cast(graph.Count(value, "i32"), element)

    def converted(self, operand: Operand, kind: CType, node: Any) -> Operand:
        """As by a cast or an assignment."""
        if kind == operand.type:
            return operand
        value = operand.value
        if isinstance(value, q.Affine) and not kind.floating and kind.bits >= INT.bits:
            return Operand(kind, self.in_type(value, kind, node))
        if kind == c_types.BOOL:
            raise self.refusal(
                node, "_Bool", "kernels have no data of this type", "use int, and `!= 0`"
            )
        return Operand(kind, self.data(operand, kind))

    def in_type(self, value: q.Affine, kind: CType, node: Any) -> q.Affine:
        if value.is_const:
            low = 0 if kind.unsigned else -(2 ** (kind.bits - 1))
            inside = (value.const - low) % 2**kind.bits + low
            if inside != value.const and not kind.unsigned and not self._only_types:
                reason = f"it is no `{kind.name}`: what it becomes, C leaves open"
                raise self.refusal(node, str(value.const), reason, "use a type that has it")
            return q.Affine(inside)
        if kind.unsigned:
            self.not_negative(value, node)
            if max(abs(value.const), *(abs(c) for _, c in value.terms)) >= 2 ** (kind.bits // 2):
                reason = f"it may be too large for `{kind.name}`"
                raise self.refusal(node, show_affine(value), reason, "use smaller numbers")
        return value

    def not_negative(self, value: q.Affine, node: Any) -> None:
        text = show_affine(value)
        self.require(
            value, node, text, "an unsigned number that is negative here would be a very large one"
        )

    # -- expressions -----------------------------------------------------------------------------

    def expr(self, node: Any) -> Operand:
        """The value of an expression."""
        try:
            return self._expr(node)
        except Unsupported as error:
            raise self.refusal(node, *error.parts) from None

    def affine(self, node: Any, use: str) -> q.Affine:
        """An integer made of sizes, variables of loops and constants."""
        found = self.expr(node)
        if isinstance(found.value, q.Affine) and not found.type.floating:
            return found.value
        raise self.refusal(
            node,
            use,
            "it depends on data, or multiplies variables",
            "use sums and constant multiples of sizes and loop variables",
        )

    def _expr(self, node: Any) -> Operand:
        match node:
            case c_ast.Constant():
                return self._constant(node)
            case c_ast.ID():
                return self._read(node)
            case c_ast.ArrayRef():
                array, index, kind = self.element(node)
                known = self.tables.get(array, {}).get(index)
                if known is not None:
                    return Operand(INT, q.Affine(known))
                return Operand(kind, _at(array, index))
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp() if node.op in (*COMPARISONS, "&&", "||"):
                return self._truth_as_number(node)
            case c_ast.BinaryOp():
                return self._binary(node.op, self.expr(node.left), self.expr(node.right), node)
            case c_ast.TernaryOp():
                return self._ternary(node)
            case c_ast.Cast():
                if not isinstance(node.to_type.type, c_ast.TypeDecl):
                    raise self.refusal(
                        node, "cast to a pointer", "arrays keep their type", "remove it"
                    )
                return self.converted(self.expr(node.expr), self.type_of(node.to_type), node)
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.Assignment():
                raise self.refusal(
                    node, "assignment within an expression", "its order matters", "write it before"
                )
            case _:
                raise self.refusal(
                    node,
                    _said(node),
                    "kernels have no such expression",
                    "use arithmetic on numbers and elements of arrays",
                )

    def _constant(self, node: c_ast.Constant) -> Operand:
        text = node.value
        if node.type in ("float", "double", "long double"):
            single, long_ = text[-1] in "fF" and "x" not in text.lower(), text[-1] in "lL"
            body = text.rstrip("fFlL") if single or long_ else text
            if long_:
                raise self.refusal(node, text, "kernels have no long double", "remove the suffix")
            if "x" in body.lower():
                if body[-1] in "fF":
                    return Operand(FLOAT, graph.Constant(numbers.single(body[:-1]), "f32"))
                return Operand(DOUBLE, graph.Constant(float.fromhex(body), "f64"))
            if single:
                return Operand(FLOAT, graph.Constant(numbers.single(body), "f32"))
            return Operand(DOUBLE, graph.Constant(float(body), "f64"))
        if node.type == "char":
            return Operand(INT, q.Affine(character(text)))
        if node.type == "string" or not text[0].isdigit():
            raise self.refusal(node, text, "kernels have numbers only", "remove it")
        kind, value = integer(text)
        return Operand(kind, q.Affine(value))

    def _read(self, node: c_ast.ID) -> Operand:
        symbol = self.lookup(node)
        match symbol:
            case Operand():
                return symbol
            case Number():
                value = self.numbers.get(symbol)
                if value is None:
                    raise self.refusal(
                        node,
                        node.name,
                        "its value is not known here as a sum of sizes and loop variables",
                        "compute it from them where it is used",
                    )
                return Operand(symbol.type, value)
            case Data() if not symbol.array.shape:
                return Operand(symbol.type, graph.Load(symbol.array))
            case _:
                raise self.refusal(
                    node,
                    f"pointer {node.name}",
                    "kernels have no arithmetic of pointers",
                    "use an element of the array",
                )

    def element(self, node: Any) -> tuple[graph.Array, tuple[q.Affine, ...], CType]:
        """The array, the indices and the type of `A[i][j]`, `*p` or a variable."""
        subscripts, inner = _parts(node)
        symbol: Symbol | None = (
            self.lookup(inner) if isinstance(inner, c_ast.ID) else self.pointer(inner)
        )
        before: tuple[Polynomial, ...] = (Polynomial(()),)
        if isinstance(symbol, Pointer):
            before = symbol.at
            symbol = symbol.base
        if symbol is None:
            raise self.refusal(
                node,
                _said(inner),
                "it is no place in an array",
                "use elements of arrays, `A[i]`",
            )
        if not isinstance(symbol, Data | Open):
            raise self.refusal(node, _name(inner), "it is no array", "use a variable of the data")
        name, shape = _array_of(symbol)
        given = len(before) - 1 + len(subscripts)
        if len(subscripts) < 1 and not shape and not isinstance(inner, c_ast.ID):
            subscripts = [c_ast.Constant("int", "0", node.coord)]
        if not shape and isinstance(symbol, Data):
            return self._scalar(symbol, before, subscripts, node)
        if not subscripts or given != len(shape):
            raise self.refusal(
                node,
                f"{name} with {given} of {len(shape)} indices",
                "what is left is a part of an array",
                "use an element",
            )
        polynomials = self._moved(before, subscripts, symbol)
        if isinstance(symbol, Open):
            return self._open(symbol, polynomials, node)
        index = tuple(each.part(()) for each in polynomials)
        self._inside(name, index, symbol.array.shape, node)
        return symbol.array, index, symbol.type

    def _scalar(
        self, symbol: Data, before: tuple[Polynomial, ...], subscripts: list[Any], node: Any
    ) -> tuple[graph.Array, tuple[q.Affine, ...], CType]:
        """A variable, or `*p` of a pointer to one."""
        if subscripts and self._moved(before, subscripts, symbol) != (Polynomial(()),):
            raise self.refusal(
                node, f"index of {symbol.array.name}", "it is one variable", "use an array"
            )
        return symbol.array, (), symbol.type

    def _moved(
        self, before: tuple[Polynomial, ...], subscripts: list[Any], symbol: Data | Open
    ) -> tuple[Polynomial, ...]:
        """Indices after those of a pointer. The first one of a pointer that is a parameter may
        multiply by sizes."""
        name, use = _array_of(symbol)[0], f"index of {_array_of(symbol)[0]}"
        first, *rest = subscripts
        if isinstance(symbol, Open) and len(before) == 1:
            offset = self.polynomial(first, name)
        else:
            offset = Polynomial.of(self.affine(first, use))
        after = (Polynomial.of(self.affine(each, use)) for each in rest)
        return (*before[:-1], before[-1].plus(offset, 1), *after)

    def pointer(self, node: Any) -> Pointer | None:
        """The place in an array that an expression points to; None if it is no pointer to one."""
        none = (Polynomial(()),)
        match node:
            case c_ast.ID():
                symbol = self.lookup(node)
                if isinstance(symbol, Pointer):
                    return symbol
                if isinstance(symbol, Open) or (isinstance(symbol, Data) and symbol.array.shape):
                    return Pointer(symbol, none)
                return None
            case c_ast.UnaryOp(op="&"):
                subscripts, inner = _parts(node.expr)
                if not subscripts:
                    one = self.lookup(inner) if isinstance(inner, c_ast.ID) else None
                    if isinstance(one, Data) and not one.array.shape:
                        return Pointer(one, none)
                    return None
                return self._pointer_at(subscripts, self.pointer(inner))
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):  # of a row
                subscripts, inner = _parts(node)
                row = self._pointer_at(subscripts, self.pointer(inner))
                if row is None or not row.inner:
                    return None
                return Pointer(row.base, (*row.at, *none))
            case c_ast.BinaryOp(op="+" | "-"):
                base, moved = self.pointer(node.left), node.right
                if base is None and node.op == "+":
                    base, moved = self.pointer(node.right), node.left
                if base is None:
                    return None
                offset = self._moved(none, [moved], base.base)[0]
                if len(base.at) > 1 or isinstance(base.base, Data):
                    offset = Polynomial.of(self.affine(moved, "offset of a pointer"))
                at = base.at[-1].plus(offset, 1 if node.op == "+" else -1)
                return Pointer(base.base, (*base.at[:-1], at))
            case _:
                return None

    def _pointer_at(self, subscripts: list[Any], base: Pointer | None) -> Pointer | None:
        if base is None or len(subscripts) - 1 > len(base.inner):
            return None
        return Pointer(base.base, self._moved(base.at, subscripts, base.base))

    def _inside(
        self, name: str, index: tuple[q.Affine, ...], shape: graph.Shape, node: Any
    ) -> None:
        text = f"{name}[{', '.join(map(show_affine, index))}]"
        for each, extent in zip(index, shape, strict=True):
            reason = f"index {show_affine(each)} is not within 0 and {show_affine(extent - 1)}"
            self.require(each, node, text, reason)
            self.require(extent - 1 - each, node, text, reason)

    def _open(
        self, symbol: Open, polynomials: tuple[Polynomial, ...], node: Any
    ) -> tuple[graph.Array, tuple[q.Affine, ...], CType]:
        first, rest = polynomials[0], tuple(each.part(()) for each in polynomials[1:])
        if symbol.name in self.extents:
            layout, array = self.extents[symbol.name]
            index = (*layout.index(first, self.facts()), *rest)
            self._inside(symbol.name, index, array.shape, node)
            return array, index, symbol.type
        if not self._only_types:
            cases = tuple(map(tuple, self.cases()))
            need = Need(first, tuple(self.facts()), cases, node)
            self.needs.setdefault(symbol.name, []).append(need)
        return graph.Array(symbol.name, c_types.element(symbol.type)), (), symbol.type

    def polynomial(self, node: Any, name: str) -> Polynomial:
        """An index into a pointer, which may multiply by sizes."""
        if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
            left, right = (self.polynomial(each, name) for each in (node.left, node.right))
            return left.plus(right, 1 if node.op == "+" else -1)
        if isinstance(node, c_ast.BinaryOp) and node.op == "*":
            left, right = (self.polynomial(each, name) for each in (node.left, node.right))
            found = product(left, right, frozenset(self.sizes))
            if found is not None:
                return found
        return Polynomial.of(self.affine(node, f"index of {name}"))

    def _unary(self, node: c_ast.UnaryOp) -> Operand:
        if node.op == "*":
            array, index, kind = self.element(node)
            return Operand(kind, _at(array, index))
        if node.op == "!":
            return self._truth_as_number(node)
        if node.op not in ("-", "+"):
            instead = {
                "sizeof": "write the number",
                "&": "use the array itself",
                "~": "use arithmetic",
            }.get(node.op, "write it as a statement of its own")
            raise self.refusal(
                node, node.op.strip("p"), "kernels have no such operator here", instead
            )
        found = self.expr(node.expr)
        kind = c_types.promoted(found.type)
        if node.op == "+":
            return self.converted(found, kind, node)
        if isinstance(found.value, q.Affine):
            return Operand(kind, self.in_type(found.value.scaled(-1), kind, node))
        value = self.data(found, kind)
        return Operand(kind, numbers.folded("neg", (value,), c_types.element(kind)))

    def _binary(self, op: str, left: Operand, right: Operand, node: Any) -> Operand:
        if op not in (*numbers.OPERATORS, "%"):
            raise self.refusal(node, op, "kernels have no operators on bits", "use arithmetic")
        kind = c_types.common(left.type, right.type)
        a, b = left.value, right.value
        if isinstance(a, q.Affine) and isinstance(b, q.Affine) and not kind.floating:
            found = self._affine_binary(op, a, b, node)
            if found is not None:
                return Operand(kind, self.in_type(found, kind, node))
        if not kind.floating and op in ("/", "%"):
            raise self.refusal(
                node,
                f"integers {op}",
                "kernels do not divide integers of data",
                "divide sizes and loop variables by constants, or convert to double",
            )
        if op == "%":
            raise self.refusal(node, "%", "C has no remainder of floating numbers", "use integers")
        args = (self.data(left, kind), self.data(right, kind))
        return Operand(kind, numbers.folded(op, args, c_types.element(kind)))

    def _affine_binary(self, op: str, a: q.Affine, b: q.Affine, node: Any) -> q.Affine | None:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*" if b.is_const:
                return a.scaled(b.const)
            case "*" if a.is_const:
                return b.scaled(a.const)
            case "/" | "%" if b.is_const and a.is_const and b.const:
                quotient = abs(a.const) // abs(b.const)
                quotient = quotient if (a.const < 0) == (b.const < 0) else -quotient
                return q.Affine(quotient if op == "/" else a.const - b.const * quotient)
            case "/" | "%" if b.is_const and b.const > 0:
                reason = "C rounds towards zero, so that what is divided must not be negative"
                self.require(a, node, f"{show_affine(a)} {op} {b.const}", reason)
                return q.floor_div(a, b.const) if op == "/" else q.modulo(a, b.const)
            case _:
                return None

    def _ternary(self, node: c_ast.TernaryOp) -> Operand:
        condition = self.truth(node.cond)
        if isinstance(condition, bool):
            taken, other = (node.iftrue, node.iffalse)[:: 1 if condition else -1]
            found = self.expr(taken)
            with self.only_types():
                left = self.expr(other)
                kind = c_types.common(found.type, left.type)
            if self._only_types and not isinstance(left.value, q.Affine):
                return self.converted(left, kind, node)
            return self.converted(found, kind, node)
        yes, no = self.expr(node.iftrue), self.expr(node.iffalse)
        kind = c_types.common(yes.type, no.type)
        then, other = self.data(yes, kind), self.data(no, kind)
        return Operand(kind, chosen(condition, then, other))

    def _truth_as_number(self, node: Any) -> Operand:
        truth = self.truth(node)
        if isinstance(truth, bool):
            return Operand(INT, q.Affine(int(truth)))
        one, zero = graph.Constant(1, "i32"), graph.Constant(0, "i32")
        return Operand(INT, graph.Select(truth, one, zero))

    # -- conditions ------------------------------------------------------------------------------

    def truth(self, node: Any) -> bool | graph.Condition:
        """Whether an expression is not zero. Parts on places are decided."""
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                short = node.op == "||"
                left = self.truth(node.left)
                if self._only_types:  # nothing is decided: it depends on data if a side does
                    return left if not isinstance(left, bool) else self.truth(node.right)
                if isinstance(left, bool):
                    return left if left == short else self.truth(node.right)
                right = self.truth(node.right)
                if isinstance(right, bool):
                    return right if right == short else left
                return graph.Logical("or" if short else "and", (left, right))
            case c_ast.UnaryOp() if node.op == "!":
                inner = self.truth(node.expr)
                return not inner if isinstance(inner, bool) else graph.Logical("not", (inner,))
            case c_ast.BinaryOp() if node.op in COMPARISONS:
                return self._comparison(node.op, self.expr(node.left), self.expr(node.right), node)
            case _:
                return self._comparison("!=", self.expr(node), Operand(INT, q.Affine(0)), node)

    def _comparison(
        self, op: str, left: Operand, right: Operand, node: Any
    ) -> bool | graph.Condition:
        a, b = left.value, right.value
        if isinstance(a, q.Affine) and isinstance(b, q.Affine):
            return self.decide(self.compared(op, left, right, node))
        kind = c_types.common(left.type, right.type)
        lhs, rhs = self.data(left, kind), self.data(right, kind)
        if isinstance(lhs, graph.Constant) and isinstance(rhs, graph.Constant):
            return numbers.compared(op, lhs.value, rhs.value)
        return graph.Compare(op, lhs, rhs)

    def compared(self, op: str, left: Operand, right: Operand, node: Any) -> q.Expr | bool:
        """A comparison of places."""
        kind = c_types.common(left.type, right.type)
        if kind.unsigned:
            left, right = (self.converted(each, kind, node) for each in (left, right))
        assert isinstance(left.value, q.Affine)
        assert isinstance(right.value, q.Affine)
        return conditions.compared(op, left.value, right.value)

    def place_condition(self, node: Any) -> q.Expr | bool | None:
        """A condition on places alone, or None."""
        with self.only_types():
            if not self._is_of_places(node):
                return None
        return self._place_condition(node)

    def _is_of_places(self, node: Any) -> bool:
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                return self._is_of_places(node.left) and self._is_of_places(node.right)
            case c_ast.UnaryOp() if node.op == "!":
                return self._is_of_places(node.expr)
            case c_ast.BinaryOp() if node.op in COMPARISONS:
                sides = (self.expr(node.left), self.expr(node.right))
                return all(isinstance(each.value, q.Affine) for each in sides)
            case _:
                return isinstance(self.expr(node).value, q.Affine)

    def _place_condition(self, node: Any) -> q.Expr | bool:
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                left = self._place_condition(node.left)
                before = self.place
                known = left if node.op == "&&" else conditions.negated(left)
                self.place = before.given(known)
                try:
                    right = self._place_condition(node.right)
                finally:
                    self.place = before
                return (conditions.both if node.op == "&&" else conditions.either)(left, right)
            case c_ast.UnaryOp() if node.op == "!":
                return conditions.negated(self._place_condition(node.expr))
            case c_ast.BinaryOp() if node.op in COMPARISONS:
                sides = (self.expr(node.left), self.expr(node.right))
                return self.known(self.compared(node.op, *sides, node))
            case _:
                zero = Operand(INT, q.Affine(0))
                return self.known(self.compared("!=", self.expr(node), zero, node))

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, node: c_ast.FuncCall) -> Operand:
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
        """A call of a function that declares constants, and returns expressions."""
        function = self.file.functions[name]
        with self.entered(name, args, node):
            result = self.type_of(function.decl.type.type)
            found = self._returned(function.body.block_items or [], result)
            if found is None:
                raise self.refusal(
                    node,
                    f"call of {name}",
                    "functions in expressions are inlined if they declare constants and return "
                    "expressions, under conditions or not",
                    "write its statements here",
                )
            return found

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
        pairs = list(zip(params, args, strict=True))
        arrays = [pair for pair in pairs if not isinstance(pair[0].type, c_ast.TypeDecl)]
        for param, arg in pairs:
            if isinstance(param.type, c_ast.TypeDecl):
                kind = self.type_of(param.type)
                value = self.converted(self.expr(arg), kind, arg)
                scope[param.name] = value if before is None else _copied(param, value, before)
        passed = [(param, self._array(param, arg), arg) for param, arg in arrays]
        outer, self.scopes = self.scopes, [scope]
        try:
            for param, symbol, arg in passed:
                self.same_layout(param, symbol, arg)
                scope[param.name] = symbol
        except BaseException:
            self.scopes = outer
            raise
        self.calls.append(name)
        try:
            yield
        finally:
            self.calls.pop()
            self.scopes = outer

    def prototyped(self, function: c_ast.FuncDef) -> None:
        if function.param_decls:
            raise self.refusal(
                function.decl,
                f"parameters of {function.decl.name}",
                "they are declared in C's old style, before the body",
                "declare them between the parentheses, `void f(int n, double x[n])`",
            )

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


def chosen(condition: graph.Condition, then: graph.Value, other: graph.Value) -> graph.Value:
    """`condition ? then : other`; of integers, the larger or the smaller one."""
    if then.type == "i32" and isinstance(condition, graph.Compare) and condition.op in "<=>=":
        a, b = condition.lhs, condition.rhs
        larger = condition.op in (">", ">=")
        if condition.op in ("<", "<=", ">", ">="):
            if numbers.same(a, then) and numbers.same(b, other):
                return graph.Apply("max" if larger else "min", (then, other), "i32", ())
            if numbers.same(a, other) and numbers.same(b, then):
                return graph.Apply("min" if larger else "max", (then, other), "i32", ())
    return graph.Select(condition, then, other)


def _function(name: str, values: tuple[graph.Value, ...], kind: str) -> graph.Value:
    match name:
        case "ceil":
            negative = numbers.folded("neg", values, kind)
            return graph.Apply("neg", (graph.Apply("floor", (negative,), kind, ()),), kind, ())
        case "fmax" | "fmin":  # of a NaN and a number, the number; which zero, C leaves open
            a, b = values
            op = ">" if name == "fmax" else "<"
            larger = graph.Select(graph.Compare(op, a, b), a, b)
            return graph.Select(graph.Compare("==", b, b), larger, a)
        case _:
            return graph.Apply(name, values, kind, ())


def _copied(param: c_ast.Decl, value: Operand, before: list[graph.Statement]) -> Data | Operand:
    if isinstance(value.value, q.Affine):
        return value
    array = graph.Array(param.name, value.value.type)
    line = param.coord.line
    before += [
        graph.Allocate(array, line),
        graph.Store(array, (), (), value.value, line=line),
    ]
    return Data(array, value.type)


def _is_value(decl: c_ast.Decl) -> bool:
    return isinstance(decl.type, c_ast.TypeDecl)


def _parts(node: Any) -> tuple[list[Any], Any]:
    """The indices of `A[i][j]`, or of `*p`, and what they are of."""
    subscripts: list[Any] = []
    while isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*"):
        if isinstance(node, c_ast.ArrayRef):
            subscripts.insert(0, node.subscript)
            node = node.name
        else:
            subscripts.insert(0, c_ast.Constant("int", "0", node.coord))
            node = node.expr
    return subscripts, node


def _array_of(symbol: Data | Open) -> tuple[str, tuple[q.Affine | None, ...]]:
    """The name of an array, and its extents."""
    if isinstance(symbol, Open):
        return symbol.name, (None, *symbol.inner)
    return symbol.array.name, symbol.array.shape


def _name(node: Any) -> str:
    return node.name if isinstance(node, c_ast.ID) else _said(node)


def _at(array: graph.Array, index: tuple[q.Affine, ...]) -> graph.Value:
    return graph.View(graph.Load(array), (), (), index) if index else graph.Load(array)


def _follows(condition: q.Expr, known: list[q.Affine]) -> bool:
    if isinstance(condition, q.BinOp) and condition.op == "or":
        return _follows(condition.lhs, known) or _follows(condition.rhs, known)
    return all(holds(fact, known) for fact in conditions.facts_of(condition))


def _asserted(row: q.Affine) -> q.Expr:
    """`row < 0` in a form that people read."""
    more = q.Affine(0, tuple((a, c) for a, c in row.terms if c > 0))
    less = q.Affine(0, tuple((a, -c) for a, c in row.terms if c < 0))
    if more.is_const:
        return q.BinOp(">", less, q.Affine(row.const), "bool")
    return q.BinOp("<", more, less - row.const, "bool")


def _qualifiers(decl: c_ast.Decl) -> list[str]:
    inner = decl.type
    while not isinstance(inner, c_ast.TypeDecl) and hasattr(inner, "type"):
        inner = inner.type
    return [*(decl.quals or []), *(getattr(inner, "quals", None) or [])]


def _said(node: Any) -> str:
    words = {
        c_ast.StructRef: "member of a struct",
        c_ast.ExprList: "comma",
        c_ast.CompoundLiteral: "compound literal",
        c_ast.InitList: "list of values",
        c_ast.FuncCall: "result of a function",
        c_ast.BinaryOp: "arithmetic of pointers",
        c_ast.UnaryOp: "pointer",
    }
    return words.get(type(node), type(node).__name__)
