"""Remove every `pass`.

```
pass
s      ->   s
```
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, Op, Proposal

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    has_pass = any(isinstance(stmt, q.Pass) for stmt in q.walk(proc.body))
    if has_pass and not all(isinstance(stmt, q.Pass) for stmt in proc.body):
        yield None, {}


def ops(path: q.Path, args: Args) -> tuple[Op, ...]:
    return (Op("delete_pass"),)
