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

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2
expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp
lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow remainder remquo rint round scalb scalbln scalbn significand signbit sin sincos
sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""

C_WORDS = frozenset(_C.split())
"""C11 as gcc and clang have it, and what the headers of generated C define."""

CPP_WORDS = frozenset(_CPP.split())
"""C++20, without those of C."""

MATH_H = frozenset(f"{name}{kind}" for name in _MATH.split() for kind in ("", "f", "l"))
"""Functions of `math.h`: no other function can have their names where it is included."""
