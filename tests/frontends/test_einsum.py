"""`schedsearch.einsum` is `numpy.einsum`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedsearch
from frontends.equations_by_hand import call_of
from frontends.kernels import Kernels
from schedsearch.api.equations import fastest
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph as g
from schedsearch.frontends.equations.arraywise import planned
from schedsearch.frontends.equations.einsum import einsum, parsed
from schedsearch.frontends.equations.stepwise import ways
from schedsearch.frontends.lower import lower

LENGTHS = dict(zip("abcdefghijklmnopqrstuvwxyzAZ", [2, 3, 4, 2, 3, 2, 4, 3] * 4, strict=False))

COMMON = [
    "i->i",
    "i->",
    "ij->ji",
    "ij->",
    "ij->i",
    "ij->j",
    "ii->",
    "ii->i",
    "ijk->kji",
    "ijj->ij",
    "iij->j",
    "iii->i",
    "ii",
    "i,i->",
    "i,j->ij",
    "i,i->i",
    "ij,ij->",
    "ij,ij->ij",
    "ij,ij->i",
    "ij,ji->",
    "ij,j->i",
    "ij,i->j",
    "ij,jk->ik",
    "ij,kj->ik",
    "ji,jk->ik",
    "ij,jk",
    "ij,jk->ki",
    "ij,jk->",
    "bij,bjk->bik",
    "bij,jk->bik",
    "bhid,bhjd->bhij",
    "bhij,bhjd->bhid",
    "bshd,bthd->bhst",
    "ijk,jil->kl",
    "ijkl,klmn->ijmn",
    "abcd,bd->ac",
    "...ij,...jk->...ik",
    "...i->...",
    "...,...->...",
    "i...->...i",
    "...ij,j->...i",
    "ij...,jk...->ik...",
    "ij,jk,kl->il",
    "i,ij,j->",
    "i,ij,j",
    "ij,jk,kl,lm->im",
    "ai,bj,abk->ijk",
    "ij,ij,ij->i",
    "abc,ad,be,cf->def",
    "aB,Bc->ac",
    "zA,Az->",
    "abe,bcf,cdg,dah->efgh",
    "ijkl,ai,bj->abkl",
    "ij,jk,ki->",
]


def shapes_of(subscripts: str, dots: tuple[int, ...] = (2, 3)) -> list[tuple[int, ...]]:
    known = {**LENGTHS, "B": 3}
    return [
        tuple(
            n
            for part in each.replace("...", ".")
            for n in (dots if part == "." else (known[part],))
        )
        for each in subscripts.partition("->")[0].split(",")
    ]


def operands(subscripts: str, dtype: Any = np.float64, **more: Any) -> list[Any]:
    rng = np.random.default_rng(len(subscripts))
    return [rng.integers(-4, 5, n).astype(dtype) for n in shapes_of(subscripts, **more)]


def by_numpy(subscripts: str, *arrays: Any) -> Any:
    """The equations, in their order, by NumPy."""
    of = einsum(subscripts, [(a.shape, a.dtype) for a in arrays])
    held, known = call_of(of, arrays, {})
    planned(of, known)(held)
    return held["result"]


def same(found: Any, wanted: Any) -> None:
    """Small integers: sums are exact."""
    wanted = np.asarray(wanted)
    assert (np.asarray(found).shape, np.asarray(found).dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("subscripts", COMMON)
def test_equations_of_common_strings(subscripts: str) -> None:
    arrays = operands(subscripts)
    same(by_numpy(subscripts, *arrays), np.einsum(subscripts, *arrays))


@pytest.mark.normal
def test_common_strings_compiled(tmp_path: Path) -> None:
    mixed = ["ij,jk->ik", "ij->j", "ij,jk,kl->il", "ii->i"]
    strings = COMMON + mixed * 2
    kinds = [[np.float32] * 4] * len(COMMON)
    kinds += [[np.int8] * 4] * len(mixed) + [[np.int8, np.float32, np.float64]] * len(mixed)
    given_ = [
        [a.astype(kind) for a, kind in zip(operands(each), own, strict=False)]
        for each, own in zip(strings, kinds, strict=True)
    ]
    made = [
        einsum(each, [(a.shape, a.dtype) for a in arrays])
        for each, arrays in zip(strings, given_, strict=True)
    ]
    kernels = Kernels([of.graph for of in made], tmp_path)
    for number, (subscripts, arrays, of) in enumerate(zip(strings, given_, made, strict=True)):
        held, known = call_of(of, arrays, {})
        order = [held[a.name] for a in of.graph.parameters if isinstance(a, g.Array)]
        kernels.run(number, {var.name: n for var, n in known.items()}, order)
        same(held["result"], np.einsum(subscripts, *arrays))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_strings(data: st.DataObject) -> None:
    letters = "abcd"
    operand = st.lists(st.sampled_from(letters), min_size=0, max_size=3)
    inputs = data.draw(st.lists(operand, min_size=1, max_size=4))
    used = sorted({letter for each in inputs for letter in each})
    out = data.draw(st.permutations(used)) if used else []
    out = out[: data.draw(st.integers(0, len(out)))]
    subscripts = ",".join(map("".join, inputs))
    if data.draw(st.booleans()):
        subscripts += "->" + "".join(out)
    arrays = operands(subscripts)
    same(by_numpy(subscripts, *arrays), np.einsum(subscripts, *arrays))


def test_lengths_of_one_are_repeated_as_numpy_does() -> None:
    for subscripts, shapes in (
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("...i,...i->...", [(1, 4, 2), (3, 1, 2)]),
        ("...ij,...jk", [(3, 2, 4), (4, 2)]),
        ("ij,ij->", [(1, 1), (2, 3)]),
        ("ij->j", [(1, 1)]),
    ):
        arrays = [np.arange(1.0, 1 + np.prod(n)).reshape(n) for n in shapes]
        same(by_numpy(subscripts, *arrays), np.einsum(subscripts, *arrays))


@pytest.mark.parametrize(
    "dtypes", [("f4", "f8"), ("i1", "f4"), ("i4", "f4"), ("i4", "i4"), ("u2", "i4")]
)
def test_types_are_numpys(dtypes: tuple[str, str]) -> None:
    arrays = [a.astype(kind) for a, kind in zip(operands("ij,jk"), dtypes, strict=True)]
    same(by_numpy("ij,jk", *arrays), np.einsum("ij,jk", *arrays))


def test_a_product_of_matrices_is_the_plain_nest() -> None:
    text = lower(einsum("ij,jk->ik", [((4, 5), "f4"), ((5, 6), "f4")]).graph).text
    assert text.count("for ") == 5
    assert text.count("+= (a0[i, j] * a1[j, k])") == 1
    assert "result[i, k] = 0.0" in text


def test_the_order_of_products_depends_on_lengths() -> None:
    long = einsum("ij,jk,kl->il", [((2, 900), "f4"), ((900, 900), "f4"), ((900, 900), "f4")])
    other = einsum("ij,jk,kl->il", [((900, 900), "f4"), ((900, 900), "f4"), ((900, 2), "f4")])
    assert [len(of.meant) for of in (long, other)] == [2, 2]
    first = [{read.name for read in _reads(of)} for of in (long, other)]
    assert first == [{"a0", "a1"}, {"a1", "a2"}]


def _reads(of: Any) -> list[Any]:
    from schedsearch.frontends.equations.syntax import accesses

    return [each for each in accesses(of.meant[0].equation.value) if each.index]


@pytest.mark.parametrize(
    ("subscripts", "shapes", "said"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "index j has the lengths 3 and 4"),
        ("ii", [(2, 3)], "index i has the lengths 2 and 3"),
        ("ii", [(1, 3)], "index i has the lengths 1 and 3"),
        ("ij,jk", [(2, 3)], "it is of 2 operands, and 1 are given"),
        ("ij", [(2, 3, 4)], "'ij' is for 2 axes, and the operand has 3"),
        ("ijk", [(2, 3)], "'ijk' is for 3 axes, and the operand has 2"),
        ("...ijk", [(2, 3)], "axes, and the operand has 2"),
        ("i1", [(2, 3)], "'1' is no letter"),
        ("ij->ik", [(2, 3)], "no operand has the index k"),
        ("ij->ii", [(2, 3)], "the result has an index twice"),
        ("...i->i", [(2, 3)], "the result has no ellipsis"),
        ("i->->i", [(2,)], "is no letter"),
        ("i......", [(2,)], "is no letter"),
    ],
)
def test_what_numpy_refuses_is_refused(
    subscripts: str, shapes: list[tuple[int, ...]], said: str
) -> None:
    arrays = [np.ones(n) for n in shapes]
    with pytest.raises(ValueError, match=r"[a-z]"):
        np.einsum(subscripts, *arrays)
    with pytest.raises(UserError, match=said):
        schedsearch.einsum(subscripts, *arrays)


def test_types_that_kernels_do_not_have() -> None:
    with pytest.raises(UserError, match=r"would be int64.*; convert the operand"):
        schedsearch.einsum("i,i", np.ones(2, np.int64), np.ones(2))
    with pytest.raises(UserError, match="einsum 'i,i': elements would be int16"):
        schedsearch.einsum("i,i", np.ones(2, np.int8), np.ones(2, np.uint8))
    with pytest.raises(UserError, match="its first argument is a string"):
        schedsearch.einsum(np.ones(2), [0])  # type: ignore[arg-type]


def test_nothing_is_summed_as_numpy_does() -> None:
    same(schedsearch.einsum("ij,jk", np.ones((2, 0)), np.ones((0, 3))), np.zeros((2, 3)))


@pytest.mark.normal
def test_calls_by_each_backend(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    A, B = operands("ij,jk", np.float32)
    for backend in ("native", "numpy", "auto"):
        same(schedsearch.einsum("ij,jk", A, B.T.copy().T, backend=backend), A @ B)  # type: ignore[arg-type]
    same(schedsearch.einsum("ii", np.eye(3), backend="native"), np.float64(3))
    found = schedsearch.einsum(",ij->ij", np.array(2.0), np.eye(3, 2).T, backend="native")
    same(found, 2 * np.eye(2, 3))


def by_first_way(subscripts: str, *arrays: Any) -> Any:
    """A call without time to measure."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("schedsearch.api.equations.PATIENCE_S", 0.0)
        return schedsearch.einsum(subscripts, *arrays, backend="numpy")


