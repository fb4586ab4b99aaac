"""Random legal traces, found as the search finds them: proposals, then Exo's verdict."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schedsearch.analysis.walkers import statement_count
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import Transform, apply, select
from schedsearch.transforms.replay import State

TRIES = 2
"""Proposals of one transform that are tried at a state before the next transform's."""


COMMON = {"compile_with", "cut_loop", "inline_call", "inline_window", "lift_alloc", "mult_loops"}
COMMON |= {"parallelize", "place", "prefetch", "reorder", "shift_loop"}
COMMON |= {"simplify", "split", "unroll"}
"""Transforms that apply nearly everywhere."""

LATER = 0.25
"""How much later they are tried, of an order from 0 to 1."""

STATEMENTS = 100
"""A walk ends at larger procedures: they are slow, and no more interesting."""


@dataclass(frozen=True)
class Step:
    """A trace and what it gives."""

    trace: Trace
    state: State
    key: str


def walk(
    procedure: Any, choices: Sequence[int], target: Target, sizes: dict[str, int]
) -> Iterator[Step]:
    """The states of a random legal trace, a step for each of `choices`.

    A choice puts all transforms and their proposals in an order of its own; the first that
    is legal is taken. So transforms that seldom apply are as likely where they do, and a
    choice means the same again when other steps are left out.
    """
    trace, state = Trace(), State(procedure, mirror(procedure))
    for choice in choices:
        found = next(_legal(state, choice, target), None)
        if found is None:
            return
        rewrite, procedure = found
        trace = trace.then(rewrite)
        try:
            state = State(procedure, mirror(procedure), trace.build)
            log_cost(state.ast, target, sizes)
            key = ast_key(state.ast, state.build)
        except Exception as error:
            error.add_note(f"after {rewrite}")
            raise
        yield Step(trace, state, key)
        if statement_count(state.ast.body) > STATEMENTS:
            return


def _shortened(rewrite: Rewrite, choice: int) -> Rewrite:
    """What is proposed for longer rows than those here: begin at aligned registers, and load what
    neighbours share once."""
    args, chance = dict(rewrite.args), random.Random(f"{choice} {rewrite}")
    if args.get("tail") != "masked" or rewrite.transform != "vectorise":
        return rewrite
    args |= {"unroll": chance.choice((1, 2)), "lanes": chance.choice((2, 4, args["lanes"]))}
    args |= {"aligned": True, "shifted": chance.random() < 0.5, "least": chance.choice((1, 7))}
    return replace(rewrite, args=tuple(sorted(args.items()))) if chance.random() < 0.7 else rewrite


def _legal(state: State, choice: int, target: Target) -> Iterator[tuple[Rewrite, Any]]:
    target = replace(target, build=state.build)
    for transform in _order(choice):
        rewrites = list(transform.rewrites(state.ast, target))
        rewrites.sort(key=lambda rewrite: random.Random(f"{choice} {rewrite}").random())
        rewrites = [_shortened(rewrite, choice) for rewrite in rewrites]
        for rewrite in rewrites[:TRIES]:
            try:
                yield rewrite, apply(state.procedure, state.ast, rewrite, target.fp)
            except RewriteError:
                pass
            except Exception as error:
                error.add_note(f"by {rewrite}")
                raise


def _order(choice: int) -> list[Transform]:
    rng = random.Random(choice)
    return sorted(select(None), key=lambda each: rng.random() + LATER * (each.name in COMMON))
