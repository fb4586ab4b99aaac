"""Cycles of a loop by a model of the core: LLVM's llvm-mca."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from schedsearch.evaluate.build.process import run_group
from schedsearch.evaluate.code.listing import Instruction

_NEWEST, _OLDEST = 30, 11
_MCA_S = 20.0
# A model of this machine's core, else of the one that is most like those with its registers.
_CPUS = ("native", "icelake-server", "skylake-avx512", "znver3", "haswell")
_MISSING = "llvm-mca is not installed (Debian and Ubuntu: `apt install llvm`)"


@dataclass(frozen=True)
class Modelled:
    """Cycles of an iteration in a long run, by the model of `cpu`; `why` there is no number."""

    cycles: float | None
    cpu: str = ""
    why: str = ""


def modelled(loop: Sequence[Instruction]) -> Modelled:
    """Ask llvm-mca; without it, or if it does not know an instruction, there is no number."""
    program = _program()
    if program is None:
        return Modelled(None, why=_MISSING)
    text = "\n".join(_for_mca(each) for each in loop)
    why = ""
    for cpu in _CPUS:
        finished = run_group([program, f"-mcpu={cpu}"], text=text, timeout_s=_MCA_S)
        if finished is None:
            return Modelled(None, why=f"llvm-mca took more than {_MCA_S:g} s")
        numbers = re.findall(r"^(?:Iterations|Total Cycles): +(\d+)$", finished.stdout, re.M)
        if finished.code == 0 and len(numbers) == 2:
            return Modelled(int(numbers[1]) / int(numbers[0]), cpu)
        why = why or next((s for s in finished.stderr.splitlines() if "error" in s), "")
    return Modelled(None, why=f"llvm-mca does not model this loop: {why}")


def _program() -> str | None:
    names = ("llvm-mca", *(f"llvm-mca-{n}" for n in range(_NEWEST, _OLDEST, -1)))
    return next((found for name in names if (found := shutil.which(name))), None)


def _for_mca(each: Instruction) -> str:
    """Jumps have the number of an address, that is no name."""
    text = each.text.split("#")[0].split("<")[0]
    return text if each.target is None else f"{each.mnemonic} {each.target:#x}"
