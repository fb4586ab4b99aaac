"""Compares what Exo finds legal with and without `exo/speed`.

`python -m transforms.verdicts [STATES]`, from the directory `tests`, does so for every proposal on
every kernel of the test procedures and of the benchmark suite, in the procedure as written
and in STATES (3) states of a random walk; it takes an hour. The tests take a sample.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schedsearch.core.errors import CodegenError, RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.speed import exo_as_is
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.replay import State
from transforms.helpers import PROCS, TARGET, walk

SUITE = Path(__file__).parents[2] / "benchmarks" / "suite" / "kernels"


def verdict(state: State, rewrite: Rewrite) -> str:
    """Key of the code that a rewrite gives, or why there is none."""
    try:
        return generate_c(apply(state.procedure, state.ast, rewrite)).key
    except RewriteError as error:
        return f"illegal: {error}"
    except CodegenError as error:
        return f"no code: {error}"


def disagreements(state: State, rewrites: list[Rewrite]) -> Iterator[str]:
    """Rewrites with another result, or another reason for none, without `exo/speed`;
    except where z3 gives up, which depends on how variables are called."""
    for rewrite in rewrites:
        with exo_as_is():
            expected = verdict(state, rewrite)
        found = verdict(state, rewrite)
        if found != expected and "unknown result from z3" not in expected:
            yield f"{rewrite}: {found}, Exo says {expected}"


def states(procedure: Any, seed: int, depth: int) -> Iterator[State]:
    yield State(procedure, mirror(procedure))
    for _, state in walk(procedure, seed, depth):
        yield state


def sample(state: State, seed: int, most: int) -> list[Rewrite]:
    """Up to `most` proposals; every transform is equally likely."""
    rng = random.Random(seed)
    choices = [
        list(propose(state.ast, TARGET, [t])) for t in select(None) if t.name != "compile_with"
    ]
    choices = [found for found in choices if found]
    picked = {rng.choice(rng.choice(choices)) for _ in range(most)} if choices else set()
    return sorted(picked, key=str)


def main(depth: int) -> int:
    wrong = 0
    for file in sorted([*PROCS.glob("*.py"), *SUITE.glob("*.py")]):
        if file.name == "__init__.py":
            continue
        for name, procedure in load_source(file).procs.items():
            for number, state in enumerate(states(procedure, 0, depth)):
                rewrites = list(propose(state.ast, TARGET, select(None)))
                print(f"{file.stem} {name}, state {number}: {len(rewrites)} proposals", flush=True)
                for line in disagreements(state, rewrites):
                    print(f"  {line}", flush=True)
                    wrong += 1
    print(f"{wrong} disagreements")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
