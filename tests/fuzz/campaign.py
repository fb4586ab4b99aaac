"""Many random procedures and schedules from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from transforms.helpers import TARGET

from fuzz.examine import Report, examine
from fuzz.procedures import Generated, procedures
from schedsearch.core.isa import KNOWN
from schedsearch.core.records import Target
from schedsearch.evaluate.host import cpu_identity
from schedsearch.transforms.instruction_sets import with_instructions

PROCEDURES = 20
"""Drawn from one seed."""

FLAGS = (("-O1",), ("-O1",), ("-O3", "-ffast-math"))

walks = st.lists(st.lists(st.integers(0, 2**20), min_size=1, max_size=8), min_size=1, max_size=4)


def targets() -> tuple[Target, ...]:
    """The portable target, and those whose instructions run here, for one and two threads."""
    features = cpu_identity()[1]
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
            found.append(with_instructions(wide, []))
    return tuple(replace(each, threads=n) for each in found for n in (1, 2))


def run(
    number: int,
    machines: Sequence[Target] | None = None,
    count: int = PROCEDURES,
    shrink: bool = False,
) -> Report:
    """Examine `count` procedures that are all drawn from the seed `number`, for targets
    among `machines` (`targets()` if None).

    With `shrink`, the first finding is made as small as Hypothesis can, and raised
    as an AssertionError.
    """
    report = Report()
    with TemporaryDirectory() as folder:

        @seed(number)
        @settings(
            max_examples=count,
            phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(procedures(), walks, st.sampled_from(machines or targets()), st.sampled_from(FLAGS))
        def each(
            drawn: Generated, chosen: Sequence[Sequence[int]], target: Target, flags: Sequence[str]
        ) -> None:
            found = examine(drawn, chosen, target, (*flags, "-march=native"), Path(folder))
            report.add(found)
            assert not (shrink and found.findings), str(found.findings[0])

        each()
    return report
