"""A real Jupyter kernel: a procedure of a cell is tuned, with live progress, and interrupted."""

from __future__ import annotations

import queue
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

pytestmark = pytest.mark.slow

DEFINE = """
from __future__ import annotations
from exo import proc
import schedsearch

N = 16

@proc
def cell(C: f32[N, N], A: f32[N, N], B: f32[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            for k in seq(0, N):
                C[i, j] += A[i, k] * B[k, j]
"""
TUNE = """
r = schedsearch.tune(cell, budget=300, executor="inline", transforms=["reorder", "split"])
r
"""
LOOK = "print(r.interrupted, len(r.history), r.store)\nschedsearch.open().best()"

OUTPUTS = {"display_data", "update_display_data", "execute_result", "stream"}

Output = tuple[str, dict[str, Any]]


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Runs code in a kernel; `watch` gets every output, and a function that interrupts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))

    def run(code: str, watch: Callable[..., None] = lambda *seen: None) -> list[Output]:
        sent, outputs, end = client.execute(code), [], time.monotonic() + 400
        while time.monotonic() < end:
            try:
                message = client.get_iopub_msg(timeout=5)
            except queue.Empty:
                continue
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != sent:
                continue
            if kind == "status" and content["execution_state"] == "idle":
                return outputs
            assert kind != "error", content
            if kind not in OUTPUTS:
                continue
            outputs.append((kind, content))
            watch(kind, content, manager.interrupt_kernel)
        raise TimeoutError(code)

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_cell_is_tuned_until_interrupted(execute: Callable[..., Any]) -> None:
    execute(DEFINE)
    interrupted = False

    def watch(kind: str, content: dict[str, Any], interrupt: Callable[[], None]) -> None:
        nonlocal interrupted
        text = content.get("data", {}).get("text/plain", "")
        if kind == "update_display_data" and re.search(r"[1-9] measured", text) and not interrupted:
            interrupted = True
            interrupt()

    outputs = execute(TUNE, watch)
    kinds = [kind for kind, _ in outputs if kind != "stream"]
    assert kinds[0] == "display_data"
    assert kinds[-1] == "execute_result"
    assert set(kinds[1:-1]) == {"update_display_data"}  # one output, updated in place
    shown = outputs[-1][1]["data"]
    assert "interrupted: " in shown["text/plain"]
    assert "<img" in shown["text/html"] or "No schedule faster" in shown["text/plain"]
    looked = execute(LOOK)
    assert looked[0][1]["text"].startswith("True ")
    assert looked[-1][1]["data"]["text/plain"].startswith("candidate ")
