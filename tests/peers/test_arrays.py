"""Arguments of a procedure as its users have them."""

from __future__ import annotations

import numpy as np

from schedsearch.peers.arrays import Argument, make_arrays

DESCRIBED = (
    Argument("n", control=7),
    Argument("y", dtype="float32", shape=(700, 1000), strides=(1000, 1), written=True),
    Argument("x", dtype="float64", shape=(3, 5), strides=(10, 2), window=True),
)


def test_the_same_arguments_elsewhere_in_memory() -> None:
    first = make_arrays(DESCRIBED)
    contents = [array.copy() for array in first.arrays]
    first.arrays[0][:] = 9
    second = first.elsewhere()
    assert second.values[0] == 7
    for old, new, start in zip(first.arrays, second.arrays, contents, strict=True):
        assert new.ctypes.data != old.ctypes.data
        assert new.strides == old.strides
        assert np.array_equal(new, start)
    second.arrays[0][:] = 9
    second.restore()
    assert np.array_equal(second.arrays[0], contents[0])
    assert np.array_equal(dict(second.outputs)["y"], contents[0])
