"""Equations: what they mean, what is refused, and how they are called."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedsearch
from frontends.equations_by_hand import Random_, call_of, random_program
from frontends.kernels import Kernels
from schedsearch.api.source import source_of
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph as g
from schedsearch.frontends.equations import equations
from schedsearch.frontends.equations.arraywise import planned
from schedsearch.frontends.files import lowered_from
from schedsearch.frontends.lower import lower


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


# -- meaning ---------------------------------------------------------------------------------------


def check(made: Random_) -> None:
    of = equations(made.text, default="f64")
    arrays = {name: made.arrays[name] for name in of.inputs}
    held, known = call_of(of, (), arrays)
    planned(of, known)(held)
    for name in of.outputs:
        np.testing.assert_allclose(
            held[name], made.values[name], rtol=1e-9, atol=1e-9, err_msg=made.text
        )


@pytest.mark.normal
@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_numpy_computes_what_loops_over_indices_compute(rng: Random) -> None:
    check(random_program(rng))


@pytest.mark.normal
def test_compiled_programs_compute_the_same(tmp_path: Path) -> None:
    made = [random_program(Random(seed)) for seed in range(120)]
    programs = [equations(each.text, default="f64") for each in made]
    # Exo takes seconds to generate code with many sizes
    few = [number for number, of in enumerate(programs) if len(of.sizes) <= 4]
    made, programs = [made[n] for n in few], [programs[n] for n in few]
    assert len(few) > 30
    kernels = Kernels([of.graph for of in programs], tmp_path)
    for number, (each, of) in enumerate(zip(made, programs, strict=True)):
        held, known = call_of(of, (), {name: each.arrays[name] for name in of.inputs})
        arrays = [held[a.name] for a in of.graph.parameters if isinstance(a, g.Array)]
        kernels.run(number, {var.name: n for var, n in known.items()}, arrays)
        for name in of.outputs:
            np.testing.assert_allclose(
                held[name], each.values[name], rtol=1e-9, atol=1e-9, err_msg=each.text
            )


def computed(text: str, **arrays: Any) -> Any:
    """By NumPy."""
    return schedsearch.program(text, default="f64").compile("numpy")(**arrays)


def test_terms_are_summed_each_over_its_own_indices() -> None:
    A, x, b = np.arange(6.0).reshape(2, 3), np.arange(3.0), np.array([10.0, 20.0])
    found = computed("y[i] = b[i] - 2*A[i,k]*x[k]", A=A, x=x, b=b)
    np.testing.assert_array_equal(found, b - 2 * (A @ x))
    found = computed("y[i] = 1 - (b[i] - (-2*A[i,k]*x[k]))", A=A, x=x, b=b)
    np.testing.assert_array_equal(found, 1 - (b + 2 * (A @ x)))
    found = computed("y[i] = 1 * (b[i] - A[i,k])", A=A, b=b)  # a product is one term
    np.testing.assert_array_equal(found, (b[:, None] - A).sum(axis=1))


def test_a_sum_is_divided_once_by_what_all_its_terms_are_divided_by() -> None:
    """So that a product is summed, which has register blocks: attention's weights."""
    A, x = np.arange(1.0, 7.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])
    by = np.array([2.0, 8.0])
    text = "y[i] = A[i,k]*x[k] / by[i]"
    np.testing.assert_array_equal(computed(text, A=A, x=x, by=by), A @ x / by)
    loops = schedsearch.program(text, default="f64").lowered.text
    assert "y[i] += (A[i, j] * x[j])" in loops
    assert "y[i] = (y[i] / by[i])" in loops
    held = {"A": A, "x": x, "by": by}
    for other, found in (
        ("y[i] = A[i,k] / x[k]", (A / x).sum(axis=1)),
        ("y[i] = A[i,k] / (x[k] + by[i])", (A / (x + by[:, None])).sum(axis=1)),
        ("y[i] max= A[i,k] / by[i]", (A / by[:, None]).max(axis=1)),
        ("y[i] = by[i] + A[i,k]*x[k] / by[i]", by + (A * x / by[:, None]).sum(axis=1)),
    ):
        of = schedsearch.program(other, default="f64")
        given = {name: array for name, array in held.items() if name in other.split("=", 1)[1]}
        np.testing.assert_allclose(of.compile("numpy")(**given), found)
        assert "= (y[i] /" not in of.lowered.text


