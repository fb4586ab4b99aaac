"""How long the reference will take for a call, told before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt

from schedsearch.core import ast as q
from schedsearch.evaluate.lockstep import Lockstep

# Seconds, about: a node of an expression, once and for each lane.
_NODE_S = 3e-6
_LANE_S = 5e-10
# Iterations looked at of loops that inner bounds depend on, all nested ones together.
_LOOKED_AT = 1 << 12

Values = dict[q.Atom, int]


def expected_s(
    body: tuple[q.Stmt, ...],
    lockstep: Mapping[int, Lockstep],
    values: Values,
    lanes: int = 1,
    looks: int = _LOOKED_AT,
) -> float:
    """Seconds for `body`, each statement with as many lanes. `values` are of control arguments
    and configuration fields, as they are when the procedure is called."""
    total = 0.0
    for stmt in body:
        match stmt:
            case q.Assign() | q.Reduce():
                total += _nodes(stmt) * (_NODE_S + lanes * _LANE_S)
            case q.If():
                branches = (stmt.body, stmt.orelse)
                total += max(expected_s(b, lockstep, values, lanes, looks) for b in branches)
            case q.For():
                total += _loop_s(stmt, lockstep, values, lanes, looks)
            case _:
                total += _NODE_S
    return total


def _loop_s(
    loop: q.For, lockstep: Mapping[int, Lockstep], values: Values, lanes: int, looks: int
) -> float:
    low = q.evaluate_affine(loop.lo, values.__getitem__)
    trips = max(q.evaluate_affine(loop.hi, values.__getitem__) - low, 0)
    own = lockstep.get(loop.iter.uid)
    together = own.together(lanes) if own else 1
    if together > 1 and trips:
        values[loop.iter] = low
        turns = -(-trips // together)
        return turns * expected_s(loop.body, lockstep, values, lanes * trips // turns, looks)
    # Midpoints of equal parts, as in `work.py`.
    points = min(trips, max(isqrt(looks), 1))
    total = 0.0
    for point in range(points):
        values[loop.iter] = low + (2 * point + 1) * trips // (2 * points)
        total += expected_s(loop.body, lockstep, values, lanes, looks // points)
    return total * trips / max(points, 1)


@q.per_node
def _nodes(stmt: q.Assign | q.Reduce) -> int:
    """Of the right-hand side, and the store."""
    inside = (node for node in q.walk_expr(stmt.rhs) if not isinstance(node, q.Affine | q.Var))
    return 1 + sum(1 for _ in inside)
