"""Prints the keys of traces as JSON; a process of its own, for tests of identity.

Reads `[[kernel, trace], ...]` from standard input. With the argument `busy` it
does unrelated Exo work before and between, which shifts symbol numbers and addresses.
"""

from __future__ import annotations

import json
import sys

from exo.stdlib.scheduling import divide_loop

from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key, canonical_ast
from schedsearch.transforms.replay import Replayer
from transforms.helpers import kernels


def unrelated_work() -> None:
    procedure = kernels()["blur"]
    for factor in (2, 3, 4):
        divide_loop(procedure, "y", factor, ["a", "b"], tail="cut").c_code_str()


def main() -> None:
    busy = "busy" in sys.argv
    requests = json.load(sys.stdin)
    procedures = kernels()
    keys = {}
    for name, text in reversed(requests) if busy else requests:
        if busy and len(keys) % 8 == 0:
            unrelated_work()
        state = Replayer(procedures[name]).state(Trace.loads(text))
        code = generate_c(state.procedure).key
        keys[f"{name} {text}"] = [ast_key(state.ast), ast_key(canonical_ast(state.procedure)), code]
    json.dump(keys, sys.stdout)


if __name__ == "__main__":
    main()
