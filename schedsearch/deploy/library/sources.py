"""The C of a library: a file for each variant, and one that chooses among them.

The text of a variant is what was verified, but for the name of its function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from itertools import groupby

from schedsearch.core.build import compile_flags
from schedsearch.core.isa import NAMES
from schedsearch.core.numbers import count
from schedsearch.core.records import GeneratedC
from schedsearch.core.words import CPP_WORDS
from schedsearch.deploy import forks, one_at_a_time
from schedsearch.deploy.library.levels import baseline
from schedsearch.deploy.library.packing import Packed, Variant
from schedsearch.deploy.parameters import declared, with_own_names
from schedsearch.deploy.variants import OURS
from schedsearch.transforms.contract import APART, OF_ARRAYS, checks, conditions, parameters
from schedsearch.transforms.export_c import APART_TEXT

_RUNTIME = resources.files("schedsearch.deploy") / "runtime"

_WINDOW = re.compile(r"^#ifndef (EXO_WIN_\w+)\n.*?^#endif\n", re.MULTILINE | re.DOTALL)

_HALF = "_Float16"

HIDDEN = '__attribute__((visibility("hidden"))) '
"""Variants are for their library alone, also where it is a shared one."""

CHOOSING_FLAGS = ("-O2", *baseline().march, "-std=gnu11", "-fPIC", "-pthread")
"""What the file that chooses is compiled with: it runs on every processor."""


def texts(name: str, procs: Sequence[Packed]) -> dict[str, str]:
    """All files by name."""
    shared = ("isa.h", "choose.h", *(["forks.h"] if _have_threads(procs) else []))
    files = {each: (_RUNTIME / each).read_text() for each in shared}
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
            found[f"{symbol(name, proc, each)}.c"] = compile_flags(
                each.flags, each.code.source, each.compiler.kind
            )
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
    options = " ".join(compile_flags(variant.flags, variant.code.source, variant.compiler.kind))
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
        *(line for each in sorted(windows) for line in _guarded(windows[each])),
        "",
        "/* The best instruction set that is used here: what the processor has, or what the",
        f" * environment variable {environment_name(name)} says. */",
        f"const char *{name}_isa(void);",
    ]
    for proc in map(_for_cpp, procs):
        prototype = f"void {name}_{proc.name}({_declared(proc)});"
        lines += ["", *_facts(proc), *_guarded(prototype)]
        lines += [
            f"/* The variant that runs for these sizes, as in {name}.json. */",
            f"const char *{name}_{proc.name}_variant({_sizes(proc)});",
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
    return ", ".join(declared(proc.written.code)[1:]) or "void"


def _guarded(text: str) -> Iterator[str]:
    """Lines of the header, left out where they would not compile."""
    if _HALF not in text:
        yield text
        return
    yield f"#ifdef __FLT16_MAX__ /* this compiler has {_HALF} */"
    yield text
    yield "#endif"


def _for_cpp(proc: Packed) -> Packed:
    """With other names for its arguments if C++ does not take these."""
    return (
        _inside(proc) if any(each.name in CPP_WORDS for each in proc.written.parameters) else proc
    )


def _inside(proc: Packed) -> Packed:
    """With arguments that are called as nothing else is in the C of a library."""
    written = proc.written
    code = with_own_names(written.code)
    return replace(
        proc, written=replace(written, code=code, parameters=parameters(written.proc, code))
    )


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
        f'#define SCHEDSEARCH_LIBRARY "{name}"',
        f'#define SCHEDSEARCH_FORCED_BY "{environment_name(name)}"',
        f"static const struct isa isas[] = {{{table}}};",
        '#include "choose.h"',
        *(['#include "forks.h"'] if _have_threads(procs) else []),
    ]
    if any(check.startswith(APART) for check in wanted):
        lines += ["", "#ifndef NDEBUG", APART_TEXT.rstrip(), "#endif"]
    lines += ["", f"const char *{name}_isa(void) {{ return isas[{OURS}isa()].name; }}"]
    own = [(f"{OURS}{number}", proc) for number, proc in enumerate(procs)]
    if mutexes := [_mutex(o, each) for o, p in own for each in p.variants if each.static]:
        lines += ["", *one_at_a_time.declared(mutexes)]
    for prefix, proc in own:
        lines += ["", *_procedure(name, prefix, proc, order)]
    return "\n".join(lines) + "\n"


def _procedure(name: str, own: str, proc: Packed, order: Sequence[str]) -> Iterator[str]:
    """`own` is how the names begin that others do not see: a number, since each of two procedures
    may be called as anything of the other."""
    asked = checks(proc.written.proc, proc.written.code)
    proc = _inside(proc)
    names = ", ".join(f'"{each.name}"' for each in proc.variants)
    yield from (_prototype(name, proc, each) for each in proc.variants)
    yield f"static const char *const {own}_names[] = {{{names}}};"
    yield f"static int {own}_chosen({_sizes(proc)})"
    yield "{"
    yield f"    const int level = {OURS}isa();"
    yield from (f"    (void){each};" for each in ("level", *size_names(proc)))
    yield from (f"    {line}" for line in _choice(proc, order))
    yield "}"
    given = ", ".join(size_names(proc))
    yield f"const char *{name}_{proc.name}_variant({_sizes(proc)})"
    yield f"{{ return {own}_names[{own}_chosen({given})]; }}"
    if _have_threads([proc]):
        yield from forks.defined(own, f"{name}_{proc.name}", declared(proc.written.code)[1:])
    yield f"void {name}_{proc.name}({_declared(proc)})"
    yield "{"
    for check, text in zip(checks(proc.written.proc, proc.written.code), asked, strict=True):
        yield f'    assert(({check}) && "{text}");'  # which the user is shown
    yield f"    switch ({own}_chosen({given})) {{"
    for number, each in enumerate(proc.variants):
        yield f"    case {number}:"
        yield from (f"        {line}" for line in _call(name, own, proc, each))
        yield "        return;"
    yield "    }"
    yield "}"


def _prototype(name: str, proc: Packed, variant: Variant) -> str:
    given = ", ".join(declared(with_own_names(variant.code)))
    return f"{HIDDEN}void {symbol(name, proc, variant)}({given});"


def _call(name: str, own: str, proc: Packed, variant: Variant) -> Iterator[str]:
    if variant.threads:
        yield from forks.left_to_helper(own, declared(proc.written.code)[1:])
    given = [each for each in proc.written.parameters if each.arg.var.name not in variant.fixed]
    call = f"{symbol(name, proc, variant)}({', '.join(['NULL', *(each.name for each in given)])});"
    yield from one_at_a_time.around(_mutex(own, variant), call) if variant.static else (call,)


def _mutex(own: str, variant: Variant) -> str:
    return f"{own}_{variant.name}_lock"


def _have_threads(procs: Iterable[Packed]) -> bool:
    return any(each.threads for proc in procs for each in proc.variants)


def _choice(proc: Packed, order: Sequence[str]) -> Iterator[str]:
    """Statements that return the number of the variant that runs."""
    names = {each.arg.var.name: each.name for each in proc.written.parameters}
    numbered = list(enumerate(proc.variants))
    for (level, needs, fixed), own in groupby(numbered, key=lambda pair: _when(pair[1])):
        conditions = [f"level >= {order.index(level)}"] if order.index(level) else []
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
    yield f"int nearest = {first};"
    yield f"double least = {far[0]}, other;"
    for (number, _), text in zip(others, far[1:], strict=True):
        yield f"if ((other = {text}) < least)"
        yield f"    least = other, nearest = {number};"
    yield "return nearest;"


def _far(variant: Variant, names: Mapping[str, str]) -> str:
    sizes = sorted(variant.tuned.items())
    return " * ".join(f"{OURS}apart({names[size]}, {value})" for size, value in sizes) or "1.0"
