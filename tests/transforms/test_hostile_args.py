"""Rewrites whose arguments no proposal has: a trace may come from anywhere, and whatever it asks
for is done, or refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, propose, select
from transforms.helpers import TARGET, source

pytestmark = pytest.mark.normal

ODD = (1 << 62, -1, 0, True, "", "i", "x" * 100, "(", "__import__('os')")


def changed(rewrite: Rewrite) -> Iterator[Rewrite]:
    """Each argument left out, or made odd."""
    args = dict(rewrite.args)
    for name in args:
        yield replace(rewrite, args=tuple(a for a in rewrite.args if a[0] != name))
        for value in ODD:
            yield replace(rewrite, args=tuple(sorted({**args, name: value}.items())))


@pytest.mark.slow
def test_odd_arguments_are_done_or_refused() -> None:
    product = source("blocks").procs["product"]
    ast = mirror(product)
    first = {r.transform: r for r in reversed(list(propose(ast, TARGET, select(None)))) if r.args}
    assert first.keys() >= {"register_block", "split", "specialise", "compile_with"}
    for proposed in first.values():
        reasons = set()
        for rewrite in changed(proposed):
            try:
                apply(product, ast, rewrite)
            except RewriteError as error:  # all else is an error of ours
                reasons.add(str(error))
        assert reasons, f"nothing of {proposed} is refused"
