"""The workers of a run, as its options say."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from schedsearch.core.errors import UserError
from schedsearch.evaluate.bench import Bench
from schedsearch.search.executor import Executor, InlineExecutor
from schedsearch.search.jobs import WorkSpec
from schedsearch.search.options import Options
from schedsearch.search.subject import Subject
from schedsearch.transforms.own import own
from schedsearch.transforms.registry import Transform


def make_executor(options: Options, subject: Subject, transforms: Sequence[Transform]) -> Executor:
    """Its workers start in the background, until `attach` waits for them."""
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
    from schedsearch.search.ray_executor import RayExecutor

    cores, threads = subject.target.cores, subject.target.threads
    free = cores - threads if cores > threads else cores - 1
    slots = options.workers or max(1, free)
    return RayExecutor(spec, slots, options.ray_address, options.workers)


def attach(executor: Executor, bench: Bench) -> None:
    """Raises UserError if the workers cannot start."""
    try:
        executor.attach(bench)
    except RuntimeError as error:
        raise UserError(
            f"the workers cannot start: {error}\n"
            "Without Ray, in one process and slower: --executor inline"
        ) from error
