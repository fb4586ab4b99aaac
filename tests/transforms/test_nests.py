"""Transforms of single nests keep the meaning, for every factor and tail."""

from __future__ import annotations

import runpy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from exo.stdlib import scheduling

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import header
from schedsearch.core.trace import Trace, format_path
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_lines, schedule_python
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import PROCS, TARGET, Procedures

PROCEDURES = Procedures("nests")
TRANSFORMS = (
    "tile",
    "unroll_and_jam",
    "interleave",
    "hoist",
    "specialise",
    "prefetch",
    "stage_scalar",
)

SIZES: dict[str, list[dict[str, int]]] = {
    "transpose": [{"n": 1, "m": 1}, {"n": 3, "m": 17}, {"n": 19, "m": 41}],
    "product": [{}],
    "jacobi": [{}],
    "rows": [{"n": 1, "m": 1}, {"n": 2, "m": 3}, {"n": 11, "m": 5}],
    "onto_one_row": [{"n": 1, "m": 1}, {"n": 19, "m": 5}],
    "chain": [{"n": 1}, {"n": 4}, {"n": 11}],
    "triangle": [{}],
    "recurrence": [{}],
    "normalise": [{"n": 1}, {"n": 5}],
    "outer_product": [{}],
    "later_in_body": [{"n": 1}, {"n": 6}],
    "changing": [{}],
    "heat": [{"n": 1}, {"n": 6}],
    "columns": [{"n": 1}, {"n": 3}],
    "running": [{"n": 1}, {"n": 7}],
    "solved": [{"n": 1}, {"n": 2}, {"n": 7}],
    "prefixes": [{"n": 1}, {"n": 2}, {"n": 7}],
    "late": [{"n": 1}, {"n": 19}],
    "independent": [{"n": 1}, {"n": 7}],
    "sums": [{"n": 1, "m": 4}, {"n": 15, "m": 16}, {"n": 16, "m": 12}],
}


@cache
def accepted(name: str, *transforms: str, target: Any = TARGET) -> list[tuple[Trace, State]]:
    """What the transforms propose for a procedure and Exo accepts."""
    original = PROCEDURES[name]
    ast = mirror(original)
    found = []
    for transform in select(transforms):
        for rewrite in transform.rewrites(ast, target):
            try:
                procedure = apply(original, ast, rewrite)
            except RewriteError:
                continue
            found.append((Trace((rewrite,)), State(procedure, mirror(procedure))))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_proposal_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    found = accepted(name, *TRANSFORMS)
    assert_same_meaning(PROCEDURES[name], found, SIZES[name], tmp_path)


def sizes_of(found: list[tuple[Trace, State]]) -> set[str]:
    return {str(trace.steps[0].arg("sizes")) for trace, _ in found}


def test_tiles_are_made_for_what_does_not_fit_a_cache() -> None:
    assert any(sizes.count("x") == 2 for sizes in sizes_of(accepted("product", "tile")))
    roomy = replace(TARGET, cache_bytes=(32 * 1024, 1024 * 1024))
    assert not accepted("product", "tile", target=roomy)
    # A row's transpose touches one line of every row: too many for the first level.
    assert sizes_of(accepted("transpose", "tile", target=roomy)) == {"32x32", "16x64"}


def test_triangles_are_not_tiled_and_chains_not_interleaved() -> None:
    assert not accepted("triangle", "tile", "unroll_and_jam")
    assert not accepted("recurrence", "interleave")


def test_jamming_copies_temporaries_and_keeps_loops() -> None:
    found = {t.steps[0].arg("factor"): s for t, s in accepted("rows", "unroll_and_jam")}
    assert set(found) == {2, 4}
    main = found[4].ast.body[0]
    assert isinstance(main, q.For)
    kinds = [type(stmt).__name__ for stmt in main.body]
    assert kinds == ["Alloc"] * 4 + ["Assign"] * 4 + ["For"] + ["Assign"] * 4 + ["For"]
    assert all(not s.shape for s in q.walk(main.body) if isinstance(s, q.Alloc))