def test_projections_by_max_min_and_prod() -> None:
    A = np.array([[3.0, 1.0], [2.0, 5.0]])
    text = "a[i] max= A[i,j]; b[j] min= A[i,j]; c prod= A[i,j]"
    a, b, c = computed(text, A=A)
    assert (list(a), list(b), c) == ([3, 5], [2, 1], 30)


def test_a_stencil_leaves_what_it_does_not_reach() -> None:
    x, y = np.arange(5.0) ** 2, np.full(5, 7.0)
    computed("x: f64[N]; y: f64[N]; y[i] = x[i-1] - 2*x[i] + x[i+1]", x=x, y=y)
    assert list(y) == [7, 2, 2, 2, 7]


def test_what_is_added_to_is_changed_in_place() -> None:
    C = np.ones((2, 2))
    found = computed("C[i,j] += A[i,k]*B[k,j]", A=np.eye(2), B=np.eye(2), C=C)
    assert found is C
    np.testing.assert_array_equal(C, np.ones((2, 2)) + np.eye(2))


def test_an_index_beside_itself_runs_less_far() -> None:
    assert list(computed("d[i] = A[i+1] - A[i]", A=np.array([1.0, 4.0, 9.0]))) == [3, 5]


@pytest.mark.parametrize(
    "text",
    [
        "y[i] = A[i+j]*w[j] + v[i]*w[j]*u[k]*A[i+j+k]",
        "y[i] = v[i]*w[j]*u[k]*A[i+j+k] + A[i+j]*w[j]",
    ],
)
def test_an_array_is_as_long_as_its_longest_access_wherever_that_is(text: str) -> None:
    arrays = {"v": np.ones(2), "w": np.array([1.0, 2.0]), "u": np.ones(3), "A": np.arange(5.0)}
    assert list(computed(text, **arrays)) == [17, 29]


def test_strides_run_as_far_as_they_can() -> None:
    text = "di: index[2]; p[i] max= A[2*i + di]"
    assert list(computed(text, A=np.array([1.0, 4.0, 9.0, 2.0, 0.0]))) == [4, 9]


def test_sizes_are_numbers_where_they_are_named() -> None:
    A = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(computed("A: f64[N,M]; m[i] = A[i,j]/M", A=A), A.mean(axis=1))


def test_types_are_numpys() -> None:
    of = equations("c[i] = a[i]*b[i]; d: f64[N]; e: f32[N]; e[i] = d[i]", types={"a": "i8"})
    assert (of.kinds["c"], of.kinds["e"]) == ("f32", "f32")
    assert of.meant[1].kind == "f64"


def test_outputs_are_what_is_not_read_later_or_what_is_declared() -> None:
    text = "t[i] = a[i] + 1; u[i] = 2*t[i]"
    assert (equations(text).outputs, equations(text).temporaries) == (("u",), ("t",))
    assert equations(f"{text}; out: t, u").outputs == ("t", "u")


# -- text ------------------------------------------------------------------------------------------

PRODUCT = """
@proc
def equations(I: size, K: size, J: size, A: f32[I, K] @ DRAM, B: f32[K, J] @ DRAM, C: f32[I, J] @ DRAM):
    for i in seq(0, I):
        for j in seq(0, J):
            C[i, j] = 0.0
    for i in seq(0, I):
        for k in seq(0, K):
            for j in seq(0, J):
                C[i, j] += (A[i, k] * B[k, j])
"""  # noqa: E501

CONVOLUTION = """
@proc
def equations(DI: size, I: size, A: f32[DI + I - 1] @ DRAM, W: f32[DI] @ DRAM, C: f32[I] @ DRAM):
    for i in seq(0, I):
        C[i] = 0.0
    for i in seq(0, I):
        for j in seq(0, DI):
            C[i] += (A[i + j] * W[j])
"""

