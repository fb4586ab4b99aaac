"""What own transforms, strategies, instructions and targets are made with.

`register` makes a `Transform` known. Its `propose` asks questions of the frozen mirror of a
procedure (`ast`; `mirror`, `walkers`, `accesses`, `certain`), its `steps` name operators of Exo:
each an `Op` on an `At` and others, by `Cursors` where statements move. A `Strategy` is told of
each `Node`. Files of instructions import the vector registers, such as `VEC_F32X16`: `VEC_` with
the type and the number of its elements. A `Target` is the machine with its compilers.
"""

from typing import Any

from schedsearch.core.lazy import lazily

_OPS = "schedsearch.transforms.operators.ops"
_PLACES = {
    "After": f"{_OPS}:After",
    "ArgValue": "schedsearch.core.trace:ArgValue",
    "Args": f"{_OPS}:Args",
    "At": f"{_OPS}:At",
    "Condition": f"{_OPS}:Condition",
    "Cursors": "schedsearch.transforms.operators.cursors:Cursors",
    "Index": f"{_OPS}:Index",
    "Instruction": f"{_OPS}:Instruction",
    "Memory": f"{_OPS}:Memory",
    "Node": "schedsearch.search.strategies.protocol:Node",
    "Op": f"{_OPS}:Op",
    "Pair": f"{_OPS}:Pair",
    "Part": f"{_OPS}:Part",
    "Parts": f"{_OPS}:Parts",
    "Proposal": f"{_OPS}:Proposal",
    "Rewrite": "schedsearch.core.trace:Rewrite",
    "Span": f"{_OPS}:Span",
    "Steps": f"{_OPS}:Steps",
    "Strategy": "schedsearch.search.strategies.protocol:Strategy",
    "Target": "schedsearch.core.records:Target",
    "Trace": "schedsearch.core.trace:Trace",
    "Transform": "schedsearch.transforms.registry:Transform",
    "Vector": f"{_OPS}:Vector",
    "accesses": "schedsearch.analysis.accesses",
    "ast": "schedsearch.core.ast",
    "certain": "schedsearch.analysis.certain",
    "make_strategy": "schedsearch.search.strategies.make:make_strategy",
    "mirror": "schedsearch.transforms.exo.mirror:mirror",
    "register": "schedsearch.transforms.own:register",
    "strategy_name": "schedsearch.search.strategies.make:strategy_name",
    "walkers": "schedsearch.analysis.walkers",
}

__all__ = [*_PLACES]

_find, __dir__ = lazily(globals(), _PLACES)


def __getattr__(name: str) -> Any:
    """Registers have too many names for a list."""
    if name.startswith("VEC_"):
        from schedsearch.transforms import registers

        return getattr(registers, name)
    return _find(name)
