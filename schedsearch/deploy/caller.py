"""The extension module that calls kernels of one signature: C generated from the signature, with
code that all signatures share (`runtime/caller.c`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.core.text import show_affine
from schedsearch.deploy.refusals import Argument, Refusals
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.harness import call_text, window_structs
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.transforms.contract import Parameter, Writer, conditions_with

_RUNTIME = resources.files("schedsearch.deploy") / "runtime"
_MODULE = "schedsearch_caller"

MOST_DIMS = 8
"""As in caller.h."""

LETTERS = {
    **{"float16": "e", "float32": "f", "float64": "d"},
    **{"int8": "b", "uint8": "B", "uint16": "H", "int32": "i"},
}
"""Of NumPy's types in the formats of buffers (PEP 3118)."""


def sources(proc: q.Proc, given: Sequence[Parameter], context: str | None = "0") -> dict[str, str]:
    """C files of the caller of `proc`, by name; `given` are its `contract.parameters`. What is
    called takes `context` first, if that is not None. Raises UserError for arrays of too many
    dimensions."""
    for arg in proc.args:
        if len(arg.shape or ()) > MOST_DIMS:
            raise UserError(
                f"{arg.var.name} of {proc.name} has {len(arg.shape or ())} dimensions; kernels "
                f"with up to {MOST_DIMS} can be called from Python"
            )
    shared = {name: (_RUNTIME / name).read_text() for name in ("caller.h", "caller.c")}
    return {**shared, "signature.c": _signature(proc, given, context)}


def built(
    own: Builder,
    proc: q.Proc,
    given: Sequence[Parameter],
    context: str | None = "0",
    flags: tuple[str, ...] = (),
) -> Path:
    """The module of `sources`, compiled. Raises UserError that names the procedure."""
    files = sources(proc, given, context)
    try:
        return own.python_module(files, BUILD_TIMEOUT_S, flags)
    except UserError as error:
        raise UserError(f"{proc.name} cannot be called: {error}") from error


def described(proc: q.Proc, given: Sequence[Parameter]) -> Refusals:
    """The wording of what the caller of `proc` refuses."""
    names = {arg.var.uid: arg.var.name for arg in proc.args}
    args = tuple(
        Argument(
            each.arg.var.name,
            _wanted(each),
            ", ".join(map(show_affine, each.arg.shape or ())),
            _bytes(each.arg),
            each.arg.window,
        )
        for each in given
    )
    return Refusals(proc.name, args, tuple(conditions_with(Writer(proc, names))))


def _wanted(given: Parameter) -> str:
    arg = given.arg
    if arg.type == "bool":
        return "True or False"
    if arg.type in q.CONTROL_TYPES:
        return "an integer of 32 bits"
    element = ELEMENT_TYPES[arg.type].numpy
    if arg.shape is None:
        return f"{element} array of one element" + ("" if given.written else ", or a number")
    return f"{element} array of shape ({', '.join(map(show_affine, arg.shape))})"


def _bytes(arg: q.Arg) -> int:
    """Of an element; 0 for control values."""
    return 0 if arg.type in q.CONTROL_TYPES else ELEMENT_TYPES[arg.type].bits // 8


@cache
def load(module: Path) -> Any:
    """The compiled module. It stays loaded, as every module does."""
    loader = ExtensionFileLoader(_MODULE, str(module))
    spec = spec_from_loader(_MODULE, loader)
    assert spec is not None, "there is a loader"
    loaded = module_from_spec(spec)
    loader.exec_module(loaded)
    return loaded


