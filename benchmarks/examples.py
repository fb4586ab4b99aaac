"""What `schedsearch run` makes of every example, from a cold store.

    python benchmarks/examples.py --budget 60
    python benchmarks/examples.py --only matmul --transforms reorder,split,unroll,fuse,simplify

One line per example: the baseline's time, the confirmed speed-up with its
interval, when 90 % of it was reached, how many candidates were measured.
Run it on a quiet machine; searches run one after the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", default="60")
    parser.add_argument("--transforms")
    parser.add_argument("--only", help="name of one example")
    parser.add_argument("--json", type=Path, help="also write the full results here")
    options = parser.parse_args()

    results = []
    print(f"{'example':<14}{'baseline':>12}  {'speed-up':<24}{'90 % after':>11}{'measured':>10}")
    for file in sorted(EXAMPLES.glob("*.py")):
        if options.only in (None, file.stem):
            result = tune(file, options.budget, options.transforms)
            results.append(result)
            print(line(file.stem, result), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


def tune(file: Path, budget: str, transforms: str | None) -> dict[str, Any]:
    """Run one search in a scratch directory; returns its JSON result."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "schedsearch", "run", str(file), "--json"]
        command += ["--budget", budget, "--store", f"{scratch}/store.sqlite", "--out", scratch]
        command += ["--transforms", transforms] if transforms else []
        finished = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def line(name: str, result: dict[str, Any]) -> str:
    baseline = f"{result['baseline_ns'] / 1e6:.3f} ms"
    if result["best"] is None:
        return f"{name:<14}{baseline:>12}  {'none faster':<24}{'':>11}{result['measured']:>10}"
    speedup = result["best"]["speedup"]
    text = f"{speedup['value']:.2f}x [{speedup['low']:.2f}, {speedup['high']:.2f}]"
    reached = next((t for t, value in result["curve"] if value >= 0.9 * speedup["value"]), None)
    after = f"{reached:.0f} s" if reached is not None else ""
    return f"{name:<14}{baseline:>12}  {text:<24}{after:>11}{result['measured']:>10}"


if __name__ == "__main__":
    main()
