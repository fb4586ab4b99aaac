"""How many duplicate schedules each identity catches, level by level.

    python benchmarks/duplicates.py examples/matmul.py --depth 3

Enumerates every trace up to a depth, expanding distinct nodes only, and counts
what a hash of Exo's own C text, the `ast_key`, the `code_key` and the
`binary_key` each take for new. Nothing is timed here.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from schedsearch.core.errors import RewriteError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.build.host import probe_target
from schedsearch.search.setup.subject import cache_dir
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source, pick
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.replay import Replayer

FIVE = "reorder,split,unroll,fuse,simplify"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--transforms", default=FIVE)
    parser.add_argument("--raw", action="store_true", help="also hash Exo's own C text")
    parser.add_argument("--binary", action="store_true", help="also compile what is distinct")
    options = parser.parse_args()

    source = load_source(options.file)
    target = probe_target(find_compiler(None), default_flags())
    alphabet = select(options.transforms.split(","))
    replayer = Replayer(pick(source, None))
    builder = Builder(target.compiler, target.flags, cache_dir() / "artifacts")

    seen: dict[str, set[str]] = {level: set() for level in ("raw", "ast", "code", "binary")}
    total: Counter[str] = Counter()
    frontier = [Trace()]
    for depth in range(1, options.depth + 1):
        counts: Counter[str] = Counter()
        new: list[Trace] = []
        codes: list[GeneratedC] = []
        for trace in frontier:
            state = replayer.state(trace)
            for rewrite in propose(state.ast, target, alphabet):
                counts["attempts"] += 1
                try:
                    procedure = apply(state.procedure, state.ast, rewrite)
                except RewriteError:
                    counts["illegal"] += 1
                    continue
                if options.raw:
                    note(seen, counts, "raw", digest(procedure.c_code_str()))
                child = replayer.remember(trace.then(rewrite), procedure)
                if not note(seen, counts, "ast", ast_key(child.ast)):
                    continue
                code = generate_c(procedure)
                if note(seen, counts, "code", code.key):
                    new.append(trace.then(rewrite))
                    codes.append(code)
        if options.binary:
            with ProcessPoolExecutor() as pool:
                for artifact in pool.map(builder.build, codes, [60.0] * len(codes)):
                    if isinstance(artifact, Artifact):
                        note(seen, counts, "binary", artifact.binary_key)
        total.update(counts)
        print(f"depth {depth}: {line(counts)}", flush=True)
        frontier = new
    print(f"total: {line(total)}")


def note(seen: dict[str, set[str]], counts: Counter[str], level: str, key: str) -> bool:
    """Count `key` as new or duplicate at `level`; True if it is new."""
    new = key not in seen[level]
    seen[level].add(key)
    counts[f"{level} {'new' if new else 'duplicate'}"] += 1
    return new


def line(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in counts)


if __name__ == "__main__":
    main()
