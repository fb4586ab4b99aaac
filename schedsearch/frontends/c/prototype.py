"""Kernels under the name and with the prototype of the C function that they were written as."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_generator

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.core.words import DECLARED, LOWER_MACROS
from schedsearch.frontends.c.naming import from_header
from schedsearch.frontends.c.reading import definitions
from schedsearch.frontends.c.trees import parameters, walk
from schedsearch.frontends.lowered import Lowered

_RESULT = "schedsearch_result"


@dataclass(frozen=True)
class Prototype:
    """`text` is the declaration, without a semicolon; `types` what it needs to be understood,
    between lines `before` and `after`. `scalars` tells for each parameter whether it is passed by
    value. `result` is the type of what is returned, empty if that is nothing."""

    name: str
    text: str
    parameters: tuple[str, ...]
    scalars: tuple[bool, ...]
    types: str = ""
    result: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def prototype(
    path: Path | str,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path | str] = (),
) -> Prototype:
    """The prototype of a function, macros expanded."""
    file, found = definitions(path, function, defines, include)
    decl = found.decl
    named = parameters(found)
    generator = c_generator.CGenerator()
    nodes = needed(decl, file.declarations)
    types = [f"{generator.visit(each)};" for each in nodes]
    before, after = own_meanings(nodes)
    return Prototype(
        decl.name,
        _text(generator.visit(decl)),
        tuple(each.name for each in named),
        tuple(isinstance(each.type, c_ast.TypeDecl) for each in named),
        "\n".join(types),
        "" if _result(decl) == "void" else _result(decl),
        tuple(before),
        tuple(after),
    )


def _result(decl: c_ast.Decl) -> str:
    return " ".join(getattr(decl.type.type.type, "names", ()))


def needed(node: Any, declarations: Mapping[str, Any]) -> list[Any]:
    """What the names in a prototype, or a function, stand for in the file, and what that needs, in
    order."""
    found: set[int] = set()
    queue = [node]
    while queue:
        for node in walk(queue.pop()):
            names = [node.name] if isinstance(node, c_ast.ID) else getattr(node, "names", ())
            if isinstance(node, c_ast.Enum):
                names = [f"enum {node.name}"]
            for each in filter(None, map(declarations.get, names)):
                if id(each) not in found and not from_header(each):
                    found.add(id(each))
                    queue.append(each)
    unique = {id(each): each for each in declarations.values()}
    return [each for key, each in unique.items() if key in found]


def _text(declaration: str) -> str:
    return re.sub(r"\b(static|inline|extern)\s+", "", declaration)


def wrapper(lowered: Lowered, own: Prototype, otherwise: str = "") -> str:
    """C of a function with the user's prototype that calls Exo's C of the kernel, `lowered.name`.

    Where sizes are not what the kernel's asserts say, it calls `otherwise`, a function with the
    same prototype; without that it ends the program.
    """
    if own.name == lowered.name:
        raise UserError(
            f"{own.name}: the kernel has the name of the function that calls it; rename one of them"
        )
    count = len(own.parameters)
    sizes, declared, passed = [], [""] * count, [""] * count
    given = [lowered.parameters[at] for at in lowered.order or range(count)]
    for name, theirs, scalar in zip(own.parameters, given, own.scalars, strict=True):
        at = lowered.parameters.index(theirs)
        kind = _types(lowered)[theirs]
        if kind == "size":
            sizes.append(name)
            declared[at], passed[at] = "int_fast32_t", name
        else:
            const = "" if theirs in lowered.outputs else "const "
            declared[at] = f"{const}{ELEMENT_TYPES[kind].c} *"
            passed[at] = f"({declared[at]}){'&' if scalar else ''}{name}"
    if own.result:
        declared.append(f"{ELEMENT_TYPES[_types(lowered)[lowered.parameters[-1]]].c} *")
        passed.append(f"({declared[-1]})&{_RESULT}")
    facts = [f"{name} >= 1" for name in sizes]
    facts += [_in_c(each, given, own.parameters) for each in lowered.asserts]
    lines = ["#include <stddef.h>", "#include <stdint.h>"]
    lines += [] if otherwise else ["#include <stdio.h>", "#include <stdlib.h>"]
    lines += [f"#undef {each}" for each in like_macros(own.parameters)]
    lines += [*own.before, "", *filter(None, [own.types])]
    lines += [f"void {lowered.name}({', '.join(['void *', *declared])});"]
    arguments = ", ".join(own.parameters)
    body = [f"    {lowered.name}({', '.join(['NULL', *passed])});"]
    if facts:
        body = [f"    if ({' && '.join(facts)}) {{", f"    {body[0]}", "    } else {"]
        if otherwise:
            lines.append(f"{re.sub(rf'{own.name}(?=[(])', otherwise, own.text, count=1)};")
            store = f"{_RESULT} = " if own.result else ""
            body += [f"        {store}{otherwise}({arguments});"]
        else:
            body += [f'        fputs("{own.name}: sizes that its kernel is not for\\n", stderr);']
            body += ["        abort();"]
        body += ["    }"]
    if own.result:
        body = [f"    {own.result} {_RESULT} = 0;", *body, f"    return {_RESULT};"]
    return "\n".join([*lines, "", own.text, "{", *body, "}", *own.after, ""])


def replacement(lowered: Lowered, own: Prototype, source: str, written: str = "") -> str:
    """A C file that takes the place of the user's: a function with their name and prototype, which
    calls the kernel. The kernel is in the file `source`, where it is called `lowered.name`.

    `written` is their own function, called `otherwise(own)`, with all that it needs: it runs where
    sizes are not what the kernel requires. Without it the program ends there."""
    inner = f"{lowered.name}_scheduled"
    text = lowered.text.replace(f"def {lowered.name}(", f"def {inner}(")
    renaming = f'#define {lowered.name} {inner}\n#include "{source}"\n#undef {lowered.name}\n'
    if own.name in DECLARED:  # what a header declares gets another name
        more = "" if written else "#include <stdio.h>\n#include <stdlib.h>\n"
        renaming = f"#define {own.name} {own.name}_of_headers\n{more}{renaming}#undef {own.name}\n"
    called = otherwise(own) if written else ""
    made = wrapper(replace(lowered, name=inner, text=text), own, called)
    if called and called in made:
        # it has the types of its prototype
        alone = wrapper(replace(lowered, name=inner, text=text), replace(own, types=""), called)
        return f"{renaming}\n{written}\n{alone}"
    return f"{renaming}\n{made}"


def exported(
    lowered: Lowered, own: Prototype, written: str, name: str, fixed: Mapping[str, int]
) -> str:
    """C of a function `name` that has the arguments of Exo's C of the kernel and calls the user's
    own: `written`, called `otherwise(own)`, with all that it needs. It takes no sizes that are
    `fixed`, by name with their values."""
    types = _types(lowered)
    declared = ["void *ctxt"]
    for each in lowered.parameters:
        if types[each] != "size":
            const = "" if each in lowered.outputs else "const "
            declared.append(f"{const}{ELEMENT_TYPES[types[each]].c} *{each}")
        elif each not in fixed:
            declared.append(f"int_fast32_t {each}")
    passed = []
    for at, scalar in zip(lowered.order or range(len(own.parameters)), own.scalars, strict=True):
        each = lowered.parameters[at]
        if types[each] == "size":
            passed.append(str(fixed.get(each, each)))
        else:
            passed.append(f"*{each}" if scalar else f"(void *){each}")
    store = f"*{lowered.parameters[-1]} = " if own.result else ""
    body = f"    {store}{otherwise(own)}({', '.join(passed)});"
    head = f"void {name}({', '.join(declared)})"
    return f"#include <stdint.h>\n{written}\n{head}\n{{\n{body}\n}}\n"


def like_macros(names: Iterable[str]) -> list[str]:
    """Names that may be macros of headers, which the user's file does not include."""
    return sorted({each for each in names if each.isupper() or each in LOWER_MACROS})


