"""Record an application, tune for two minutes, and run it again: beside NumPy, and numba if it is
installed.

    python examples/applications/run.py mlp jacobi kmeans --budget 2m

Each application has its hot loops as Exo procedures. It is measured in a process of its own on one
core, without variables that change NumPy's library: all contenders in every round, in random order.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

HERE = Path(__file__).parent
APPLICATIONS = ("mlp", "jacobi", "kmeans")
LIBRARIES = ("OPENBLAS_", "MKL_", "OMP_", "GOMP_", "KMP_", "NUMBA_")
ROUNDS, ROUND_S = 15, 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("applications", nargs="*", default=APPLICATIONS, help="mlp jacobi kmeans")
    parser.add_argument("--budget", default="2m", help="time to tune each (default: 2m)")
    parser.add_argument("--small", action="store_true", help="with arrays that take no time")
    parser.add_argument("--keep", type=Path, help="directory for recordings and schedules")
    parser.add_argument("--json", type=Path, help="also write all times here")
    asked = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        for name in asked.applications:
            found[name] = before_and_after(name, folder / name, asked.budget, asked.small)
            print(said(name, *found[name]), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


def before_and_after(name: str, folder: Path, budget: str, small: bool) -> tuple[Any, Any]:
    """What is measured as written, while it is recorded, and with what was found."""
    options = ["--small"] if small else []
    tune = ["--recorded", folder, "--budget", budget, "--specialize"]
    store = folder / "schedsearch.sqlite"
    before = measured(name, options, SCHEDSEARCH_RECORD=str(folder))
    command = [sys.executable, "-m", "schedsearch.cli.main", "tune", *map(str, tune)]
    subprocess.run(command, check=True)
    return before, measured(name, options, SCHEDSEARCH_STORE=str(store))


def measured(name: str, options: list[str], **variables: str) -> Any:
    kept = {key: v for key, v in os.environ.items() if not key.startswith(LIBRARIES)}
    command = [sys.executable, __file__, "--measure", name, *options]
    done = subprocess.run(command, env={**kept, **variables}, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def measure(name: str, small: bool) -> None:
    """Print seconds of each contender in each round, and how far their results differ from
    NumPy's."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before libraries start threads
    application = import_module(name)
    contenders = {"numpy": application.with_numpy, "kernels": application.with_kernels}
    try:
        contenders["numba"] = application.with_numba()
    except ImportError:
        pass
    data = application.make(small)
    expected = application.with_numpy(**data)
    apart, repeats = {}, {}
    for each, compute in contenders.items():
        apart[each] = float(abs(compute(**data) - expected).max() / abs(expected).max())
        begin = perf_counter()
        compute(**data)
        repeats[each] = max(1, round(ROUND_S / (perf_counter() - begin))) if not small else 1
    seconds: dict[str, list[float]] = {each: [] for each in contenders}
    order = list(contenders)
    for _ in range(2 if small else ROUNDS):
        random.shuffle(order)
        for each in order:
            begin = perf_counter()
            for _ in range(repeats[each]):
                contenders[each](**data)
            seconds[each].append((perf_counter() - begin) / repeats[each])
    print(json.dumps({"seconds": seconds, "apart": apart, "bound": application.BOUND}))


def said(name: str, before: Any, after: Any) -> str:
    own = after["seconds"]["kernels"]
    lines = [f"{name}: kernels as written {ms(before['seconds']['kernels'])}, tuned {ms(own)}"]
    for each, seconds in after["seconds"].items():
        if each != "kernels":
            ratio = median(a / b for a, b in zip(seconds, own, strict=True))
            lines.append(f"  {each} {ms(seconds)}: tuned kernels are {ratio:.2f}x as fast")
    apart, bound = after["apart"]["kernels"], after["bound"]
    verdict = "within" if apart <= bound else "NOT WITHIN"
    lines.append(f"  results differ from NumPy's by {apart:.1e}, {verdict} the bound {bound:.0e}")
    return "\n".join(lines)


def ms(seconds: list[float]) -> str:
    return f"{1e3 * median(seconds):.3g} ms"


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], "--small" in sys.argv)
    else:
        main()
