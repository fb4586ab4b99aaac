"""The C of a library: a file for each variant, and one that chooses among them.

The text of a variant is what was verified, but for the name of its function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from itertools import groupby

from schedsearch.core.build import compile_flags
from schedsearch.core.isa import NAMES
from schedsearch.core.numbers import count
from schedsearch.core.records import GeneratedC
from schedsearch.core.words import CPP_WORDS
from schedsearch.deploy import one_at_a_time
from schedsearch.deploy.library.levels import baseline
from schedsearch.deploy.library.packing import Packed, Variant
from schedsearch.transforms.contract import APART, OF_ARRAYS, checks, conditions
from schedsearch.transforms.export_c import APART_TEXT

_RUNTIME = resources.files("schedsearch.deploy") / "runtime"

_WINDOW = re.compile(r"^#ifndef (EXO_WIN_\w+)\n.*?^#endif\n", re.MULTILINE | re.DOTALL)

_CPP_PARAMETER = re.compile(rf"\b({'|'.join(sorted(CPP_WORDS))})(?=,|$)")

HIDDEN = '__attribute__((visibility("hidden"))) '
"""Variants are for their library alone, also where it is a shared one."""

CHOOSING_FLAGS = ("-O2", *baseline().march, "-std=gnu11", "-fPIC", "-pthread")
"""What the file that chooses is compiled with: it runs on every processor."""


def texts(name: str, procs: Sequence[Packed]) -> dict[str, str]:
    """All files by name."""
    files = {each: (_RUNTIME / each).read_text() for each in ("isa.h", "choose.h")}
    files |= {f"{name}.h": _header(name, procs), f"{name}.c": _choosing(name, procs)}
    for proc in procs:
        for each in proc.variants:
            files[f"{symbol(name, proc, each)}.c"] = _variant(name, proc, each)
    return files


def commands(name: str, procs: Sequence[Packed]) -> dict[str, tuple[str, ...]]:
    """The compiler's options for each C file, by name."""
    found = {f"{name}.c": (*CHOOSING_FLAGS, "-DNDEBUG")}
    for proc in procs:
        for each in proc.variants:
            found[f"{symbol(name, proc, each)}.c"] = compile_flags(each.flags, each.code.source)
    return found


def symbol(name: str, proc: Packed, variant: Variant) -> str:
    return f"{name}_{proc.name}_{variant.name}"


def symbols(name: str, procs: Iterable[Packed]) -> list[str]:
    """What the object files define for others, the public functions first."""
    public = [f"{name}_isa"]
    hidden = list[str]()
    for proc in procs:
        public += [f"{name}_{proc.name}", f"{name}_{proc.name}_variant"]
        hidden += [symbol(name, proc, each) for each in proc.variants]
    return [*public, *hidden]


def environment_name(name: str) -> str:
    """The variable of the environment that forces an instruction set."""
    return f"{name.upper()}_ISA"


# -- a variant ---------------------------------------------------------------------------


def _variant(name: str, proc: Packed, variant: Variant) -> str:
    options = " ".join(compile_flags(variant.flags, variant.code.source))
    own = symbol(name, proc, variant)
    return (
        f"/* {_origin(variant)}. Compile with:\n * {options} */\n"
        f"{renamed(variant.code.header, variant.code, own)}\n"
        f"{renamed(variant.code.source, variant.code, own)}"
    )


def renamed(text: str, code: GeneratedC, name: str) -> str:
    """With another name for the function, which other libraries do not see."""
    begin = re.compile(rf"^void {re.escape(code.proc)}\( ", re.MULTILINE)
    return begin.sub(f"{HIDDEN}void {name}( ", text)


def _origin(variant: Variant) -> str:
    if variant.entry is None:
        return "The procedure as written"
    return f"A schedule of {variant.entry.workload.proc}, {count(len(variant.trace), 'rewrite')}"