CHAIN = """
@proc
def equations(I: size, K: size, J: size, A: f32[I, K] @ DRAM, B: f32[K, J] @ DRAM, x: f32[J] @ DRAM, y: f32[I] @ DRAM):
    pair1: f32[K] @ DRAM
    for k in seq(0, K):
        pair1[k] = 0.0
    for k in seq(0, K):
        for i in seq(0, J):
            pair1[k] += (B[k, i] * x[i])
    for i in seq(0, I):
        y[i] = 0.0
    for i in seq(0, I):
        for j in seq(0, K):
            y[i] += (A[i, j] * pair1[j])
"""  # noqa: E501


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("C[i,j] = A[i,k] * B[k,j]", PRODUCT),
        ("C[i] = A[i+di] * W[di]", CONVOLUTION),
        ("y[i] = A[i,k] * B[k,j] * x[j]", CHAIN),
    ],
)
def test_modules(text: str, wanted: str) -> None:
    lowered = lower(equations(text).graph)
    module = lowered.text[lowered.text.index("\n@proc") :]
    # a loop over what is projected gets the letter that is free
    assert module.replace("for k in seq(0, K)", "for _ in seq(0, K)").count("for") == wanted.count(
        "for"
    )
    assert _without_loop_names(module) == _without_loop_names(wanted)


def _without_loop_names(text: str) -> str:
    """Loops are numbered by their depth: names are `lower`'s."""
    lines, names = [], {}
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip())) // 4
        names = {name: d for name, d in names.items() if d < depth}
        words = line.strip()
        if words.startswith("for "):
            names[words.split()[1]] = depth
        for name, d in names.items():
            words = "".join(f"<{d}>" if part == name else part for part in _words(words))
        lines.append(words)
    return "\n".join(lines)


def _words(text: str) -> list[str]:
    found = [""]
    for c in text:
        if (c.isalnum() or c == "_") and (found[-1][-1:].isalnum() or found[-1][-1:] == "_"):
            found[-1] += c
        else:
            found.append(c)
    return found


def test_lines_are_the_users() -> None:
    lowered = lower(equations("t[i] = a[i]\n# a comment\n\nu[i] = 2*t[i]").graph)
    by_line = {
        text.strip(): lowered.lines.get(number)
        for number, text in enumerate(lowered.text.splitlines(), 1)
    }
    assert (by_line["t[i] = a[i]"], by_line["u[i] = (2.0 * t[i])"]) == (1, 4)


# -- refusals --------------------------------------------------------------------------------------

