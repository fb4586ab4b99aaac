"""Whether the compiled unscheduled procedure computes what the procedure says.

Candidates are compared with it, so that a miscompile of it would make every right
candidate wrong, and wrong ones right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q
from schedsearch.core.errors import BaselineError, DisagreementError
from schedsearch.evaluate import reference
from schedsearch.evaluate.arithmetic import STORED
from schedsearch.evaluate.harness import Buffer, Case, Field
from schedsearch.evaluate.inputs import FIELD_TYPES, arguments, configuration, logical

# Seconds that the reference may take for all cases, as it estimates them.
_LIMIT_S = 10.0
# Arrays of a case, of which there are several copies meanwhile, some in double precision.
_CASE_BYTES = 512 << 20


@dataclass(frozen=True)
class Agreement:
    """`cases` in which the compiled procedure agrees with the reference, and those that were
    not compared, with the reason."""

    cases: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        total = len(self.cases) + len(self.skipped)
        text = f"agrees with its evaluation by NumPy in {len(self.cases)} of {total} cases"
        reasons = dict.fromkeys(reason for _, reason in self.skipped)
        return f"{text} ({'; '.join(reasons)})" if reasons else text


NOT_COMPARED = Agreement(())


def compare(proc: q.Proc, cases: Sequence[Case], fields: tuple[Field, ...]) -> Agreement:
    """Compare the recorded outputs of `cases` with the reference's, within the oracle's
    tolerances. Raises BaselineError for the first difference."""
    agreed: list[str] = []
    skipped: list[tuple[str, str]] = []
    left_s = _LIMIT_S
    for case in cases:
        where = str(case)
        if case.bytes > _CASE_BYTES:
            skipped.append((where, f"arrays of more than {_CASE_BYTES >> 20} MiB are left out"))
            continue
        args, config = arguments(case), configuration(case, fields)
        try:
            left_s -= reference.run(proc, args, config, limit_s=left_s)
        except NotImplementedError as error:
            skipped.append((where, f"it does not know {error}"))
        except reference.Unaffordable:
            skipped.append((where, f"with the others it would take more than {_LIMIT_S:g} s"))
        except reference.OutOfBounds as error:
            raise BaselineError(
                f"{proc.name}, unscheduled, is wrong: {error}, with {where}"
            ) from error
        else:
            difference = _difference(case, fields, args, config)
            if difference is not None:
                raise DisagreementError(
                    f"the compiled unscheduled procedure {proc.name} disagrees with the "
                    f"reference (NumPy): {difference}, with {where}.\nExo's code generator or "
                    "the C compiler made something else of it. Nothing can be verified "
                    "against it: write the procedure differently, or try another compiler "
                    "(--cc)."
                )
            agreed.append(where)
    return Agreement(tuple(agreed), tuple(skipped))


def _difference(
    case: Case, fields: tuple[Field, ...], wanted: Sequence[Any], config: reference.Config
) -> str | None:
    written = {name for name, data in case.oracle.data if data.written}
    with case.expected.open("rb") as file:
        for item, values in zip(case.layout, wanted, strict=True):
            if isinstance(item, Buffer) and item.name in written:
                recorded = np.fromfile(file, STORED[item.type], item.elements)
                message = _array_difference(case, item, logical(recorded, item), values)
                if message is not None:
                    return message
        return _field_difference(file.read(), fields, config)


def _array_difference(
    case: Case, buffer: Buffer, found: NDArray[Any], wanted: NDArray[Any]
) -> str | None:
    data = dict(case.oracle.data)[buffer.name]
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    scale = np.max(np.abs(one), initial=0.0, where=np.isfinite(one))
    tolerance = data.absolute + data.relative * scale
    with np.errstate(invalid="ignore"):
        same = (one == other) | (np.abs(one - other) <= tolerance)
    same |= ~np.isfinite(one) & ~np.isfinite(other)  # with -ffast-math it is left open which
    if same.all():
        return None
    at = tuple(int(n) for n in np.argwhere(~same)[0])
    limit = f" (tolerance {tolerance:.3g})" if tolerance else ""
    return (
        f"{buffer.name}{list(at) or ''} is {one[at]:.9g}, the reference says "
        f"{other[at]:.9g}{limit}; {np.count_nonzero(~same)} elements differ"
    )


def _field_difference(
    context: bytes, fields: tuple[Field, ...], config: reference.Config
) -> str | None:
    """`context` is the struct that the kernel's header declares: a struct per configuration."""
    if not fields:
        return None
    structs: dict[str, list[tuple[str, np.dtype[Any]]]] = {}
    for field in fields:
        name, own = field.name.split(".")
        structs.setdefault(name, []).append((own, FIELD_TYPES[field.type]))
    layout = np.dtype(
        [(name, np.dtype(own, align=True)) for name, own in structs.items()], align=True
    )
    recorded = np.frombuffer(context, layout)[0]
    for (name, own), value in config.items():
        if recorded[name][own] != value:
            return f"{name}.{own} is {recorded[name][own]}, the reference says {value}"
    return None
