"""Modules with procedures of all functions of front ends."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from schedsearch.core.functions import FUNCTIONS, LETTERS
from schedsearch.frontends.functions import EXO_NAMES, SELECTIONS, module_text
from schedsearch.transforms.exo.loader import load_source

NAMES = (*EXO_NAMES.values(), *SELECTIONS.values())
HEAD = "from __future__ import annotations\n\nfrom exo import proc\n"


BY = {"ashr": 3, "sdiv": 7}
"""The second argument of those that programs have of a constant."""


def of_type(kind: str) -> list[str]:
    """Functions that there are of a type."""
    whole = kind not in ("f32", "f64")
    return [n for n in NAMES if (FUNCTIONS[n].whole if whole else FUNCTIONS[n].c)]


def c_of(name: str, kind: str) -> str:
    """C of the function as procedures here call it."""
    text = FUNCTIONS[name].c_of(kind)
    return re.sub(r"\bb\b", str(BY[name]), text) if name in BY else text


def procedure_text(kind: str, names: Iterable[str], of: str = "{}[i]") -> str:
    """`kernel_f32(n, a, b, c, d, exp_out, ...)`, `of` being what is made of each argument."""
    outputs = "".join(f", {name}_out: {kind}[n]" for name in names)
    lines = [
        "",
        "",
        "@proc",
        f"def kernel_{kind}(n: size, {', '.join(f'{x}: {kind}[n]' for x in LETTERS)}{outputs}):",
    ]
    for name in names:
        args = [of.format(letter) for letter in LETTERS[: FUNCTIONS[name].arity]]
        if name in BY:
            args[1] = str(BY[name])
        lines += ["    for i in seq(0, n):", f"        {name}_out[i] = {name}({', '.join(args)})"]
    return "\n".join(lines) + "\n"


def procedures(folder: Path, of: str = "{}[i]", kinds: Iterable[str] = ("f32", "f64")) -> Any:
    """Procedures of all functions, by type."""
    texts = [procedure_text(kind, of_type(kind), of) for kind in kinds]
    names = {name for kind in kinds for name in of_type(kind)}
    file = folder / "functions.py"
    file.write_text(HEAD + module_text(names) + "".join(texts))
    source = load_source(file)
    return {kind: source.procs[f"kernel_{kind}"] for kind in kinds}
