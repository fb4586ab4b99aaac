from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from schedsearch.search.strategies.heap import Heap

actions = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 9), st.integers(-3, 3)),
    st.tuples(st.sampled_from(["pop", "random", "discard"]), st.integers(0, 9), st.just(0)),
)


@given(st.lists(actions, max_size=120), st.integers(0, 9))
def test_a_heap_does_what_sorting_a_dict_would(
    script: list[tuple[str, int, int]], seed: int
) -> None:
    heap: Heap[int] = Heap()
    model: dict[int, int] = {}  # in the order of the last put
    for action, item, priority in script:
        if action == "put":
            heap.put(item, priority)
            model.pop(item, None)
            model[item] = priority
        elif action == "discard":
            heap.discard(item)
            model.pop(item, None)
        elif model and action == "random":
            del model[heap.pop_random(random.Random(seed))]
        elif model:
            best = max(model, key=lambda key: model[key])
            assert heap.best() == model.pop(best)
            assert heap.pop() == best
        assert len(heap) == len(model)
        assert all((item in heap) == (item in model) for item in range(10))


def test_any_item_may_be_taken() -> None:
    found = set()
    for seed in range(50):
        heap: Heap[str] = Heap()
        for priority, item in enumerate("abc"):
            heap.put(item, priority)
        found.add(heap.pop_random(random.Random(seed)))
    assert found == set("abc")
