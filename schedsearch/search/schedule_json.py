"""A schedule as JSON: the trace, and everything that is needed to build the kernel again."""

from __future__ import annotations

from typing import Any

from schedsearch import __version__
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.store.views import StoredCandidate

SCHEMA = 1
"""Raised when a field changes its meaning."""


def schedule_json(
    candidate: StoredCandidate, workload: Workload, target: Target, text: str, code: GeneratedC
) -> dict[str, Any]:
    """`text` is that of the workload's source file, `code` the generated C.

    The trace replays from the procedure of that text with the `specialized` sizes bound;
    the C of `source` after `header` is compiled with `flags`. No paths of this machine.
    """
    record, measurement = candidate.record, candidate.record.measurement
    assert measurement is not None, "it was verified and timed"
    compiler = target.compiler_for(code.build) or target.compiler
    speedup = measurement.speedup
    return {
        "schema": SCHEMA,
        "schedsearch": __version__,
        "proc": workload.proc,
        "proc_key": workload.proc_key,
        "sizes": dict(workload.sizes),
        "specialized": list(workload.specialized),
        "source": {"text": text, "sha": workload.source_sha},
        "target": target.to_json(paths=False),
        "trace": [step.to_json() for step in record.trace.steps],
        "keys": {"trace": candidate.trace_key, "ast": record.keys.ast, "code": code.key},
        "c": {
            "function": code.proc,
            "header": code.header,
            "source": code.source,
            "compiler": f"{compiler.kind} {compiler.version}",
            "flags": list(code.build.flags(target.flags)),
        },
        "speedup": speedup.to_json(),
        "measurement": measurement.to_json(),
    }
