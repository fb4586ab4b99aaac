"""A kernel against its peers: other processes, real libraries and compilers."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cli.invoke import MATMUL

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, PeerComparison
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.peers import against
from schedsearch.peers.against import (
    Kernel,
    _repeat,
    as_experts_compile,
    compare,
    parse_against,
)
from schedsearch.peers.arrays import Argument, Fill, make_arrays
from schedsearch.peers.configurations import USUAL, of_openblas
from schedsearch.peers.contender import Contender, PeerError, Terms, What
from schedsearch.peers.described import arguments
from schedsearch.peers.rounds import Plan
from schedsearch.peers.trial import Peer, enter
from schedsearch.present.against import against_json, against_lines
from schedsearch.search.setup.subject import Subject, load_subject

QUICK = Plan(rounds=5, seconds=0)
NESTS = Path(__file__).parents[1] / "transforms/procs/nests.py"

X = Argument("x", dtype="float32", shape=(3,), strides=(1,))
TERMS = Terms((X,), (max(os.sched_getaffinity(0)),), "wall")

FUNCTIONS = """
import os, sys
import numpy as np

def right(C, A, B):
    print("said aloud")
    C += A @ B

def returned(C, A, B):
    return C + A @ B

def wrong(C, A, B):
    C += A @ B
    C[3, 3] *= 1.01

def raising(C, A, B):
    raise ValueError("no such form\\nsecond line")

def crashing(C, A, B):
    os.abort()

def undirected(C, A, B):
    assert "MKL_FAST" not in os.environ and os.environ["OMP_NUM_THREADS"] == "1"
    C += A @ B
"""


INFINITE = """
from __future__ import annotations
from exo import proc


@proc
def infinite(y: f32[8], x: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] / (x[i] - x[i])
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return kernel_of(load_subject(MATMUL, None, {}, None), tmp_path_factory.mktemp("built"))


def kernel_of(subject: Subject, cache: Path) -> Kernel:
    """The procedure as written, as if it were a schedule."""
    built = subject.builder.build(subject.code, 100)
    assert isinstance(built, Artifact)
    return Kernel(
        subject.ast,
        subject.binding,
        subject.code,
        subject.target,
        built,
        subject.code.proc,
        cache,
    )


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.py"
    path.write_text(FUNCTIONS)
    return path


def only(kernel: Kernel, request: str) -> PeerComparison:
    (found,) = compare(kernel, [request], QUICK)
    return found


@pytest.mark.normal
def test_numpy_is_derived_and_says_what_ran(kernel: Kernel) -> None:
    found = only(kernel, "numpy")
    assert not found.failure
    assert found.ratio is not None
    assert 0 < found.ratio.low <= found.ratio.value <= found.ratio.high
    assert found.ratio.value == pytest.approx(found.theirs_s / found.ours_s, rel=0.5)
    assert found.rounds == 5
    assert "derived; numpy " in found.ran
    assert "np.matmul" in found.text
    assert 0 <= found.off < 1e-5


@pytest.mark.normal
@pytest.mark.parametrize("name", ["right", "returned", "undirected"])
def test_a_function_of_the_user_competes(
    kernel: Kernel, functions: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_FAST", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = only(kernel, f"{functions}:{name}")
    assert found.ratio is not None, found.failure


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wrong", "its results are others: C: off by"),
        ("raising", "ValueError: no such form"),
        ("crashing", "ended by signal 6"),
        ("missing", "no function missing in "),
    ],
)
def test_who_cannot_compete_says_why_and_others_do(
    kernel: Kernel, functions: Path, name: str, says: str
) -> None:
    bad, good = compare(kernel, [f"{functions}:{name}", f"{functions}:right"], QUICK)
    assert bad.ratio is None
    assert says in bad.failure
    assert good.ratio is not None
    lines = list(against_lines([bad, good]))
    assert lines[0] == f"{bad.peer}: not compared: {bad.failure}"
    assert f"as fast as {good.peer}: " in lines[1]
    absent, present = against_json([bad, good])
    assert absent["ratio"] is None
    assert present["ratio"]["low"] <= present["ratio"]["value"]


