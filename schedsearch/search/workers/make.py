"""The workers of a run, as its options say."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from schedsearch.search.setup.options import Options
from schedsearch.search.setup.subject import Subject
from schedsearch.search.workers.executor import Executor, HandingOver, InlineExecutor
from schedsearch.search.workers.jobs import WorkSpec
from schedsearch.transforms.own import own
from schedsearch.transforms.registry import Transform


def make_executor(options: Options, subject: Subject, transforms: Sequence[Transform]) -> Executor:
    """Ray's own workers start in the background, once a candidate has been measured without them;
    `attach` waits for those of a cluster that is joined."""
    spec = WorkSpec(
        options.file.resolve(),
        subject.source.sha,
        subject.name,
        subject.target,
        tuple(transform.name for transform in transforms),
        subject.workload.sizes,
        subject.builder,
        tuple(subject.workload.fixed.items()),
        own(transforms),
    )
    if options.executor == "inline":
        return InlineExecutor(spec)
    # Ray tells notebooks on import to install ipywidgets, for pictures that nobody asks it for.
    logging.getLogger("ray.widgets").setLevel(logging.WARNING)
    # Imported only when used: it takes one to two seconds.
    from schedsearch.search.workers.ray_executor import RayExecutor

    cores, threads = subject.target.cores, subject.target.threads
    free = cores - threads if cores > threads else cores - 1
    slots = options.workers or max(1, free)
    workers = RayExecutor(spec, slots, options.ray_address, options.workers)
    return HandingOver(InlineExecutor(spec), workers) if options.ray_address is None else workers
