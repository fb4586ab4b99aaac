"""Functions of C as programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.affine import linear
from schedsearch.frontends.c.affine.linear import Polynomial
from schedsearch.frontends.c.c_types import INT
from schedsearch.frontends.c.jumps import RESULT, returning
from schedsearch.frontends.c.naming import distinct
from schedsearch.frontends.c.preprocessed import DEEPEST
from schedsearch.frontends.c.private import narrowed
from schedsearch.frontends.c.scopes import File
from schedsearch.frontends.c.statements import Statements
from schedsearch.frontends.c.storage import SMALL, Block
from schedsearch.frontends.c.symbols import Data, Number, Open
from schedsearch.frontends.c.trees import assigned, parameters, places, walk
from schedsearch.frontends.lowered import refused


def program(file: File, function: c_ast.FuncDef) -> graph.Program:
    """The program of a function. Raises UserError for what programs do not have."""
    try:
        try:
            return _translated(file, function, False)
        except UserError:
            for other, own, turned in _again(file, function):
                with suppress(UserError):
                    return _translated(other, own, turned)
            raise
    except RecursionError:
        raise refused(file.path, function.coord.line, function.decl.name, *DEEPEST_PARTS) from None


def _again(file: File, function: c_ast.FuncDef) -> Iterator[tuple[File, c_ast.FuncDef, bool]]:
    """Other readings: a loop over a product of sizes, their order turned around; each variable
    under a name of its own."""
    yield file, function, True
    own = {
        name: distinct(each, places(each, file.functions)) or each
        for name, each in file.functions.items()
    }
    found = own.get(function.decl.name, function)
    if any(each is not file.functions[name] for name, each in own.items()):
        other = replace(file, functions=own)
        yield other, found, False
        yield other, found, True


def _translated(file: File, function: c_ast.FuncDef, turned: bool) -> graph.Program:
    first = _Translation(file, {}, turned=turned).translated(function)
    if not first.needs:
        return first.program
    extents = {name: _extent(first, name, needs) for name, needs in first.needs.items()}
    return _Translation(file, extents, first, turned).translated(function).program


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


def _sizes_first(own: list[q.Var | graph.Array]) -> list[q.Var | graph.Array]:
    """Exo declares sizes before the arrays that have them; C need not."""
    known: set[q.Atom] = set()
    for each in own:
        if isinstance(each, q.Var):
            known.add(each)
        elif any(var not in known for extent in each.shape for var in q.expr_vars(extent)):
            return sorted(own, key=lambda one: isinstance(one, graph.Array))
    return own


class _Translation(Statements):
    """The translation of one function."""

    def __init__(
        self,
        file: File,
        extents: dict[str, tuple[linear.Layout, graph.Array]],
        before: _Translation | None = None,
        turned: bool = False,
    ) -> None:
        super().__init__(file, extents)
        self.turned = turned
        self.open: dict[str, Open] = {}
        self.program: graph.Program
        self._vars: dict[str, q.Var] = before._vars if before else {}
        """Variables of sizes, which the extents of pointers are made of."""

    def translated(self, function: c_ast.FuncDef) -> _Translation:
        name = function.decl.name
        self.prototyped(function)
        self.places = places(function, self.file.functions)
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
            elif isinstance(symbol, Data | Open) and each.name in written:
                self.scopes[-1][each.name] = self.moving(each, symbol)
        results = self._result(function)
        body += self.global_arrays(function)
        body += self.block(returning(function.body))
        for decl in decls:
            if decl.name in self.open and decl.name in self.extents:
                order[decl.name] = self.extents[decl.name][1]
            elif decl.name in self.open:
                order[decl.name] = graph.Array(
                    decl.name,
                    c_types.element(self.open[decl.name].type),
                    (q.Affine(1), *self.open[decl.name].inner),
                )
        own = [order[each.name] for each in decls]
        parameters_ = _sizes_first(own)
        self.program = graph.Program(
            name,
            (*parameters_, *results),
            narrowed(tuple(body)),
            self.kept_asserts(),
            self.file.path,
            bounded=True,
            order=() if parameters_ == own else tuple(map(parameters_.index, own)),
        )
        if not self.program.written & set(self.program.parameters) and not self.needs:
            raise self.refusal(
                function.decl, name, "it changes no array", "store its results into parameters"
            )
        return self

    def _result(self, function: c_ast.FuncDef) -> tuple[graph.Array, ...]:
        """Where the function's result is stored."""
        decl = function.decl
        kind = decl.type.type
        if not isinstance(kind, c_ast.TypeDecl):
            raise self.refusal(
                decl, f"result of {decl.name}", "it is a pointer", "make the function void"
            )
        if getattr(kind.type, "names", None) == ["void"]:
            return ()
        own = self.type_of(kind)
        array = graph.Array("result", self.element_of(own, decl), (q.Affine(1),))
        self.scopes[-1][RESULT] = Data(array, own)
        return (array,)

    def _scalar_parameter(
        self, decl: c_ast.Decl, order: dict[str, q.Var | graph.Array], used: set[str]
    ) -> None:
        kind, name = self.type_of(decl.type), decl.name
        integer = not kind.floating and kind not in SMALL
        if integer and (name in self.places or kind != INT or name not in used):
            var = self._vars.setdefault(name, graph.fresh(name))
            number = Number(name, kind)
            self.sizes.append(var)
            self.numbers[number] = q.as_affine(var)
            self.scopes[-1][name] = number
            order[name] = var
        else:
            array = graph.Array(name, self.element_of(kind, decl))
            self.scopes[-1][name] = Data(array, kind)
            order[name] = array

    def _array_parameter(self, decl: c_ast.Decl, order: dict[str, q.Var | graph.Array]) -> None:
        extents, kind = self.declared(decl)
        if isinstance(decl.type, c_ast.FuncDecl):
            raise self.refusal(
                decl, decl.name, "kernels call no pointers", "call a function of the file"
            )
        if extents[0] is not None and isinstance(self.expr(extents[0]).value, Polynomial):
            extents[0] = None  # `double x[n * m]` is a pointer
        shape = [None if each is None else self.extent_of(each, decl) for each in extents]
        inner = tuple(each for each in shape[1:] if each is not None)
        if shape[0] is None:
            symbol = Open(decl.name, kind, inner)
            self.element_of(kind, decl)
            self.scopes[-1][decl.name] = symbol
            self.open[decl.name] = symbol
            return
        array = graph.Array(decl.name, self.element_of(kind, decl), (shape[0], *inner))
        self.scopes[-1][decl.name] = Data(array, kind)
        order[decl.name] = array

    def _copied(self, decl: c_ast.Decl, symbol: Data) -> Block:
        """A parameter that the function assigns to is its own variable."""
        array = graph.Array(f"{decl.name}_", symbol.array.type)
        self.scopes[-1][decl.name] = Data(array, symbol.type)
        line = decl.coord.line
        return [
            graph.Allocate(array, line),
            graph.Store(array, (), (), graph.Load(symbol.array), line=line),
        ]
