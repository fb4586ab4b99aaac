"""Operators that move, drop or overlay values: what `run_op` accepts keeps the results."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import header
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, run_op
from transforms.helpers import Procedures, arguments
from transforms.interpret import interpret

COMPAT = Procedures("compat")
NESTS = 120


def nest(rng: random.Random) -> str:
    """A procedure with a temporary that loops write and read at rows next to each other."""
    step = rng.choice([1, 1, 1, 2])

    def row() -> str:
        if rng.random() < 0.2:
            return str(rng.randrange(8))
        return f"{step} * {rng.choice(variables)} + {rng.randrange(3)}"

    def statement() -> str:
        y = f"y[{rng.choice(variables)}]"
        return rng.choice(
            [
                f"t[{row()}] = x[{rng.choice(variables)}]",
                f"t[{row()}] = x[{rng.choice(variables)}] * 2.0",
                f"{y} += t[{row()}]",
                f"{y} = t[{row()}] + t[{row()}]",
                f"x[{rng.choice(variables)}] = {y}",
            ]
        )

    lines = ["t: f32[32]"]
    for _ in range(rng.randrange(1, 4)):
        variables = ["i"]
        lines.append(f"for i in seq(0, {rng.choice(['8', '6', 'n'])}):")
        lines += [f"    {statement()}" for _ in range(rng.randrange(1, 4))]
        if rng.random() < 0.5:
            variables = ["i", "j"]
            lines.append("    for j in seq(0, 4):")
            lines += [f"        {statement()}" for _ in range(rng.randrange(1, 3))]
    return "\n    ".join(
        ["def nest(n: size, x: f32[n + 8], y: f32[n + 8]):", "assert n <= 8", *lines]
    )


def operators(proc: q.Proc) -> Iterator[Op]:
    for stmt in q.walk(proc.body):
        match stmt:
            case q.Assign():
                yield Op("inline_assign", (At(stmt.path),))
            case q.Alloc():
                yield Op("sink_alloc", (At(stmt.path),))
                for rows in range(1, 8):
                    yield Op("resize_dim", (At(stmt.path), 0, rows, 0), (("fold", True),))


def written(procedure: Any, n: int) -> list[np.ndarray]:
    ast = mirror(procedure)
    args = arguments(ast, {"n": n}, 3)
    interpret(ast, args)
    return args[1:]


@pytest.mark.slow
def test_what_is_accepted_keeps_the_results(tmp_path: Path) -> None:
    """Temporaries begin as NaN; a result that depends on what nothing wrote may change."""
    rng = random.Random(1)
    texts = [nest(rng).replace("nest", f"nest_{number}", 1) for number in range(NESTS)]
    source = tmp_path / "nests.py"
    header = "from __future__ import annotations\nfrom exo import proc\n"
    source.write_text(header + "".join(f"\n\n@proc\n{text}\n" for text in texts))
    accepted = {"inline_assign": 0, "sink_alloc": 0, "resize_dim": 0}
    for procedure in load_source(source).procs.values():
        for op in operators(mirror(procedure)):
            try:
                after = run_op(procedure, op)
            except RewriteError:
                continue
            accepted[op.name] += 1
            for n in (1, 5, 8):
                for wanted, found in zip(written(procedure, n), written(after, n), strict=True):
                    defined = ~np.isnan(wanted)
                    assert (wanted[defined] == found[defined]).all(), (str(procedure), op)
    assert min(accepted.values()) >= 3, accepted


def test_a_value_of_one_branch_is_not_read_in_the_other() -> None:
    after = mirror(run_op(COMPAT["with_another_branch"], Op("inline_assign", (At((0, 0, 1)),))))
    assert "y[i] += x[i]" in [header(s) for s in q.walk(after.body) if isinstance(s, q.Reduce)]


@pytest.mark.parametrize(("rows", "legal"), [(2, False), (3, True)])
def test_a_circle_holds_what_is_read_at_a_time(rows: int, legal: bool) -> None:
    """`t[i] = ...; y[i] = t[i] + t[i - 2]` needs three rows."""
    op = Op("resize_dim", (At((0,)), 0, rows, 0), (("fold", True),))
    if legal:
        run_op(COMPAT["rows_upwards"], op)
    else:
        with pytest.raises(RewriteError):
            run_op(COMPAT["rows_upwards"], op)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((0, 2, 0, True), {}),
        ((0,), {"size": 2, "offset": 0, "fold": True}),
        ((0, "2", 0), {"fold": True}),
        ((0, 2, 0), {"fold": 1}),
    ],
)
def test_a_circle_is_one_however_it_is_asked_for(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(RewriteError, match=r"taken its place|needs numbers"):
        run_op(COMPAT["rows_upwards"], Op("resize_dim", (At((0,)), *args), tuple(kwargs.items())))


@pytest.mark.parametrize(("path", "dim"), [((0,), 3), ((1,), 0), ((7,), 0)])
def test_what_is_no_buffer_or_has_no_such_dimension_is_refused(path: q.Path, dim: int) -> None:
    with pytest.raises(RewriteError):
        run_op(COMPAT["rows_upwards"], Op("resize_dim", (At(path), dim, 2, 0), (("fold", True),)))


def test_the_configuration_changes_where_values_are() -> None:
    with pytest.raises(RewriteError, match="may read what another left"):
        run_op(COMPAT["place_in_loops"], Op("sink_alloc", (At((0,)),)))
    with pytest.raises(RewriteError, match="may be read elsewhere"):
        run_op(COMPAT["place_read_later"], Op("inline_assign", (At((2, 0)),)))
