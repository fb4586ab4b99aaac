"""Functions of C as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, conditions, constants, linear, tables
from schedsearch.frontends.c.c_types import INT, CType, Unsupported
from schedsearch.frontends.c.declarations import (
    STEPS,
    Data,
    Number,
    Open,
    Operand,
    Pointer,
    Symbol,
    assigned,
    declared,
    parameters,
    places,
    walk,
)
from schedsearch.frontends.c.expressions import Expressions, File, Split, chosen
from schedsearch.frontends.c.loops import Header, header, last, trips
from schedsearch.frontends.c.numbers import same
from schedsearch.frontends.c.preprocessed import DEEPEST
from schedsearch.frontends.c.private import narrowed
from schedsearch.frontends.lowered import refused

Block = list[graph.Statement]

_NO_DATA = {
    c_ast.While: ("while", "how often it runs is not known before", "use a `for` loop"),
    c_ast.DoWhile: ("do", "how often it runs is not known before", "use a `for` loop"),
    c_ast.Break: ("break", "how often loops run is known before", "put a bound into the loop"),
    c_ast.Continue: ("continue", "kernels have no jumps", "put the rest into an `if`"),
    c_ast.Goto: ("goto", "kernels have no jumps", "use loops and conditions"),
    c_ast.Label: ("label", "kernels have no jumps", "use loops and conditions"),
    c_ast.Switch: ("switch", "kernels have no jumps", "use `if` and `else`"),
}

MOST_SPLITS = 12
"""Conditions on places in one statement. Each makes two of it."""

_SMALL = (c_types.BOOL, c_types.SCHAR, c_types.UCHAR, c_types.SHORT, c_types.USHORT)


def program(file: File, function: c_ast.FuncDef) -> graph.Program:
    """The program of a function. Raises UserError for what programs do not have."""
    try:
        first = _Translation(file, {}).translated(function)
        if not first.needs:
            return first.program
        extents = {name: _extent(first, name, needs) for name, needs in first.needs.items()}
        return _Translation(file, extents, first).translated(function).program
    except RecursionError:
        raise refused(file.path, function.coord.line, function.decl.name, *DEEPEST_PARTS) from None


DEEPEST_PARTS = tuple(DEEPEST.split("; "))


def _extent(
    done: _Translation, name: str, needs: Sequence[linear.Need]
) -> tuple[linear.Layout, graph.Array]:
    """The shape of a pointer's array, from all accesses to it."""
    symbol = done.open[name]
    found = linear.layout(needs)
    instead = f"declare its extents: `{symbol.type.name} {name}[n][m]`"
    if found is None:
        raise done.refusal(needs[0].node, f"pointer {name}", "its strides have no order", instead)
    accesses = [
        (found.index(need.index, need.facts)[0], case) for need in needs for case in need.cases
    ]
    extent = linear.extent(accesses, done.sizes, graph.fresh("top"))
    if extent is None:
        reason = "no sum of sizes bounds its index"
        raise done.refusal(needs[0].node, f"pointer {name}", reason, instead)
    shape = (extent, *found.inner, *symbol.inner)
    return found, graph.Array(name, c_types.element(symbol.type), shape)


