"""What a program of equations is, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schedsearch.core.keys import digest
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.equations.build import Equations
from schedsearch.frontends.equations.extents import ZERO, Index
from schedsearch.frontends.equations.meant import Meant
from schedsearch.frontends.lowered import Lowered
from schedsearch.frontends.views import show

SCHEMA = 1
"""Raised when a field changes its meaning."""


def as_json(of: Equations, lowered: Lowered) -> dict[str, Any]:
    """`digest` is the key of the module's text, by which the procedure's file is called."""
    return {
        "schema": SCHEMA,
        "name": lowered.name,
        "digest": digest(lowered.text),
        "file": of.text.file,
        "sizes": [var.name for var in of.sizes],
        "asserts": list(lowered.asserts),
        "sources": [
            _array(of, name) | {"file": str(of.sources[name]) if name in of.sources else None}
            for name in of.inputs
        ],
        "equations": [*map(_equation, of.meant)],
        "temporaries": [_array(of, name) for name in of.temporaries],
        "sinks": [
            _array(of, name) | {"file": str(of.sinks[name]) if name in of.sinks else None}
            for name in of.outputs
        ],
    }


def _array(of: Equations, name: str) -> dict[str, Any]:
    return {"name": name, "type": of.kinds[name], "shape": [show(n) for n in of.shapes[name]]}


def _equation(meant: Meant) -> dict[str, Any]:
    equation = meant.equation
    return {
        "line": equation.place.line,
        "target": equation.target.name,
        "text": equation_text(meant),
        "type": meant.kind,
        "adds": equation.add,
        "writes_all": meant.whole,
        "indices": [_index(index, meant) for index in meant.indices.values()],
        "projections": [
            {
                "function": equation.project,
                "indices": [index.name for index in term.gone],
                "of": text_of(term.value),
            }
            for term in meant.terms
            if term.gone
        ],
    }


def _index(index: Index, meant: Meant) -> dict[str, Any]:
    assert index.hi is not None, "bounds are known"
    return {
        "name": index.name,
        "extent": show(index.hi - index.lo),
        "from": show(index.lo),
        "kind": "free" if index in meant.kept else "projected",
        "where": index.where or f"its definition in {meant.target.name}",
    }


def equation_text(meant: Meant) -> str:
    """With what is projected by each term."""
    equation = meant.equation
    parts = []
    for term in meant.terms:
        names = ", ".join(index.name for index in term.gone)
        value = text_of(term.value)
        parts.append(f"{equation.project}[{names}]({_bare(term.value)})" if term.gone else value)
    return f"{text_of(equation.target)} {'+=' if equation.add else '='} {' + '.join(parts)}"


def text_of(expr: s.Expr) -> str:
    match expr:
        case s.Number():
            return str(expr.value)
        case s.Access():
            index = ", ".join(map(_bare, expr.index))
            return f"{expr.name}[{index}]" if index else expr.name
        case s.Negative():
            return f"-{text_of(expr.arg)}"
        case s.Binary():
            return f"({_bare(expr)})"
        case s.Call():
            return f"{expr.function}({', '.join(map(_bare, expr.args))})"
        case s.Where():
            parts = ", ".join(map(_bare, (expr.then, expr.other)))
            return f"where({_bare(expr.lhs)} {expr.op} {_bare(expr.rhs)}, {parts})"


def _bare(expr: s.Expr) -> str:
    if isinstance(expr, s.Binary):
        return f"{text_of(expr.lhs)} {expr.op} {text_of(expr.rhs)}"
    return text_of(expr)


def as_text(of: Equations, lowered: Lowered) -> str:
    return "\n".join(_lines(as_json(of, lowered)))


def _lines(data: dict[str, Any]) -> Iterator[str]:
    yield f"{data['name']} ({data['digest']})"
    if data["sizes"]:
        yield f"sizes: {', '.join(data['sizes'])}"
    for fact in data["asserts"]:
        yield f"requires {fact}"
    for each in data["sources"]:
        yield f"from {_told(each)}"
    for each in data["equations"]:
        yield f"line {each['line']}: {each['text']}  ({each['type']})"
        for index in each["indices"]:
            begin = "" if index["from"] == show(ZERO) else f" from {index['from']}"
            yield (
                f"    {index['name']}: {index['extent']}{begin}, {index['kind']}, "
                f"by {index['where']}"
            )
    for each in data["sinks"]:
        yield f"to {_told(each)}"


def _told(each: dict[str, Any]) -> str:
    shape = f"[{', '.join(each['shape'])}]" if each["shape"] else ""
    file = f", {each['file']}" if each["file"] else ""
    return f"{each['name']}: {each['type']}{shape}{file}"
