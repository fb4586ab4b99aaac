"""Programs that come and go while kernels are timed."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

HOGS = 2
BURST_S = 1.0
"""Mean length of a burst, and of the pause after it (both exponential)."""

_ARRAY_BYTES = 64 << 20


@contextmanager
def disturbance(seed: int) -> Iterator[None]:
    """Two processes, free to run on any core: in bursts they compute or copy memory."""
    context = multiprocessing.get_context("spawn")
    hogs = [context.Process(target=_hog, args=(seed + n,), daemon=True) for n in range(HOGS)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.join()


def _hog(seed: int) -> None:
    rng = random.Random(seed)
    source = np.ones(_ARRAY_BYTES // 8)
    copy = np.empty_like(source)
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():  # it may be killed
        time.sleep(rng.expovariate(1 / BURST_S))
        until = time.monotonic() + rng.expovariate(1 / BURST_S)
        copying = rng.random() < 0.5
        while time.monotonic() < until:
            if copying:
                np.copyto(copy, source)
            else:
                sum(range(10_000))