class _Translation(Expressions):
    """The translation of one function."""

    def __init__(
        self,
        file: File,
        extents: dict[str, tuple[linear.Layout, graph.Array]],
        before: _Translation | None = None,
    ) -> None:
        super().__init__(file, extents)
        self.open: dict[str, Open] = {}
        self.program: graph.Program
        self._vars: dict[str, q.Var] = before._vars if before else {}
        """Variables of sizes, which the extents of pointers are made of."""
        self._places: frozenset[str] = frozenset()

    # -- functions -------------------------------------------------------------------------------

    def translated(self, function: c_ast.FuncDef) -> _Translation:
        name = function.decl.name
        kind = function.decl.type.type
        if not isinstance(kind, c_ast.TypeDecl) or kind.type.names != ["void"]:
            raise self.refusal(
                function.decl,
                f"result of {name}",
                "kernels return nothing",
                "make the function void, and store the result into a parameter, `double *result`",
            )
        self.prototyped(function)
        self._places = places(function, self.file.functions)
        self.calls = [name]
        params = function.decl.type.args.params if function.decl.type.args else []
        decls = parameters(function)
        for each in params:
            if isinstance(each, c_ast.EllipsisParam):
                raise self.refusal(function.decl, "...", "its arguments are not known", "name them")
        for node in walk(function.body):
            if isinstance(node, c_ast.Typedef) or (isinstance(node, c_ast.Enum) and node.values):
                what = "typedef" if isinstance(node, c_ast.Typedef) else "enum"
                reason = "types within functions may hide those of the file"
                raise self.refusal(node, what, reason, "declare it before the function")
        used = {node.name for node in walk(function.body) if isinstance(node, c_ast.ID)}
        order: dict[str, q.Var | graph.Array] = {}
        for each in decls:  # sizes first: extents may be declared before them in C's old style
            if isinstance(each.type, c_ast.TypeDecl):
                self._scalar_parameter(each, order, used)
        body: Block = []
        for each in decls:
            if not isinstance(each.type, c_ast.TypeDecl):
                self._array_parameter(each, order)
            if each.name in self.extents:
                for extent in self.extents[each.name][1].shape:
                    self.positive(extent, each)
        written = assigned(function.body)
        for each in decls:
            symbol = self.scopes[-1][each.name]
            if isinstance(symbol, Data) and not symbol.array.shape and each.name in written:
                body += self._copied(each, symbol)
        body += self._global_arrays(function)
        body += self.block(function.body)
        for decl in decls:
            if decl.name in self.open and decl.name in self.extents:
                order[decl.name] = self.extents[decl.name][1]
            elif decl.name in self.open:
                order[decl.name] = graph.Array(
                    decl.name,
                    c_types.element(self.open[decl.name].type),
                    (q.Affine(1), *self.open[decl.name].inner),
                )
        self.program = graph.Program(
            name,
            tuple(order[each.name] for each in decls),
            narrowed(tuple(body)),
            self.kept_asserts(),
            self.file.path,
            bounded=True,
        )
        if not self.program.written & set(self.program.parameters) and not self.needs:
            raise self.refusal(
                function.decl, name, "it changes no array", "store its results into parameters"
            )
        return self

    def _scalar_parameter(
        self, decl: c_ast.Decl, order: dict[str, q.Var | graph.Array], used: set[str]
    ) -> None:
        kind, name = self.type_of(decl.type), decl.name
        integer = not kind.floating and kind not in _SMALL
        if integer and (name in self._places or kind != INT or name not in used):
            var = self._vars.setdefault(name, graph.fresh(name))
            number = Number(name, kind)
            self.sizes.append(var)
            self.numbers[number] = q.as_affine(var)
            self.scopes[-1][name] = number
            order[name] = var
        else:
            array = graph.Array(name, self._element(kind, decl))
            self.scopes[-1][name] = Data(array, kind)
            order[name] = array

    def _array_parameter(self, decl: c_ast.Decl, order: dict[str, q.Var | graph.Array]) -> None:
        extents, kind = self._declared(decl)
        if isinstance(decl.type, c_ast.FuncDecl):
            raise self.refusal(
                decl, decl.name, "kernels call no pointers", "call a function of the file"
            )
        shape = [None if each is None else self._extent_of(each, decl) for each in extents]
        inner = tuple(each for each in shape[1:] if each is not None)
        if shape[0] is None:
            symbol = Open(decl.name, kind, inner)
            self._element(kind, decl)
            self.scopes[-1][decl.name] = symbol
            self.open[decl.name] = symbol
            return
        array = graph.Array(decl.name, self._element(kind, decl), (shape[0], *inner))
        self.scopes[-1][decl.name] = Data(array, kind)
        order[decl.name] = array

    def _declared(self, decl: c_ast.Decl) -> tuple[list[Any], CType]:
        try:
            extents, kind = declared(decl, self.file.typedefs)
        except Unsupported as error:
            raise self.refusal(decl, *error.parts) from None
        return extents, self.type_of(kind)

    def _element(self, kind: CType, decl: c_ast.Decl) -> str:
        try:
            return c_types.element(kind)
        except Unsupported as error:
            raise self.refusal(decl, f"{decl.name} of {error.parts[0]}", *error.parts[1:]) from None

    def _extent_of(self, node: Any, decl: c_ast.Decl) -> q.Affine:
        try:
            extent = self.affine(node, f"extent of {decl.name}")
        except Split:
            reason = "it depends on a condition"
            raise self.refusal(decl, decl.name, reason, "declare it for each case") from None
        self.positive(extent, decl)
        return extent

    def positive(self, extent: q.Affine, decl: c_ast.Decl) -> None:
        what = f"extent {show_affine(extent)} of {decl.name}"
        self.require(extent - 1, decl, what, "it may be 0 or less")

    def _copied(self, decl: c_ast.Decl, symbol: Data) -> Block:
        """A parameter that the function assigns to is its own variable."""
        array = graph.Array(f"{decl.name}_", symbol.array.type)
        self.scopes[-1][decl.name] = Data(array, symbol.type)
        line = decl.coord.line
        return [
            graph.Allocate(array, line),
            graph.Store(array, (), (), graph.Load(symbol.array), line=line),
        ]

    def _global_arrays(self, function: c_ast.FuncDef) -> Block:
        """Constant arrays of the file, as local ones."""
        out: Block = []
        used = {node.name for node in walk(function.body) if isinstance(node, c_ast.ID)}
        for name, decl in self.file.variables.items():
            constant = "const" in (decl.quals or []) or _has_const(decl.type)
            array = isinstance(decl.type, c_ast.ArrayDecl) and decl.init is not None
            if name in used - self.scopes[-1].keys() and array and constant:
                inner = {node.name for node in walk(decl) if isinstance(node, c_ast.ID)}
                if hidden := sorted(inner & self.scopes[-1].keys()):
                    reason = f"it is computed of {hidden[0]}, which a parameter hides"
                    raise self.refusal(decl, name, reason, "give the parameter another name")
                out += self._declaration(decl)
        return out

    # -- blocks ----------------------------------------------------------------------------------

    def block(self, node: Any) -> Block:
        """The statements of a block, or of a statement in the place of one."""
        self.scopes.append({})
        try:
            items = node.block_items or [] if isinstance(node, c_ast.Compound) else [node]
            return self._items(items)
        finally:
            self.scopes.pop()

    def _items(self, items: Sequence[Any]) -> Block:
        out: Block = []
        for number, each in enumerate(items):
            if len(self.scopes) == 2 and _leaves(each):
                condition = self.place_condition(each.cond)
                if condition is not None:
                    return [*out, *self._unless(condition, items[number + 1 :], each)]
            out += self.statement(each, each is items[-1])
        return out

    def _unless(self, condition: q.Expr | bool, items: Sequence[Any], node: Any) -> Block:
        """What comes after `if (condition) return;` in a function."""
        opposite = conditions.negated(condition)
        if isinstance(opposite, bool):
            return self._items(items) if opposite else []
        place = self.place
        self.place = place.given(opposite)
        try:
            return _if(opposite, self._items(items), [], _line(node))
        finally:
            self.place = place

    def statement(self, node: Any, is_last: bool = False) -> Block:
        try:
            return self._any_statement(node, is_last)
        except Unsupported as error:
            raise self.refusal(node, *error.parts) from None

    def _any_statement(self, node: Any, is_last: bool) -> Block:
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
                return self._declaration(node)
            case c_ast.DeclList():
                return [each for decl in node.decls for each in self._declaration(decl)]
            case c_ast.Return():
                at_end = is_last and len(self.calls) == 1 and len(self.scopes) == 2
                if node.expr is not None or not at_end or self.place.guards:
                    raise self.refusal(
                        node, "return", "kernels end at their end", "use `if` and `else`"
                    )
                return []
            case _:
                return self.split(lambda: self._statement(node), node)

    def split(self, make: Callable[[], Block], node: Any) -> Block:
        """Statements; two versions of them if an expression depends on a condition on places."""
        numbers, place = dict(self.numbers), self.place
        try:
            return make()
        except Split as split:
            condition = split.condition
        self.numbers = dict(numbers)
        if len(place.decided) >= MOST_SPLITS:
            raise self.refusal(
                node, "conditions on indices", "there are too many", "split the statement"
            )
        self.place = place.where(condition, True)
        yes = self.split(make, node)
        after, self.numbers = self.numbers, dict(numbers)
        self.place = place.where(condition, False)
        no = self.split(make, node)
        self.place = place
        self._merge(after)
        return _if(condition, yes, no, _line(node))

    def _merge(self, other: dict[Number, q.Affine | None]) -> None:
        """What is known of integers after one of two paths."""
        self.numbers = {
            number: value if other.get(number) == value else None
            for number, value in self.numbers.items()
        }

    def _statement(self, node: Any) -> Block:
        match node:
            case c_ast.Assignment():
                return self._assignment(node)[0]
            case c_ast.UnaryOp() if node.op in STEPS:
                one = c_ast.Constant("int", "1", node.coord)
                op = "+=" if "+" in node.op else "-="
                return self._assignment(c_ast.Assignment(op, node.expr, one, node.coord))[0]
            case c_ast.ExprList():
                return [out for each in node.exprs for out in self.statement(each)]
            case c_ast.For():
                return self._for(node)
            case c_ast.If():
                return self._if(node)
            case c_ast.FuncCall():
                return self._called(node)
            case c_ast.Cast():  # `(void)n;`
                return self.statement(node.expr) if _does_something(node.expr) else []
            case c_ast.ID() | c_ast.Constant():
                return []
            case _:
                raise self.refusal(
                    node,
                    type(node).__name__,
                    "kernels have no such statement",
                    "use assignments, loops and conditions",
                )

    # -- declarations ----------------------------------------------------------------------------

    def _declaration(self, decl: c_ast.Decl) -> Block:
        if decl.name is None:
            return []  # `enum { N = 10 };`, which the file's reader has seen
        if isinstance(decl.type, c_ast.FuncDecl):
            return []
        if "extern" in (decl.storage or []):
            raise self.refusal(
                decl, f"extern {decl.name}", "kernels have no global data", "pass it"
            )
        constant = "const" in (decl.quals or []) or _has_const(decl.type)
        if "static" in (decl.storage or []) and not constant:
            raise self.refusal(
                decl,
                f"static {decl.name}",
                "kernels keep nothing between calls",
                "pass it as a parameter",
            )
        if isinstance(decl.type, c_ast.PtrDecl):
            return self._local_pointer(decl)
        if isinstance(decl.type, c_ast.TypeDecl):
            return self._variable(decl)
        return self._local_array(decl)

    def _variable(self, decl: c_ast.Decl) -> Block:
        kind = self.type_of(decl.type)
        integer = not kind.floating and kind not in _SMALL
        if integer and (decl.name in self._places or kind.element is None):
            number = Number(decl.name, kind)
            if decl.init is None:
                self.numbers[number] = None
                self.scopes[-1][decl.name] = number
                return []
            scope = self.scopes[-1]

            def start() -> Block:
                value = self.affine(decl.init, f"value of {decl.name}")
                self.numbers[number] = self.in_type(value, kind, decl)
                return []

            out = self.split(start, decl)
            scope[decl.name] = number
            return out
        array = graph.Array(decl.name, self._element(kind, decl))
        allocate = graph.Allocate(array, decl.coord.line)
        if decl.init is None:
            self.scopes[-1][decl.name] = Data(array, kind)
            return [allocate]

        def store() -> Block:
            value = self.data(self.expr(decl.init), kind)
            return [graph.Store(array, (), (), value, line=decl.coord.line)]

        out = [allocate, *self.split(store, decl)]
        self.scopes[-1][decl.name] = Data(array, kind)
        return out

    def _local_pointer(self, decl: c_ast.Decl) -> Block:
        """Another name for a place in an array."""
        scope = self.scopes[-1]

        def point() -> Block:
            found = self.pointer(decl.init)
            if found is None:
                raise self.refusal(
                    decl,
                    f"pointer {decl.name}",
                    "it does not begin at a place in an array",
                    f"write `double *{decl.name} = A + i * n`, or `= &A[i][j]`",
                )
            self.same_layout(decl, found, decl, "pointer")
            scope[decl.name] = found
            return []

        return self.split(point, decl)

    def _local_array(self, decl: c_ast.Decl) -> Block:
        extents, kind = self._declared(decl)
        if extents[0] is None:
            if len(extents) > 1 or not isinstance(decl.init, c_ast.InitList):
                raise self.refusal(decl, decl.name, "it has no extents", "write them")
            extents[0] = c_ast.Constant("int", str(len(decl.init.exprs)), decl.coord)
        shape = tuple(self._extent_of(each, decl) for each in extents)
        array = graph.Array(decl.name, self._element(kind, decl), shape)
        out: Block = [graph.Allocate(array, decl.coord.line)]
        if decl.init is not None:
            out += self.split(lambda: self._initialised(array, kind, decl), decl)
        self.scopes[-1][decl.name] = Data(array, kind)
        return out

    def _initialised(self, array: graph.Array, kind: CType, decl: c_ast.Decl) -> Block:
        if not isinstance(decl.init, c_ast.InitList) or not all(e.is_const for e in array.shape):
            raise self.refusal(
                decl, decl.name, "its extents are no constants", "assign to its elements in a loop"
            )
        shape = [each.const for each in array.shape]
        given: dict[tuple[int, ...], Any] = {}
        self._values(decl.init, shape, given, (), decl)
        line = decl.coord.line
        zero = self.data(Operand(INT, q.Affine(0)), kind)
        out: Block = []
        total = 1
        for each in shape:
            total *= each
        if len(given) < total:  # C sets all others to 0
            loops = [graph.fresh("z") for _ in shape]
            index = tuple(map(q.as_affine, loops))
            inner: graph.Statement = graph.Store(array, (), index, zero, line=line)
            for var, extent in reversed(list(zip(loops, array.shape, strict=True))):
                inner = graph.For(var, q.Affine(), extent, (inner,), line)
            out.append(inner)
        for at, node in given.items():
            value = self.data(self.expr(node), kind)
            out.append(graph.Store(array, (), tuple(map(q.Affine, at)), value, line=line))
        if "const" in (decl.quals or []) or _has_const(decl.type):
            known = {at: self.expr(node).value for at, node in given.items()}
            self.tables[array] = tables.values(array, kind, known)
        return out

    def _values(
        self,
        node: Any,
        shape: Sequence[int],
        given: dict[tuple[int, ...], Any],
        at: tuple[int, ...],
        decl: c_ast.Decl,
    ) -> None:
        if not shape:
            given[at] = node
            return
        if not isinstance(node, c_ast.InitList) or len(node.exprs) > shape[0]:
            reason = "they do not have the array's shape"
            raise self.refusal(decl, "initial values", reason, "use braces for rows")
        for place, each in enumerate(node.exprs):
            if isinstance(each, c_ast.NamedInitializer):
                raise self.refusal(
                    decl, "designated values", "kernels have none", "write all values"
                )
            self._values(each, shape[1:], given, (*at, place), decl)

    # -- assignments -----------------------------------------------------------------------------

    def _assignment(self, node: c_ast.Assignment) -> tuple[Block, Operand]:
        """The statements of an assignment, and its value."""
        before: Block = []
        value: Operand | None = None
        if isinstance(node.rvalue, c_ast.Assignment):
            before, value = self._assignment(node.rvalue)
        target = node.lvalue
        symbol = self.lookup(target) if isinstance(target, c_ast.ID) else None
        op = node.op[:-1]
        if isinstance(symbol, Number):
            out, result = self._set(symbol, op, value or self.expr(node.rvalue), node)
            return [*before, *out], result
        if isinstance(symbol, Operand):
            raise self.refusal(
                node,
                f"assignment to {target.name}",
                "a parameter of an inlined function keeps its value",
                "copy it into a variable",
            )
        if isinstance(symbol, Pointer | Open):
            raise self.refusal(
                node,
                f"assignment to {target.name}",
                "pointers keep their place",
                f"index it, `{target.name}[i]`, or declare another one where the place is known",
            )
        array, index, kind = self.element(target)
        old = graph.View(graph.Load(array), (), (), index) if index else graph.Load(array)
        value = value or self.expr(node.rvalue)
        store = self._stored(array, index, Operand(kind, old), op, value, node)
        return [*before, store], Operand(kind, old)

    def _set(self, number: Number, op: str, value: Operand, node: Any) -> tuple[Block, Operand]:
        known = self.numbers.get(number)
        if op:
            if known is None:
                self._unknown(number, node)
            value = self._binary(op, Operand(number.type, known), value, node)
        if not isinstance(value.value, q.Affine) or self.place.guards:
            raise self.refusal(
                node,
                f"{number.name}, which is an index or a size",
                "it depends on data",
                "use sums of sizes and loop variables",
            )
        value = self.converted(value, number.type, node)
        assert isinstance(value.value, q.Affine)
        self.numbers[number] = value.value
        return [], value

    def _unknown(self, number: Number, node: Any) -> NoReturn:
        raise self.refusal(
            node,
            number.name,
            "its value is not known here as a sum of sizes and loop variables",
            "compute it from them where it is used",
        )

    def _stored(
        self,
        array: graph.Array,
        index: tuple[q.Affine, ...],
        old: Operand,
        op: str,
        value: Operand,
        node: Any,
    ) -> graph.Store:
        kind = old.type
        assert not isinstance(old.value, q.Affine)
        line = _line(node)
        if op and (added := self._added(op, kind, value)) is not None and not self.place.guards:
            return graph.Store(array, (), index, added, add=True, line=line)
        if op:
            value = self._binary(op, old, value, node)
        new = self.data(value, kind)
        if self.place.guards:
            guards = self.place.guards
            condition = guards[0] if len(guards) == 1 else graph.Logical("and", guards)
            return graph.Store(array, (), index, chosen(condition, new, old.value), line=line)
        if not op and (rest := _sum_with(new, old.value)) is not None:
            return graph.Store(array, (), index, rest, add=True, line=line)
        return graph.Store(array, (), index, new, line=line)

    def _added(self, op: str, kind: CType, value: Operand) -> graph.Value | None:
        """What is added, where C computes in the type of the array."""
        if op not in ("+", "-") or c_types.common(kind, value.type) != kind:
            return None
        if kind.element not in ("f32", "f64", "i32"):
            return None
        found = self.data(value, kind)
        if op == "+":
            return found
        return graph.Apply("neg", (found,), found.type, ())

    # -- calls -----------------------------------------------------------------------------------

    def _called(self, node: c_ast.FuncCall) -> Block:
        """A call as a statement: of a function of the file, inlined."""
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        if name not in self.file.functions:
            raise self.refusal(
                node,
                f"call of {name or 'a pointer'}",
                "neither this file nor kernels have the function",
                "define it as a static function of the file",
            )
        function = self.file.functions[name]
        args = list(node.args.exprs) if node.args is not None else []
        outer, self._places = self._places, places(function, self.file.functions)
        try:
            before: Block = []
            with self.entered(name, args, node, before):
                return [*before, *self.block(function.body)]
        finally:
            self._places = outer

    # -- conditions ------------------------------------------------------------------------------

    def _if(self, node: c_ast.If) -> Block:
        condition = self.place_condition(node.cond)
        if condition is not None:
            return self._if_place(node, self.known(condition))
        if (
            isinstance(node.cond, c_ast.BinaryOp)
            and node.cond.op == "&&"
            and node.iffalse is None
            and self.place_condition(node.cond.left) is not None
        ):
            inner = c_ast.If(node.cond.right, node.iftrue, None, node.coord)
            return self._if(c_ast.If(node.cond.left, inner, None, node.coord))
        truth = self.truth(node.cond)
        if isinstance(truth, bool):
            taken = node.iftrue if truth else node.iffalse
            return [] if taken is None else self.block(taken)
        return self._if_data(node, truth)

    def _if_place(self, node: c_ast.If, condition: q.Expr | bool) -> Block:
        if isinstance(condition, bool):
            taken = node.iftrue if condition else node.iffalse
            return [] if taken is None else self.block(taken)
        place, numbers = self.place, dict(self.numbers)
        self.place = place.given(condition)
        yes = self.block(node.iftrue)
        after, self.numbers = self.numbers, numbers
        self.place = place.given(conditions.negated(condition))
        no = [] if node.iffalse is None else self.block(node.iffalse)
        self.place = place
        self._merge(after)
        return _if(condition, yes, no, node.coord.line)

    def _if_data(self, node: c_ast.If, truth: graph.Condition) -> Block:
        place, line = self.place, node.coord.line
        both = self._one_target(node)
        if both is not None:
            yes = both[0]
            array, index, own = self.element(yes.lvalue)
            then, other = (self.data(self.expr(each.rvalue), own) for each in both)
            old = graph.View(graph.Load(array), (), (), index) if index else graph.Load(array)
            choice = Operand(own, chosen(truth, then, other))
            return [self._stored(array, index, Operand(own, old), "", choice, yes)]
        kind = "i32"
        flag = graph.Array("holds", kind)
        one, zero = graph.Constant(1, kind), graph.Constant(0, kind)
        flagged = graph.Compare("!=", graph.Load(flag), zero)
        single = node.iffalse is None and _is_assignment(node.iftrue)
        held: graph.Condition = truth if single else flagged
        out: Block = []
        if not single:
            out.append(graph.Allocate(flag, line))
            value = graph.Select(truth, one, zero)
            out.append(graph.Store(flag, (), (), value, line=line))
        numbers = dict(self.numbers)
        self.place = place.guarded(held)
        try:
            out += self.block(node.iftrue)
            after, self.numbers = self.numbers, numbers
            if node.iffalse is not None:
                self.place = place.guarded(graph.Compare("==", graph.Load(flag), zero))
                out += self.block(node.iffalse)
        finally:
            self.place = place
        self._merge(after)
        return out

    def _one_target(self, node: c_ast.If) -> tuple[Any, Any] | None:
        """`if (c) x = a; else x = b;`"""
        pair = [_only(each) for each in (node.iftrue, node.iffalse)]
        if not all(isinstance(each, c_ast.Assignment) and each.op == "=" for each in pair):
            return None
        yes, no = pair
        if any(isinstance(each.rvalue, c_ast.Assignment) for each in pair):
            return None
        if isinstance(yes.lvalue, c_ast.ID) and not isinstance(self.lookup(yes.lvalue), Data):
            return None
        targets = [self.element(each.lvalue)[:2] for each in pair]
        if targets[0][0] is not targets[1][0] or targets[0][1] != targets[1][1]:
            return None
        return yes, no

    # -- loops -----------------------------------------------------------------------------------

    def _for(self, node: c_ast.For) -> Block:
        found = header(node)
        if isinstance(found, str):
            raise self.refusal(
                node, "for", found, "write `for (int i = 0; i < n; i++)`, with affine bounds"
            )
        self.scopes.append({})
        try:
            return self._loop(node, found)
        finally:
            self.scopes.pop()

    def _loop(self, node: c_ast.For, head: Header) -> Block:
        start = self.expr(head.start)
        if head.declares is not None:
            symbol: Symbol = Number(head.name, self.type_of(head.declares.type))
            self.scopes[-1][head.name] = symbol
        else:
            symbol = self.lookup(c_ast.ID(head.name, node.coord))
        if not isinstance(symbol, Number) or symbol.type.floating or symbol.type in _SMALL:
            raise self.refusal(
                node, f"loop variable {head.name}", "it is no local integer", "declare it as int"
            )
        if not isinstance(start.value, q.Affine):
            raise self.refusal(
                node,
                f"for ({head.name} = ...)",
                "where it begins depends on data",
                "use sums of sizes and loop variables",
            )
        first = self.converted(start, symbol.type, node).value
        assert isinstance(first, q.Affine)
        changed = assigned(node.stmt)
        if head.name in changed:
            raise self.refusal(
                node, f"loop variable {head.name}", "the body changes it", "change the step"
            )
        self._forget(changed)
        self.numbers[symbol] = None
        step = self._step(node, head)
        var = graph.fresh(head.name)
        ends = self._ends(node, head, step, symbol, first, var)
        if symbol.type.unsigned and step < 0:
            for each in ends[:1]:
                self.not_negative(each + step, node)
        return self._counted(node, head, step, symbol, first, ends, var)

    def _step(self, node: c_ast.For, head: Header) -> int:
        found = self.expr(head.step).value
        if (
            not isinstance(found, q.Affine)
            or not found.is_const
            or not 0 < abs(found.const) < 2**31
        ):
            reason = "its step is no constant"
            raise self.refusal(node, "for", reason, "write `for (int i = 0; i < n; i += 4)`")
        return -found.const if head.down else found.const

    def _forget(self, names: frozenset[str]) -> None:
        """Variables that a loop changes have an unknown value at its beginning."""
        for name in names:
            symbol = next((each[name] for each in reversed(self.scopes) if name in each), None)
            if isinstance(symbol, Number):
                self.numbers[symbol] = None

    def _ends(
        self, node: c_ast.For, head: Header, step: int, symbol: Number, first: q.Affine, var: q.Var
    ) -> list[q.Affine]:
        """The last values of the variable, one for each comparison of the condition."""
        here = q.as_affine(var)
        up = step > 0
        known = [here - first if up else first - here]
        if symbol.type.unsigned:
            known.append(here)
        place, self.numbers[symbol] = self.place, here
        self.place = place.with_facts(*known)
        try:
            parts = _conjunction(head.condition)
            ends = [self._end(each, symbol, first, var, step) for each in parts]
        finally:
            self.place = place
        if None in ends:
            raise self.refusal(
                node,
                f"condition of the loop over {head.name}",
                f"it does not bound {head.name} by sizes and variables of loops around",
                f"write `{head.name} {'<' if up else '>='} bound`",
            )
        return [each for each in ends if each is not None]

    def _end(
        self, node: Any, symbol: Number, first: q.Affine, var: q.Var, step: int
    ) -> q.Affine | None:
        up = step > 0
        if not isinstance(node, c_ast.BinaryOp):
            return None
        left, right = self.expr(node.left), self.expr(node.right)
        if not isinstance(left.value, q.Affine) or not isinstance(right.value, q.Affine):
            return None
        if node.op == "!=" and abs(step) == 1:
            here = q.as_affine(var)
            bound = right.value if left.value == here else left.value
            if here not in (left.value, right.value) or q.mentions(bound, var):
                return None
            span = bound - first if up else first - bound
            reason = "the loop has no end if it begins beyond its bound"
            self.require(span, node, f"{symbol.name} != {show_affine(bound)}", reason)
            return bound - step
        condition = self.compared(node.op, left, right, node)
        if not isinstance(condition, q.BinOp):
            return None
        return last(condition, var, up)

    def _counted(
        self,
        node: c_ast.For,
        head: Header,
        step: int,
        symbol: Number,
        first: q.Affine,
        ends: list[q.Affine],
        var: q.Var,
    ) -> Block:
        at = tables.numbers(first, ends, step)
        if at is not None and tables.looked_up(node.stmt, head.name, self.is_table, self._places):
            return self._unrolled(node, symbol, at)
        place, line, here = self.place, node.coord.line, q.as_affine(var)
        up = step > 0
        if step == 1 and self.holds(first):  # Exo's conversions of indices want none below 0
            lo, hi, value = first, ends[0] + 1, here
            known = [here - lo, hi - 1 - here]
        else:
            lo, hi = q.Affine(), trips(first, ends[0], step)
            value = first + here.scaled(step)
            known = [here, ends[0] - value if up else value - ends[0]]
        self.numbers[symbol] = value
        condition: q.Expr | bool = True
        for each in ends[1:]:
            within = conditions.compared("<=" if up else ">=", value, each)
            condition = conditions.both(condition, within)
        self.place = place.with_facts(*known).given(condition)
        try:
            body = self.block(node.stmt)
        finally:
            self.place = place
        self._forget(assigned(node.stmt))
        self.numbers[symbol] = None
        if len(ends) == 1 and abs(step) == 1:
            after = ends[0] + step
            span = after - first if up else first - after
            if self.holds(span):
                self.numbers[symbol] = after
        if isinstance(condition, bool):
            body = body if condition else []
        else:
            body = _if(condition, body, [], line)
        if not body:
            return []
        return self._run(graph.For(var, lo, hi, tuple(body), line), head.name, node)

    def _unrolled(self, node: c_ast.For, symbol: Number, at: range) -> Block:
        """A loop whose variable says which numbers of a table are indices."""
        out: Block = []
        for number in at:
            self.numbers[symbol] = q.Affine(number)
            out += self.block(node.stmt)
        self.numbers[symbol] = q.Affine(at[-1] + at.step) if at else None
        return out

    def is_table(self, name: str) -> bool:
        """Whether it is a constant array of known whole numbers."""
        symbol = next((each[name] for each in reversed(self.scopes) if name in each), None)
        return isinstance(symbol, Data) and symbol.array in self.tables

    def _run(self, loop: graph.For, name: str, node: Any) -> Block:
        """Exo's loops have no end before their beginning. That a size is not so small that the loop
        never runs becomes an assert, anything else a condition."""
        trips = loop.hi - loop.lo
        if self.holds(trips):
            return [loop]
        if self.holds(trips.scaled(-1)):
            return []
        cases = self.cases()
        never = len(cases) == 1 and all(atom in self.sizes for atom, _ in trips.terms)
        below = self.violated(trips, cases[0]) if never else []
        if len(below) == 1 and not self.place.decided and _is_small(below[0]):
            bound = f"{show_affine(loop.lo)} .. {show_affine(loop.hi)}"
            self.require(trips, node, f"loop over {name}", f"{bound} has no numbers")
            return [loop]
        condition = conditions.compared("<", loop.lo, loop.hi)
        assert not isinstance(condition, bool)
        return [graph.If(condition, (loop,), (), loop.line)]