REFUSED = {
    "C[i,j] = A[i,k * B[k,j]": ("equations:1:24: the end of the line", "expected"),
    "C[i] = A[i] +": ("1:14: the end of the line: it cannot stand here", "a name"),
    "C[i] == A[i]": ("1:6: =", "expected"),
    "C[i] = A[i] $ 2": ("1:13: $", "expected * or /, + or - or the end of the line"),
    "C[i] A[i]": ("1:6: A", "expected =, +=, max=, min= or prod="),
    "C[i] = (A[i]": ("expected", "1:13"),
    "C[i] = x": ("index i: no array on the right bounds it", "declare its length"),
    "A: f32[10]; B: f32[12]; C[i] = A[i] + B[i]": ("length 12", "A[i] the length 10"),
    "A: f32[N]; B: f32[M]; C[i] = A[i] * B[i]": ("index i the length M", "length N"),
    "A: f32[10]; B: f32[5]; C[i] = A[i] + B[i+1]": ("outside of B", "1:38"),
    "C[i] = foo(A[i])": ("1:8: foo: no function is called that", "relu"),
    "C[i] = exp(A[i], 2)": ("it has 2 arguments", "give 1"),
    "A[i] = A[i] * 2": ("does not depend on itself", "+="),
    "C[i] = A[i*i]": ("multiplies names", "1:11"),
    "C[i] = A[i/2]": ("it divides", "affine"),
    "C[i] = A[B[i]]": ("depends on elements of B", "1:10"),
    "C[i] = A[1.5*i]": ("no whole number", "1:10"),
    "C[i] = A[i]; D[i] = A[i, j]": ("1 index elsewhere, and 2 indices here", "1:21"),
    "C[i] = A[i] * i": ("an index is no number", "1:15"),
    "C[i] = where(i < A[i], 1, A[i])": ("an index is no number", "1:14"),
    "C: f32[N]; C[i+j] = A[i] * B[j]": ("several times", "1:12"),
    "C[2*i] = A[i]": ("does not tell how long", "declare it: `C: f32"),
    "C[i] = A[i-1]": ("begins at 1", "declare the array"),
    "C[i] = A[i+j]": ("bounded by nothing else", "index[8]"),
    "A: f8[N]; C[i] = A[i]": ("1:4: f8: no type is called that", "f32, f64"),
    "A: f32[0]; C[i] = A[i]": ("size 0", "1 element"),
    "A: f32[N]; A: f32[N]; C[i] = A[i]": ("line 1 declares it", "once"),
    "B: f32[N]; C[i] = A[i]": ("no equation has it", "1:1"),
    "A: i32[N]; C[i] = A[i] / 2": ("the arrays are i32", "declare `C: f64"),
    "A: i32[N]; C[i] = exp(A[i])": ("a function of floats", "f32 or f64"),
    "A: i32[N]; C[i] = A[i] * 0.5": ("0.5", "declare `C: f64"),
    "A: i8[N]; C[i] = A[i] + 300": ("300", "declare"),
    "out: D; C[i] = A[i]": ("1:1: D: no equation assigns it", "name what is computed"),
    'A = load("none.npy"); C[i] = A[i]': ("No such file", "1:1"),
    'save("c.npy", D); C[i] = A[i]': ("no equation assigns it", "1:1"),
    "lambda = A[i]": ("a word of Python", "1:1"),
    "C[i] = A[i] * 1" + "0" * 50: ("more than 40 digits", "1:15"),
    "C[i] = A[9999999999]": ("too large", "1:10"),
    "C[i] = " + "-" * 5000 + "A[i]": ("nested too deeply", "several equations"),
    "C[i] = " + "(" * 5000 + "A[i]": ("1:5012", "expected"),
    "": ("nothing would be computed", "1:1"),
    "# nothing": ("nothing would be computed", "1:1"),
    "C[i] = A[i] * i[i]": ("an index and an array", "1:15"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_say_where_and_why(text: str) -> None:
    with pytest.raises(UserError) as refused:
        equations(text).graph  # noqa: B018
    said = str(refused.value)
    for part in REFUSED[text]:
        assert part in said
    first, shown, caret = said.splitlines()
    assert first.startswith("equations:1:")
    assert caret.endswith("^")
    column = int(first.split(":")[2])
    assert len(caret) == 4 + column
    assert shown == f"    {text}".rstrip(" ") or not text


@pytest.mark.normal
@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "A",
                "B",
                "C",
                "i",
                "j",
                "N",
                "[",
                "]",
                "(",
                ")",
                "=",
                "+=",
                "max=",
                "+",
                "-",
                "*",
                "/",
                ",",
                ":",
                "f32",
                "2",
                "1.5",
                "where",
                "load",
                "save",
                '"a.npy"',
                "\n",
                ";",
                "exp",
                "<",
                "index",
                "out",
                "#",
                "$",
                "é",
                "\t",
                "C[i] = ",
                "A[i]",
                "B[i,j]",
            ]
        ),
        max_size=12,
    )
)
def test_nonsense_is_refused_without_a_traceback(words: list[str]) -> None:
    try:
        lower(equations(" ".join(words)).graph)
    except UserError as error:
        said = str(error)
    else:
        said = "equations:"
    assert "equations:" in said


# -- explain ---------------------------------------------------------------------------------------

_ARRAY = {
    "type": "object",
    "required": ["name", "type", "shape"],
    "properties": {
        "name": {"type": "string"},
        "type": {"enum": ["f32", "f64", "i8", "ui8", "ui16", "i32"]},
        "shape": {"type": "array", "items": {"type": "string"}},
        "file": {"type": ["string", "null"]},
    },
    "additionalProperties": False,
}

