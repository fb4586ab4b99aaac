"""The bandwidths that the picture of a search's roofline shows: kept in the cache, else measured.

What is in the cache is of the machine: the store has the roof of each run, which decides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schedsearch import __version__
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Target, Workload
from schedsearch.core.text_file import write_text
from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.evaluate.roof.ceilings import Ceilings, measure_ceilings
from schedsearch.evaluate.roof.work import count_work
from schedsearch.search.engine.minimal import Tell
from schedsearch.search.reloading import bound
from schedsearch.search.setup.subject import builder_of, cache_dir
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.study.schedule import here
from schedsearch.transforms.exo.mirror import mirror

PART = "ceilings"


def ceilings(
    procedure: Any, workload: Workload, target: Target, tell: Tell = lambda text: None
) -> Ceilings:
    """Of the machine that `target` is, for the traffic of the procedure as written. None of another
    machine than this one, unless they were measured there with the same cache directory.
    `tell` hears what they wait for."""
    ast = mirror(procedure)
    streams = count_work(ast, bound(workload, ast)).streams
    mix = streams.read, streams.written, streams.updated
    key = digest_of([__version__, target.key, mix])
    place = cache_dir() / PART / key[:2] / f"{key}.json"
    if (kept := _recall(place)) is not None:
        return kept
    try:
        native = here(target)
        with measuring_slot(tell):
            found = measure_ceilings(builder_of(native), native, streams)
    except UserError:  # another machine, or one that is too busy: the picture does without
        return ()
    with disk_explained(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_text(place, json.dumps(found))
    return found


def _recall(place: Path) -> Ceilings | None:
    """None if there are none, or damaged ones."""
    try:
        return tuple((str(name), float(rate)) for name, rate in json.loads(place.read_text()))
    except (OSError, ValueError, TypeError):
        return None
