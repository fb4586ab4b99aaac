"""Recording: a space's fastest schedules, measured again and again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.racing.recording import Recording
from benchmarks.spaces.record import KERNELS
from benchmarks.spaces.space import Space
from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.core.records import Artifact, Failure
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Anchor
from schedsearch.search.engine.confirmation import HEAT
from schedsearch.search.setup.subject import Subject, bench_of, load_subject
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.replay import Replayer

SOURCE = Path(__file__).parent.parent / "spaces" / "kernels.py"


def record(
    space: Space, leaders: int, passes: int, rounds: int, phase: Callable[[str], None]
) -> Recording:
    """Measure the `leaders` fastest schedules of a space against the first of them: every
    one `passes` times, in random order, `rounds` rounds each.

    Raises UserError if there are not so many that still replay, build and compute what the
    procedure does.
    """
    proc, _ = KERNELS[space.name]
    subject = load_subject(SOURCE, proc, {}, None)
    phase(f"building {leaders} schedules of {space.name}")
    bench = bench_of(subject)
    built = _built(space, subject, leaders)
    if len(built) < leaders:
        raise UserError(f"of {space.name} only {len(built)} schedules replay and build")
    anchor = Anchor(built[0], built[0].code_key)
    plan = replace(HEAT, min_rounds=rounds, max_rounds=rounds)
    timed = np.empty((2, passes, leaders, rounds))
    calls = [0] * leaders
    spent_s = timing_s = 0.0
    with measuring_slot():
        for number in range(passes):
            phase(f"pass {number + 1} of {passes}")
            for leader in random.Random(number).sample(range(leaders), leaders):
                evaluation = bench.evaluate(built[leader], plan, anchor)
                found = evaluation.result
                if isinstance(found, Failure):
                    raise UserError(f"a recorded schedule fails: {found.message}")
                timed[:, number, leader] = [
                    [min(r.candidate_ns) for r in found.rounds],
                    [min(r.reference_ns) for r in found.rounds],
                ]
                calls[leader] = found.calls
                spent_s += evaluation.verify_s + evaluation.time_s
                # The anchor's samples are as long.
                timing_s += 2e-9 * found.calls * sum(sum(r.candidate_ns) for r in found.rounds)
    processes = passes * leaders
    return Recording(
        space.name,
        subject.target.cpu,
        timed[0],
        timed[1],
        tuple(calls),
        process_s=(spent_s - timing_s) / processes,
        round_s=timing_s / (processes * rounds),
    )


def _built(space: Space, subject: Subject, leaders: int) -> list[Artifact]:
    """The fastest that build, distinct machine code each."""
    generator = CodeGenerator(Replayer(subject.procedure))
    found: dict[str, Artifact] = {}
    for trace in _fastest(space):
        try:
            artifact = subject.builder.build(generator.generate(trace), BUILD_TIMEOUT_S)
        except (ReplayError, CodegenError):
            continue
        if isinstance(artifact, Artifact):
            found.setdefault(artifact.binary_key, artifact)
        if len(found) == leaders:
            break
    return list(found.values())


def _fastest(space: Space) -> list[Trace]:
    traces: dict[str, Trace] = {}
    timed: list[tuple[float, str]] = []
    for key, point in space.points.items():
        above = Trace() if point.parent is None else traces[point.parent]
        traces[key] = above if point.rewrite is None else above.then(point.rewrite)
        if point.speedup and point.same == key:
            timed.append((point.speedup, key))
    return [traces[key] for _, key in sorted(timed, reverse=True)]
