"""Every kernel of the suite: it loads, has its peers, and they compute the same."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from benchmarks.suite import peers
from benchmarks.suite.case import PYTHON_PEERS, Case
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.contenders import native, python_peer
from benchmarks.suite.measure import results, terms_of
from schedsearch.peers.against import as_experts_compile
from schedsearch.peers.agreement import differences
from schedsearch.peers.arrays import make_arrays
from schedsearch.peers.contender import Contender
from schedsearch.peers.trial import Peer

pytestmark = pytest.mark.normal

# PolyBench's have none in Python; `test_polybench.py` and `test_blas.py` have their references.
with_peers = [case for case in CASES if case.python_peers]


def test_names_are_distinct() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("library", [*PYTHON_PEERS, "scipy", "tvm"])
def test_every_kernel_has_its_peer(library: str) -> None:
    """Read, not imported: not every library is installed."""
    text = Path(peers.__path__[0], f"with_{library}.py").read_text()
    defined = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    wanted = {case.form for case in CASES if library in case.python_peers}
    assert wanted <= defined


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case.name, marks=[pytest.mark.slow] * (case.group in ("blas", "layers"))
        )
        for case in with_peers
        if case.group != "tvm" and (case.group != "sizes" or case.name.endswith("_37"))
    ],
)
def test_peers_compute_what_the_procedure_does(case: Case) -> None:
    subject = case.load()
    # With `restrict`, which is faster.
    written = native("as written", subject.builder, as_experts_compile(subject.code))
    assert isinstance(written, Peer)
    terms = terms_of(case, subject, 1)
    installed = [name for name in case.python_peers if importlib.util.find_spec(name)]
    if not installed:
        pytest.skip(f"none of {', '.join(case.python_peers)} is installed")
    with Contender(written.what, terms) as reference:
        expected = results(case, reference)
    for name in installed:
        with Contender(python_peer(name, case.form, frozenset()).what, terms) as peer:
            assert differences(expected, results(case, peer)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.group == "tvm"], ids=lambda case: case.name
)
def test_tvm_computes_what_the_procedure_does(case: Case) -> None:
    """As compiled without a schedule: tuning takes minutes."""
    pytest.importorskip("tvm")
    from benchmarks.suite.peers import with_tvm

    subject = case.load()
    written = native("as written", subject.builder, subject.code)
    assert isinstance(written, Peer)
    terms = terms_of(case, subject, 1)
    arrays = make_arrays(terms.arguments, terms.seed)
    call = with_tvm.call_of(with_tvm.compiled(with_tvm.FORMS[case.form]()), *arrays.arrays)
    with Contender(written.what, terms) as reference:
        expected = results(case, reference)
    assert differences(expected, dict(zip(expected, [call()], strict=True))) is None
