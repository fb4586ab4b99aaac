"""PolyBench's medley, medium sizes: an edge detector (f32), all shortest paths (i32), and the
most base pairs an RNA sequence folds into (i32).

Exo has no descending loops, so those count up and index from the end, and no conditions on data:
minimum, maximum and the match of two bases (they sum to 3) are `select`. The bases of `nussinov`
are i32, where PolyBench has bytes, and conditions that always hold are left out. `deriche` takes
2^-alpha as exp(-alpha ln 2).
"""

from __future__ import annotations

from exo import proc
from exo.libs.externs import expf, select


@proc
def pb_deriche(
    alpha: f32,
    image: f32[720, 480],
    out: f32[720, 480],
    y1: f32[720, 480],
    y2: f32[720, 480],
):
    decay: f32
    decay = expf(-alpha)
    twice: f32
    twice = 2.0 * alpha
    halving: f32
    halving = -0.6931471805599453 * alpha
    k: f32
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + twice * decay - expf(twice))
    a1: f32
    a1 = k
    a2: f32
    a2 = k * decay * (alpha - 1.0)
    a3: f32
    a3 = k * decay * (alpha + 1.0)
    a4: f32
    a4 = -k * expf(-twice)
    b1: f32
    b1 = expf(halving)
    b2: f32
    b2 = -expf(-twice)
    x1: f32
    x2: f32
    r1: f32
    r2: f32
    for i in seq(0, 720):
        r1 = 0.0
        r2 = 0.0
        x1 = 0.0
        for j in seq(0, 480):
            y1[i, j] = a1 * image[i, j] + a2 * x1 + b1 * r1 + b2 * r2
            x1 = image[i, j]
            r2 = r1
            r1 = y1[i, j]
    for i in seq(0, 720):
        r1 = 0.0
        r2 = 0.0
        x1 = 0.0
        x2 = 0.0
        for j in seq(0, 480):
            y2[i, 479 - j] = a3 * x1 + a4 * x2 + b1 * r1 + b2 * r2
            x2 = x1
            x1 = image[i, 479 - j]
            r2 = r1
            r1 = y2[i, 479 - j]
    for i in seq(0, 720):
        for j in seq(0, 480):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in seq(0, 480):
        x1 = 0.0
        r1 = 0.0
        r2 = 0.0
        for i in seq(0, 720):
            y1[i, j] = a1 * out[i, j] + a2 * x1 + b1 * r1 + b2 * r2
            x1 = out[i, j]
            r2 = r1
            r1 = y1[i, j]
    for j in seq(0, 480):
        x1 = 0.0
        x2 = 0.0
        r1 = 0.0
        r2 = 0.0
        for i in seq(0, 720):
            y2[719 - i, j] = a3 * x1 + a4 * x2 + b1 * r1 + b2 * r2
            x2 = x1
            x1 = out[719 - i, j]
            r2 = r1
            r1 = y2[719 - i, j]
    for i in seq(0, 720):
        for j in seq(0, 480):
            out[i, j] = y1[i, j] + y2[i, j]


@proc
def pb_floyd_warshall(path: i32[500, 500]):
    for k in seq(0, 500):
        for i in seq(0, 500):
            for j in seq(0, 500):
                path[i, j] = select(
                    path[i, j], path[i, k] + path[k, j], path[i, j], path[i, k] + path[k, j]
                )


@proc
def pb_nussinov(bases: i32[500], table: i32[500, 500]):
    for r in seq(0, 500):
        for j in seq(500 - r, 500):
            best: i32
            pair: i32
            best = table[499 - r, j]
            best = select(best, table[499 - r, j - 1], table[499 - r, j - 1], best)
            best = select(best, table[500 - r, j], table[500 - r, j], best)
            pair = table[500 - r, j - 1]
            if 500 - r < j:
                pair += select(
                    bases[499 - r] + bases[j],
                    4,
                    select(2, bases[499 - r] + bases[j], 1, 0),
                    0,
                )
            best = select(best, pair, pair, best)
            table[499 - r, j] = best
            for k in seq(500 - r, j):
                table[499 - r, j] = select(
                    table[499 - r, j],
                    table[499 - r, k] + table[k + 1, j],
                    table[499 - r, k] + table[k + 1, j],
                    table[499 - r, j],
                )
