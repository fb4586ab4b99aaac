"""Variables, arrays and pointers that a function declares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.affine.knowledge import Split
from schedsearch.frontends.c.c_types import INT, CType, Unsupported
from schedsearch.frontends.c.declarations import declared
from schedsearch.frontends.c.expressions import Expressions
from schedsearch.frontends.c.loops import tables
from schedsearch.frontends.c.symbols import Cursor, Data, Number, Operand
from schedsearch.frontends.c.trees import is_constant, targets, walk

Block = list[graph.Statement]

SMALL = (c_types.BOOL, c_types.SCHAR, c_types.UCHAR, c_types.SHORT, c_types.USHORT)
"""Types of data only: no loop variable has them."""


class Storage(Expressions):
    """Declarations."""

    @abstractmethod
    def statement(self, node: Any) -> Block:
        """Any statement."""

    @abstractmethod
    def split(self, make: Callable[[], Block], node: Any) -> Block:
        """Statements; two versions of them if an expression depends on a condition on places."""

    def declared(self, decl: c_ast.Decl) -> tuple[list[Any], CType]:
        try:
            extents, kind = declared(decl, self.file.typedefs)
        except Unsupported as error:
            raise self.refusal(decl, *error.parts) from None
        return extents, self.type_of(kind)

    def element_of(self, kind: CType, decl: c_ast.Decl) -> str:
        try:
            return c_types.element(kind)
        except Unsupported as error:
            raise self.refusal(decl, f"{decl.name} of {error.parts[0]}", *error.parts[1:]) from None

    def extent_of(self, node: Any, decl: c_ast.Decl) -> q.Affine:
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

    def global_arrays(self, function: c_ast.FuncDef) -> Block:
        """Constant arrays of the file, as local ones."""
        out: Block = []
        used = {node.name for node in walk(function.body) if isinstance(node, c_ast.ID)}
        for name, decl in self.file.variables.items():
            constant = is_constant(decl)
            array = isinstance(decl.type, c_ast.ArrayDecl) and decl.init is not None
            if name in used - self.scopes[-1].keys() and array and constant:
                inner = {node.name for node in walk(decl) if isinstance(node, c_ast.ID)}
                if hidden := sorted(inner & self.scopes[-1].keys()):
                    reason = f"it is computed of {hidden[0]}, which a parameter hides"
                    raise self.refusal(decl, name, reason, "give the parameter another name")
                out += self.declaration(decl)
        return out

    @cached_property
    def changed(self) -> frozenset[str]:
        """Names that are assigned to anywhere in the file after they are declared."""
        return frozenset().union(*map(targets, self.file.functions.values()))

    def declaration(self, decl: c_ast.Decl) -> Block:
        if decl.name is None:
            return []  # `enum { N = 10 };`, which the file's reader has seen
        if isinstance(decl.type, c_ast.FuncDecl):
            return []
        if "extern" in (decl.storage or []):
            raise self.refusal(
                decl, f"extern {decl.name}", "kernels have no global data", "pass it"
            )
        if "static" in (decl.storage or []) and not is_constant(decl):
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
        integer = not kind.floating and kind not in SMALL
        if integer and (decl.name in self.places or kind.element is None):
            number = Number(decl.name, kind)
            if decl.init is None:
                self.numbers[number] = None
                self.scopes[-1][decl.name] = number
                return []
            scope = self.scopes[-1]

            def start() -> Block:
                value = self.whole(decl.init, f"value of {decl.name}")
                self.numbers[number] = self.converted(value, kind, decl).whole
                return []

            out = self.split(start, decl)
            scope[decl.name] = number
            return out
        array = graph.Array(decl.name, self.element_of(kind, decl))
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
        """Another name for a place in an array, or memory of its own."""
        made = allocated(decl.init, self.file.functions)
        if made is not None:
            return self._own_memory(decl, *made)
        cursor = Cursor(decl.name, decl)
        self.numbers[cursor] = None
        out = [] if decl.init is None else self.split(lambda: self.aim(cursor, decl), decl)
        self.scopes[-1][decl.name] = cursor
        return out

    def _own_memory(self, decl: c_ast.Decl, length: Any, cleared: bool) -> Block:
        """`double *t = malloc(length)` as an array of the function: it ends with its block."""
        coord, given = decl.coord, length
        extents, kind = declared(decl, self.file.typedefs)
        for each in (c_ast.UnaryOp("sizeof", _typename(kind), coord), *extents[1:]):
            length = c_ast.BinaryOp("/", length, each, coord)
        inner = tuple(self.extent_of(each, decl) for each in extents[1:])
        element = self.element_of(self.type_of(kind), decl)
        first = graph.Array(decl.name, element, (q.Affine(1), *inner))
        symbol = Data(first, self.type_of(kind))  # for `sizeof *t`
        self.memory.add(symbol)
        self.scopes[-1][decl.name] = symbol
        own = copy(decl)
        own.type, own.init = c_ast.ArrayDecl(decl.type.type, length, [], coord), None
        out = self._local_array(own)
        made = self.scopes[-1][decl.name]
        assert isinstance(made, Data)
        self.memory.add(made)
        if cleared:
            whole = [c_ast.ID(decl.name, coord), c_ast.Constant("int", "0", coord), given]
            call = c_ast.FuncCall(c_ast.ID("memset", coord), c_ast.ExprList(whole, coord), coord)
            out += self.statement(call)
        if decl.name in self.changed:
            self.scopes[-1][decl.name] = self.moving(decl, made)
        return out

    def aim(self, cursor: Cursor, node: c_ast.Decl | c_ast.Assignment) -> Block:
        start = node.init if isinstance(node, c_ast.Decl) else node.rvalue
        if allocated(start, self.file.functions):
            raise self.refusal(
                node,
                f"memory of {cursor.name}",
                "kernels allocate arrays where they are declared",
                "write both in one statement, `double *t = malloc(...)`",
            )
        found = self.pointer(start)
        if found is None:
            raise self.refusal(
                node,
                f"pointer {cursor.name}",
                "it does not begin at a place in an array",
                f"write `double *{cursor.name} = A + i * n`, or `= &A[i][j]`",
            )
        self.same_layout(cursor.decl, found, node, "pointer")
        self.numbers[cursor] = found
        return []

    def _local_array(self, decl: c_ast.Decl) -> Block:
        extents, kind = self.declared(decl)
        if extents[0] is None:
            if len(extents) > 1 or not isinstance(decl.init, c_ast.InitList):
                raise self.refusal(decl, decl.name, "it has no extents", "write them")
            extents[0] = c_ast.Constant("int", str(len(decl.init.exprs)), decl.coord)
        shape = tuple(self.extent_of(each, decl) for each in extents)
        array = graph.Array(decl.name, self.element_of(kind, decl), shape)
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
        if is_constant(decl):
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


def allocated(node: Any, functions: Container[str]) -> tuple[Any, bool] | None:
    """The bytes that a call of `malloc` or `calloc` gives, and whether they are 0. None of all
    else."""
    while isinstance(node, c_ast.Cast):
        node = node.expr
    match node:
        case c_ast.FuncCall(name=c_ast.ID(name=name)) if name not in functions:
            args = list(node.args.exprs) if node.args is not None else []
            if name == "malloc" and len(args) == 1:
                return args[0], False
            if name == "calloc" and len(args) == 2:
                return c_ast.BinaryOp("*", *args, node.coord), True
            if name == "aligned_alloc" and len(args) == 2:
                return args[1], False
    return None


def _typename(kind: Any) -> c_ast.Typename:
    return c_ast.Typename(None, [], None, kind, kind.coord)
