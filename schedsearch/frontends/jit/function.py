"""Functions as programs: arguments, the trace, results."""

from __future__ import annotations

import ast
import copy
import inspect
import types as python
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.jit import operations
from schedsearch.frontends.jit.around import Around
from schedsearch.frontends.jit.building import (
    NUMPY,
    OURS,
    Buffer,
    Builder,
    finished,
    identity,
    parts,
    shown,
)
from schedsearch.frontends.jit.calling import is_users
from schedsearch.frontends.jit.control import Control
from schedsearch.frontends.jit.indexing import Masked
from schedsearch.frontends.jit.proxies import Data, Index, Mask, Undefined, either, simplified
from schedsearch.frontends.jit.repeated import without_repetitions
from schedsearch.frontends.jit.rewrite import codes_of, refuse_edited, rewritten
from schedsearch.frontends.jit.sizes import FreezeError, Sizes
from schedsearch.frontends.lower import lower
from schedsearch.frontends.lowered import Refusal, refused

TRACES = 12
"""Each begins with what the one before found of sizes."""

MOST_STATEMENTS = 20_000

SIMPLE = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, type)
RETURNED = "kernels return arrays, numbers, and tuples and lists of them", "return a tuple"


@dataclass(frozen=True)
class ArrayOf:
    """`truth`: its bytes are truth values."""

    type: str
    lengths: g.Shape
    truth: bool = False


@dataclass(frozen=True)
class ScalarOf:
    """A number that is data. `weak`: Python's, which takes the type of what it meets."""

    type: str
    weak: Any = None


@dataclass(frozen=True)
class SizeOf:
    """A whole number, 1 at least."""

    var: q.Var


@dataclass(frozen=True)
class Known:
    """A part of the specialisation: a number, a text, None, a tuple of them."""

    value: Any


Given = ArrayOf | ScalarOf | SizeOf | Known


@dataclass(frozen=True)
class Result:
    """What a function returns: an argument, an array of the call, a number, or several. `seen`: in
    another shape; `truth`: its bytes are truth values."""

    kind: str
    name: str = ""
    value: Any = None
    type: str = ""
    lengths: g.Shape = ()
    parts: tuple[Result, ...] = ()
    seen: g.Shape | None = None
    truth: bool = False


@dataclass(frozen=True)
class Traced:
    """`equal` says what sizes have to be; `arguments` are the program's arrays, in its order."""

    program: g.Program
    result: Result
    equal: Mapping[q.Var, q.Affine]
    sizes: tuple[q.Var, ...]
    arguments: tuple[str, ...]
    results: Mapping[str, Result] = field(default_factory=dict)
    around: Around = field(default_factory=Around)


def trace(
    function: Callable[..., Any],
    given: Mapping[str, Given],
    frozen: Mapping[q.Var, int],
    preprocess: bool = True,
) -> Traced:
    """The program of a function for arguments of these kinds. `frozen` are sizes that are numbers.
    Raises UserError with file and line for what no kernel can have, and FreezeError for sizes that
    have to be numbers."""
    file, line = place_of(function)
    equal: dict[q.Var, q.Affine] = {var: q.Affine(n) for var, n in frozen.items()}
    for _ in range(TRACES):
        sizes = Sizes(equal=dict(equal))
        found = _traced(function, given, sizes, file, line, preprocess)
        if sizes.equal == equal:
            return found
        equal = sizes.equal
    raise refused(file, line, function.__name__, "its sizes do not settle", "annotate them")


def changing(value: Any) -> bool:
    return isinstance(value, list | dict | set)


def place_of(function: Any) -> tuple[str, int]:
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else (str(function), 0)


