"""PolyBench's correlation and covariance, f64: 260 observations of 240 variables."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import select, sqrt


@proc
def pb_correlation(data: f64[260, 240], corr: f64[240, 240], mean: f64[240], stddev: f64[240]):
    for j in seq(0, 240):
        mean[j] = 0.0
        for i in seq(0, 260):
            mean[j] += data[i, j]
        mean[j] = mean[j] / 260.0
    for j in seq(0, 240):
        stddev[j] = 0.0
        for i in seq(0, 260):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = stddev[j] / 260.0
        stddev[j] = sqrt(stddev[j])
        stddev[j] = select(0.1, stddev[j], stddev[j], 1.0)
    for i in seq(0, 260):
        for j in seq(0, 240):
            data[i, j] += -mean[j]
            data[i, j] = data[i, j] / (sqrt(260.0) * stddev[j])
    for i in seq(0, 239):
        corr[i, i] = 1.0
        for j in seq(i + 1, 240):
            corr[i, j] = 0.0
            for k in seq(0, 260):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[239, 239] = 1.0


@proc
def pb_covariance(data: f64[260, 240], cov: f64[240, 240], mean: f64[240]):
    for j in seq(0, 240):
        mean[j] = 0.0
        for i in seq(0, 260):
            mean[j] += data[i, j]
        mean[j] = mean[j] / 260.0
    for i in seq(0, 260):
        for j in seq(0, 240):
            data[i, j] += -mean[j]
    for i in seq(0, 240):
        for j in seq(i, 240):
            cov[i, j] = 0.0
            for k in seq(0, 260):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] = cov[i, j] / (260.0 - 1.0)
            cov[j, i] = cov[i, j]
