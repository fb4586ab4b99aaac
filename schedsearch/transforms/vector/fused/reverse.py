"""C snippets of loads and stores that go backwards through memory: the first lane is at `p`, the
next one at `p - 1`."""

from __future__ import annotations

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.snippets import Snippet, function
from schedsearch.transforms.vector.registers import set_name


def load(kind: str, lanes: int) -> Snippet:
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    body = f"const {vec} a = *(const {vec}_u *)(p - {lanes - 1});\n    return {_turned(lanes)};"
    return function(f"{vec}_load_back", vec, f"const {element} *p", body)


def store(kind: str, lanes: int) -> Snippet:
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    body = f"*({vec}_u *)(p - {lanes - 1}) = {_turned(lanes)};"
    return function(f"{vec}_store_back", "void", f"{element} *p, {vec} a", body)


def partial_load(kind: str, lanes: int) -> Snippet:
    """The first `n` lanes, 0 in the others."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    body = f"{vec} r = {{0}};\n    for (long l = 0; l < n; l++) r[l] = p[-l];\n    return r;"
    return function(f"{vec}_load_n_back", vec, f"const {element} *p, long n", body)


def partial_store(kind: str, lanes: int) -> Snippet:
    """The first `n` lanes."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    body = "for (long l = 0; l < n; l++) p[-l] = a[l];"
    return function(f"{vec}_store_n_back", "void", f"{element} *p, {vec} a, long n", body)


def _turned(lanes: int) -> str:
    order = ", ".join(str(lane) for lane in reversed(range(lanes)))
    return f"__builtin_shufflevector(a, a, {order})"