def _traced(
    function: Callable[..., Any],
    given: Mapping[str, Given],
    sizes: Sizes,
    file: str,
    line: int,
    preprocess: bool,
) -> Traced:
    for each in given.values():
        if isinstance(each, ArrayOf):
            sizes.own |= {v for n in each.lengths for v in q.expr_vars(n)}
        elif isinstance(each, SizeOf):
            sizes.own.add(each.var)
    builder = Builder(sizes, file, preprocess)
    builder.function, builder.last = function.__name__, line
    arrays: dict[str, g.Array] = {}
    values: dict[str, Any] = {}
    for name, each in given.items():
        match each:
            case ArrayOf():
                arrays[name] = g.Array(name, each.type, tuple(map(sizes.resolved, each.lengths)))
                kind = Mask if each.truth else Data
                values[name] = kind(builder, Buffer(builder, None, arrays[name]))
            case ScalarOf():
                arrays[name] = g.Array(name, each.type)
                builder.scalars.add(arrays[name])
                if each.weak is int:  # a size that is data
                    builder.holds[arrays[name]] = (g.Count(q.Affine(), each.type),)
                values[name] = Data(builder, Buffer(builder, None, arrays[name]), weak=each.weak)
            case SizeOf():
                values[name] = simplified(builder, q.as_affine(each.var))
            case Known():
                values[name] = copy.deepcopy(each.value) if changing(each.value) else each.value
    around = Around()
    control = Control(builder, lambda f: f, around.outside)
    made: dict[Any, Any] = {}
    inner: set[int] = set()  # of functions that are made in the trace

    def own(called: Any) -> Any:
        """Helpers are rewritten too, if they are plain functions with a source."""
        if isinstance(called, python.MethodType):
            return python.MethodType(own(called.__func__), called.__self__)
        if not isinstance(called, python.FunctionType) or not is_users(called):
            return called
        if called.__code__.co_freevars and "__b" in called.__code__.co_freevars:
            return called  # defined within a function that is rewritten
        if called not in made:
            if id(called.__code__) not in inner:
                refuse_edited(called)
                around.add(called)
            try:
                made[called] = rewritten(called, control)
            except (OSError, SyntaxError, TypeError):
                made[called] = called
                around.add(called, deep=True)
            inner.update(map(id, codes_of(made[called].__code__)))
        return made[called]

    control.rewritten = own
    try:
        around.add(function, deep=not preprocess)  # type: ignore[arg-type]
        for name, each in given.items():
            if isinstance(each, Known):
                around.value(name, each.value)
        called = function
        if preprocess:
            refuse_edited(function)  # type: ignore[arg-type]
            try:
                called = rewritten(function, control)  # type: ignore[arg-type]
            except (OSError, SyntaxError, TypeError) as error:
                raise Refusal(
                    function.__name__,
                    f"its source is not found ({str(error).splitlines()[0] if str(error) else ''})",
                    "define it by def in a file, or use preprocess=False",
                ) from None
        inner.update(map(id, codes_of(called.__code__)))
        with np.errstate(all="ignore"):
            value = _call(called, values, inspect.signature(function))
        for name, each in given.items():
            if isinstance(each, Known) and changing(each.value) and values[name] != each.value:
                raise Refusal(
                    f"a change of argument {name}",
                    f"it is a {type(each.value).__name__}, and would change in the trace only",
                    "give an array",
                )
        if name := around.changed():
            raise Refusal(
                f"a change of {name}",
                "it is from around the function, and would change in the trace only",
                "return what changes it",
            )
        return replace(_finished(builder, function, given, arrays, value), around=around)
    except FreezeError as error:
        at = _place(error, file, line)
        error.refusal = error.refusal.at(*at)  # type: ignore[assignment]
        raise
    except Refusal as refusal:
        raise refusal.at(*_place(refusal, file, line)) from None
    except UserError:
        raise
    except RecursionError as error:
        reason = "it calls itself without end while it is traced"
        raise refused(
            *_place(error, file, line), function.__name__, reason, "write a loop"
        ) from None
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise refused(
            *_place(error, file, line),
            function.__name__,
            f"tracing it fails ({reason})",
            "run it as plain Python first; only arrays and numbers may depend on arguments",
        ) from None
    finally:
        builder.tracing = False


