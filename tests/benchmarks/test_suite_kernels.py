"""Every kernel of the suite: it loads, has its peers, and they compute the same."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from benchmarks.suite import peers
from benchmarks.suite.case import PYTHON_PEERS, Case
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.compilers import with_restrict
from benchmarks.suite.contenders import Contender, native, python_peer
from benchmarks.suite.data import Arrays, make_arrays
from benchmarks.suite.measure import differences

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_names_are_distinct() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("library", PYTHON_PEERS)
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


def compiled(case: Case) -> tuple[Contender, Arrays]:
    """The procedure as written (with `restrict`, which is faster), bound to its arrays."""
    subject = case.load()
    code = with_restrict(subject.code)
    assert "restrict" in code.source
    arrays = make_arrays(case, subject)
    written = native("as written", subject.builder, code, arrays)
    assert isinstance(written, Contender)
    return written, arrays


@every_case
def test_peers_compute_what_the_procedure_does(case: Case) -> None:
    written, arrays = compiled(case)
    installed = [name for name in case.python_peers if importlib.util.find_spec(name)]
    entered = [Contender(n, python_peer(n, case.form)(*arrays.arrays)) for n in installed]
    assert "numpy" in installed
    assert differences(case, arrays, [written, *entered]) == {}