SCHEMA = {
    "type": "object",
    "required": ["schema", "digest", "sources", "equations", "sinks"],
    "properties": {
        "schema": {"const": 1},
        "name": {"type": "string"},
        "digest": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "file": {"type": "string"},
        "sizes": {"type": "array", "items": {"type": "string"}},
        "asserts": {"type": "array", "items": {"type": "string"}},
        "sources": {"type": "array", "items": _ARRAY},
        "temporaries": {"type": "array", "items": _ARRAY},
        "sinks": {"type": "array", "items": _ARRAY, "minItems": 1},
        "equations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["line", "target", "indices", "projections"],
                "properties": {
                    "line": {"type": "integer"},
                    "target": {"type": "string"},
                    "text": {"type": "string"},
                    "type": {"type": "string"},
                    "adds": {"type": "boolean"},
                    "writes_all": {"type": "boolean"},
                    "indices": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["name", "extent", "from", "kind", "where"],
                            "properties": {"kind": {"enum": ["free", "projected"]}},
                        },
                    },
                    "projections": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["function", "indices", "of"],
                            "properties": {"function": {"enum": ["sum", "max", "min", "prod"]}},
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def test_explanations_follow_their_schema() -> None:
    program = schedsearch.program("C[i,j] = A[i,k] * B[k,j]\nm[i] max= C[i,j] - A[i,i]")
    found = json.loads(json.dumps(program.explain(json=True)))
    jsonschema.validate(found, SCHEMA)
    [first, second] = found["equations"]
    assert first["text"] == "C[i, j] = sum[k](A[i, k] * B[k, j])"
    assert [(i["name"], i["extent"], i["kind"]) for i in first["indices"]] == [
        ("i", "I", "free"),
        ("j", "J", "free"),
        ("k", "I", "projected"),  # A[i, i] is square
    ]
    assert second["projections"] == [
        {"function": "max", "indices": ["j"], "of": "(C[i, j] - A[i, i])"}
    ]
    assert "line 2: m[i] = max[j](C[i, j] - A[i, i])  (f32)" in program.explain()


# -- calls and files -------------------------------------------------------------------------------


def test_calls_are_refused_as_kernels_refuse_them() -> None:
    call = schedsearch.program("C[i,j] = A[i,k] * B[k,j]").compile("numpy")
    one = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"argument B: wanted shape \(K, J\)"):
        call(one, one)
    with pytest.raises(TypeError, match="argument B: wanted a float32 array"):
        call(one, np.ones((3, 2)))
    with pytest.raises(TypeError, match="argument B: wanted an array; got nothing"):
        call(one)
    with pytest.raises(TypeError, match="2 arrays by position"):
        call(one, one, one)
    with pytest.raises(TypeError, match="names among A, B"):
        call(one, one.T, x=1)
    with pytest.raises(UserError, match="backend 'fast' is unknown"):
        schedsearch.program("C[i] = A[i]").compile("fast")  # type: ignore[arg-type]


@pytest.mark.normal
def test_all_backends_agree_and_the_faster_is_kept() -> None:
    program = schedsearch.program("C[i,j] = A[i,k] * B[k,j]\nD[i,j] = relu(C[i,j] - b[j]*s)")
    rng = np.random.default_rng(1)
    A, B, b = (rng.random(n, np.float32) for n in ((5, 6), (6, 7), (7,)))
    wanted = np.maximum(A @ B - b * np.float32(0.5), 0)
    for backend in ("native", "numpy", "auto"):
        compiled = program.compile(backend)  # type: ignore[arg-type]
        np.testing.assert_allclose(compiled(A, B, b, s=0.5), wanted, rtol=1e-5)
        [chosen] = compiled.chosen.values()
        assert chosen == backend or (backend == "auto" and chosen in ("native", "numpy"))


