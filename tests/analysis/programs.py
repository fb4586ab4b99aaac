"""Procedures to ask, with what they access: random ones, and those of the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.procedures import drawn, procedures
from transforms.helpers import CONTROLS, PROCS, kernels

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

from .execution import Event, TooLong, execute

COUNT = 30
"""Random procedures, of which most get through Exo's front end."""


@dataclass(frozen=True)
class Program:
    proc: q.Proc
    sizes: Mapping[str, int]
    events: list[Event]


@cache
def programs(count: int = COUNT) -> tuple[Program, ...]:
    found = []
    for name, procedure in kernels().items():
        found += [(mirror(procedure), sizes) for sizes in CONTROLS[name]]
    for procedure in load_source(PROCS / "races.py").procs.values():
        proc = mirror(procedure)
        sized = any(arg.type in q.CONTROL_TYPES for arg in proc.args)
        found += [] if sized else [(proc, {})]
    with TemporaryDirectory() as folder:
        for number, (generated,) in enumerate(drawn(7, count, procedures())):
            file = Path(folder, f"fuzzed_{number}.py")
            file.write_text(generated.text)
            try:
                proc = mirror(load_source(file).procs["fuzzed"])
            except UserError:
                continue
            found += [(proc, sizes) for sizes in generated.sizes]
    return tuple(filter(None, (_program(*each) for each in found)))


def _program(proc: q.Proc, sizes: Mapping[str, int]) -> Program | None:
    try:
        return Program(proc, sizes, execute(proc, sizes))
    except TooLong:
        return None
