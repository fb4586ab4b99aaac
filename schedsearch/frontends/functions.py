"""The functions of programs, as Exo's external functions, and the text that defines them.

Exo's own are for one type each: `expf` of f64 is computed in single precision, `sqrt` and `sin` of
f32 in double, `sigmoid` of two types does not compile, and there is no C for `relu(1.0 - x)`, whose
argument has the type of the constant to Exo. Those here are C's of the type of their arguments, in
one procedure of several types. Their text stands at the top of a generated module, so that an
exported schedule needs exo-lang only.
"""

from __future__ import annotations

from collections.abc import Iterable

from schedsearch.core.functions import FUNCTIONS, Function

EXO_NAMES = {
    row.name.rstrip("_"): row.name for row in FUNCTIONS.values() if not row.own and not row.chooses
}
"""Functions of programs (`graph.Apply`), and what each is called in a module: an underscore tells
it from Exo's own, or from Python's."""

SELECTIONS = {row.chooses: row.name for row in FUNCTIONS.values() if row.chooses and not row.own}
"""What chooses by a comparison: `select_lt(a, b, c, d)` is `c` if `a < b`, else `d`."""

CLASS = '''\
def _typed(e):
    """An expression with the type of what it reads: to Exo `1.0 - x` has that of `1.0`, R."""
    if isinstance(e, LoopIR.USub):
        arg = _typed(e.arg)
        return e.update(arg=arg, type=arg.type)
    if isinstance(e, LoopIR.BinOp):
        lhs, rhs = _typed(e.lhs), _typed(e.rhs)
        return e.update(lhs=lhs, rhs=rhs, type=rhs.type if str(lhs.type) == "R" else lhs.type)
    return e


class CFunction(Extern):
    """A function in C, of f32 and f64 and of integers, if it has an expression for those."""

    known = []

    def __init__(self, name, arity, floats, integers=""):
        super().__init__(name)
        self.arity, self.floats, self.integers = arity, floats, integers
        self.known.append(self)

    def __eq__(self, other):
        return isinstance(other, Extern) and self.text() == getattr(other, "text", lambda: "")()

    def __hash__(self):
        return hash(self.text())

    def text(self):
        return f"{self.name()} {self.arity} {self.floats} {self.integers}"

    def typecheck(self, args):
        known = ["R", *(["f32", "f64"] if self.floats else [])]
        known += ["i8", "ui8", "ui16", "i32"] if self.integers else []
        args[:] = map(_typed, args)  # which Exo keeps
        kinds = [str(arg.type) for arg in args]
        if len(args) != self.arity:
            raise Extern_Typecheck_Error(f"{self.name()} has {self.arity} arguments")
        if unknown := [kind for kind in kinds if kind not in known]:
            raise Extern_Typecheck_Error(f"{self.name()} of {unknown[0]}: it is of {known[1:]}")
        return next((arg.type for arg in args if str(arg.type) != "R"), args[0].type)

    def globl(self, prim_type):
        """All of them: Exo does not look for functions in arguments of others."""
        of_type = (each for each in self.known if each.value(prim_type))
        return "#include <math.h>\\n" + "".join(each.defined(prim_type) for each in of_type)

    def value(self, prim_type):
        return self.integers if "int" in prim_type else self.floats

    def defined(self, prim_type):
        kind = "int32_t" if "int" in prim_type else prim_type
        value = self.value(prim_type).format(f="f" if prim_type == "float" else "")
        params = ", ".join(f"{kind} {letter}" for letter in "abcd"[: self.arity])
        head = f"static inline {kind} {self.compile([params], prim_type)}"
        name = self.compile([], prim_type)[:-2]
        text = f"{head} {{\\n    return {value};\\n}}"
        return f"#ifndef {name}\\n#define {name} {name}\\n{text}\\n#endif\\n"

    def compile(self, args, prim_type):
        return f"_{self.name().rstrip('_')}_of_{prim_type}({', '.join(args)})"
'''


def module_text(names: Iterable[str]) -> str:
    """Python that defines functions, by the names that they have in a module (values of
    `EXO_NAMES` and `SELECTIONS`), for its top. Empty if there are none."""
    rows = [FUNCTIONS[name] for name in sorted(set(names))]
    own, ours = [row for row in rows if row.own], [row for row in rows if not row.own]
    imports = []
    if ours:
        imports.append("from exo.core.LoopIR import LoopIR")
        imports.append("from exo.core.extern import Extern, Extern_Typecheck_Error")
    if own:
        imports.append(f"from exo.libs.externs import {', '.join(row.name for row in own)}")
    sections = ["\n".join(imports)] if imports else []
    if ours:
        sections += [CLASS.rstrip(), "\n".join(map(definition, ours))]
    return "\n\n\n".join(sections) + "\n" if sections else ""


def definition(row: Function) -> str:
    """The line that defines a function that is not Exo's."""
    whole = f", {_quoted(row.whole)}" if row.whole else ""
    return f'{row.name} = CFunction("{row.name}", {row.arity}, {_quoted(row.c)}{whole})'


def _quoted(text: str) -> str:
    return f'"{text}"'
