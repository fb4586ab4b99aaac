"""A kernel with a cold loop and a hot nest, as C and as Exo's syntax tree."""

from __future__ import annotations

from schedsearch.core import ast as q
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC
from schedsearch.evaluate.arguments.binding import Binding

SIZES = Binding((("n", 4096),))
N = q.Var("n", 0)
X, Y, A = q.Var("x", 1), q.Var("y", 2), q.Var("a", 3)
II, J, K = q.Var("i", 4), q.Var("j", 5), q.Var("k", 6)
HEADER = (
    "#include <stdint.h>\n"
    "void two(void *ctxt, int_fast32_t n, const float *x, float *y, float *a);\n"
)
SOURCE = """
void two( void *ctxt, int_fast32_t n, const float* x, float* y, float* a ) {
for (int_fast32_t i4 = 0; i4 < 64; i4++) {
  a[i4] = x[i4];
}
for (int_fast32_t i5 = 0; i5 < 100; i5++) {
  for (int_fast32_t i6 = 0; i6 < n; i6++) {
    y[i6] += x[i6];
  }
}
}
"""


def at(var: q.Var) -> tuple[q.Affine, ...]:
    return (q.Affine(0, ((var, 1),)),)


def loop(var: q.Var, extent: q.Affine, *body: q.Stmt) -> q.For:
    return q.For(path=(), iter=var, lo=q.Affine(0), hi=extent, body=body, parallel=False)


def read(buf: q.Var, var: q.Var) -> q.Read:
    return q.Read(buf=buf, idx=at(var), type="f32")


TWO = q.Proc(
    name="two",
    args=(
        q.Arg(N, "size"),
        q.Arg(X, "f32", shape=(q.Affine(0, ((N, 1),)),)),
        q.Arg(Y, "f32", shape=(q.Affine(0, ((N, 1),)),)),
        q.Arg(A, "f32", shape=(q.Affine(64),)),
    ),
    asserts=(),
    body=(
        loop(II, q.Affine(64), q.Assign(path=(), buf=A, idx=at(II), rhs=read(X, II), type="f32")),
        loop(
            J,
            q.Affine(100),
            loop(
                K,
                q.Affine(0, ((N, 1),)),
                q.Reduce(path=(), buf=Y, idx=at(K), rhs=read(X, K), type="f32"),
            ),
        ),
    ),
)
"""A cold loop, then a hot nest."""


def c(source: str = SOURCE, header: str = HEADER, name: str = "two") -> GeneratedC:
    return GeneratedC(name, header, source, digest(header + source))
