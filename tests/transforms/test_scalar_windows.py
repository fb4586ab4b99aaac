"""Sums over windows in scalars: strips of rows have an array for them, and blocks."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import header
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, run_op
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("scalar_windows")
BLOCK, ISOLATE = select(["block_all", "isolate_sum"])
NAMES = sorted(name for name in PROCEDURES if not name.startswith("no_"))
SIZES = {"filtered": [{"n": 1, "m": 1}, {"n": 8, "m": 16}, {"n": 27, "m": 21}]}
SIZES |= {"constant": [{}]}


def in_strips(procedure: Any) -> Rewrite:
    [rewrite] = ISOLATE.rewrites(mirror(procedure), TARGET)
    assert dict(rewrite.args) == {"strip": 8}
    return rewrite


@pytest.mark.normal
@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("name", NAMES)
def test_the_meaning_stays(name: str, bits: int, tmp_path: Path) -> None:
    procedure, target = PROCEDURES[name], replace(TARGET, vector_bits=bits, vector_registers=32)
    strips = apply(procedure, mirror(procedure), in_strips(procedure))
    [block] = BLOCK.rewrites(mirror(strips), target)
    blocked = apply(strips, mirror(strips), block)
    assert_exact(procedure, [strips, blocked], SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_what_a_strip_reads_for_all_taps_is_loaded_once(name: str) -> None:
    procedure, target = PROCEDURES[name], replace(TARGET, vector_bits=512, vector_registers=32)
    assert not list(BLOCK.rewrites(mirror(procedure), target))
    strips = apply(procedure, mirror(procedure), in_strips(procedure))
    assert not list(ISOLATE.rewrites(mirror(strips), target))
    [block] = BLOCK.rewrites(mirror(strips), target)
    blocked = mirror(apply(strips, mirror(strips), block))
    held = [s for s in q.walk(blocked.body) if isinstance(s, q.Alloc) and "held" in s.buf.name]
    assert held


@pytest.mark.normal
def test_rows_too_short_for_a_tile_are_left(tmp_path: Path) -> None:
    """Those in the `else` of a condition that they are long."""
    procedure, target = PROCEDURES["filtered"], replace(TARGET, vector_bits=512)
    strips = apply(procedure, mirror(procedure), in_strips(procedure))
    stmt = next(s for s in q.walk(mirror(strips).body) if isinstance(s, q.Reduce))
    nest = stmt.path[:-3]  # of the columns and the taps
    two = run_op(strips, Op("specialize", (At(nest), ("m > 16",))))
    [block] = BLOCK.rewrites(mirror(two), target)
    blocked = mirror(apply(two, mirror(two), block))
    branch = blocked.by_path[nest]
    assert isinstance(branch, q.If)
    tiles = [s for s in q.walk(branch.body) if isinstance(s, q.Alloc) and "VEC" in s.mem]
    assert tiles
    (left,) = (s for s in q.walk(branch.orelse) if isinstance(s, q.Reduce))
    assert left.buf.name == "t"


@pytest.mark.parametrize("name", sorted(set(PROCEDURES) - set(NAMES)))
def test_others_stay(name: str) -> None:
    procedure, ast = PROCEDURES[name], mirror(PROCEDURES[name])
    assert not list(ISOLATE.rewrites(ast, TARGET))
    stmt = next(s for s in q.walk(ast.body) if isinstance(s, q.Reduce))
    wanted = Rewrite("isolate_sum", 1, stmt.path, header(stmt), (("strip", 8),))
    with pytest.raises(RewriteError, match="strips of rows"):
        apply(procedure, ast, wanted)


@pytest.mark.parametrize("strip", [0, 1, 17, True, "8"])
def test_strips_are_of_a_few_rows(strip: int | str) -> None:
    procedure = PROCEDURES["filtered"]
    wanted = replace(in_strips(procedure), args=(("strip", strip),))
    with pytest.raises(RewriteError, match="strips of rows"):
        apply(procedure, mirror(procedure), wanted)


def random_filter(rng: random.Random, folder: Path) -> Any:
    kind, (r, s) = rng.choice(["f32", "f64", "i32"]), rng.choice([(3, 3), (5, 2), (2, 4), (8, 1)])
    n, m = rng.choice(["n", str(rng.randint(8, 40))]), rng.choice(["m", str(rng.randint(1, 40))])
    term = rng.choice(["w[r, s] * x[i + r, j + s]", "x[i + r, j + s]", "x[i + r, j + s] * w[0, s]"])
    first, last = rng.choice(["0.0", "w[0, 0]"]), rng.choice(["y[i, j] = t", "y[i, j] += 2.0 * t"])
    file = folder / "filters.py"
    file.write_text(f"""from __future__ import annotations
from exo import proc


@proc
def filters(n: size, m: size, y: {kind}[{n}, {m}], w: {kind}[{r}, {s}],
            x: {kind}[{n} + {r}, {m} + {s}]):
    for i in seq(0, {n}):
        for j in seq(0, {m}):
            t: {kind}
            t = {first}
            for r in seq(0, {r}):
                for s in seq(0, {s}):
                    t += {term}
            {last}
""")
    return load_source(file).procs["filters"]


@pytest.mark.normal
@pytest.mark.parametrize("seed", range(8))
def test_random_filters(seed: int, tmp_path: Path) -> None:
    procedure = random_filter(random.Random(seed), tmp_path)
    strips = apply(procedure, mirror(procedure), in_strips(procedure))
    made = [strips]
    target = replace(TARGET, vector_bits=512, vector_registers=32)
    for block in BLOCK.rewrites(mirror(strips), target):
        made.append(apply(strips, mirror(strips), block))
    sizes = [{"n": n, "m": m} for n, m in ((1, 1), (7, 20), (8, 16), (19, 35))]
    assert_exact(procedure, made, sizes, tmp_path)
