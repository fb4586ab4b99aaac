"""The same trace has the same keys anywhere; names do not matter, real differences do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.text import canonical_text
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key, canonical_ast, proc_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from transforms.helpers import CONTROLS, kernels, walk

pytestmark = pytest.mark.normal

SLOW = {"gemm", "windows"}
"""Exo analyses sizes that occur in asserts for a second per generated file."""


def replay_elsewhere(requests: list[list[str]], seed: str, *mode: str) -> Any:
    worker = Path(__file__).parent / "replay_worker.py"
    found = subprocess.run(
        [sys.executable, worker, *mode],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        input=json.dumps(requests),
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(found.stdout)


@pytest.mark.slow
def test_keys_do_not_depend_on_the_process() -> None:
    requests, expected = [], {}
    for name in sorted(set(CONTROLS) - SLOW):
        for trace, state in list(walk(kernels()[name], 5, 5))[-2:]:
            requests.append([name, trace.dumps()])
            canonical = ast_key(canonical_ast(state.procedure))
            code = generate_c(state.procedure).key
            expected[f"{name} {trace.dumps()}"] = [ast_key(state.ast), canonical, code]
    assert len(requests) > 20
    assert replay_elsewhere(requests, "1") == expected
    assert replay_elsewhere(requests, "4242", "busy") == expected


@pytest.mark.parametrize("name", ["matmul", "conv", "divisions", "branches", "chains"])
def test_equal_ast_keys_have_equal_code_keys(name: str) -> None:
    """Otherwise a duplicate by `ast_key` would be dropped that is none."""
    codes: dict[str, str] = {}
    for seed in range(5):
        for _, state in walk(kernels()[name], seed, 3):
            code = generate_c(state.procedure).key
            assert codes.setdefault(ast_key(state.ast), code) == code


TEXT = """
from __future__ import annotations
from exo import proc
from exo.libs.memories import DRAM_STATIC

@proc
def f(n: size, x: f32[n, 8], s: f32):
    for i in seq(0, n):
        t: f32[8]
        for j in seq(0, 8):
            t[j] = x[i, j] + s
            x[i, j] = t[j] * 2.0
"""


def load(folder: Path, *change: str) -> Any:
    text = TEXT.replace(*change) if change else TEXT
    assert not change or text != TEXT
    path = folder / f"variant_{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return load_source(path).procs["f"]


def test_reading_a_file_twice_gives_the_same_keys(tmp_path: Path) -> None:
    one, two = load(tmp_path), load(tmp_path)
    assert ast_key(mirror(one)) == ast_key(mirror(two))
    assert proc_key(mirror(one)) == proc_key(mirror(two))
    assert generate_c(one).key == generate_c(two).key


def test_names_of_loops_and_temporaries_do_not_matter(tmp_path: Path) -> None:
    original = load(tmp_path)
    path = tmp_path / "renamed.py"
    renamed = TEXT.replace("for i", "for row").replace("[i", "[row").replace("t: f32", "held: f32")
    path.write_text(renamed.replace("t[j]", "held[j]"))
    other = load_source(path).procs["f"]
    assert ast_key(mirror(other)) == ast_key(mirror(original))
    assert generate_c(other).key == generate_c(original).key
    assert proc_key(mirror(other)) != proc_key(mirror(original)), "traces name loops"


@pytest.mark.parametrize(
    "change",
    [
        ("* 2.0", "* 3.0"),
        ("seq(0, 8)", "seq(1, 8)"),
        ("seq(0, n)", "par(0, n)"),
        ("t: f32[8]", "t: f32[9]"),
        ("t: f32[8]", "t: f64[8]"),
        ("t: f32[8]", "t: f32[8] @ DRAM_STATIC"),
        ("x[i, j] = t", "x[i, j] += t"),
        ("x[i, j] + s", "s + x[i, j]"),
        ("f32", "f64"),
    ],
)
def test_real_differences_matter(tmp_path: Path, change: tuple[str, str]) -> None:
    one, two = load(tmp_path), load(tmp_path, *change)
    assert ast_key(mirror(one)) != ast_key(mirror(two))
    assert generate_c(one).key != generate_c(two).key


def test_callees_matter_not_only_their_names(tmp_path: Path) -> None:
    texts = [TEXT + "\n@proc\ndef g(x: f32[4, 8], s: f32):\n    f(4, x, s)\n"]
    texts.append(texts[0].replace("* 2.0", "* 3.0"))
    found = []
    for number, text in enumerate(texts):
        path = tmp_path / f"calls_{number}.py"
        path.write_text(text)
        found.append(canonical_text(mirror(load_source(path).procs["g"])))
    assert found[0] != found[1]