def _is_small(row: q.Affine) -> bool:
    """Whether it says that one size is small."""
    return len(row.terms) == 1 and row.terms[0][1] < 0


def _conjunction(node: Any) -> list[Any]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return [*_conjunction(node.left), *_conjunction(node.right)]
    return [node]


def _sum_with(value: graph.Value, old: graph.Value) -> graph.Value | None:
    """What is added to the old value, if that is what is stored: `a = a + x`, `a = x + a`."""
    if not isinstance(value, graph.Apply) or value.type not in ("f32", "f64", "i32"):
        return None
    if value.function == "+":
        left, right = value.args
        if same(left, old):
            return right
        if same(right, old):
            return left
    if value.function == "-" and same(value.args[0], old):
        return graph.Apply("neg", (value.args[1],), value.type, ())
    return None


def _if(condition: q.Expr, yes: Block, no: Block, line: int) -> Block:
    if yes:
        return [graph.If(condition, tuple(yes), tuple(no), line)]
    if no:
        opposite = conditions.negated(condition)
        assert not isinstance(opposite, bool)
        return [graph.If(opposite, tuple(no), (), line)]
    return []


def _only(node: Any) -> Any:
    """The one statement of a block."""
    while isinstance(node, c_ast.Compound) and len(node.block_items or []) == 1:
        node = node.block_items[0]
    return node


def _leaves(node: Any) -> bool:
    """`if (c) return;`"""
    if not isinstance(node, c_ast.If) or node.iffalse is not None:
        return False
    only = _only(node.iftrue)
    return isinstance(only, c_ast.Return) and only.expr is None


def _does_something(node: Any) -> bool:
    """Whether an expression may change a variable."""
    return any(
        isinstance(each, c_ast.Assignment | c_ast.FuncCall)
        or (isinstance(each, c_ast.UnaryOp) and each.op in STEPS)
        for each in walk(node)
    )


def _is_assignment(node: Any) -> bool:
    only = _only(node)
    return isinstance(only, c_ast.Assignment) and not isinstance(only.rvalue, c_ast.Assignment)


def _has_const(node: Any) -> bool:
    while not isinstance(node, c_ast.TypeDecl) and hasattr(node, "type"):
        node = node.type
    return "const" in (getattr(node, "quals", None) or [])


def _line(node: Any) -> int:
    return getattr(getattr(node, "coord", None), "line", 0) or 0
