"""A schedule as files people keep: Exo Python that runs without schedsearch, and C."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from schedsearch.analysis.conversions import Route
from schedsearch.core import ast as q
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.trace import Trace
from schedsearch.frontends.functions import definition, module_text
from schedsearch.transforms.exo.fixed_sizes import specialize, specialize_lines
from schedsearch.transforms.exo.loader import Source
from schedsearch.transforms.exo.memories import MEMORIES
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.taken_out import NEST, PUT_BACK, TAKE_OUT, taken_from
from schedsearch.transforms.operators.byte_dots import ByteDots, dots_source
from schedsearch.transforms.operators.ops import (
    After,
    At,
    Condition,
    Index,
    Instruction,
    Memory,
    Op,
    OpArg,
    Pair,
    Part,
    Parts,
    Span,
    Vector,
    cursor_at,
)
from schedsearch.transforms.operators.prefetching import Prefetch, prefetch_source
from schedsearch.transforms.operators.transposing import Transpose, transpose_source
from schedsearch.transforms.registry import carry_out
from schedsearch.transforms.vector.extension import IMPORTS, vector_source
from schedsearch.transforms.vector.fused.model import Fused, fused_name
from schedsearch.transforms.vector.fused.source import functions, fused_source, register_kinds
from schedsearch.transforms.vector.instruction_sets import excerpt, find


def schedule_lines(procedure: Any, trace: Trace) -> list[str]:
    """One line of Exo scheduling code per operator, `p` being the procedure.

    Statements are named by loop name or pattern where that is what Exo finds,
    else by position. Raises RewriteError where the trace does not apply.
    """
    return [line for _, line in _carried_out(procedure, trace)]


def _carried_out(procedure: Any, trace: Trace) -> Iterator[tuple[Op, str]]:
    for rewrite in trace.steps:
        for op, after in carry_out(procedure, mirror(procedure), rewrite):
            yield op, _line(procedure, op)
            procedure = after


def schedule_python(
    source: Source,
    name: str,
    trace: Trace,
    notes: Sequence[str] = (),
    fixed: Mapping[str, int] | None = None,
) -> str:
    """A standalone module: the source file's text, then the schedule as a function.

    Vector memories and instructions the schedule uses are defined in between. `notes` are comment
    lines for the top (speed-up, target, how it was found). `fixed`: sizes that are bound first.
    """
    procedure = source.named(name)
    binding = specialize_lines(name, fixed or {})
    steps = list(_carried_out(specialize(procedure, fixed or {}), trace))
    operators = sorted({op.name for op, _ in steps} | ({"rename"} if binding else set()))
    given = [arg for op, _ in steps for arg in op.args]
    definitions = [*_functions(given, source.text), *_definitions(given)]
    body = [f"from exo.stdlib.scheduling import {', '.join(operators)}", ""] if operators else []
    body += [*binding, *(line for _, line in steps), "return p"]
    variable, extraction = _variable(source, name)
    result = f"{variable.replace('.', '_')}_scheduled"  # of a kernel it is `mm.proc`
    sections = [
        "\n".join(
            [
                f"# Schedule of `{name}`, found by schedsearch. Needs exo-lang only.",
                *(f"# {one_line(note)}" for note in notes),
                "",
                source.text.rstrip(),
            ]
        ),
        *extraction,
        *([IMPORTS.strip()] if definitions else []),
        *definitions,
        f"def schedule_{name}(p):\n"
        f'    """{len(trace)} rewrites, each checked by Exo when this runs."""\n'
        + textwrap.indent("\n".join(body), "    "),
        f"{result} = schedule_{name}({variable})",
        f'if __name__ == "__main__":\n    print({result}.c_code_str())',
    ]
    return "\n\n\n".join(sections) + "\n"


def _variable(source: Source, name: str) -> tuple[str, list[str]]:
    """The variable that holds a procedure, and what makes it if it is a nest of another."""
    if name in source.variables:
        return source.variables[name], []
    whole, place = source.place_of(name)
    variable = source.variables[whole]
    nest = f'extract_subproc({variable}, {variable}.body()[{place}], "{name}")'
    return name, [f"from exo.stdlib.scheduling import extract_subproc\n\n_, {name} = {nest}"]


def _functions(args: Sequence[OpArg], text: str) -> list[str]:
    """Python text of the functions of instructions, as far as a module's `text` has none."""
    used = {name for arg in args if isinstance(arg, Fused) for name in functions(arg)}
    missing = [name for name in used if definition(FUNCTIONS[name]) not in text]
    return [module_text(missing).strip()] if missing else []


