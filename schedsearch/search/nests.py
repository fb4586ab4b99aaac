"""Nests apart: before a procedure is searched as a whole, its loop nests that compute much are
searched one by one, each as a procedure of its own.

A nest alone is rewritten, compiled, verified and timed faster than the whole, and its gain does not
drown in the time of the others. Its schedules are in the store as those of a procedure
(`mm2_nest1` of `mm2`): the next nest that is like it begins with them, and so do other procedures.
Nests that memory limits stay with the whole, where they can be fused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.numbers import speedup
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.search.engine.progress import Best, Progress
from schedsearch.search.setup.subject import Subject, bind_fixed, make_subject
from schedsearch.transforms.exo.nests import Nest, nests, together

SHARE = 0.8
"""Of the time that there is to search: the rest is for the whole."""

LEAST_SHARE = 0.1
"""Of all operations: a nest with fewer is not searched alone."""

LEAST_S = 8.0
"""Every nest gets as much: it takes two seconds to begin, and one nest left as it is written may
take longer than all the others together."""

SearchAlone = Callable[[Subject, float, Callable[[Progress], None]], tuple[Best | None, bool]]
"""Searches a nest for so many seconds -> its fastest schedule, and whether Ctrl-C ended it."""


@dataclass(frozen=True)
class Apart:
    """A nest that is searched alone, ready to be tuned."""

    nest: Nest
    subject: Subject


def search_nests(
    apart: Sequence[Apart], seconds: float, search: SearchAlone, phase: Callable[[str], None]
) -> tuple[list[Trace], bool]:
    """Schedules of the whole, made of the best ones of its nests (no schedules if nothing faster is
    found), and whether Ctrl-C came. Every nest has `LEAST_S`, or none is searched; the rest of the
    time is shared out by operations."""
    if len(apart) * LEAST_S > SHARE * seconds:
        return [], False
    ending = time.monotonic() + SHARE * seconds
    found: list[tuple[Nest, Trace]] = []
    for number, each in enumerate(apart, 1):
        flops = [other.subject.work.flops for other in apart[number - 1 :]]
        rest_s = max(ending - time.monotonic() - len(flops) * LEAST_S, 0.0)
        own_s = LEAST_S + rest_s * flops[0] / sum(flops)
        title = f"searching {each.subject.name} alone ({number} of {len(apart)})"
        best, interrupted = search(each.subject, own_s, _told(phase, title))
        if best is not None:
            found.append((each.nest, best.trace))
        if interrupted:
            return together(found), True
    return together(found), False


def nests_apart(whole: Subject, roof: Roof) -> list[Apart]:
    """Those of at least two that are limited by computing and have a fair share of it, the largest
    first. `roof` is that of the whole."""
    source, name = whole.source, whole.name
    fixed, sizes = whole.workload.fixed, dict(whole.workload.sizes)
    found = []
    for nest in nests(source.named(name)):
        args = {str(arg.name()) for arg in nest.procedure.args()}
        try:
            bound = bind_fixed(
                source,
                nest.procedure,
                {size: value for size, value in sizes.items() if size in args - fixed.keys()},
                {size: value for size, value in fixed.items() if size in args},
            )
            subject = make_subject(source, *bound, whole.target)
        except UserError:
            continue
        if subject.name not in source.procs and _computes(subject, roof):
            found.append(Apart(nest, subject))
    least = LEAST_SHARE * whole.work.flops
    found = [each for each in found if each.subject.work.flops >= least]
    found.sort(key=lambda each: each.subject.work.flops, reverse=True)
    return found if len(found) > 1 else []


def _computes(nest: Subject, roof: Roof) -> bool:
    """Whether computing takes longer than moving the data, at the peaks of the whole."""
    if not (roof.peak and roof.bandwidth):
        return False
    return roof.computing_s(nest.work) * 1e9 > nest.work.bytes / roof.bandwidth


def _told(phase: Callable[[str], None], title: str) -> Callable[[Progress], None]:
    """Tells of every improvement."""
    phase(title)
    told = [0]

    def observe(progress: Progress) -> None:
        if progress.best is not None and len(progress.curve) > told[0]:
            told[0] = len(progress.curve)
            phase(f"{title}: {speedup(Estimate(progress.best.measurement.middle))}")

    return observe
