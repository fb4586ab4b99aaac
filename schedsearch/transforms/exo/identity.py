"""The first of the three identities. (`code_key` comes with the generated C in
`exo/compat.py`, `binary_key` from the builder.)"""

from __future__ import annotations

from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.keys import digest
from schedsearch.core.text import canonical_text, show_proc
from schedsearch.transforms.exo.canonical import canonical
from schedsearch.transforms.exo.mirror import mirror_loopir


def ast_key(proc: q.Proc, build: Build = DEFAULT_BUILD) -> str:
    """Key of a procedure up to the names that it binds and the order of index terms,
    and of how it is built."""
    text = canonical_text(proc)
    return digest(text if build == DEFAULT_BUILD else f"{text}\n{build}")


def proc_key(proc: q.Proc) -> str:
    """Key of a procedure as written, names included: traces refer to loops by name."""
    return digest(f"{show_proc(proc)}\n{canonical_text(proc)}")


def canonical_ast(procedure: Any) -> q.Proc:
    """Query AST of the procedure that `generate_c` would print."""
    return mirror_loopir(canonical(procedure._loopir_proc))