def by_each_way(subscripts: str, *arrays: Any) -> list[Any]:
    """All that NumPy may compute it by, of arrays of one type."""
    found = parsed(subscripts, tuple(a.ndim for a in arrays))
    shapes, strides = [a.shape for a in arrays], [a.strides for a in arrays]
    return [way(arrays) for way in ways(found, shapes, strides, arrays[0].dtype)]


@pytest.mark.parametrize("subscripts", COMMON)
def test_all_ways_of_numpy_agree(subscripts: str) -> None:
    for dtype in (np.float64, np.float32, np.int8):
        arrays = operands(subscripts, dtype)
        wanted = np.einsum(subscripts, *arrays)
        for found in by_each_way(subscripts, *arrays):
            same(found, wanted)


def _layouts(array: Any) -> list[Any]:
    """The same elements, as they may lie."""
    rank = array.ndim
    double = np.repeat(array, 2, axis=0) if rank else array
    return [
        array,
        np.array(array, order="F"),
        double[::2] if rank else array,
        array[..., ::-1].copy()[..., ::-1] if rank else array,
    ]


@pytest.mark.normal
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_all_layouts_lengths_and_types(data: st.DataObject) -> None:
    length = st.sampled_from([1, 2, 3])
    lengths = {letter: data.draw(length) for letter in "abcd"}
    dots = data.draw(st.lists(length, max_size=2)) if data.draw(st.booleans()) else None
    parts, shapes = [], []
    for _ in range(data.draw(st.integers(1, 4))):
        letters = data.draw(st.lists(st.sampled_from("abcd"), max_size=3))
        ones = data.draw(st.sets(st.sampled_from("abcd"), max_size=1))
        at = data.draw(st.integers(0, len(letters))) if dots is not None else 0
        shape = [1 if letter in ones else lengths[letter] for letter in letters]
        parts.append("".join(letters))
        if dots is not None:
            parts[-1] = parts[-1][:at] + "..." + parts[-1][at:]
            shape[at:at] = [data.draw(st.sampled_from([1, n])) for n in dots]
        shapes.append(shape)
    used = sorted({letter for part in parts for letter in part if letter != "."})
    out = data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))]
    subscripts = ",".join(parts)
    if data.draw(st.booleans()):
        subscripts += "->" + "".join(out) + ("..." if dots is not None else "")
    dtype = data.draw(st.sampled_from(["f4", "f8", "i1", "u2", "i4"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays = [
        data.draw(st.sampled_from(_layouts(rng.integers(0, 5, shape).astype(dtype))))
        for shape in shapes
    ]
    wanted = np.einsum(subscripts, *arrays)
    same(by_first_way(subscripts, *arrays), wanted)
    for found in by_each_way(subscripts, *arrays):
        same(found, wanted)


def test_a_view_is_one_as_numpys() -> None:
    A = np.arange(9.0).reshape(3, 3)
    for subscripts in ("ij->ji", "ii->i", "ij"):
        found = schedsearch.einsum(subscripts, A)
        same(found, np.einsum(subscripts, A))
        assert np.shares_memory(found, A)
    number = schedsearch.einsum("->", np.float64(2))
    assert type(number) is type(np.einsum("->", np.float64(2)))


def test_a_repeated_call_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B = operands("ij,jk")
    found = schedsearch.einsum("ij,jk", A, B, backend="numpy")
    monkeypatch.setattr("schedsearch.api.einsum._choose", None)
    same(schedsearch.einsum("ij,jk", A + 0, B, backend="numpy"), found)
    with pytest.raises(TypeError):  # another layout
        schedsearch.einsum("ij,jk", np.asfortranarray(A), B, backend="numpy")


def test_what_would_take_long_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = np.ones((64, 64)), np.ones((64, 64))
    assert by_each_way("ij,jk->ik", *arrays)
    monkeypatch.setattr("numpy.einsum", None)  # its plain loops
    for found in by_each_way("ij,jk->ik", *arrays):
        same(found, arrays[0] @ arrays[1])


@pytest.fixture
def nothing_tuned(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls find neither stores nor lock files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.normal
@pytest.mark.usefixtures("nothing_tuned")
def test_long_loops_without_a_schedule_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedsearch.api.einsum._native", None)
    A, B = np.ones((3, 7)), np.ones((7, 3))
    with pytest.raises(TypeError):
        schedsearch.einsum("ij,jk->ki", A, B)
    monkeypatch.setattr("schedsearch.api.einsum.MOST_ROUNDS", 3 * 7 * 3 - 1)
    same(schedsearch.einsum("ij,jk->ki", A, B), (A @ B).T)


def test_the_fastest_is_kept() -> None:
    # Of the least times: a call that does nothing is disturbed in some rounds, not in all calls.
    assert fastest({"a": lambda: sleep(0.003), "b": lambda: None}) == "b"


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_tuned")
def test_the_module_is_tuned_and_found(tmp_path: Path) -> None:
    A, B = np.ones((48, 48), np.float32), np.ones((48, 9), np.float32)
    lowered = schedsearch.einsum.lowered("ij,jk->ik", A, B)
    assert lowered.name == "einsum_ij_jk_ik"
    assert schedsearch.einsum.explain("ij,jk->ik", A, B).choice.offer is None
    file = tmp_path / "product.py"
    file.write_text(lowered.text)
    schedsearch.tune(
        file,
        sizes={"n_i": 48, "n_j": 48, "n_k": 64},
        store=tmp_path / "s.sqlite",
        trials=5,  # sums in registers are several times as fast
        executor="inline",
        transforms=["register_block"],
    )
    B = np.ones((48, 64), np.float32)
    explained = schedsearch.einsum.explain("ij,jk->ik", A, B)
    assert explained.choice.offer is not None
    same(schedsearch.einsum("ij,jk->ik", A, B, backend="native"), A @ B)


def _large(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Numbers whose products do not fit into their type."""
    bounds = {"i1": (-128, 127), "u1": (0, 255), "u2": (0, 999), "i4": (-999, 999)}
    low, high = bounds.get(dtype, (-9, 9))
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(dtype)


MIXED = ["i,jLi->iL", "kj,i,iii->i", "ij,jk,kl->il", "ij,jk", "i,ij,j->"]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(MIXED), st.data())
def test_types_between_are_those_of_the_result(subscripts: str, data: st.DataObject) -> None:
    shapes = [
        tuple({"L": 1, "j": 4, "i": 3}.get(c, 2) for c in each)
        for each in subscripts.partition("->")[0].split(",")
    ]
    kinds = [data.draw(st.sampled_from(["i1", "u1", "u2", "i4", "f4", "f8"])) for _ in shapes]
    if np.result_type(*kinds) not in map(np.dtype, ("i1", "u1", "u2", "i4", "f8")):
        return  # a kernel has no such type, or its sums are rounded
    arrays = [
        _large(kind, shape, n) for n, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))
    ]
    wanted = np.einsum(subscripts, *arrays)
    same(by_first_way(subscripts, *arrays), wanted)
    same(by_numpy(subscripts, *arrays), wanted)


@pytest.mark.normal
def test_mixed_types_by_each_backend(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    i4, u1 = np.array([7000, -20, 3], "i4"), np.full((4, 1, 3), 200, "u1")
    ten = np.full((2, 2, 2), 10, "i1")
    for backend in ("native", "numpy", "auto"):
        found = schedsearch.einsum("i,jLi->iL", i4, u1, backend=backend)  # type: ignore[arg-type]
        same(found, np.array([[5600000], [-16000], [2400]], "i4"))
        f8 = np.full((2, 3), 100.0)
        found = schedsearch.einsum("kj,i,iii->i", f8, ten[0, 0], ten, backend=backend)  # type: ignore[arg-type]
        same(found, np.full(2, 60000.0))


@pytest.mark.normal
def test_mixed_types_compiled(tmp_path: Path) -> None:
    cases = []
    for subscripts in MIXED:
        for kinds in (("i4", "u1", "i1"), ("i1", "f8", "u2"), ("u1", "u1", "u2")):
            parts = subscripts.partition("->")[0].split(",")
            shapes = [tuple({"L": 1, "j": 4, "i": 3}.get(c, 2) for c in each) for each in parts]
            arrays = [_large(k, n, 7) for k, n in zip(kinds, shapes, strict=False)]
            cases.append(
                (subscripts, arrays, einsum(subscripts, [(a.shape, a.dtype) for a in arrays]))
            )
    kernels = Kernels([of.graph for _, _, of in cases], tmp_path)
    for number, (subscripts, arrays, of) in enumerate(cases):
        held, known = call_of(of, arrays, {})
        order = [held[a.name] for a in of.graph.parameters if isinstance(a, g.Array)]
        kernels.run(number, {var.name: n for var, n in known.items()}, order)
        same(held["result"], np.einsum(subscripts, *arrays))


@pytest.mark.normal
def test_operands_may_lie_anywhere() -> None:
    lying = np.arange(521, dtype="u1")[1:].view("f8")
    lying[:] = np.arange(65)
    for backend in ("auto", "numpy", "native"):
        for each in (lying.copy(), lying):
            assert schedsearch.einsum("i,i->", each, np.ones(65), backend=backend) == 2080


@pytest.mark.normal
def test_first_calls_of_several_threads() -> None:
    code = """
import threading, numpy as np, schedsearch
failed = []
threading.excepthook = failed.append
strings = ["ij,jk->ik", "ij,ij->ij", "i,j->ij", "ij,j->i"]
def run(each):
    a, b, *_ = each.partition("->")[0].split(",")
    arrays = [np.ones((7,) * len(a)), np.ones((7,) * len(b))]
    found = schedsearch.einsum(each, *arrays, backend="native")
    assert np.array_equal(found, np.einsum(each, *arrays))
threads = [threading.Thread(target=run, args=[strings[n % 4]]) for n in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not failed, failed
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
