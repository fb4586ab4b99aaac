"""3 x 3 box blur in two stages: along columns into a temporary, then along rows."""

from __future__ import annotations

from exo import proc


@proc
def blur(out: f32[1024, 1024], inp: f32[1026, 1026]):
    tmp: f32[1026, 1024]
    for y in seq(0, 1026):
        for x in seq(0, 1024):
            tmp[y, x] = (inp[y, x] + inp[y, x + 1] + inp[y, x + 2]) * 0.33333333
    for y in seq(0, 1024):
        for x in seq(0, 1024):
            out[y, x] = (tmp[y, x] + tmp[y + 1, x] + tmp[y + 2, x]) * 0.33333333