# -- the header --------------------------------------------------------------------------


def _header(name: str, procs: Sequence[Packed]) -> str:
    guard = f"{name.upper()}_H"
    windows = {m[1]: m[0].rstrip() for p in procs for m in _WINDOW.finditer(p.written.code.header)}
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        *(windows[each] for each in sorted(windows)),
        "",
        "/* The best instruction set that is used here: what the processor has, or what the",
        f" * environment variable {environment_name(name)} says. */",
        f"const char *{name}_isa(void);",
    ]
    for proc in procs:
        lines += ["", *_facts(proc), f"void {name}_{proc.name}({_for_cpp(_declared(proc))});"]
        lines += [
            f"/* The variant that runs for these sizes, as in {name}.json. */",
            f"const char *{name}_{proc.name}_variant({_for_cpp(_sizes(proc))});",
        ]
    lines += ["#ifdef __cplusplus", "}", "#endif", "#endif"]
    return "\n".join(lines) + "\n"


def _facts(proc: Packed) -> Iterator[str]:
    written = proc.written
    required = conditions(written.proc, written.code)
    facts = [f"required: {', '.join(required)}"] if required else []
    facts.append(OF_ARRAYS)
    facts.append("threads may call it at the same time, each with outputs of its own")
    if any(each.static for each in proc.variants):
        names = ", ".join(each.name for each in proc.variants if each.static)
        facts.append(f"one call at a time runs of: {names}")
    yield f"/* {proc.name}"
    yield from (f" * - {fact}" for fact in facts)
    yield " */"


def _declared(proc: Packed) -> str:
    """The parameters, without a context."""
    code = proc.written.code
    found = re.search(
        rf"^void {re.escape(code.proc)}\( void \*ctxt(?:, )?(.*) \);", code.header, re.M
    )
    assert found is not None, "the header declares it"
    return found[1] or "void"


def _for_cpp(parameters: str) -> str:
    """With other names for those that C++ does not take: `float *new` -> `float *new_`."""
    return _CPP_PARAMETER.sub(r"\1_", parameters)


def _sizes(proc: Packed) -> str:
    return ", ".join(f"int_fast32_t {each}" for each in size_names(proc)) or "void"


def size_names(proc: Packed) -> list[str]:
    """In C."""
    return [each.name for each in proc.written.parameters if each.arg.type == "size"]


# -- the choice --------------------------------------------------------------------------


def _choosing(name: str, procs: Sequence[Packed]) -> str:
    used = {each.level.name for proc in procs for each in proc.variants}
    order = [each for each in reversed(NAMES) if each in used]
    table = ", ".join(f'{{"{each}", has_{each}}}' for each in order)
    wanted = [check for p in procs for check in checks(p.written.proc, p.written.code)]
    lines = [
        "/* Chooses the variant of a call. */",
        "#include <assert.h>",
        one_at_a_time.INCLUDE,
        f'#include "{name}.h"',
        '#include "isa.h"',
        "",
        f'#define SS_LIBRARY "{name}"',
        f'#define SS_FORCED_BY "{environment_name(name)}"',
        f"static const struct isa isas[] = {{{table}}};",
        '#include "choose.h"',
    ]
    if any(check.startswith(APART) for check in wanted):
        lines += ["", "#ifndef NDEBUG", APART_TEXT.rstrip(), "#endif"]
    lines += ["", f"const char *{name}_isa(void) {{ return isas[ss_isa()].name; }}"]
    if mutexes := [_mutex(p, each) for p in procs for each in p.variants if each.static]:
        lines += ["", *one_at_a_time.declared(mutexes)]
    for proc in procs:
        lines += ["", *_procedure(name, proc, order)]
    return "\n".join(lines) + "\n"