def own_meanings(kept: Sequence[c_ast.Node]) -> tuple[list[str], list[str]]:
    """Lines before and after text whose macros are expanded: its names are no macros of headers,
    which the kernel includes and the user's file need not, and nothing that these declare."""
    nodes = [node for each in kept for node in walk(each)]
    macros = like_macros(node.name for node in nodes if isinstance(getattr(node, "name", 0), str))
    outer = {getattr(getattr(each, "decl", each), "name", None) for each in kept}
    outer |= {node.name for node in nodes if isinstance(node, c_ast.Enumerator)}
    declared = sorted(each for each in outer if each in DECLARED)
    before = [f"#undef {each}" for each in macros]
    before += [f"#define {each} own_{each}" for each in declared]
    return before, [f"#undef {each}" for each in declared]


def otherwise(own: Prototype) -> str:
    """The name of the user's function within its replacement."""
    return f"{own.name}_as_written"


def _types(lowered: Lowered) -> dict[str, str]:
    """The types of the procedure's parameters: `size`, or those of elements."""
    at = lowered.text.index(f"def {lowered.name}(") + len(f"def {lowered.name}(")
    signature = lowered.text[at : lowered.text.index("\n", at)]
    return dict(re.findall(r"(\w+): (\w+)", signature))


def _in_c(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    """An assert of a procedure, of the user's names."""
    # in their own type an unsigned size would wrap
    names = {"and": "&&", "or": "||"}
    names |= {one: f"((int64_t){other})" for one, other in zip(theirs, ours, strict=True)}
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), f"({text})")
