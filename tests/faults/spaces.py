"""Random spaces for searches that are disturbed. What becomes of a schedule depends on the
state that it leads to alone, and failures lead nowhere, so that a search which exhausts its
space finds the same states whatever the order."""

from __future__ import annotations

import random

from search.worlds import ROOT, Kernel, World

from schedsearch.core.records import Failure, Outcome

FAILURES = (
    Kernel(rejected=Failure(Outcome.ILLEGAL, "the loop carries a dependence")),
    Kernel(build=Failure(Outcome.COMPILE_ERROR, "error: expected ';'")),
    Kernel(build=Failure(Outcome.CODEGEN_ERROR, "cannot read AVX-512 memory")),
    Kernel(Failure(Outcome.INCORRECT, "C[0, 0] is 1, should be 2")),
    Kernel(Failure(Outcome.CRASH, "segmentation fault")),
    Kernel(Failure(Outcome.TIMEOUT, "took more than 3 s")),
)


def space(seed: int, states: int) -> World:
    """States that one, two or more ways lead to (duplicates by AST), some with the machine
    code of another, some that fail."""
    rng = random.Random(seed)
    names = [ROOT, *(f"{rng.choice('abc')}{number}" for number in range(1, states))]
    failing = {name for name in names[2:] if rng.random() < 0.2}
    inner = [name for name in names if name not in failing]
    children: dict[str, list[str]] = {name: [] for name in inner}
    for number, name in enumerate(names[1:], start=1):
        before = [other for other in names[:number] if other in children]
        for parent in {rng.choice(before) for _ in range(rng.randint(1, 3))}:
            children[parent].append(name)
    machine_code: dict[str, float] = {}
    kernels = {name: rng.choice(FAILURES) for name in sorted(failing)}
    for name in inner[1:]:
        code = rng.choice([f"b-{name}", f"b-{name}", *machine_code])
        speedup = machine_code.setdefault(code, round(rng.uniform(0.3, 6.0), 6))
        kernels[name] = Kernel(speedup, binary=code)
    return World(children, kernels)
