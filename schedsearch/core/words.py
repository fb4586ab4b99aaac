"""Words that languages keep for themselves."""

from __future__ import annotations

_C = """
auto bool break case char const continue default do double else enum extern false float for goto
if inline int long register restrict return short signed sizeof static struct switch true typedef
union unsigned void volatile while asm typeof
"""
_CPP = """
alignas alignof and and_eq bitand bitor catch class compl concept const_cast consteval constexpr
constinit co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public
reinterpret_cast requires static_assert static_cast template this thread_local throw try typeid
typename using virtual wchar_t xor xor_eq
"""

C_WORDS = frozenset(_C.split())
"""C11 as gcc and clang have it, and what the headers of generated C define."""

CPP_WORDS = frozenset(_CPP.split())
"""C++20, without those of C."""
