"""Schedules compiled, with the calls that verify all of their code."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from schedsearch.core import ast as q
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.cases import is_possible, is_small
from schedsearch.evaluate.oracle.reach import Reacher
from schedsearch.evaluate.run.bench import Bench

BUILD_TIMEOUT_S = 60.0


def reacher_of(bench: Bench) -> Reacher:
    """What chooses calls for schedules of the procedure that is timed on a bench."""
    general = bench.plan.proc
    timed = bench.cases[-1].binding
    return make_reacher(general, timed)


def make_reacher(general: q.Proc, timed: Binding) -> Reacher:
    """The same where there is no bench."""
    small, largest = partial(is_small, general), partial(is_possible, general)
    return Reacher(general, timed, small, largest)


def build(
    builder: Builder, code: GeneratedC, kernel: q.Proc, reacher: Reacher
) -> Artifact | Failure:
    """Compile `code`, of the schedule `kernel`. Failures are the builder's, and UNVERIFIED if some
    of the code runs only in calls that are too large to verify it with."""
    built = builder.build(code, BUILD_TIMEOUT_S)
    return built if isinstance(built, Failure) else with_calls(built, kernel, reacher)


def with_calls(built: Artifact, kernel: q.Proc, reacher: Reacher) -> Artifact | Failure:
    """With the calls that run all code of the schedule `kernel`; UNVERIFIED as in `build`."""
    found = reacher.reach(kernel)
    if found.unreached:
        blocks = "; ".join(found.unreached[:3])
        return Failure(Outcome.UNVERIFIED, f"no affordable call runs {blocks}")
    return replace(built, calls=found.bindings)
