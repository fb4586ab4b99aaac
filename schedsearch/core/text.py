"""Pretty printer of the query AST, in Exo's own syntax."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from schedsearch.core import ast as q

Namer = Callable[[q.Var], str]


def plain_name(var: q.Var) -> str:
    return var.name


def show_affine(value: q.Affine, name: Namer = plain_name) -> str:
    parts: list[str] = []
    for atom, coefficient in value.terms:
        text = show_atom(atom, name)
        size = abs(coefficient)
        sign = "-" if coefficient < 0 else "+"
        parts += [sign, text if size == 1 else f"{size} * {text}"]
    if value.const or not parts:
        parts += ["-" if value.const < 0 else "+", str(abs(value.const))]
    head = parts[1] if parts[0] == "+" else f"-{parts[1]}"
    return " ".join([head, *parts[2:]])


def show_atom(atom: q.Atom, name: Namer = plain_name) -> str:
    match atom:
        case q.Var():
            return name(atom)
        case q.FloorDiv():
            return f"(({show_affine(atom.num, name)}) / {atom.den})"
        case q.Mod():
            return f"(({show_affine(atom.num, name)}) % {atom.den})"
        case q.StrideOf():
            return f"stride({name(atom.buf)}, {atom.dim})"
        case q.ConfigField():
            return f"{atom.config}.{atom.field}"


def show_expr(expr: q.Expr | q.Interval, name: Namer = plain_name) -> str:
    match expr:
        case q.Affine():
            return show_affine(expr, name)
        case q.Const():
            return repr(expr.value)
        case q.Read():
            return show_access(expr.buf, expr.idx, name)
        case q.USub():
            return f"-({show_expr(expr.arg, name)})"
        case q.BinOp():
            return f"({show_expr(expr.lhs, name)} {expr.op} {show_expr(expr.rhs, name)})"
        case q.Extern():
            return f"{expr.name}({', '.join(show_expr(arg, name) for arg in expr.args)})"
        case q.Interval():
            return f"{show_affine(expr.lo, name)}:{show_affine(expr.hi, name)}"
        case q.Window():
            return f"{name(expr.buf)}[{', '.join(show_expr(i, name) for i in expr.idx)}]"
        case q.ReadConfig():
            return f"{expr.config}.{expr.field}"


def show_access(buf: q.Var, idx: tuple[q.Affine, ...], name: Namer = plain_name) -> str:
    if not idx:
        return name(buf)
    return f"{name(buf)}[{', '.join(show_affine(i, name) for i in idx)}]"


def header(stmt: q.Stmt, name: Namer = plain_name) -> str:
    """One line that names a statement: its own text without nested statements."""
    match stmt:
        case q.Assign():
            return f"{show_access(stmt.buf, stmt.idx, name)} = {show_expr(stmt.rhs, name)}"
        case q.Reduce():
            return f"{show_access(stmt.buf, stmt.idx, name)} += {show_expr(stmt.rhs, name)}"
        case q.WriteConfig():
            return f"{stmt.config}.{stmt.field} = {show_expr(stmt.rhs, name)}"
        case q.Pass():
            return "pass"
        case q.If():
            return f"if {show_expr(stmt.cond, name)}"
        case q.For():
            kind = "par" if stmt.parallel else "seq"
            bounds = f"{show_affine(stmt.lo, name)}, {show_affine(stmt.hi, name)}"
            return f"for {name(stmt.iter)} in {kind}({bounds})"
        case q.Alloc():
            return f"{name(stmt.buf)}: {_type(stmt.type, stmt.shape, False, name)} @ {stmt.mem}"
        case q.Call():
            return f"{stmt.proc.name}({', '.join(show_expr(arg, name) for arg in stmt.args)})"
        case q.WindowStmt():
            return f"{name(stmt.name)} = {show_expr(stmt.window, name)}"


def _type(kind: str, shape: tuple[q.Affine, ...] | None, window: bool, name: Namer) -> str:
    if not shape:
        return kind
    dims = ", ".join(show_affine(extent, name) for extent in shape)
    return f"[{kind}][{dims}]" if window else f"{kind}[{dims}]"


def _lines(body: tuple[q.Stmt, ...], indent: int, head: Callable[[q.Stmt], str]) -> Iterator[str]:
    pad = "    " * indent
    for stmt in body:
        inner = q.blocks(stmt)
        yield pad + head(stmt) + (":" if inner else "")
        if inner:
            yield from _lines(inner[0], indent + 1, head)
        if len(inner) > 1:
            yield pad + "else:"
            yield from _lines(inner[1], indent + 1, head)


def show_proc(proc: q.Proc, name: Namer = plain_name) -> str:
    """The whole procedure. Callees are named, not expanded."""
    lines = _lines(proc.body, 1, lambda stmt: header(stmt, name))
    return "\n".join([_head(proc, name), *lines])


def _head(proc: q.Proc, name: Namer) -> str:
    """All but the body."""
    args = []
    for arg in proc.args:
        mem = f" @ {arg.mem}" if arg.mem else ""
        args.append(f"{name(arg.var)}: {_type(arg.type, arg.shape, arg.window, name)}{mem}")
    lines = [f"def {proc.name}({', '.join(args)}):"]
    lines += [f"    assert {show_expr(cond, name)}" for cond in proc.asserts]
    return "\n".join(lines)


@q.per_node
def canonical_text(proc: q.Proc) -> str:
    """Text that is equal for procedures that differ only in bound names. Callees are expanded: two
    procedures of the same name may differ.
    """
    parts = [_head(proc, _number), *_lines(proc.body, 1, _numbered)]
    parts.append(f"instr {proc.instr!r}")
    parts.append(" ".join([kind for stmt in proc.body for kind in _types(stmt)]))
    parts += [canonical_text(callee) for stmt in proc.body for callee in _callees(stmt)]
    return "\n".join(parts)


def _number(var: q.Var) -> str:
    return f"v{var.uid}"


@q.per_node
def _numbered(stmt: q.Stmt) -> str:
    """The header of a statement with variables by number."""
    return header(stmt, _number)


@q.per_node
def _types(stmt: q.Stmt) -> tuple[str, ...]:
    """Types of the assignments and reductions in a statement, in textual order."""
    if isinstance(stmt, q.Assign | q.Reduce):
        return (stmt.type,)
    return tuple([kind for block in q.blocks(stmt) for each in block for kind in _types(each)])


@q.per_node
def _callees(stmt: q.Stmt) -> tuple[q.Proc, ...]:
    """Procedures called in a statement, in textual order, once for each call."""
    if isinstance(stmt, q.Call):
        return (stmt.proc,)
    return tuple([proc for block in q.blocks(stmt) for each in block for proc in _callees(each)])