def _call(function: Any, values: Mapping[str, Any], signature: inspect.Signature) -> Any:
    """Values by name, for arguments of every kind."""
    args, kwargs = [], {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(values[name])
        else:
            kwargs[name] = values[name]
    return function(*args, **kwargs)


def _place(error: BaseException, file: str, line: int) -> tuple[str, int]:
    """The innermost line of the user's that an error comes from."""
    found = file, line
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if not _is_ours(name):
            found = name, step.tb_lineno
        step = step.tb_next
    return found


def _is_ours(name: str) -> bool:
    return name.startswith((OURS, NUMPY, "<")) or name.endswith("/contextlib.py")


# -- results ---------------------------------------------------------------------------------------


def _finished(
    builder: Builder,
    function: Any,
    given: Mapping[str, Given],
    arrays: Mapping[str, g.Array],
    value: Any,
) -> Traced:
    sizes = builder.sizes
    outputs: dict[str, g.Array] = {}
    taken = {*given}
    result = _result(builder, value, arrays, outputs, taken)
    sizes.check_local()
    made = set(outputs.values())
    body = finished(builder.stack[0])
    body = tuple(s for s in body if not (isinstance(s, g.Allocate) and s.array in made))
    body = without_repetitions(body)
    if sum(1 for _ in g.statements(body)) > MOST_STATEMENTS:
        raise Refusal(
            function.__name__,
            f"it has more than {MOST_STATEMENTS} statements when it is traced",
            "write loops over range(n) where n is an argument",
        )
    conditions = tuple(q.BinOp(">=", each, q.Affine(0), "bool") for each in sizes.asserts)
    datas = [arrays[name] for name in given if name in arrays]
    used = _free(body, [*datas, *outputs.values()], sizes.asserts)
    _check_scope(body, sizes.own)
    counted = tuple(sorted(used & sizes.own, key=lambda var: var.uid))
    program = g.Program(
        function.__name__,
        (*counted, *datas, *outputs.values()),
        body,
        conditions,
        builder.file,
    )
    if sizes.guarded:
        try:
            lower(program)
        except UserError:  # it does not know that the bodies of loops see no empty ranges
            program = replace(program, bounded=True)
    results = {name: _leaf(result, name) for name in outputs}
    arguments = tuple(name for name in given if name in arrays)
    return Traced(program, result, dict(sizes.equal), counted, arguments, results)


def _leaf(result: Result, name: str) -> Result:
    return next(each for each in _leaves(result) if each.kind == "made" and each.name == name)


def _leaves(result: Result) -> Iterator[Result]:
    if result.parts:
        for each in result.parts:
            yield from _leaves(each)
    else:
        yield result


def _result(
    builder: Builder,
    value: Any,
    arrays: Mapping[str, g.Array],
    outputs: dict[str, g.Array],
    taken: set[str],
) -> Result:
    if isinstance(value, Undefined):
        value()  # raises
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        inner = tuple(_result(builder, each, arrays, outputs, taken) for each in value)
        if type(value) not in (tuple, list):
            raise Refusal(f"a result of type {type(value).__name__}", *RETURNED)
        return Result(kind, parts=inner)
    if isinstance(value, Masked):
        raise value.refusal()
    if isinstance(value, Mask) and value.index is not None:
        raise Refusal(
            "a result that is a condition on sizes", "kernels have none", "compute it outside"
        )
    if isinstance(value, Mask) and not (value.entire and value.buffer.array in arrays.values()):
        value = Data.of(builder, operations.as_node(builder, value, "ui8"))
        return replace(_result(builder, value, arrays, outputs, taken), truth=True)
    if isinstance(value, Index):
        return Result("size", value=builder.sizes.resolved(value.value))
    if isinstance(value, Data):
        if value.weak is int:
            raise Refusal(
                "a result that is a whole number", "it would be int64", "use float() or np.int32()"
            )
        if value.uncertain:
            raise either(value)
        builder.use(value.buffer)  # raises where it is no longer known
        if q.Affine() in value.lengths:
            raise Refusal(
                f"the result of {builder.function}",
                f"it has no elements (shape ({', '.join(map(shown, value.lengths))}))",
                "give longer arrays",
            )
        whole, shape = value.entire, tuple(map(builder.sizes.resolved, value.lengths))
        seen = shape if value.reshaped else None
        if value.buffer.array is not None:
            whole = whole and value.buffer.array.shape == value.buffer.shape
        for name, array in arrays.items():
            if value.buffer.array is array and whole and value.ndim:
                return Result("argument", name, seen=seen)
        for name, array in outputs.items():
            if value.buffer.array is array and whole:
                return Result("made", name, type=array.type, lengths=array.shape, seen=seen)
        name = next(n for n in ("out", *(f"out_{k}" for k in range(1, 999))) if n not in taken)
        taken.add(name)
        own = value.buffer.array
        movable = own is not None and own in builder.stack[0].arrays and own not in arrays.values()
        if whole and value.buffer.array is None and value.buffer.block is builder.stack[0]:
            own, movable = builder.store_pending(value.buffer), True
        if whole and movable and own is not None and own not in outputs.values():
            array = own
            object.__setattr__(array, "name", name)  # storage of the call, under its name there
        else:
            seen = None
            array = g.Array(name, value.type, shape)
            node = operations.broadcast_node(builder, value.node(), shape)
            builder.stack[0].statements.append(
                g.Store(array, *identity(shape), node, line=builder.line())
            )
        outputs[name] = array
        weak = value.weak is not None
        return Result("made", name, weak, array.type, array.shape, seen=seen)
    if isinstance(value, np.ndarray):
        raise Refusal(
            "a result that is an array from around the function",
            "each call would return the same",
            "copy it with np.array",
        )
    if not isinstance(value, SIMPLE):
        raise Refusal(f"a result of type {type(value).__name__}", *RETURNED)
    return Result("value", value=value)


def _affines(node: Any) -> Iterator[q.Affine]:
    match node:
        case g.Count():
            yield node.value
        case g.View():
            yield from node.shape
            yield from node.index
        case g.Apply():
            yield from node.shape
        case g.Load():
            yield from node.array.shape
        case g.Inside():
            yield from _of_condition(node.condition)
        case _:
            pass


def _of_condition(expr: q.Expr) -> Iterator[q.Affine]:
    match expr:
        case q.BinOp():
            yield from _of_condition(expr.lhs)
            yield from _of_condition(expr.rhs)
        case q.Affine():
            yield expr
        case _:
            pass


def _nodes(value: Any, seen: set[int]) -> Iterator[Any]:
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    for each in parts(value):
        yield from _nodes(each, seen)


def _free(
    body: tuple[g.Statement, ...],
    arrays: list[g.Array],
    asserts: list[q.Affine],
    counts: bool = True,
) -> set[q.Var]:
    """All variables that a program mentions."""
    found: set[q.Var] = set()
    seen: set[int] = set()

    def add(*values: q.Affine) -> None:
        for each in values:
            found.update(q.expr_vars(each))

    for array in arrays:
        add(*array.shape)
    add(*asserts)
    for stmt in g.statements(body):
        match stmt:
            case g.Allocate():
                add(*stmt.array.shape)
            case g.For():
                add(stmt.lo, stmt.hi)
            case g.If():
                add(*_of_condition(stmt.condition))
            case g.Store():
                add(*stmt.index)
                for node in _nodes(stmt.value, seen):
                    if counts or not isinstance(node, g.Count):
                        add(*_affines(node))
    return found


def _check_scope(body: tuple[g.Statement, ...], own: set[q.Var]) -> None:
    """Variables of loops are used inside of them: a bug of a trace, or a variable that was kept
    in a list, must not become a wrong kernel."""

    def check(block: tuple[g.Statement, ...], known: frozenset[q.Var]) -> None:
        for stmt in block:
            used: set[q.Var] = set()
            match stmt:
                case g.Store():
                    bound = {*stmt.vars}
                    for node in _nodes(stmt.value, set()):
                        if isinstance(node, g.View | g.Inside):
                            bound |= {*node.vars}
                        for each in _affines(node):
                            used |= q.expr_vars(each)
                    for each in stmt.index:
                        used |= q.expr_vars(each)
                    used -= bound
                case g.For():
                    used = {*q.expr_vars(stmt.lo), *q.expr_vars(stmt.hi)}
                    check(stmt.body, known | {stmt.var})
                case g.If():
                    for each in _of_condition(stmt.condition):
                        used |= q.expr_vars(each)
                    check(stmt.body, known)
                    check(stmt.orelse, known)
                case _:
                    pass
            if used - known:
                raise Refusal(
                    "the variable of a loop",
                    "it is used outside of the loop",
                    "compute what depends on it inside",
                )

    check(body, frozenset(own))


def sizes_as_data(traced: Traced, given: Mapping[str, Given]) -> list[str]:
    """Whole numbers that no length, bound or index mentions: they may be data."""
    arrays = [each for each in traced.program.parameters if isinstance(each, g.Array)]
    found = _free(traced.program.body, arrays, [], counts=False)
    found |= {v for each in traced.equal.values() for v in q.expr_vars(each)}
    found |= {
        v for each in _leaves(traced.result) if each.kind == "size" for v in q.expr_vars(each.value)
    }
    for condition in traced.program.asserts:
        for each in _of_condition(condition):
            found |= q.expr_vars(each)
    return [
        name
        for name, kind in given.items()
        if isinstance(kind, SizeOf) and kind.var in traced.sizes and kind.var not in found
    ]


# -- annotations -----------------------------------------------------------------------------------


def annotated(function: Any, sizes: dict[str, q.Var], name: str, annotation: Any) -> Given | None:
    """The kind of an argument, from its annotation: `"f64[N, M]"`, `"f64"`, `"size"`, `float`.
    None for others."""
    if annotation is float or annotation == "float":
        return ScalarOf("f64", float)
    if isinstance(annotation, type) and issubclass(annotation, np.generic):
        return ScalarOf(types.named(annotation, f"argument {name}"))
    if not isinstance(annotation, str):
        return None
    text = annotation.strip()
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        text = text[1:-1].strip()
    head = text.split("[")[0].strip()
    if text == "size":
        return SizeOf(sizes.setdefault(name, g.fresh(name)))
    if head not in types.TYPES and not (head == "bool" and text != head):
        return None
    if text == head:
        return ScalarOf(text)
    try:
        tree = ast.parse(text, mode="eval").body
        assert isinstance(tree, ast.Subscript)
        dims = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        lengths = tuple(_length(each, sizes) for each in dims)
    except (SyntaxError, AssertionError, ValueError):
        raise refused(
            *place_of(function),
            f"annotation {annotation!r} of {name}",
            "it is no type of arrays",
            'write it as "f64[N, M + 1]"',
        ) from None
    return ArrayOf("ui8", lengths, True) if head == "bool" else ArrayOf(head, lengths)


def _length(node: ast.expr, sizes: dict[str, q.Var]) -> q.Affine:
    match node:
        case ast.Constant(value=int() as n) if not isinstance(n, bool) and n > 0:
            return q.Affine(n)
        case ast.Name(id=name):
            return q.as_affine(sizes.setdefault(name, g.fresh(name)))
        case ast.BinOp(left=a, op=ast.Add(), right=b):
            return _length(a, sizes) + _length(b, sizes)
        case ast.BinOp(left=a, op=ast.Sub(), right=b):
            return _length(a, sizes) - _length(b, sizes)
        case ast.BinOp(left=ast.Constant(value=int() as n), op=ast.Mult(), right=b):
            return _length(b, sizes).scaled(n)
        case _:
            raise ValueError
