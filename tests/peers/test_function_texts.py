"""Functions of front ends in the texts for NumPy, PyTorch and numba."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluate.test_functions import TRUE
from frontends.functions_module import HEAD, of_type, procedure_text

from schedsearch.core.functions import FUNCTIONS
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.frontends.functions import module_text
from schedsearch.peers.array_text import NUMPY, TORCH, array_text
from schedsearch.peers.arraywise import NotArraywise, arraywise
from schedsearch.peers.loops_text import loops_text
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

pytestmark = pytest.mark.normal

N = 50
LIBRARIES = {"numpy": NUMPY, "torch": TORCH}
MISSING = {"numpy": ("erf", "sdiv"), "torch": ("sdiv",)}


def run(text: str, arrays: list[Any]) -> None:
    space: dict[str, Any] = {}
    exec(text, space)
    space["prepare"](*arrays)()


@pytest.mark.parametrize("form", ["numpy", "torch", "loops"])
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_texts_compute_the_same(form: str, kind: str, tmp_path: Path) -> None:
    if form == "torch":
        pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind]
    spread = 1 if kind == "i32" else 0.5  # and equal ones
    values = [(rng.integers(1, 9, N) * spread).astype(dtype) for _ in "abcd"]
    for name in of_type(kind):
        file = tmp_path / f"{name}.py"
        file.write_text(HEAD + module_text([name]) + procedure_text(kind, [name]))
        proc = mirror(load_source(file).procs[f"kernel_{kind}"])
        binding = bind(proc, {"n": N})
        if form == "loops":
            text = loops_text(proc, binding, compiled=False)
        elif name in MISSING[form]:
            with pytest.raises(NotArraywise, match=f"the library has no {name}"):
                array_text(arraywise(proc, binding), LIBRARIES[form])
            continue
        else:
            text = array_text(arraywise(proc, binding), LIBRARIES[form])
        out = np.zeros(N, dtype)
        run(text, [*values, out])
        wanted = TRUE[name](*values[: FUNCTIONS[name].arity]).astype(dtype)
        np.testing.assert_allclose(out, wanted, rtol=1e-6 if kind == "f32" else 1e-13, err_msg=text)


def test_numba_compiles_all(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    names = of_type("f32")
    file = tmp_path / "all.py"
    file.write_text(HEAD + module_text(names) + procedure_text("f32", names))
    proc = mirror(load_source(file).procs["kernel_f32"])
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.5, 4, N).astype(np.float32) for _ in "abcd"]
    outs = [np.zeros(N, np.float32) for _ in names]
    run(loops_text(proc, bind(proc, {"n": N})), [*values, *outs])
    for name, out in zip(names, outs, strict=True):
        wanted = TRUE[name](*values[: FUNCTIONS[name].arity])
        np.testing.assert_allclose(out, wanted, rtol=1e-5, err_msg=name)
