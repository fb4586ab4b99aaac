"""What the store has of earlier runs when one begins, and whether that fits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.subject import Subject
from schedsearch.search.warmstart.transfer import Origin, origins
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms.own import definitions
from schedsearch.transforms.registry import Transform, on_request


@dataclass(frozen=True)
class Known:
    """What the store knew before the run: candidates, and how many of them were measured;
    and what else it has that a first run starts from."""

    candidates: int
    measured: int
    origins: tuple[Origin, ...] = ()


def known_before(
    store: Store,
    scope: Scope,
    subject: Subject,
    warm_start: bool,
    transforms: Sequence[Transform],
) -> Known:
    """Counts are without the root, which the store has. A first run starts from schedules of
    something else, if `warm_start` allows it, but with no transforms on request that are not
    among `transforms`."""
    candidates, measured = (count - 1 for count in store.counts(scope))
    first = warm_start and measured == 0
    unasked = {transform.name for transform in on_request()} - {each.name for each in transforms}
    found = origins(store, scope, subject.workload, subject.target, unasked) if first else ()
    return Known(candidates, measured, tuple(found))


def check_earlier_runs(
    store: Store, scope: Scope, transforms: Sequence[Transform], cache: Cache
) -> None:
    """A node is expanded once, with the transforms of that run: others must not follow. What is
    measured with warm caches does not rank with what is with cold ones, in other trees either.
    Raises UserError for both."""
    texts = definitions(transforms)
    for run in store.runs(scope):
        earlier = run.settings["transforms"]
        if sorted(earlier) != [transform.name for transform in transforms]:
            raise UserError(
                f"{store.name} holds a search of this procedure with other transforms "
                f"({', '.join(earlier)}); what was expanded with them is not expanded again.\n"
                "Continue with the same --transforms and --static-buffers, start over with "
                "--fresh, or choose another --store"
            )
        before = run.settings.get("own_transforms", {})
        if changed := [name for name, text in texts.items() if before.get(name, text) != text]:
            raise UserError(
                f"{changed[0]} has changed since {store.name} was searched with it, so that its "
                "schedules there would become others. Start over with `fresh`, choose another "
                "store, or give what has changed another name"
            )
    for run in (run for tree in store.trees(scope) for run in store.runs(tree)):
        if (before := run.settings.get("cache", Cache.WARM)) != cache:
            raise UserError(
                f"{store.name} holds this procedure timed with {before} caches, which does not "
                f"compare. Continue with --cache {before}, or choose another --store"
            )