def test_files_are_sources_and_sinks(tmp_path: Path) -> None:
    A = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", A)
    file = tmp_path / "my model.eq"
    file.write_text('A = load("a.npy")\nC[i] = A[i,j]*x[j]\nsave("c.npy", C)\n')
    program = schedsearch.program(file)
    found = program.compile("numpy")(x=np.ones(3, np.float32))
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), found)
    assert program.explain(json=True)["sources"][0]["shape"] == ["2", "3"]
    lowered = lowered_from(file)
    assert lowered is not None
    assert lowered.name == "my_model"


def test_a_file_of_equations_is_tuned_as_its_module(tmp_path: Path) -> None:
    file = tmp_path / "model.eq"
    file.write_text("C[i,j] = A[i,k] * B[k,j]\n")
    where, name = source_of(file)
    assert (where.parent.name, name) == ("procedures", "model")
    assert source_of(schedsearch.program("C[i] = A[i]"))[1] == "equations"
    with pytest.raises(UserError, match="has the program model only, not other"):
        source_of(file, "other")
    file.write_text("C[i,j] = A[i,k * B[k,j]\n")
    with pytest.raises(UserError, match=r"model.eq:1:24: "):
        source_of(file)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x: f64[N]; x[i] += x[i-1]", [1, 3, 5, 7]),
        ("x: f64[N]; x[i] += x[j] + x[N-1-i]", [15, 15, 15, 15]),
        ("y: f32[N]; x: f64[N]; x[i] += y[i]*y[j]; y[i] = x[i]", [10, 20, 30, 40]),
    ],
)
def test_what_is_read_is_as_it_was_before_the_equation(text: str, wanted: list[float]) -> None:
    for backend in ("native", "numpy"):
        x = np.arange(1.0, 5)
        more = {}
        if "y" in text:
            x, more = np.zeros(4), {"y": np.arange(1, 5, dtype=np.float32)}
        schedsearch.program(text).compile(backend)(x=x, **more)  # type: ignore[arg-type]
        assert list(x) == wanted
        if more:
            assert list(more["y"]) == wanted


@pytest.mark.normal
def test_functions_of_special_numbers_are_the_same_by_each_backend() -> None:
    one = ["exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "abs", "floor", "relu"]
    two = ["pow", "atan2", "min", "max"]
    lines = [f"r_{f}[i] = {f}(A[i])" for f in one] + [f"r_{f}[i] = {f}(A[i],B[i])" for f in two]
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -1.5, 2.5])
    A, B = (np.ascontiguousarray(each.ravel()) for each in np.meshgrid(special, special))
    program = schedsearch.program("\n".join(lines), default="f64")
    wanted, found = (program.compile(backend)(A, B) for backend in ("native", "numpy"))  # type: ignore[arg-type]
    for f, a, b in zip(one + two, wanted, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, err_msg=f)
        number = ~np.isnan(a)
        np.testing.assert_array_equal(np.signbit(b)[number], np.signbit(a)[number], err_msg=f)


def test_what_no_backend_computes_is_refused_by_each() -> None:
    for text in ("y[i] = i*A[i]", "y[i] = where(i < s, A[i], 0)"):
        with pytest.raises(UserError, match=r"equations:1:\d+: "):
            schedsearch.program(text).compile("numpy")


@pytest.mark.normal
def test_a_declared_index_may_be_in_conditions_only() -> None:
    program = schedsearch.program("j: index[2]; y[i] = where(i >= j, A[i], 0)", default="f64")
    for backend in ("native", "numpy"):
        assert list(program.compile(backend)(A=np.ones(3))) == [1, 2, 2]  # type: ignore[arg-type]


def test_results_are_those_of_out_in_its_order() -> None:
    A, y = np.ones(2), np.ones(2)
    found = computed("D[i] = 2*A[i]; y[i] += A[i]; out: D", A=A, y=y)
    assert (list(found), list(y)) == ([2, 2], [2, 2])
    z, y = computed("y[i] = 2*A[i]; z[i] = 3*A[i]; out: z, y", A=A)
    assert (list(z), list(y)) == ([3, 3], [2, 2])
