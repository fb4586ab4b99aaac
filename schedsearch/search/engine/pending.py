"""Jobs that are under way."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.evaluate.run.bench import Anchor
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.workers.jobs import Job, NormaliseJob

MAX_ATTEMPTS = 2
"""A job runs once more if its worker died."""


def attempts(job: Job) -> int:
    """The way to the normal form has half of the search, and is found step by step without it."""
    return 1 if isinstance(job, NormaliseJob) else MAX_ATTEMPTS


@dataclass(frozen=True)
class Pending:
    """A job for the node or trace `key`. `timing` is None if the kernel is screened once it is
    built. `rebase`: the kernel is measured to become the anchor."""

    job: Job
    key: str
    attempt: int = 1
    timing: tuple[TimingPlan, Anchor] | None = None
    rebase: bool = False