def _definitions(args: Iterable[OpArg]) -> list[str]:
    """Python texts of memories, then of vector sets, then of generated instructions,
    then of instruction files."""
    memories: set[str] = set()
    sets: set[tuple[str, int]] = set()
    generated: dict[str, str] = {}
    files: dict[tuple[str, str], set[str]] = {}
    for arg in args:
        match arg:
            case Memory():
                memories.add(arg.name)
            case Vector():
                sets.add((arg.kind, arg.lanes))
            case Fused():
                sets |= {(kind, arg.lanes) for kind in register_kinds(arg)}
                generated[fused_name(arg)] = fused_source(arg).strip()
            case Prefetch():
                generated[arg.name] = prefetch_source(arg.kind).strip()
            case Transpose():
                generated[arg.name] = transpose_source(arg).strip()
            case ByteDots():
                sets.add(("i32", arg.lanes))
                generated[arg.name] = dots_source(arg).strip()
            case Instruction():
                files.setdefault((arg.set, arg.digest), set()).add(arg.name)
    excerpts = [excerpt(find(*key).text, files[key]) for key in sorted(files)]
    sets = sets.union(*(each.registers for each in excerpts))
    texts = [MEMORIES[name].strip() for name in sorted(memories)]
    texts += [vector_source(kind, lanes).strip() for kind, lanes in sorted(sets)]
    texts += [generated[name] for name in sorted(generated)]
    if imports := sorted({line for each in excerpts for line in each.imports}):
        texts.append("\n".join(imports))
    return texts + [text for each in excerpts for text in each.definitions]


def one_line(note: str) -> str:
    """As a comment: what a store says of a machine must not become code. A backslash would
    continue a comment of C."""
    return " ".join(note.split()).rstrip("\\")


def _line(procedure: Any, op: Op) -> str:
    if op.name == TAKE_OUT:
        return f"{'whole, p' if NEST in op.args else 'p, _'} = {_call(procedure, op)}"
    if op.name == PUT_BACK:
        _, path = taken_from(procedure)
        call = "".join(f".{block}()[{place}]" for block, place in path)
        return f"p = {op.name}(whole, whole{call}, p)"
    return f"p = {_call(procedure, op)}"


def _call(procedure: Any, op: Op) -> str:
    parts = ["p", *(_arg(procedure, arg) for arg in op.args)]
    parts += [f"{name}={_arg(procedure, arg)}" for name, arg in op.kwargs]
    return f"{op.name}({', '.join(parts)})"


def _arg(procedure: Any, arg: OpArg) -> str:
    match arg:
        case At():
            return _cursor(procedure, arg.path)
        case After():
            return f"{_cursor(procedure, arg.path)}.after()"
        case Pair():
            return f"{_cursor(procedure, arg.path)}.expand(0, 1)"
        case Span():
            return f"{_cursor(procedure, arg.path)}.expand(0, {arg.count - 1})"
        case Parts():
            statement = _cursor(procedure, arg.path)
            return f"[{', '.join(_part(statement, route) for route in arg.routes)}]"
        case Part():
            return _part(_cursor(procedure, arg.path), arg.route)
        case Index():
            access = _cursor(procedure, arg.path)
            access = access if arg.route is None else _part(access, arg.route)
            return f"{access}.idx()[{arg.dim}]"
        case Condition():
            return f"{_cursor(procedure, arg.path)}.cond()"
        case Vector() | Instruction() | Memory() | Prefetch() | Transpose() | ByteDots():
            return arg.name
        case Fused():
            return fused_name(arg)
        case tuple():
            return f"[{', '.join(repr(item) for item in arg)}]"
        case _:
            return repr(arg)


def _part(statement: str, route: Route) -> str:
    steps = (f"args()[{step}]" if isinstance(step, int) else f"{step}()" for step in route)
    return ".".join([f"{statement}.rhs()", *steps])


def _cursor(procedure: Any, path: q.Path) -> str:
    """An expression that gives the cursor of the statement at `path` of `p`."""
    wanted = cursor_at(procedure, path)._impl._path
    stmt = mirror(procedure).by_path[path]
    pattern = _pattern(stmt)
    matches = procedure.find(pattern, many=True) if pattern else []
    for number, cursor in enumerate(matches):
        if getattr(cursor, "_impl", None) is not None and cursor._impl._path == wanted:
            suffix = f" #{number}" if number else ""
            if isinstance(stmt, q.For):
                return f'p.find_loop("{stmt.iter.name}{suffix}")'
            return f'p.find("{pattern}{suffix}")'
    return _position(path)


def _pattern(stmt: q.Stmt) -> str | None:
    """Exo's pattern for statements of this kind and name. None of a loop called as a word of
    Python's, as earlier versions made them."""
    match stmt:
        case q.For() if not iskeyword(stmt.iter.name):
            return f"for {stmt.iter.name} in _: _"
        case q.Assign():
            return f"{stmt.buf.name}{'[_]' if stmt.idx else ''} = _"
        case q.Reduce():
            return f"{stmt.buf.name}{'[_]' if stmt.idx else ''} += _"
        case q.Alloc():
            return f"{stmt.buf.name} : _"
        case _:
            return None


def _position(path: q.Path) -> str:
    """`(0, "e", 1)` -> `p.body()[0].orelse()[1]`"""
    text, block = "p", "body"
    for part in path:
        if part == "e":
            block = "orelse"
        else:
            text, block = f"{text}.{block}()[{part}]", "body"
    return text
