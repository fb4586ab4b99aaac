"""Many random procedures and schedules from one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from transforms.helpers import TARGET
from transforms.procs import portable

from fuzz.examine import Finding, Report, examine
from fuzz.procedures import Generated, procedures
from schedsearch.core.isa import KNOWN
from schedsearch.core.records import Target
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.transforms.vector.instruction_sets import with_instructions

PROCEDURES = 20
"""Drawn from one seed."""

FLAGS = (("-O0",), ("-O0",), ("-O1",), ("-O3", "-ffast-math"))

walks = st.lists(st.lists(st.integers(0, 2**20), min_size=1, max_size=8), min_size=1, max_size=12)


def targets(features: Iterable[str]) -> tuple[Target, ...]:
    """The portable target, and those whose instructions need no other features, for one
    and two threads."""
    found = [TARGET]
    for isa in KNOWN:
        if isa.vector_bits > 128 and isa.needs <= set(features):
            wide = replace(
                TARGET,
                isa=isa.name,
                features=tuple(features),
                vector_bits=isa.vector_bits,
                vector_registers=isa.vector_registers,
                instructions=(),
            )
            found.append(with_instructions(wide, [Path(portable.__file__)]))
    return tuple(replace(each, threads=n) for each in found for n in (1, 2))


class _Found(Exception):
    """Tells Hypothesis that there is something to make smaller."""


def run(
    number: int,
    machines: Sequence[Target] | None = None,
    count: int = PROCEDURES,
    smaller: Callable[[Finding], None] | None = None,
    extremes: bool = False,
) -> Report:
    """Examine `count` procedures that are all drawn from the seed `number`, for targets
    among `machines` (this machine's if None). With `extremes`, contractions are mostly minima and
    maxima.

    With `smaller`, only up to the first finding. Hypothesis makes it smaller then, for at most
    five minutes; each that is smaller than those before is told, which takes long for the
    first few and may be interrupted.
    """
    report, least = Report(), [inf]
    machines = machines or targets(cpu_identity()[1])
    with TemporaryDirectory() as folder:

        @seed(number)
        @settings(
            max_examples=count,
            phases=[Phase.generate, *([Phase.shrink] if smaller else [])],
            database=None,
            report_multiple_bugs=False,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(
            procedures(extremes),
            walks,
            st.sampled_from(machines),
            st.sampled_from(FLAGS),
        )
        def each(
            drawn: Generated, chosen: Sequence[Sequence[int]], target: Target, flags: Sequence[str]
        ) -> None:
            found = examine(drawn, chosen, target, (*flags, "-march=native"), Path(folder))
            report.add(found)
            if smaller and found.findings:
                finding = found.findings[0]
                if (size := len(finding.text) + len(str(finding.trace.steps))) < least[0]:
                    least[0] = size
                    smaller(finding)
                raise _Found

        with suppress(_Found):
            each()
    return report
