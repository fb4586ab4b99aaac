"""Candidates of the recorded spaces and of old stores are what they were, byte for byte."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from benchmarks.spaces.record import KERNELS, SOURCE
from benchmarks.spaces.space_file import load as load_space
from golden_keys.golden import NAMES, Identity, identities, load
from schedsearch.core.trace import Trace

FEW, MANY = 2, 50
"""Candidates of a transform and a procedure in the samples: hundreds of them divide a loop.
`python -m golden_keys spaces` makes all of them anew; then `git diff` says which are others."""


@pytest.mark.parametrize(
    "of_each",
    [pytest.param(FEW, marks=pytest.mark.normal), pytest.param(MANY, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_with_every_transform_is_as_it_was(name: str, of_each: int) -> None:
    golden = load(name)
    expected = sorted(sample(golden.identities, of_each), key=lambda each: each.trace)
    found = identities(golden.subject, [each.trace for each in expected])
    for made, recorded in zip(found, expected, strict=True):
        assert made == recorded


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_every_candidate_of_a_recorded_space_is_golden(name: str) -> None:
    traces = {each.trace for each in load(name).identities}
    space = load_space(SOURCE.parent / f"{name}.json.gz")
    assert space.points.keys() == {Trace.loads(trace).key for trace in traces}


def sample(every: Iterable[Identity], of_each: int) -> Iterator[Identity]:
    """The shortest traces, which take less time, and others up to the longest."""
    by_transform = sorted(every, key=lambda each: (each.transform, len(each.trace), each.trace))
    for _, group in itertools.groupby(by_transform, lambda each: each.transform):
        found = list(group)
        yield from found[:of_each] if of_each == FEW else found[:: max(1, len(found) // of_each)]