def test_recurrences_that_share_nothing_are_jammed() -> None:
    """One alone waits for its last result; temporaries and sums are no recurrences."""
    found = accepted("running", "unroll_and_jam")
    assert [t.steps[0].arg("factor") for t, _ in found] == [2, 4]
    assert not accepted("independent", "unroll_and_jam")


def test_recurrences_along_an_array_are_jammed() -> None:
    """Where the element before is far away, vectors have room between."""
    found = accepted("prefixes", "unroll_and_jam")
    assert [t.steps[0].arg("factor") for t, _ in found] == [2, 4]
    assert not accepted("late", "unroll_and_jam")


def test_elements_are_kept_in_scalars_where_the_rest_of_their_array_is_apart() -> None:
    """In the third nest `x[j]` may be `x[i]`: there Exo would refuse."""
    found = [trace.steps[0] for trace, _ in accepted("solved", "stage_scalar")]
    assert [(step.arg("element"), step.path[0]) for step in found] == [("x[i]", 0), ("A[i, j]", 1)]
    proposed = select(["stage_scalar"])[0].rewrites(mirror(PROCEDURES["solved"]), TARGET)
    assert len(list(proposed)) == len(found)


def test_exo_s_reason_follows_the_operator() -> None:
    ast = mirror(PROCEDURES["running"])
    rewrite = next(select(["interleave"])[0].rewrites(ast, TARGET))
    with pytest.raises(RewriteError, match=r"^fission: Cannot fission loop"):
        apply(PROCEDURES["running"], ast, rewrite)


def refused(name: str, transform: str, **args: Any) -> str:
    ast = mirror(PROCEDURES[name])
    rewrite = next(select([transform])[0].rewrites(ast, TARGET))
    with pytest.raises(RewriteError) as error:
        apply(PROCEDURES[name], ast, replace(rewrite, args=tuple(sorted(args.items()))))
    return str(error.value)


@pytest.mark.parametrize("factor", [0, 1, -2, 17, True, "2", 2.0])
def test_jam_refuses_factors_it_would_not_propose(factor: Any) -> None:
    assert "factors are from 2" in refused("rows", "unroll_and_jam", factor=factor)
    assert "factors are from 2" in refused("chain", "interleave", factor=factor)


@pytest.mark.parametrize("sizes", ["", "8", "8x", "1x8", "8x0", "8x8x8x8", "-2x4", "8x99999", 8])
def test_tile_refuses_sizes_it_would_not_propose(sizes: Any) -> None:
    assert "sizes are" in refused("product", "tile", sizes=sizes)


def test_refusals_by_length() -> None:
    assert "only 9 iterations" in refused("product", "unroll_and_jam", factor=16)
    assert "no 3 loops" in refused("transpose", "tile", sizes="4x4x4")


def hoisted(name: str) -> set[tuple[Any, Any]]:
    return {(t.steps[0].arg("expr"), t.steps[0].arg("levels")) for t, _ in accepted(name, "hoist")}


def test_hoists_what_stays_the_same_and_only_that() -> None:
    assert hoisted("normalise") == {("sqrt((v[i] + 9.0))", 1), ("(v[i] * by)", 1)}
    assert hoisted("outer_product") == {("A[i, k]", 1)}
    assert hoisted("later_in_body") == {("(x[i] * x[i])", 1)}
    assert not hoisted("changing")  # overwritten; and a loop that may not run at all


def test_hoist_refuses_what_changes() -> None:
    message = "no such expression stays the same"
    assert message in refused("normalise", "hoist", expr="x[i, j]", levels=1)
    assert message in refused("normalise", "hoist", expr="(v[i] * by)", levels=2)
    assert message in refused("normalise", "hoist", expr="(v[i] * by)", levels=True)


def test_parts_of_expressions_are_exported_as_people_write_them() -> None:
    original = PROCEDURES["normalise"]
    ((trace, state),) = [
        (trace, state)
        for trace, state in accepted("normalise", "hoist")
        if "sqrt" in str(trace.steps[0].arg("expr"))
    ]
    lines = schedule_lines(original, trace)
    assert lines[0] == "p = bind_expr(p, [p.find(\"y[_] = _\").rhs().lhs().rhs()], 'y_h')"
    scope = {**vars(scheduling), "p": original}
    exec("\n".join(lines), scope)
    assert generate_c(scope["p"]).key == generate_c(state.procedure).key


