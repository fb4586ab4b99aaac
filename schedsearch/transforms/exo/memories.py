"""Where a buffer can be, as Exo memories.

Those that Exo does not have are defined by Python text, because an exported
schedule has to carry it along.
"""

from __future__ import annotations

from functools import cache
from typing import Any

MEMORIES = {
    "DRAM": "from exo import DRAM",
    "DRAM_STACK_ALIGNED": '''
from exo.libs.memories import DRAM_STACK


class DRAM_STACK_ALIGNED(DRAM_STACK):
    """The stack, at the start of a cache line."""

    @classmethod
    def alloc(cls, new_name, prim_type, shape, srcinfo):
        return "_Alignas(64) " + super().alloc(new_name, prim_type, shape, srcinfo)
''',
    "DRAM_ALIGNED": '''
from exo import DRAM


class DRAM_ALIGNED(DRAM):
    """The heap, at the start of a cache line; what fills half a huge page or more gets
    whole huge pages, if the system has them (Linux, `madvise`)."""

    @classmethod
    def global_(cls):
        return """#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static void *aligned_heap(size_t bytes) {
  const size_t huge = (size_t)2 << 20, unit = bytes >= huge / 2 ? huge : 64;
  const size_t whole = (bytes + unit - 1) / unit * unit;
  void *memory = aligned_alloc(unit, whole);
  if (!memory) abort();
#ifdef MADV_HUGEPAGE
  if (unit == huge) madvise(memory, whole, MADV_HUGEPAGE);
#endif
  return memory;
}
"""

    @classmethod
    def alloc(cls, new_name, prim_type, shape, srcinfo):
        if not shape:
            return f"{prim_type} {new_name};"
        size = " * ".join(["sizeof(*" + new_name + ")", *shape])
        return f"{prim_type} *{new_name} = ({prim_type} *)aligned_heap({size});"
''',
}
"""Python text that makes each memory known, by its name."""


@cache
def memory(name: str) -> Any:
    """The Exo memory of this name."""
    namespace: dict[str, Any] = {}
    exec(MEMORIES[name], namespace)
    return namespace[name]
