"""Names in files as they are read: parameters without one, the user's own types that are called as
those of the system, variables that hide others."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from pycparser import c_ast

from schedsearch.frontends.c.constants import enumerators, value_of
from schedsearch.frontends.c.trees import names_in, walk

INCLUDE = Path(__file__).parent / "include"

_WIDTHS = ("8", "16", "32", "64", "max", "ptr")
_OF_SYSTEM = {
    *(f"{sign}int{width}_t" for sign in ("", "u") for width in _WIDTHS),
    *(f"{s}int_{kind}{n}_t" for s in ("", "u") for kind in ("fast", "least") for n in _WIDTHS[:4]),
    *("size_t", "ssize_t", "ptrdiff_t", "wchar_t", "max_align_t", "float_t", "double_t", "off_t"),
    *("uint", "ushort", "ulong", "u_char", "u_short", "u_int", "u_long", "quad_t", "u_quad_t"),
    *("time_t", "clock_t", "pid_t", "id_t", "key_t", "dev_t", "mode_t", "div_t", "register_t"),
    *("FILE", "fpos_t", "va_list", "loff_t", "ino_t", "nlink_t", "uid_t", "gid_t"),
}
"""Types that headers around kernels may declare, which the user's file does not include."""


def from_header(node: c_ast.Node) -> bool:
    """Whether one of our headers has it, in the place of the system's."""
    return str(getattr(node.coord, "file", "")).startswith(str(INCLUDE))


def settled(tree: c_ast.FileAST) -> c_ast.FileAST:
    """The tree of a file, changed in place: all parameters of definitions have names, and no type
    of the user's has one of the system's."""
    for each in tree.ext:
        if isinstance(each, c_ast.FuncDef):
            _name_parameters(each)
    _count_extents(tree)
    _spell_arrays(tree)
    types = {
        each.name: f"own_{each.name}"
        for each in tree.ext
        if isinstance(each, c_ast.Typedef) and each.name in _OF_SYSTEM and not from_header(each)
    }
    if types:
        _rename_types(tree, types)
    return tree


def _count_extents(tree: c_ast.FileAST) -> None:
    """`typedef double matrix[N][N]` of an enumerator as `[4][4]`: where the type is used, another
    variable may have the name."""
    known: dict[str, int] = {}
    for each in tree.ext:
        found = enumerators(each, known)
        known |= {name: value for name, value in found.items() if value is not None}
        for node in walk(each) if isinstance(each, c_ast.Typedef) else ():
            if not isinstance(node, c_ast.ArrayDecl) or not names_in(node.dim):
                continue
            value = value_of(node.dim, known)
            if value is None:  # a name that nothing has: who uses the type is told so
                node.dim = c_ast.ID(f"an extent of {each.name}", node.dim.coord)
            else:
                node.dim = c_ast.Constant("int", str(value), node.dim.coord)


def _spell_arrays(tree: c_ast.FileAST) -> None:
    """`matrix a` as `double a[4][4]`, and `vector x` as `double *x`."""
    types: dict[str, Any] = {}
    for each in tree.ext:
        if isinstance(each, c_ast.Typedef):  # the first: `typedef T T` may come again
            types.setdefault(each.name, each.type)
    for node in walk(tree):
        while isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.TypeDecl):
            found = types.get(_type_name(node.type))
            if found is None or isinstance(found, c_ast.FuncDecl):
                break
            own = deepcopy(found)
            inner = _declare(own, node.name)
            if not isinstance(own, c_ast.PtrDecl):  # else not of what it points to
                inner.quals = [*inner.quals, *node.type.quals]
            if isinstance(own, c_ast.TypeDecl) and not _of_arrays(own, types):
                break
            node.type = own


def _type_name(kind: c_ast.TypeDecl) -> str:
    return " ".join(getattr(kind.type, "names", []))


def _of_arrays(kind: Any, types: dict[str, Any]) -> bool:
    """Whether it is, by way of other types, one of arrays or pointers."""
    while isinstance(kind, c_ast.TypeDecl):
        kind = types.get(_type_name(kind))
    return isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl)


def _name_parameters(function: c_ast.FuncDef) -> None:
    args = function.decl.type.args
    if args is None:
        return
    taken = _names(function)
    for place, each in enumerate(args.params):
        if not isinstance(each, c_ast.Typename) or _is_void(each):
            continue
        name = _free(f"unnamed_{place}", taken)
        _declare(each.type, name)
        args.params[place] = c_ast.Decl(
            name, each.quals, [], [], [], each.type, None, None, each.coord or function.decl.coord
        )


def _names(function: c_ast.FuncDef) -> set[str]:
    names = {node.name for node in walk(function) if isinstance(node, c_ast.ID | c_ast.Decl)}
    return names | {function.decl.name}


def _is_void(node: c_ast.Typename) -> bool:
    return isinstance(node.type, c_ast.TypeDecl) and getattr(node.type.type, "names", 0) == ["void"]


def _declare(kind: Any, name: str) -> c_ast.TypeDecl:
    while not isinstance(kind, c_ast.TypeDecl):
        kind = kind.type
    kind.declname = name
    return kind


def _free(name: str, taken: Iterable[Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _rename_types(tree: c_ast.FileAST, types: dict[str, str]) -> None:
    for node in walk(tree):
        match node:
            case c_ast.Typedef() if node.name in types:
                node.name = types[node.name]
                _declare(node.type, node.name)
            case c_ast.IdentifierType() if len(node.names) == 1 and node.names[0] in types:
                node.names = [types[node.names[0]]]
            case _:
                pass


def distinct(function: c_ast.FuncDef, names: Iterable[str]) -> c_ast.FuncDef | None:
    """A function whose variables of these names have names of their own, where several are
    declared: `int t = a[i]` beside `int t = 2 * i`. Parameters, variables of loops, or else the
    first of them keep theirs. None if there are no others."""
    function = deepcopy(function)
    heads = [n.init for n in walk(function.body) if isinstance(n, c_ast.For) and n.init is not None]
    fixed = {id(each) for node in (function.decl, *heads) for each in walk(node)}
    declared = [each for each in walk(function) if isinstance(each, c_ast.Decl)]
    taken = _names(function)
    new: dict[int, str] = {}
    for name in sorted(names):
        same = [each for each in declared if each.name == name]
        others = [each for each in same if id(each) not in fixed]
        for each in others if len(others) < len(same) else others[1:]:
            if isinstance(each.type, c_ast.TypeDecl):
                new[id(each)] = _free(f"{name}_{len(new) + 1}", taken)
                taken.add(new[id(each)])
    if not new:
        return None
    _rename(function.body, {}, new)
    return function


def _rename(node: Any, scope: dict[str, str], new: dict[int, str]) -> None:
    match node:
        case c_ast.ID():
            node.name = scope.get(node.name, node.name)
        case c_ast.StructRef():
            _rename(node.name, scope, new)
        case c_ast.Decl():
            _rename(node.type, scope, new)
            name = node.name
            scope[name] = new.get(id(node), name)
            if id(node) in new:
                node.name = scope[name]
                _declare(node.type, node.name)
            if node.init is not None:
                _rename(node.init, scope, new)
        case _:
            inner = dict(scope) if isinstance(node, c_ast.Compound | c_ast.For) else scope
            for _, child in node.children():
                _rename(child, inner, new)
