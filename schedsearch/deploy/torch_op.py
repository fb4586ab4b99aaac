"""Kernels as operators of PyTorch.

An operator takes what the kernel takes: tensors and numbers in the procedure's order, and by name
the control values that no shape tells. It writes into its outputs, which the schema declares, and
returns nothing. It has no gradient.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.deploy.caller import untold
from schedsearch.deploy.variants import Written
from schedsearch.transforms.contract import Parameter

_NAME = re.compile(r"(?!(aten|prims?)::)[A-Za-z_]\w*::[A-Za-z_]\w*", re.ASCII)
"""PyTorch would take the namespaces of its own operators, and leave other names half registered."""

_CONTROLS = {"bool": "bool"}
"""Others are integers, which may be symbolic where PyTorch compiles."""


def register(name: str, call: Callable[..., None], written: Written) -> Any:
    """The operator `name`, which `call`s. Raises UserError if PyTorch is missing, or does not take
    the name."""
    try:
        import torch
        from torch.autograd.forward_ad import unpack_dual
    except ImportError as error:
        raise UserError(
            f"operators of PyTorch need PyTorch ({error}): pip install 'schedsearch[torch]'"
        ) from error
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        what = "letters, digits and _ as in 'mylib::gemm', and no namespace of PyTorch's own"
        raise UserError(f"{name!r} is no name for an operator: give {what}")
    data = [each for each in written.parameters if each.arg.type not in q.CONTROL_TYPES]
    outputs = [number for number, each in enumerate(data) if each.written]
    try:
        torch.library.define(name, schema(written))
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"PyTorch registers no operator {name!r}: {reason}") from error
    operator = getattr(getattr(torch.ops, name.split("::")[0]), name.split("::")[1]).default

    def run(*given: Any, **controls: Any) -> None:
        # Below `differentiate`, what requires grad is taken without it.
        call(
            *(v.detach() if torch.is_tensor(v) and v.requires_grad else v for v in given),
            **controls,
        )
        torch.autograd.graph.increment_version(
            [given[n] for n in outputs if not given[n].is_inference()]
        )

    def wants_gradient(tensor: Any) -> bool:
        """In reverse or, by a tangent, in forward mode."""
        return tensor.requires_grad or unpack_dual(tensor).tangent is not None

    def pretend(*given: Any, **controls: Any) -> None:
        """Of tensors without data: nothing is made."""

    def differentiate(*given: Any, **controls: Any) -> None:
        if torch.is_grad_enabled():
            for each, value in zip(data, given, strict=True):
                if torch.is_tensor(value) and wants_gradient(value):
                    raise RuntimeError(
                        f"{name}, argument {each.arg.var.name}: wanted a tensor that does not "
                        "require grad, as this operator has no gradient; call it under "
                        "torch.no_grad(), or detach() the tensor"
                    )
        with torch._C._AutoDispatchBelowAutograd():
            operator(*given, **controls)

    torch.library.impl(name, "CPU")(run)
    torch.library.impl(name, "Autograd")(differentiate)
    torch.library.register_fake(name)(pretend)
    return operator


def schema(written: Written) -> str:
    """`(Tensor(a0!) y, Tensor x, float a, *, SymInt k) -> ()`"""
    given = [p for p in written.parameters if p.arg.type not in q.CONTROL_TYPES]
    parts = [_declared(number, each) for number, each in enumerate(given)]
    controls = [f"{_CONTROLS.get(a.type, 'SymInt')} {a.var.name}" for a in untold(written.proc)]
    return f"({', '.join([*parts, *(['*', *controls] if controls else [])])}) -> ()"


def _declared(number: int, given: Parameter) -> str:
    arg = given.arg
    if arg.shape is None and not given.written:
        kind = "float" if ELEMENT_TYPES[arg.type].numpy.startswith("float") else "int"
    else:
        kind = f"Tensor(a{number}!)" if given.written else "Tensor"
    return f"{kind} {arg.var.name}"
