"""Kernels with threads in forked children, in C: what calls them from another thread
(runtime/forks.h)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources

TEXT = (resources.files("schedsearch.deploy") / "runtime" / "forks.h").read_text()


def defined(own: str, function: str, parameters: Sequence[str]) -> Iterator[str]:
    """Lines before the body of a function: a call of it by the helper. `own` is how their names
    begin; parameters are as in `float *y`."""
    given = ", ".join(f"all->{name}" for name in _names(parameters))
    yield f"struct {own}_given {{ {' '.join(f'{each};' for each in parameters)} }};"
    yield f"static void {own}_again(void *given)"
    yield "{"
    yield f"    const struct {own}_given *all = given;"
    yield "    (void)all;"
    yield f"    {function}({given});"
    yield "}"


def left_to_helper(own: str, parameters: Sequence[str]) -> Iterator[str]:
    """Statements in the function, which `defined` knows."""
    yield "if (schedsearch_needs_helper()) {"
    yield f"    struct {own}_given all = {{{', '.join(_names(parameters))}}};"
    yield f"    schedsearch_help({own}_again, &all);"
    yield "    return;"
    yield "}"


def _names(parameters: Sequence[str]) -> Iterator[str]:
    return (each.replace("*", " ").split()[-1] for each in parameters)