def _signature(proc: q.Proc, given: Sequence[Parameter], context: str | None) -> str:
    args = [f"args[{position}]" for position in range(len(proc.args))]
    names = {
        arg.var.uid: f"{place}.control" if arg.type in q.CONTROL_TYPES else place
        for arg, place in zip(proc.args, args, strict=True)
    }
    write = Writer(proc, names)
    sizes = [str(p) for p, arg in enumerate(proc.args) if arg.type == "size"]
    lines = [
        '#include "caller.h"',
        *window_structs(proc),
        f'const char *const procedure_name = "{proc.name}";',
        f"const int parameter_count = {len(proc.args)}, size_count = {len(sizes)};",
        "const struct parameter parameters[] = {",
        *(f"    {_parameter(each)}," for each in given),
        "    {0}};",
        f"const int sizes[] = {{{', '.join([*sizes, '-1'])}}};",
        "void infer(struct arg *args)",
        "{",
        "    (void)args;",
        *(f"    {line}" for line in _inference(proc, write)),
        "}",
        "int wrong_shape(const struct arg *args, int *dim)",
        "{",
        "    (void)args; (void)dim;",
        *(
            f"    if ({args[p]}.shape[{d}] != {write.index(extent)}) return *dim = {d}, {p};"
            for p, arg in enumerate(proc.args)
            for d, extent in enumerate(arg.shape or ())
        ),
        "    return -1;",
        "}",
        "int broken(const struct arg *args)",
        "{",
        "    (void)args;",
        *(
            f"    if (!({condition})) return {number};"
            for number, condition in enumerate(conditions_with(write))
        ),
        "    return -1;",
        "}",
        "void invoke(void *function, const struct arg *args)",
        "{",
        "    (void)args;",
        f"    {call_text(proc, context)};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _parameter(given: Parameter) -> str:
    arg = given.arg
    values = {"name": f'"{arg.var.name}"'}
    if arg.type in q.CONTROL_TYPES:
        values["truth"] = str(int(arg.type == "bool"))
    else:
        element = ELEMENT_TYPES[arg.type]
        values["element"] = f"'{LETTERS[element.numpy]}'"
        values["bytes"] = str(_bytes(arg))
        values["rank"] = str(-1 if arg.shape is None else len(arg.shape))
        values["window"], values["written"] = str(int(arg.window)), str(int(given.written))
    return "{" + ", ".join(f".{name} = {value}" for name, value in values.items()) + "}"


def untold(proc: q.Proc) -> list[q.Arg]:
    """Arguments that are control values, and that no shape tells: callers have to give them."""
    told = {var for var, *_ in _solutions(proc)}
    return [arg for arg in proc.args if arg.type in q.CONTROL_TYPES and arg.var not in told]


def _inference(proc: q.Proc, write: Writer) -> Iterator[str]:
    """Control values that shapes tell, those that need others after them."""
    position = {arg.var: p for p, arg in enumerate(proc.args)}
    for var, factor, rest, shape in _solutions(proc):
        place = f"args[{position[var]}]"
        value = f"({shape} - ({write.index(rest)})) / {factor}"
        yield f"if (!{place}.known) {place}.control = {value}, {place}.known = true;"


def _solutions(proc: q.Proc) -> Iterator[tuple[q.Var, int, q.Affine, str]]:
    """As `_solved` finds them. Of an extent `2 * n + 1` follows `n`; whether it is that,
    `wrong_shape` tells."""
    position = {arg.var: p for p, arg in enumerate(proc.args)}
    open_ = {arg.var for arg in proc.args if arg.type in ("size", "index", "int")}
    places = [
        (extent, f"args[{position[arg.var]}].shape[{d}]")
        for arg in proc.args
        for d, extent in enumerate(arg.shape or ())
    ]
    places.sort(key=lambda place: place[0].as_var is None)  # the plainest tell, others are checked
    while found := next(filter(None, (_solved(*place, open_) for place in places)), None):
        open_.remove(found[0])
        yield found


def _solved(
    extent: q.Affine, shape: str, open_: set[q.Var]
) -> tuple[q.Var, int, q.Affine, str] | None:
    """The only variable of `open_` in an extent, with its factor and the rest; None if there are
    several, or it is inside of a division."""
    unknown = q.expr_vars(extent) & open_
    if len(unknown) != 1:
        return None
    [var] = unknown
    factor = extent.coefficient(var)
    rest = extent - q.as_affine(var).scaled(factor)
    return None if var in q.expr_vars(rest) or not factor else (var, factor, rest, shape)
