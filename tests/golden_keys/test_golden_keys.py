"""Every candidate of the recorded spaces and of old stores is what it was, byte for byte."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from benchmarks.spaces.record import KERNELS, SOURCE
from benchmarks.spaces.space_file import load as load_space
from golden_keys.golden import NAMES, Golden, Identity, identities, load
from schedsearch.core.trace import Trace

OF_EACH = 2
"""Candidates of a transform and a procedure in the sample."""


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_with_every_transform_is_as_it_was(name: str) -> None:
    golden = load(name)
    check(golden, sample(golden.identities))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_candidate_is_as_it_was(name: str) -> None:
    golden = load(name)
    check(golden, golden.identities)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_every_candidate_of_a_recorded_space_is_golden(name: str) -> None:
    traces = {each.trace for each in load(name).identities}
    space = load_space(SOURCE.parent / f"{name}.json.gz")
    assert space.points.keys() == {Trace.loads(trace).key for trace in traces}


def check(golden: Golden, expected: Iterable[Identity]) -> None:
    expected = list(expected)
    found = identities(golden.subject, [each.trace for each in expected])
    for made, recorded in zip(found, expected, strict=True):
        assert made == recorded


def sample(every: Iterable[Identity]) -> Iterator[Identity]:
    """Short traces, which take less time."""
    by_transform = sorted(every, key=lambda each: (each.transform, len(each.trace), each.trace))
    for _, group in itertools.groupby(by_transform, lambda each: each.transform):
        yield from itertools.islice(group, OF_EACH)
