"""Schedules compiled, with the calls that verify all of their code."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.core import ast as q
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome
from schedsearch.evaluate.bench import Bench
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.cases import is_small
from schedsearch.evaluate.reach import Reacher

BUILD_TIMEOUT_S = 60.0


def reacher_of(bench: Bench) -> Reacher:
    """What chooses calls for schedules of the procedure that is timed on a bench."""
    general = bench.plan.proc
    return Reacher(general, bench.cases[-1].binding, lambda call: is_small(general, call))


def build(
    builder: Builder, code: GeneratedC, kernel: q.Proc, reacher: Reacher
) -> Artifact | Failure:
    """Compile `code`, of the schedule `kernel`. Failures are the builder's, and INCORRECT if some
    of the code runs only in calls that are too large to verify it with."""
    built = builder.build(code, BUILD_TIMEOUT_S)
    if isinstance(built, Failure):
        return built
    found = reacher.reach(kernel)
    if found.unreached:
        blocks = "; ".join(found.unreached[:3])
        return Failure(Outcome.INCORRECT, f"not verified: no affordable call runs {blocks}")
    return replace(built, calls=found.bindings)
