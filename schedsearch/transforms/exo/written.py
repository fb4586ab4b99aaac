"""A procedure object as a Python file: one defined in a notebook has no file that workers could
load, and procedures cannot be sent to them.

The text is Exo's own print of the procedure and its callees, so that constants taken from
Python are in it; comments are not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from exo.API import Procedure
from exo.core.LoopIR import LoopIR, LoopIR_Do

from schedsearch.core.errors import UserError

_HEADER = '"""Written by schedsearch, as Exo prints a procedure that was not in a file."""'


def written(procedure: Any) -> str:
    """A module that defines the procedure and its callees, each by its own name.

    Raises UserError if it needs something that cannot be imported: then it has to be in a file.
    """
    found = _Found(procedure.name())
    found.collect(procedure._loopir_proc)
    by_module: dict[str, set[str]] = {}
    for module, name in found.imports:
        by_module.setdefault(module, set()).add(name)
    lines = [_HEADER, "", "from __future__ import annotations", ""]
    lines += [f"from {m} import {', '.join(sorted(by_module[m]))}" for m in sorted(by_module)]
    definitions = (f"\n\n{_definition(each)}\n" for each in found.procs.values())
    return "\n".join(lines) + "\n" + "".join(definitions)


def _definition(proc: Any) -> str:
    # Exo prints a memory for truth values, but does not read one.
    args = [a.update(mem=None) if a.type.is_bool() else a for a in proc.args]
    text = str(Procedure(proc.update(args=args)))
    if proc.instr is None:
        return f"@proc\n{text}"
    head = f"@instr({proc.instr.c_instr!r}, {proc.instr.c_global!r})"
    return f"{head}\n{_without_comment(text)}"


def _without_comment(text: str) -> str:
    """Exo prints an instruction's C as comments."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


@dataclass
class _Found:
    """The definitions and imports that one procedure needs, callees before callers."""

    name: str
    procs: dict[str, Any] = field(default_factory=dict)
    imports: set[tuple[str, str]] = field(default_factory=set)

    def collect(self, proc: Any) -> None:
        self.imports.add(("exo", "instr" if proc.instr else "proc"))
        for need in _needs(proc):
            if isinstance(need, LoopIR.proc):
                self.collect(need)
            else:
                self.imports.add(self._importable(need))
        if self.procs.setdefault(proc.name, proc) is not proc:
            raise self._error(f"it calls two procedures named {proc.name}")

    def _importable(self, need: Any) -> tuple[str, str]:
        """Module and name of a memory, which is a class, or of an external function."""
        module = need.__module__ if isinstance(need, type) else type(need).__module__
        name: str = need.name()
        if module == "__main__" or getattr(sys.modules.get(module), name, None) is not need:
            raise self._error(f"{name} is not something that a file could import")
        return module, name

    def _error(self, reason: str) -> UserError:
        return UserError(
            f"{self.name} was not defined in a file, and cannot be written to one: {reason}. Save "
            "it with what it needs in a Python file, and give the file's path"
        )


def _needs(proc: Any) -> Iterator[Any]:
    """Procedures that are called, memories and external functions, in the order of the text."""
    for arg in proc.args:
        if arg.mem is not None:
            yield arg.mem
    yield from _Seen(proc).needs


class _Seen(LoopIR_Do):  # type: ignore[misc] # Exo is untyped
    def __init__(self, proc: Any) -> None:
        self.needs: list[Any] = []
        super().__init__(proc)

    def do_s(self, s: Any) -> None:
        match s:
            case LoopIR.Alloc() if s.mem is not None:
                self.needs.append(s.mem)
            case LoopIR.Call():
                self.needs.append(s.f)
            case LoopIR.WriteConfig():
                self.needs.append(s.config)
        super().do_s(s)

    def do_e(self, e: Any) -> None:
        match e:
            case LoopIR.Extern():
                self.needs.append(e.f)
            case LoopIR.ReadConfig():
                self.needs.append(e.config)
        super().do_e(e)