@pytest.mark.normal
def test_infinities_of_the_procedure_are_not_laid_to_peers(tmp_path: Path) -> None:
    source = tmp_path / "infinite.py"
    source.write_text(INFINITE)
    found = kernel_of(load_subject(source, None, {}, None), tmp_path)
    failures = {each.failure for each in compare(found, ["numpy", "numba"], QUICK)}
    assert failures == {"y: the procedure itself gives infinities or NaNs on the data used"}


@pytest.mark.normal
def test_a_library_is_called_as_the_exported_c(kernel: Kernel, tmp_path: Path) -> None:
    source = tmp_path / "theirs.c"
    source.write_text(
        "void product(float *C, const float *A, const float *B) {"
        "  for (int i = 0; i < 32; i++) for (int j = 0; j < 32; j++) for (int k = 0; k < 32; k++)"
        "    C[32 * i + j] += A[32 * i + k] * B[32 * k + j]; }"
    )
    library = tmp_path / "theirs.so"
    compiler = kernel.target.compiler.path
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    assert only(kernel, f"{library}:product").ratio is not None
    assert "undefined symbol" in only(kernel, f"{library}:nothing").failure


@pytest.mark.normal
@pytest.mark.parametrize("from_c", [True, False])
def test_c_calls_compiled_code_as_often_as_python_does(
    kernel: Kernel, tmp_path: Path, from_c: bool
) -> None:
    """Its loop takes 2 ns a call. Python's takes 240, which hides what is faster."""
    (source := tmp_path / "count.c").write_text(
        "void count(long m, float *x) { static int n; x[0] = ++n; x[1] = m; }"
    )
    library = tmp_path / "count.so"
    compiler = kernel.target.compiler.path
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    given = Argument("m", control=-7), replace(X, written=True)
    terms = replace(TERMS, arguments=given, repeat=_repeat(kernel) if from_c else "")
    with Contender(What("native", "count", str(library)), terms) as contender:
        seconds = contender.sample(1000, warm=True)
        found = contender.results()
    assert found["x"][:2].tolist() == [1 + 1 + 1000 + 1, -7]
    assert seconds > 0


@pytest.mark.normal
def test_the_c_as_written_by_a_compiler(kernel: Kernel) -> None:
    found = only(kernel, f"cc={kernel.target.compiler.path}")
    assert found.ratio is not None, found.failure
    assert "-O3 -march=native -ffast-math" in found.ran