def perfect_splits(proc: q.Proc) -> set[str]:
    """Where `split` needs no tail, as text of paths."""
    found = select(["split"])[0].rewrites(proc, TARGET)
    return {format_path(r.path) for r in found if r.arg("tail") == "perfect"}


def test_specialised_sizes_are_divided_without_tails() -> None:
    ((_, by_four), (_, by_sixteen)) = accepted("sums", "specialise")
    assert perfect_splits(mirror(PROCEDURES["sums"])) == {"0.0"}
    assert perfect_splits(by_four.ast) == {"0.0", "0.0.0", "0.e.0.0"}
    (split,) = [
        rewrite
        for rewrite in select(["split"])[0].rewrites(by_sixteen.ast, TARGET)
        if (format_path(rewrite.path), rewrite.arg("factor")) == ("0.0", 16)
    ]
    apply(by_sixteen.procedure, by_sixteen.ast, split)


def test_the_estimate_takes_the_branch_that_the_sizes_take() -> None:
    plain = mirror(PROCEDURES["sums"])
    ((_, special), _) = accepted("sums", "specialise")
    sizes = {"n": 63, "m": 64}
    ratio = log_cost(special.ast, TARGET, sizes) - log_cost(plain, TARGET, sizes)
    assert abs(ratio) < 0.01


def test_specialise_refuses_what_it_would_not_propose() -> None:
    assert "factors are from 2" in refused("sums", "specialise", loops="all", factor=1)
    assert "factors are from 2" in refused("sums", "specialise", loops="some", factor=4)


def prefetched(state: State) -> list[str]:
    calls = [stmt for stmt in q.walk(state.ast.body) if isinstance(stmt, q.Call)]
    return sorted(header(call) for call in calls)


def test_prefetches_every_line_of_a_row_some_iterations_ahead() -> None:
    by_distance = {
        trace.steps[0].arg("distance"): prefetched(state)
        for trace, state in accepted("columns", "prefetch")
        if trace.steps[0].arg("buffer") == "A"
    }
    assert by_distance == {
        d: [f"prefetch_f32(A[k + {d}, {c}:{c + 1}])" for c in (0, 16, 32)] for d in (2, 8)
    }


def test_prefetches_only_what_moves_by_rows() -> None:
    assert {t.steps[0].arg("buffer") for t, _ in accepted("product", "prefetch")} == {"B"}
    assert not accepted("chain", "prefetch")


def test_prefetch_refuses_what_it_would_not_propose() -> None:
    good = {"buffer": "A", "distance": 2, "line": 64}
    assert "row by row" in refused("columns", "prefetch", **{**good, "buffer": "y"})
    for distance in (0, 21, True, "2"):
        assert "distances are" in refused("columns", "prefetch", **{**good, "distance": distance})
    assert "cache line has" in refused("columns", "prefetch", **{**good, "line": 8})


@pytest.mark.normal
def test_an_exported_schedule_brings_its_prefetch_along(tmp_path: Path) -> None:
    source = load_source(PROCS / "nests.py")
    trace, state = accepted("columns", "prefetch")[0]
    path = tmp_path / "columns_prefetched.py"
    path.write_text(schedule_python(source, "columns", trace))
    found = runpy.run_path(str(path))["columns_scheduled"]
    code = generate_c(found)
    assert code.key == generate_c(state.procedure).key
    assert "__builtin_prefetch(&" in code.source


def test_loops_need_not_start_at_zero() -> None:
    assert {t.steps[0].label for t, _ in accepted("heat", "unroll_and_jam")} == {
        "for i in seq(1, 8)",
        "for j in seq(1, n + 1)",
    }
    assert {str(sizes).count("x") for sizes in sizes_of(accepted("heat", "tile"))} == {1, 2}


def test_many_rows_are_jammed_only_where_they_are_not_written() -> None:
    def factors(name: str) -> set[Any]:
        return {t.steps[0].arg("factor") for t, _ in accepted(name, "unroll_and_jam")}

    assert factors("product") == {2, 4, 8}
    assert factors("onto_one_row") == {2, 4, 8}
    assert factors("jacobi") == {2, 4}
