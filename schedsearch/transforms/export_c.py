"""A kernel as C files: what was measured, what it asks of its caller, and checks of that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.contract import APART, checks, facts
from schedsearch.transforms.export import one_line

APART_TEXT = f"""\
#include <stddef.h>

static int {APART}(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {{
  return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
}}
"""
"""The function that `checks` may call."""


GUARD = "#ifndef SCHEDSEARCH_"
"""How a header of ours begins."""


def c_files(
    code: GeneratedC, proc: q.Proc, stem: str, notes: Sequence[str] = (), how: Sequence[str] = ()
) -> tuple[str, str]:
    """`(header, source)` texts of the C that was measured; the source includes `stem.h`.

    `proc` is the procedure of `code`: what it asks of its caller is in the header, and checked
    by `assert`. With NDEBUG, as it is measured, the source compiles to the same machine code as
    `code`. `notes` are comment lines for the top of the source; `how` are facts for the
    header, after those of `proc`: how it was measured, how to build it.
    """
    guard = f"{re.sub('[^0-9A-Za-z]', '_', stem).upper()}_H"
    header = [
        f"{GUARD}{guard}",
        f"#define SCHEDSEARCH_{guard}",
        *(f"// - {one_line(fact)}" for fact in [*facts(proc, code), *how]),
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        code.header.strip(),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    comment = [f"// {one_line(note)}" for note in notes]
    source = [*comment, f'#include "{stem}.h"', "", _checked(code, proc).strip()]
    return "\n".join(header) + "\n", "\n".join(source) + "\n"


def _checked(code: GeneratedC, proc: q.Proc) -> str:
    """The source with an `assert` per check where the function begins."""
    wanted = checks(proc, code)
    begins = re.search(rf"^void {re.escape(code.proc)}\( .* \) {{\n", code.source, re.MULTILINE)
    assert begins is not None, "the source defines the procedure"
    asserts = "".join(f"assert({check});\n" for check in wanted)
    apart = APART_TEXT if any(check.startswith(APART) for check in wanted) else ""
    helper = f"#ifndef NDEBUG\n{apart}#endif\n" if apart else ""
    end = begins.end()
    return f"#include <assert.h>\n{helper}\n{code.source[:end]}{asserts}{code.source[end:]}"