@pytest.mark.normal
@pytest.mark.parametrize("requests", [["cc=gcc"], ["cc=gcc", "numpy"]])
def test_c_calls_where_no_peer_is_of_python(
    kernel: Kernel, requests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else ours would be called from C, and the peer from Python."""
    built = []
    monkeypatch.setattr(against, "_repeat", lambda _: built.append(1) or "")
    compare(kernel, requests, QUICK)
    assert len(built) == (len(requests) == 1)


@pytest.mark.normal
def test_what_a_compiler_is_given_is_told(kernel: Kernel) -> None:
    code = as_experts_compile(kernel.code)
    text = (
        f"{code.header}\n{code.source}\nvoid other(int *x) {{\n#pragma omp parallel\n*x = 1;\n}}\n"
    )
    found = only(replace(kernel, written=text), f"cc={kernel.target.compiler.path}")
    assert found.ratio is not None, found.failure
    assert "-ffast-math -fopenmp" in found.ran


@pytest.mark.normal
@pytest.mark.parametrize("library", ["scipy", "torch", "numba"])
def test_other_libraries_where_they_are_installed(kernel: Kernel, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        with pytest.raises(UserError, match="not installed"):
            parse_against([library])
        pytest.skip(f"{library} is not installed")
    found = only(kernel, *parse_against([library]))
    assert found.ratio is not None, found.failure
    assert library in found.ran


@pytest.mark.slow
def test_a_peer_that_is_slower_is_found_to_be(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text("def slow(C, A, B):\n    for _ in range(50):\n        D = A @ B\n    C += D\n")
    fast = tmp_path / "fast.py"
    fast.write_text("def fast(C, A, B):\n    C += A @ B\n")
    slow, quick = compare(kernel, [f"{path}:slow", f"{fast}:fast"], QUICK)
    assert slow.ratio is not None
    assert quick.ratio is not None
    assert slow.ratio.low > 5 * quick.ratio.high


@pytest.mark.normal
def test_what_has_no_form_says_which_statement(tmp_path: Path) -> None:
    found = only(kernel_of(load_subject(NESTS, "triangle", {}, None), tmp_path), "numpy")
    assert found.ratio is None
    assert "`for k in seq(0, i)` is no statement" in found.failure
    assert "FILE.py:FUNCTION" in found.failure


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("nothing", "it takes numpy, scipy"),
        ("none.py:f", "there is no file none.py"),
        ("cc=no-such-cc", "not found on PATH"),
        ("cc=/bin/ls", "cc=/bin/ls"),
        (f"{'a' * 300}.py:f", "there is no file aaa"),
    ],
)
def test_what_is_no_peer_is_said_at_once(request_: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_against([f"numpy,{request_}"])


def test_requests_are_kept_once() -> None:
    assert parse_against(["numpy,cc=gcc", "numpy"]) == ("numpy", "cc=gcc")
    assert parse_against(["numpy,"]) == ("numpy",)
    with pytest.raises(UserError, match="it takes numpy"):
        parse_against([","])


def test_configurations_are_those_that_the_cpu_can_run() -> None:
    assert list(of_openblas(frozenset())) == [USUAL]
    wide = {"avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"}
    cores = [each.get("OPENBLAS_CORETYPE") for each in of_openblas(frozenset(wide))]
    assert cores == [None, "Haswell", "SkylakeX"]


@pytest.mark.normal
def test_of_several_configurations_the_fastest_competes(tmp_path: Path) -> None:
    if "avx2" not in cpu_identity()[1]:
        pytest.skip("this CPU runs one kind of OpenBLAS's kernels")
    path = tmp_path / "ways.py"
    path.write_text(
        "import os\n"
        "def run(x):\n"
        "    sum(range(20000 if os.environ['OPENBLAS_CORETYPE'] == 'Nehalem' else 10))\n"
    )
    ways = [{"OPENBLAS_CORETYPE": core} for core in ("Nehalem", "Haswell", "Haswell")]
    peer = Peer("ways", What("file", "run", str(path)), configurations=tuple(ways))
    with enter(peer, TERMS).contender as contender:
        assert any("Haswell" in each for each in contender.libraries)
    entered = enter(peer, TERMS)
    entered.contender.close()
    slow, fast = "OPENBLAS_CORETYPE=Nehalem", "OPENBLAS_CORETYPE=Haswell"
    assert entered.tried.keys() == {slow, fast}
    assert entered.tried[slow] > 5 * entered.tried[fast]
    assert "Haswell" in entered.ran


def test_arrays_are_equal_for_equal_seeds_and_restored() -> None:
    described = (
        Argument("n", control=3),
        Argument("x", dtype="float32", shape=(4, 3), strides=(5, 1), window=True, written=True),
        Argument("k", dtype="int8", shape=(4,), strides=(1,)),
        Argument("z", dtype="float64", shape=(2, 2), strides=(2, 1), fill=Fill(zeroed=True)),
    )
    first, second = make_arrays(described), make_arrays(described)
    for one, other in zip(first.arrays, second.arrays, strict=True):
        assert (one == other).all()
        assert one is not other
    x = first.arrays[0]
    assert x.strides == (20, 4)
    assert (first.arrays[2] == 0).all()
    x[...] = 7
    first.restore()
    assert (x == second.arrays[0]).all()
    assert [name for name, _ in first.outputs] == ["x"]
    assert Argument.from_json(described[1].to_json()) == described[1]


def test_a_call_that_fails_when_prepared_is_said(functions: Path) -> None:
    what = What("file", "crashing", str(functions))
    with pytest.raises(PeerError, match="TypeError"):
        Contender(what, TERMS)


@pytest.mark.normal
@pytest.mark.parametrize(("name", "matrix"), [("lu", "A"), ("right", "U")])
def test_a_matrix_that_is_divided_by_its_diagonal_has_a_heavy_one(name: str, matrix: str) -> None:
    given = load_subject(NESTS.with_name("solves.py"), name, {}, None)
    heavy = [each.name for each in arguments(given.ast, given.binding) if each.fill.diagonal]
    assert heavy == [matrix]
