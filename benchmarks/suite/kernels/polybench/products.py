"""PolyBench's chains of products, f64, medium sizes."""

from __future__ import annotations

from exo import proc


@proc
def pb_2mm(
    alpha: f64,
    beta: f64,
    tmp: f64[180, 190],
    A: f64[180, 210],
    B: f64[210, 190],
    C: f64[190, 220],
    D: f64[180, 220],
):
    for i in seq(0, 180):
        for j in seq(0, 190):
            tmp[i, j] = 0.0
            for k in seq(0, 210):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in seq(0, 180):
        for j in seq(0, 220):
            D[i, j] = D[i, j] * beta
            for k in seq(0, 190):
                D[i, j] += tmp[i, k] * C[k, j]


@proc
def pb_3mm(
    E: f64[180, 190],
    A: f64[180, 200],
    B: f64[200, 190],
    F: f64[190, 210],
    C: f64[190, 220],
    D: f64[220, 210],
    G: f64[180, 210],
):
    for i in seq(0, 180):
        for j in seq(0, 190):
            E[i, j] = 0.0
            for k in seq(0, 200):
                E[i, j] += A[i, k] * B[k, j]
    for i in seq(0, 190):
        for j in seq(0, 210):
            F[i, j] = 0.0
            for k in seq(0, 220):
                F[i, j] += C[i, k] * D[k, j]
    for i in seq(0, 180):
        for j in seq(0, 210):
            G[i, j] = 0.0
            for k in seq(0, 190):
                G[i, j] += E[i, k] * F[k, j]


@proc
def pb_atax(A: f64[390, 410], x: f64[410], y: f64[410], tmp: f64[390]):
    for i in seq(0, 410):
        y[i] = 0.0
    for i in seq(0, 390):
        tmp[i] = 0.0
        for j in seq(0, 410):
            tmp[i] += A[i, j] * x[j]
        for j in seq(0, 410):
            y[j] += A[i, j] * tmp[i]


@proc
def pb_bicg(A: f64[410, 390], s: f64[390], q: f64[410], p: f64[390], r: f64[410]):
    for i in seq(0, 390):
        s[i] = 0.0
    for i in seq(0, 410):
        q[i] = 0.0
        for j in seq(0, 390):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


@proc
def pb_doitgen(A: f64[50, 40, 60], C4: f64[60, 60], total: f64[60]):
    for r in seq(0, 50):
        for q in seq(0, 40):
            for p in seq(0, 60):
                total[p] = 0.0
                for s in seq(0, 60):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in seq(0, 60):
                A[r, q, p] = total[p]


@proc
def pb_mvt(x1: f64[400], x2: f64[400], y1: f64[400], y2: f64[400], A: f64[400, 400]):
    for i in seq(0, 400):
        for j in seq(0, 400):
            x1[i] += A[i, j] * y1[j]
    for i in seq(0, 400):
        for j in seq(0, 400):
            x2[i] += A[j, i] * y2[j]