def _procedure(name: str, proc: Packed, order: Sequence[str]) -> Iterator[str]:
    names = ", ".join(f'"{each.name}"' for each in proc.variants)
    yield from (_prototype(name, proc, each) for each in proc.variants)
    yield f"static const char *const ss_{proc.name}_names[] = {{{names}}};"
    yield f"static int ss_{proc.name}({_sizes(proc)})"
    yield "{"
    yield "    const int ss_level = ss_isa();"
    yield from (f"    (void){each};" for each in ("ss_level", *size_names(proc)))
    yield from (f"    {line}" for line in _choice(proc, order))
    yield "}"
    given = ", ".join(size_names(proc))
    yield f"const char *{name}_{proc.name}_variant({_sizes(proc)})"
    yield f"{{ return ss_{proc.name}_names[ss_{proc.name}({given})]; }}"
    yield f"void {name}_{proc.name}({_declared(proc)})"
    yield "{"
    yield from (f"    assert({each});" for each in checks(proc.written.proc, proc.written.code))
    yield f"    switch (ss_{proc.name}({given})) {{"
    for number, each in enumerate(proc.variants):
        yield f"    case {number}:"
        yield from (f"        {line}" for line in _call(name, proc, each))
        yield "        return;"
    yield "    }"
    yield "}"


def _prototype(name: str, proc: Packed, variant: Variant) -> str:
    code = variant.code
    found = re.search(rf"^void {re.escape(code.proc)}\( .* \);", code.header, re.MULTILINE)
    assert found is not None, "the header declares it"
    return renamed(found[0], code, symbol(name, proc, variant))


def _call(name: str, proc: Packed, variant: Variant) -> Iterator[str]:
    given = [each for each in proc.written.parameters if each.arg.var.name not in variant.fixed]
    call = f"{symbol(name, proc, variant)}({', '.join(['NULL', *(each.name for each in given)])});"
    yield from one_at_a_time.around(_mutex(proc, variant), call) if variant.static else (call,)


def _mutex(proc: Packed, variant: Variant) -> str:
    return f"ss_{proc.name}_{variant.name}_lock"


def _choice(proc: Packed, order: Sequence[str]) -> Iterator[str]:
    """Statements that return the number of the variant that runs."""
    names = {each.arg.var.name: each.name for each in proc.written.parameters}
    numbered = list(enumerate(proc.variants))
    for (level, needs, fixed), own in groupby(numbered, key=lambda pair: _when(pair[1])):
        conditions = [f"ss_level >= {order.index(level)}"] if order.index(level) else []
        conditions += [f"has_{each}()" for each in needs]
        conditions += [f"{names[size]} == {value}" for size, value in fixed]
        block = list(_nearest(list(own), names))
        if conditions:
            yield f"if ({' && '.join(conditions)}) {{"
            yield from (f"    {line}" for line in block)
            yield "}"
        else:
            yield from block
            return
    raise AssertionError("the baseline has a variant for all sizes")


def _when(variant: Variant) -> tuple[str, tuple[str, ...], tuple[tuple[str, int], ...]]:
    return variant.level.name, tuple(sorted(variant.needs)), tuple(sorted(variant.fixed.items()))


def _nearest(variants: Sequence[tuple[int, Variant]], names: Mapping[str, str]) -> Iterator[str]:
    """As `deploy.choose.distance`, whose powers of two these are."""
    (first, _), *others = variants
    if not others:
        yield f"return {first};"
        return
    far = [_far(each, names) for _, each in variants]
    yield f"int ss_nearest = {first};"
    yield f"double ss_least = {far[0]}, ss_other;"
    for (number, _), text in zip(others, far[1:], strict=True):
        yield f"if ((ss_other = {text}) < ss_least)"
        yield f"    ss_least = ss_other, ss_nearest = {number};"
    yield "return ss_nearest;"


def _far(variant: Variant, names: Mapping[str, str]) -> str:
    sizes = sorted(variant.tuned.items())
    return " * ".join(f"ss_apart({names[size]}, {value})" for size, value in sizes) or "1.0"
