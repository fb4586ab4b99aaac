"""Names of fused vector instructions."""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.keys import digest
from schedsearch.core.text import header
from schedsearch.transforms.fused.model import Fused
from schedsearch.transforms.vectors import set_name


def fused_name(fused: Fused) -> str:
    """`vec_f32x16_mul_add_0123456789`: the operators, and a digest of everything."""
    kind = next(stmt.type for stmt in fused.body if isinstance(stmt, q.Assign | q.Reduce))
    shape = repr((fused.lanes, fused.counted, fused.operands, fused.copies))
    text = "\n".join([shape, *body_lines(fused)])
    words = [*_words(fused)][:3] or ["set"]
    return "_".join([set_name(kind, fused.lanes), *words, digest(text)[:10]])


def _words(fused: Fused) -> Iterator[str]:
    names = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
    for stmt in fused.body:
        if isinstance(stmt, q.Assign | q.Reduce):
            for node in q.walk_expr(stmt.rhs):
                if isinstance(node, q.BinOp):
                    yield names[node.op]
                elif isinstance(node, q.Extern):
                    yield node.name
            if isinstance(stmt, q.Reduce):
                yield "add"


def body_lines(fused: Fused) -> list[str]:
    """The statements of one iteration, in Exo's syntax."""
    return [header(stmt) for stmt in fused.body]
