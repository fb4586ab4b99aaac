"""Where callers' arrays begin.

A large array is `align` bytes past the start of a page: there glibc has what `malloc` returns
(16), and what `aligned_alloc` does for any other alignment. It is aligned to that, and to no more.
"""

from __future__ import annotations

from schedsearch.core.errors import UserError

ALLOCATED = 16
"""Alignment of the memory that `malloc` returns, and of NumPy's arrays."""

LINE = 64
"""A cache line, and the longest vector of x86-64: what callers align to if they do."""

UNKNOWN = 0
"""Versions before there was a choice: multiples of 256 bytes, large arrays in huge pages."""

LEAST, MOST = 16, 4096


def is_alignment(align: int) -> bool:
    return LEAST <= align <= MOST and align & (align - 1) == 0


def check_alignment(align: int) -> None:
    """Raises UserError for a number that a user cannot ask for."""
    if not is_alignment(align):
        raise UserError(
            f"--align {align}: give a power of two from {LEAST} (what malloc returns) to {MOST}"
        )


def other(align: int) -> int:
    """The other alignment to time a kernel with: its callers may align to lines, or may not."""
    return LINE if align < LINE else ALLOCATED


def arrays(align: int) -> str:
    """`arrays aligned to 16 bytes`"""
    if align == UNKNOWN:
        return "arrays aligned to 256 bytes, in huge pages"
    return f"arrays aligned to {align} bytes"
