"""Functions rewritten so that tracing sees their loops and branches.

The syntax tree of a function gets calls of `control.Control`, whose name is `__b`:

    for i in range(n):            __L1 = __b.loop(__b.call(range, n), ("x",), ("x",), "", lambda: x)
        x = x + A[i]              for i in __L1:
                                      (x,) = __L1.begin(lambda: x)
                                      x = x + A[i]
                                      __L1.end(lambda: x)
                                  (x,) = __L1.leave(lambda: x)

`if` likewise; calls, `and`, `or`, `not`, `a if c else b`, augmented assignment and assignment to
elements become calls too. Lines stay what they are.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from schedsearch.frontends.lowered import refused

RESULT = "__ret"

MOST_COPIES = 64
"""How often statements after branches that jump are written: tracing takes as long."""

AUGMENTED = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "true_divide",
    ast.Pow: "power",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}

FORBIDDEN: dict[type, tuple[str, str, str]] = {
    ast.Try: ("try", "nothing is raised while a kernel runs", "leave it out"),
    ast.ClassDef: ("class", "kernels have arrays and numbers only", "define it outside"),
    ast.AsyncFor: ("async for", "a kernel runs at once", "write for"),
    ast.AsyncWith: ("async with", "a kernel runs at once", "write with"),
    ast.AsyncFunctionDef: ("async def", "a kernel runs at once", "write def"),
    ast.Await: ("await", "a kernel runs at once", "leave it out"),
    ast.Yield: ("yield", "a kernel returns once", "write elements of an array"),
    ast.YieldFrom: ("yield from", "a kernel returns once", "write elements of an array"),
    ast.Global: ("global", "a kernel assigns arguments and its own variables", "return it"),
    ast.Nonlocal: ("nonlocal", "a kernel assigns arguments and its own variables", "return it"),
    ast.Delete: ("del", "variables live until the end", "leave it out"),
    ast.Match: ("match", "it is unknown", "write if"),
}
if hasattr(ast, "TryStar"):
    FORBIDDEN[ast.TryStar] = FORBIDDEN[ast.Try]


@cache
def tree_of(function: types.FunctionType) -> tuple[ast.FunctionDef, str]:
    """The syntax tree of a function, rewritten, and its file. Raises UserError for statements that
    cannot be, OSError and SyntaxError where there is no source."""
    if hasattr(function, "__wrapped__"):
        raise OSError("a decorator has wrapped it")
    lines, first = inspect.getsourcelines(function)
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise OSError("not a function of its own")
    found.decorator_list = []
    return _Rewriter(file).function(found), file


def refuse_edited(function: types.FunctionType) -> None:
    """Refuse functions that their file does not compile to, as it is now."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename))
    if not text or any(name.startswith("@py") for c in codes_of(code) for name in c.co_names):
        return  # pytest has rewritten an `assert`
    try:
        same = any(code == each for each in codes_of(_compiled(text)))
    except SyntaxError:
        same = False
    if not same:
        raise refused(
            code.co_filename,
            code.co_firstlineno,
            function.__name__,
            "its text is not that of the function that is loaded",
            "import it again, as the file has changed",
        )


@cache
def _compiled(text: str) -> types.CodeType:
    return compile(text, "", "exec", dont_inherit=True)


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of all functions within."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes_of(each)


def rewritten(function: types.FunctionType, control: Any) -> Callable[..., Any]:
    """A function whose control flow goes through `control`. Raises as `tree_of`."""
    tree, file = tree_of(function)
    names = [*function.__code__.co_freevars, "__b"]
    around = ast.FunctionDef(
        name="__around",
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=each) for each in names],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=[tree, ast.Return(ast.Name(tree.name, ast.Load()))],
        decorator_list=[],
    )
    if hasattr(ast, "TypeAlias"):  # Python 3.12
        around.type_params = []  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([around], []))
    space: dict[str, Any] = {}
    exec(compile(module, file, "exec"), space)
    code = next(
        c
        for c in space["__around"].__code__.co_consts
        if isinstance(c, types.CodeType) and c.co_name == tree.name
    )
    own = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    cells = dict(own) | {"__b": types.CellType(control)}
    if tree.name in code.co_freevars and tree.name not in cells:
        cells[tree.name] = types.CellType(function)
    closure = tuple(cells[each] for each in code.co_freevars)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


# -- which variables are read and assigned ---------------------------------------------------------


