"""`python -m benchmarks.frontends`: what front ends take of others' programs, unchanged."""

from __future__ import annotations

import typer

from benchmarks.command import run_app
from benchmarks.frontends.einsum import einsum
from benchmarks.frontends.npbench import npbench
from benchmarks.frontends.polybench import polybench
from benchmarks.frontends.polybench_speed import polybench_speed

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
app.command()(polybench)
app.command()(polybench_speed)
app.command()(npbench)
app.command()(einsum)


@app.callback()
def frontends() -> None:
    """Kernels from C, NumPy and equations, against what they replace."""


if __name__ == "__main__":
    run_app(app)