def stored(nodes: Sequence[ast.AST]) -> list[str]:
    """Names that statements assign, in order; not those of nested functions."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        match node:
            case ast.Name(ctx=ast.Store()):
                found[node.id] = None
            case ast.FunctionDef():
                found[node.name] = None
                return
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                return
            case ast.GeneratorExp():
                return
        for child in ast.iter_child_nodes(node):
            visit(child)

    for each in nodes:
        visit(each)
    return list(found)


def loaded(node: ast.AST | None) -> set[str]:
    if node is None:
        return set()
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


Liveness = dict[ast.stmt, tuple[frozenset[str], frozenset[str]]]


def live_before(body: Sequence[ast.stmt], after: frozenset[str], known: Liveness) -> frozenset[str]:
    """Variables that may be read, at the beginning of statements, before they are assigned.
    `known` gets, for loops and branches, those at the head of the body, and those after."""
    for stmt in reversed(body):
        after = _live(stmt, after, known)
    return after


def _live(stmt: ast.stmt, after: frozenset[str], known: Liveness) -> frozenset[str]:
    match stmt:
        case ast.For() | ast.While():
            end = live_before(stmt.orelse, after, known)
            target = set(stored([stmt.target])) if isinstance(stmt, ast.For) else set()
            test = loaded(stmt.test) if isinstance(stmt, ast.While) else set()
            head = end | test
            while True:
                inside = live_before(stmt.body, head, known) - target
                if inside <= head:
                    break
                head |= inside
            known[stmt] = head, after
            return head | (loaded(stmt.iter) if isinstance(stmt, ast.For) else set())
        case ast.If():
            known[stmt] = after, after
            then = live_before(stmt.body, after, known)
            return then | live_before(stmt.orelse, after, known) | loaded(stmt.test)
        case ast.With():
            inside = live_before(stmt.body, after, known)
            return inside.union(*(loaded(each.context_expr) for each in stmt.items))
        case ast.FunctionDef():
            return (after - {stmt.name}) | loaded(stmt)
        case ast.AugAssign(target=ast.Name(id=name)):
            return after | {name} | loaded(stmt.value)
        case ast.Break() | ast.Continue():
            return after | {RESULT}
        case _:
            return (after - set(stored([stmt]))) | loaded(stmt)


def escapes(body: Sequence[ast.stmt], inner: bool = False) -> str:
    """The first `break`, `continue` or `return` that leaves these statements."""
    for stmt in body:
        match stmt:
            case ast.Return():
                return "return"
            case ast.Break() | ast.Continue() if not inner:
                return "break" if isinstance(stmt, ast.Break) else "continue"
            case ast.For() | ast.While():
                if found := escapes(stmt.body, True) or escapes(stmt.orelse, inner):
                    return found
            case ast.If():
                if found := escapes(stmt.body, inner) or escapes(stmt.orelse, inner):
                    return found
            case ast.With():
                if found := escapes(stmt.body, inner):
                    return found
            case _:
                pass
    return ""


def single_exit(file: str, body: Sequence[ast.stmt], copies: int = 1) -> list[ast.stmt]:
    """Statements whose `return`, also those in branches, assign the result; what follows goes
    into the branches. Those in loops stay."""
    out: list[ast.stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, ast.Return):
            value = stmt.value or ast.Constant(None)
            target = ast.Name(RESULT, ast.Store())
            out.append(ast.copy_location(ast.Assign([target], value), stmt))
            return out
        if isinstance(stmt, ast.If) and _ends(stmt, ast.Return):
            rest = list(body[position + 1 :])
            copies = _copies(file, stmt, rest, ast.Return, copies)
            then = single_exit(file, [*stmt.body, *copy.deepcopy(rest)], copies)
            other = single_exit(file, [*stmt.orelse, *rest], copies)
            out.append(ast.copy_location(ast.If(stmt.test, then, other), stmt))
            return out
        out.append(stmt)
    return out


def single_end(file: str, body: Sequence[ast.stmt], copies: int = 1) -> list[ast.stmt]:
    """The body of a loop without `continue`: what follows goes into the branches."""
    out: list[ast.stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, ast.Continue):
            return out
        if isinstance(stmt, ast.If) and _ends(stmt, ast.Continue):
            rest = list(body[position + 1 :])
            copies = _copies(file, stmt, rest, ast.Continue, copies)
            then = single_end(file, [*stmt.body, *copy.deepcopy(rest)], copies)
            other = single_end(file, [*stmt.orelse, *rest], copies)
            then = then or [ast.copy_location(ast.Pass(), stmt)]
            out.append(ast.copy_location(ast.If(stmt.test, then, other), stmt))
            return out
        out.append(stmt)
    return out


def _copies(
    file: str, stmt: ast.If, rest: Sequence[ast.stmt], jump: type[ast.stmt], copies: int
) -> int:
    """How often what follows a branch is written at most, as it goes into both sides."""
    if not rest or _always(stmt.body, jump) or _always(stmt.orelse, jump):
        return copies
    if copies >= MOST_COPIES:
        raise refused(
            file,
            stmt.lineno,
            f"{jump.__name__.lower()} in a branch of a branch",
            f"there are more than {MOST_COPIES.bit_length() - 1} of them, one after the other",
            "join the conditions with `and`",
        )
    return 2 * copies


def _always(body: Sequence[ast.stmt], jump: type[ast.stmt]) -> bool:
    """Whether statements end with the jump, whatever conditions are."""
    return any(
        isinstance(each, jump)
        or (isinstance(each, ast.If) and _always(each.body, jump) and _always(each.orelse, jump))
        for each in body
    )


def _ends(stmt: ast.stmt, jump: type[ast.stmt]) -> bool:
    """Whether a branch, or one within it, has the jump."""
    if isinstance(stmt, ast.If):
        return any(_ends(each, jump) for each in (*stmt.body, *stmt.orelse))
    return isinstance(stmt, jump)


# -- the rewriting ---------------------------------------------------------------------------------


def _call(owner: str, name: str, *args: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(owner, ast.Load()), name, ast.Load())
    return ast.Call(function, list(args), [])


def _thunk(value: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, value)


def _thunks(names: Sequence[str]) -> list[ast.expr]:
    return [_thunk(ast.Name(each, ast.Load())) for each in names]


def _texts(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(each) for each in names], ast.Load())


def _assigned(names: Sequence[str], value: ast.expr) -> ast.stmt:
    if not names:
        return ast.Expr(value)
    target = ast.Tuple([ast.Name(each, ast.Store()) for each in names], ast.Store())
    return ast.Assign([target], value)


def locate(node: ast.AST, line: int) -> None:
    """Give new nodes the line of what they are in. Not its last line: Python says of a call of
    an attribute that it is there."""
    if "lineno" in node._attributes:
        if not hasattr(node, "lineno"):
            for name, value in [("lineno", line), ("end_lineno", line)]:
                setattr(node, name, value)
            for name in ("col_offset", "end_col_offset"):
                setattr(node, name, 0)
        line = getattr(node, "lineno", line)
    for each in ast.iter_child_nodes(node):
        locate(each, line)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self.known: Liveness = {}
        self.captured: set[str] = set()

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        body = single_exit(self.file, node.body)
        for each in reversed([*ast.walk(ast.Module(body, []))]):  # inner loops first
            if isinstance(each, ast.For | ast.While):
                end_of_round = single_end(self.file, each.body)
                each.body = end_of_round or [ast.copy_location(ast.Pass(), each)]
        inner = (ast.FunctionDef, ast.Lambda)
        for each in ast.walk(ast.Module(body, [])):
            self.captured |= loaded(each) if isinstance(each, inner) else set()
        end = ast.Return(ast.Name(RESULT, ast.Load()))
        ast.copy_location(end, body[-1] if body else node)
        live_before([*body, end], frozenset(), self.known)
        first = ast.Assign([ast.Name(RESULT, ast.Store())], ast.Constant(None))
        ast.copy_location(first, node)
        node.body = [first, *self.block(body), end]
        node.returns = None
        arguments = node.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            each.annotation = None
        return node

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for stmt in body:
            found = self.visit(stmt)
            many = found if isinstance(found, list) else [found]
            for each in many:
                locate(each, stmt.lineno)
                out.append(each)
        return out or [ast.Pass()]

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"__{letter}{self.count}"

    def at(self, node: ast.expr, made: ast.expr) -> ast.expr:
        """A call in the place of an expression, at its line."""
        locate(made, node.lineno)
        return made

    def refuse(self, node: ast.AST, parts: tuple[str, str, str]) -> Any:
        raise refused(self.file, getattr(node, "lineno", 0), *parts)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if type(node) in FORBIDDEN:
            self.refuse(node, FORBIDDEN[type(node)])
        return super().generic_visit(node)

    # -- statements --

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        inner = _Rewriter(self.file)
        inner.count = self.count + 1000
        return inner.function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        head, after = self.known.get(node, (frozenset(), frozenset()))
        return self._loop(node, node.target, self.visit(node.iter), node.body, head, after)

    def _loop(
        self,
        node: ast.For | ast.While,
        target: ast.expr,
        iterable: ast.expr,
        statements: Sequence[ast.stmt],
        head: frozenset[str],
        after: frozenset[str],
        counts: bool = False,
    ) -> list[ast.stmt]:
        own = stored([target])
        names = [each for each in stored(statements) if each not in own]
        carried = [each for each in names if each in head or each in self.captured]
        loop = self.fresh("L")
        made = _call(
            "__b",
            "loop",
            iterable,
            _texts(names),
            _texts(carried),
            ast.Constant(escapes(statements)),
            *_thunks(names),
        )
        body = [
            _assigned(names, _call(loop, "begin", *_thunks(names))),
            *self.block(statements),
            ast.Expr(_call(loop, "end", *_thunks(names))),
        ]
        orelse = self.block(node.orelse) if node.orelse else []
        ends: list[ast.stmt] = [_assigned(names, _call(loop, "leave", *_thunks(names)))]
        for each in own:
            if each in after or counts:
                value = _call(
                    loop, "target", _thunk(ast.Name(each, ast.Load())), ast.Constant(each)
                )
                value.args += [ast.Constant(True)] if counts else []
                ends.append(ast.Assign([ast.Name(each, ast.Store())], value))
        return [
            ast.Assign([ast.Name(loop, ast.Store())], made),
            ast.For(target, ast.Name(loop, ast.Load()), body, orelse),
            *ends,
        ]

    def visit_While(self, node: ast.While) -> Any:
        found = counting(node)
        if found is None:
            node.test = _call("__b", "concrete", self.visit(node.test), ast.Constant("while"))
            node.body = self.block(node.body)
            node.orelse = self.block(node.orelse) if node.orelse else []
            return node
        name, op, bound, step = found
        head, after = self.known.get(node, (frozenset(), frozenset()))
        iterable = _call(
            "__b",
            "bounded",
            ast.Name(name, ast.Load()),
            ast.Constant(op),
            self.visit(bound),
            ast.Constant(step),
        )
        target = ast.Name(name, ast.Store())
        return self._loop(node, target, iterable, node.body, head, after, counts=True)

    def visit_If(self, node: ast.If) -> Any:
        test = self.visit(node.test)
        if word := escapes((*node.body, *node.orelse)):
            node.test = _call("__b", "concrete", test, ast.Constant(f"{word} under a condition"))
            node.body = self.block(node.body)
            node.orelse = self.block(node.orelse) if node.orelse else []
            return node
        _, after = self.known.get(node, (frozenset(), frozenset()))
        names = stored((*node.body, *node.orelse))
        live = [each for each in names if each in after or each in self.captured]
        branch, side = self.fresh("I"), self.fresh("s")
        made = _call(
            "__b",
            "branch",
            test,
            _texts(names),
            _texts(live),
            ast.Tuple(_thunks(names), ast.Load()),
        )
        then = self.block(node.body)
        other = self.block(node.orelse) if node.orelse else []
        body: list[ast.stmt] = [
            _assigned(names, _call(branch, "begin")),
            ast.If(ast.Name(side, ast.Load()), then, other),
            ast.Expr(_call(branch, "end", *_thunks(names))),
        ]
        return [
            ast.Assign([ast.Name(branch, ast.Store())], made),
            ast.For(ast.Name(side, ast.Store()), ast.Name(branch, ast.Load()), body, []),
            _assigned(names, _call(branch, "leave", *_thunks(names))),
        ]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        name = ast.Constant(AUGMENTED[type(node.op)])
        value = self.visit(node.value)
        match node.target:
            case ast.Name():
                old = ast.Name(node.target.id, ast.Load())
                return ast.Assign([node.target], _call("__b", "augmented", name, old, value))
            case ast.Subscript():
                owner, key = self.visit(node.target.value), self.visit(node.target.slice)
                return ast.Expr(_call("__b", "augment", owner, _key(key), name, value))
            case _:
                return self._attribute(node.target)

    def _attribute(self, node: ast.AST) -> Any:
        self.refuse(
            node,
            (
                "assignment to an attribute",
                "a kernel assigns arrays and its own variables",
                "return the value",
            ),
        )

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.ctx, ast.Store):
            self._attribute(node)
        if node.attr == "__class__":
            return self.at(node, _call("__b", "kind", self.visit(node.value)))
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        calls = isinstance(node.value, ast.Call | ast.GeneratorExp)
        self.generic_visit(node)
        if calls:
            node.value = self.at(node.value, _call("__b", "kept", node.value))
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.Expr(_call("__b", "require", self.visit(node.test)))

    def visit_Raise(self, node: ast.Raise) -> list[ast.stmt]:
        return [ast.Expr(_call("__b", "raises")), node]

    def visit_With(self, node: ast.With) -> ast.AST:
        node.items = [self.visit(each) for each in node.items]
        node.body = self.block(node.body)
        return node

    # -- expressions --

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        owner, key = self.visit(node.value), self.visit(node.slice)
        if isinstance(node.ctx, ast.Store):
            node.value, node.slice = _call("__b", "target", owner), key
            return node
        return self.at(node, _call("__b", "item", owner, _key(key)))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals"):
            self.refuse(node, (f"{node.func.id}()", "it is unknown", "leave it out"))
        function = ast.Attribute(ast.Name("__b", ast.Load()), "call", ast.Load())
        made = ast.Call(function, [node.func, *node.args], node.keywords)
        return self.at(node, made)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        parts = [_thunk(self.visit(each)) for each in node.values]
        return self.at(node, _call("__b", name, *parts))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return self.at(node, _call("__b", "not_", node.operand))
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        values = [node.left, *node.comparators]
        pairs = [
            _pair(copy.deepcopy(values[n]), op, values[n + 1]) for n, op in enumerate(node.ops)
        ]
        if len(pairs) == 1:
            return self.at(node, pairs[0])
        return self.at(node, _call("__b", "and_", *map(_thunk, pairs)))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        made = _call("__b", "ternary", node.test, _thunk(node.body), _thunk(node.orelse))
        return self.at(node, made)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        return self.refuse(node, (":=", "it is unknown", "assign the variable before"))


def _pair(a: ast.expr, op: ast.cmpop, b: ast.expr) -> ast.expr:
    match op:
        case ast.Is():
            return _call("__b", "is_", a, b)
        case ast.IsNot():
            return ast.UnaryOp(ast.Not(), _call("__b", "is_", a, b))
        case _:
            return ast.Compare(a, [op], [b])


def _key(key: ast.expr) -> ast.expr:
    """An index as an expression: slices are written `a:b` in brackets only."""
    if isinstance(key, ast.Slice):
        parts = [each or ast.Constant(None) for each in (key.lower, key.upper, key.step)]
        return ast.Call(ast.Attribute(ast.Name("__b", ast.Load()), "slice", ast.Load()), parts, [])
    if isinstance(key, ast.Tuple):
        return ast.Tuple([_key(each) for each in key.elts], ast.Load())
    return key


def counting(node: ast.While) -> tuple[str, str, ast.expr, int] | None:
    """The name, the comparison, the bound and the step of a `while` that counts to a bound."""
    match node.test:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[bound]):
            sign = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}.get(type(op))
        case _:
            return None
    if sign is None or escapes(node.body):
        return None
    steps = [step for each in node.body if (step := _step(each, name)) is not None]
    elsewhere = [each for each in node.body if _step(each, name) is None]
    if len(steps) != 1 or name in stored(elsewhere):
        return None
    step = steps[0]
    if step == 0 or (step > 0) != (sign in ("<", "<=")):
        return None
    if loaded(bound) & {*stored(node.body)}:
        return None
    return name, sign, bound, step


def _step(stmt: ast.stmt, name: str) -> int | None:
    """By how much a statement `name += 1` or `name = name + 1` counts. None for others."""
    match stmt:
        case ast.AugAssign(target=ast.Name(id=target), op=op, value=ast.Constant(value=n)):
            source = target
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.BinOp(left=ast.Name(id=source), op=op, right=ast.Constant(value=n)),
        ):
            pass
        case _:
            return None
    if not target == source == name or type(n) is not int:
        return None
    return {ast.Add: n, ast.Sub: -n}.get(type(op))
