/* Arithmetic on sets of admissible results, for the code that enclosure.py generates.
 *
 * A value stands for every result that an admissible evaluation may have: those within
 * `radius` of `value`, which is computed in double precision. `size` is the sum of the
 * magnitudes of the terms that it is made of: roundings are bounded relative to that,
 * because terms may cancel, and because an evaluation may add them in another order.
 *
 * A sum of n terms keeps its terms apart from its roundings, so that it is bounded for
 * every order: probabilistic rounding analysis (Higham and Mary, "A new approach to
 * probabilistic rounding error analysis", SISC 41(5), 2019) gives
 *     |computed - true| <= min(n, 8 sqrt(n)) u sum |terms|
 * with probability 1 - 2 n exp(-8^2 / 2). Where a sum adds the same term again and again, or
 * multiples of itself, roundings do not cancel, and the factor is n. -ffast-math makes a product
 * of a sum, `x + v * x` -> `x * (1 + v)`: one rounding more. Integers that the type represents are
 * not rounded.
 */
#pragma once
#include "harness.h"

#include <math.h>
#include <stdlib.h>

struct enclosed {
    double value, radius, size;
};

/* Of a floating-point type: unit roundoff, what underflow may lose, the largest integer below
 * which all are represented, the largest number. */
struct format {
    double unit, tiny, whole, most;
};

/* What underflow may lose. Where a program is linked with -ffast-math, numbers below the normal ones
 * are flushed to zero; else the last place of the smallest ones is rounded. */
#ifdef MAY_FLUSH
#define TINY_F16 0x1p-14
#define TINY_F32 0x1p-126
#define TINY_F64 0x1p-1022
#else
#define TINY_F16 0x1p-24
#define TINY_F32 0x1p-149
#define TINY_F64 0x1p-1073
#endif

static const struct format EXACT = {0, 0, INFINITY, INFINITY};

/* An element: `value` and `size` as above, `error` the sum of the terms' radii, `terms` how
 * many were added. */
struct cell {
    double value, size, error, terms;
    int state;
};
enum { UNSET = 0, SET = 1, FRACTION = 2, WRITTEN_TO = 4, ADDED_TO = 8, REPEATED = 16, TAKEN = 32 };
enum { CONSTANT = 64 }; /* what was assigned last */

void hs_initial(struct cell *cell, const struct hs_arg *arg, size_t flat);
_Noreturn void hs_out_of_bounds(const char *name, int dim, int64_t index, int64_t extent);
void *hs_cells(int64_t count);

#define INLINE static inline __attribute__((always_inline))

extern const bool *hs_samples; /* by iteration; NULL if all are evaluated */
extern int64_t hs_first, hs_last; /* iterations that are evaluated in any case */

/* Whether an iteration is evaluated of loops along a dimension of arrays, of which all others may
 * be left out. It is the same for all of these loops, whatever their bounds are. */
INLINE bool hs_taken(int64_t iteration, int64_t extent)
{
    return !hs_samples || iteration < hs_first || iteration >= extent - hs_last
           || hs_samples[iteration];
}

/* Whether a function that jumps had an argument that is rounded: at one that was not evaluated, it
 * may be on either side. */
extern bool hs_jumped;

/* No promise: any result is admissible. */
static const struct enclosed ANYTHING = {0, INFINITY, INFINITY};

INLINE struct enclosed exactly(double value) { return (struct enclosed){value, 0, fabs(value)}; }
INLINE bool is_whole(double value) { return value == rint(value); }

INLINE int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

/* An element of an argument, which is what it was before the call until it is written. */
INLINE struct cell *of_argument(struct cell *cells, const struct hs_arg *arg, int64_t flat)
{
    if (__builtin_expect(cells[flat].state == UNSET, 0))
        hs_initial(&cells[flat], arg, (size_t)flat);
    return &cells[flat];
}

INLINE int64_t at(int64_t index, int64_t extent, const char *name, int dim)
{
    if (__builtin_expect((uint64_t)index >= (uint64_t)extent, 0))
        hs_out_of_bounds(name, dim, index, extent);
    return index;
}

/* A result with what its operation's rounding may add. Infinities and NaNs are as they are,
 * unless it is open whether the type overflows. */
INLINE struct enclosed rounded(double value, double radius, double size, bool exact,
                               struct format type)
{
    if (__builtin_expect(!isfinite(value), 0))
        return radius == INFINITY ? ANYTHING : (struct enclosed){value, 0, fabs(value)};
    if (!(exact && size <= type.whole))
        radius += type.unit * size;
    if (__builtin_expect(!(size <= type.most && radius < INFINITY), 0))
        return ANYTHING;
    return (struct enclosed){value, radius, size};
}

INLINE bool are_whole(struct enclosed a, struct enclosed b)
{
    return a.radius == 0 && b.radius == 0 && is_whole(a.value) && is_whole(b.value);
}

INLINE struct enclosed negative(struct enclosed a)
{
    return (struct enclosed){-a.value, a.radius, a.size};
}

INLINE struct enclosed sum(struct enclosed a, struct enclosed b, struct format type)
{
    if (a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    bool exact = are_whole(a, b);
    double size = a.size + b.size;
    double more = (exact && size <= type.whole) || !isfinite(size) ? 0 : type.unit * size;
    return rounded(a.value + b.value, a.radius + b.radius + more, size, exact, type);
}

INLINE bool is_power_of_two(double value)
{
    union { double value; uint64_t bits; } of = {value};
    return (of.bits & 0xfffffffffffff) == 0;
}

/* The roundings that its factors have are those of their own sums, which are not taken apart. */
INLINE struct enclosed product(struct enclosed a, struct enclosed b, struct format type)
{
    if (a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    double radius = fabs(a.value) * b.radius + fabs(b.value) * a.radius + a.radius * b.radius;
    double value = a.value * b.value;
    bool exact = are_whole(a, b);
    double lost = exact || value == 0 ? 0 : type.tiny;
    if (radius == 0 && (is_power_of_two(a.value) || is_power_of_two(b.value)))
        return rounded(value, lost, fabs(value), true, EXACT);
    return rounded(value, radius + lost, fabs(value), exact, type);
}

/* Four roundings: as the product with a reciprocal from a table and Newton's method. */
INLINE struct enclosed quotient(struct enclosed a, struct enclosed b, struct format type)
{
    double value = a.value / b.value, least = fabs(b.value) - b.radius;
    if (a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    if (!isfinite(value))
        return b.radius > 0 ? ANYTHING : rounded(value, 0, fabs(value), true, type);
    if (!(least > 0))
        return ANYTHING;
    double radius = (a.radius + fabs(value) * b.radius) / least + type.tiny;
#ifdef MAY_FLUSH
    if ((fabs(b.value) + b.radius) * type.tiny > 1 - 4 * type.unit) /* its reciprocal is denormal */
        radius += fabs(value);
#endif
    return rounded(value, radius + 3 * type.unit * fabs(value), fabs(value), false, type);
}

INLINE struct enclosed between(double low, double high)
{
    double value = low + (high - low) / 2, size = fmax(fabs(low), fabs(high));
    double radius = fmax(high - value, value - low) + 0x1p-51 * size; /* which are rounded */
    return (struct enclosed){value, low == high ? 0 : radius, size};
}

/* One or the other. */
INLINE struct enclosed either(struct enclosed a, struct enclosed b)
{
    if (!isfinite(a.value) || !isfinite(b.value) || a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    struct enclosed hull = between(fmin(a.value - a.radius, b.value - b.radius),
                                   fmax(a.value + a.radius, b.value + b.radius));
    hull.size = fmax(a.size, b.size);
    return hull;
}

/* -- integers: C computes in int, which does not overflow in a defined program --------------- */

INLINE struct enclosed in_int(double value, double radius)
{
    if (!(fabs(value) + radius < 0x1p31))
        return ANYTHING;
    return (struct enclosed){value, radius, fabs(value) + radius};
}

/* What a function makes of integers. */
INLINE struct enclosed of_int(struct enclosed a) { return in_int(a.value, a.radius); }

INLINE struct enclosed int_sum(struct enclosed a, struct enclosed b)
{
    return in_int(a.value + b.value, a.radius + b.radius);
}

INLINE struct enclosed int_product(struct enclosed a, struct enclosed b)
{
    return in_int(a.value * b.value, fabs(a.value) * b.radius + fabs(b.value) * a.radius
                                         + a.radius * b.radius);
}

INLINE struct enclosed int_quotient(struct enclosed a, struct enclosed b)
{
    if (a.radius > 0 || b.radius > 0 || b.value == 0)
        return ANYTHING;
    return in_int(trunc(a.value / b.value), 0);
}

/* -- conversions ------------------------------------------------------------------------------ */

/* To an integer of `[least, most]`: an integer wraps. */
INLINE struct enclosed int_as_int(struct enclosed a, double least, double most)
{
    double span = most - least + 1;
    if (a.radius == INFINITY)
        return ANYTHING;
    if (a.radius == 0)
        return exactly(a.value - floor((a.value - least) / span) * span);
    return a.value - a.radius < least || a.value + a.radius > most ? ANYTHING : a;
}

/* A float is truncated; what does not fit is undefined in C. */
INLINE struct enclosed float_as_int(struct enclosed a, double least, double most)
{
    double low = trunc(a.value - a.radius), high = trunc(a.value + a.radius);
    hs_jumped |= a.radius > 0;
    if (!(low >= least && high <= most))
        return ANYTHING;
    return low == high ? exactly(low) : between(low, high);
}

/* `nearest`: the value in that type. */
INLINE struct enclosed as_float(struct enclosed a, double nearest, struct format type)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    if (!isfinite(a.value) || (a.radius == 0 && nearest == a.value))
        return a;
    if (!isfinite(nearest))
        return fabs(a.value) - a.radius > type.most * (1 + type.unit) ? exactly(nearest) : ANYTHING;
    if (fabs(a.value) + a.radius > type.most)
        return ANYTHING;
    return (struct enclosed){a.value, a.radius + type.unit * fabs(a.value) + type.tiny, a.size};
}

/* -- functions -------------------------------------------------------------------------------- */

/* Of a library, vectorised or not: within a few units of the last place. */
enum { LAST_PLACES = 8 };

INLINE struct enclosed of_library(double value, double radius, struct format type)
{
    radius += LAST_PLACES * type.unit * fabs(value) + (isfinite(value) ? type.tiny : 0);
    return rounded(value, isfinite(value) ? radius : 0, fabs(value), true, type);
}

INLINE struct enclosed hs_sin(struct enclosed a, struct format type)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    return of_library(sin(a.value), fmin(a.radius, 2), type);
}

/* C's functions of that name take and return floats, whatever the type. */
static const struct format SINGLE = {0x1p-24, TINY_F32, 0x1p24, 0x1.fffffep127};

INLINE struct enclosed in_single(struct enclosed a)
{
    float nearest = (float)a.value;
    if (a.radius == INFINITY || !isfinite(a.value) || (a.radius == 0 && nearest == a.value))
        return a;
    return rounded(a.value, a.radius, fabs(a.value), false, SINGLE);
}

INLINE struct enclosed hs_expf(struct enclosed a, struct format type)
{
    a = in_single(a);
    if (a.radius == INFINITY)
        return ANYTHING;
    double radius = a.radius > 0 ? exp(a.value) * expm1(a.radius) : 0;
    return of_library(exp(a.value), radius, type.unit < SINGLE.unit ? SINGLE : type);
}

INLINE struct enclosed hs_sqrt(struct enclosed a, struct format type)
{
    if (a.radius == INFINITY || (a.radius > 0 && fabs(a.value) <= a.radius))
        return ANYTHING;
    double value = sqrt(a.value);
    double radius = a.radius > 0 && value > 0 ? value - sqrt(a.value - a.radius) : 0;
    return of_library(value, radius, type);
}

INLINE struct enclosed hs_sigmoid(struct enclosed a, struct format type)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    double value = 1 / (1 + exp(-a.value));
    return of_library(value, a.radius > 0 ? value * expm1(a.radius) : 0, type);
}

/* A choice jumps if, close to where it changes sides, these differ by more than what decides does.
 * Where they never do, as in `x < 0 ? 0 : x`, it is continuous. */
INLINE void note_jump(struct enclosed a, struct enclosed b, struct enclosed yes, struct enclosed no)
{
    bool steady = fabs(yes.value - no.value) <= 4 * fabs(a.value - b.value);
    hs_jumped |= a.radius + b.radius > 0 && !steady;
}

INLINE struct enclosed hs_select(struct enclosed a, struct enclosed b, struct enclosed yes,
                                 struct enclosed no)
{
    note_jump(a, b, yes, no);
    if (a.radius + b.radius > 0 && !(fabs(a.value - b.value) > a.radius + b.radius))
        return either(yes, no);
    return a.value < b.value ? yes : no;
}

INLINE struct enclosed hs_relu(struct enclosed a)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    if (a.value + a.radius <= 0)
        return exactly(0);
    return (struct enclosed){a.value > 0 ? a.value : 0, a.radius, a.value > 0 ? a.size : a.radius};
}

INLINE struct enclosed hs_fmaxf(struct enclosed a, struct enclosed b)
{
    a = in_single(a), b = in_single(b);
    if (isnan(a.value) || isnan(b.value))
        return isnan(a.value) ? b : a;
    if (a.radius + b.radius == 0 || fabs(a.value - b.value) > a.radius + b.radius)
        return a.value > b.value ? a : b;
    return either(a, b);
}

/* -- functions of front ends (core/functions.py) ------------------------------------------------
 *
 * C's, of the type of their arguments. Of glibc's functions errors of 2.3 units of the last place
 * are known, of `tanh` (its manual, "Known Maximum Errors in Math Functions"; Zimmermann, "Accuracy
 * of Mathematical Functions", 2021), libmvec promises 4; LAST_PLACES unit roundoffs are 4 at least.
 * -ffast-math rewrites: `exp(x) * exp(y)` -> `exp(x + y)`, powers of constants to exponentials, and
 * small powers to products. What that adds is in `places`.
 */

/* A function of which the values at the ends of the argument's interval are the least and the
 * largest, whichever is which. */
INLINE struct enclosed of_ends(double low, double value, double high, double places,
                               struct format type)
{
    if (!isfinite(value))
        return isfinite(low) || isfinite(high) ? ANYTHING : exactly(value);
    double radius = fmax(fabs(high - value), fabs(value - low));
    if (!isfinite(radius))
        return ANYTHING;
    return of_library(value, radius + places * type.unit * fabs(value), type);
}

#define LOW(a) ((a).value - (a).radius)
#define HIGH(a) ((a).value + (a).radius)

INLINE struct enclosed hs_exp(struct enclosed a, struct format type)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    double radius = a.radius > 0 ? exp(a.value) * expm1(a.radius) : 0;
    double places = isfinite(a.value) ? fabs(a.value) : 0;
    return of_library(exp(a.value), radius + places * type.unit * exp(a.value), type);
}

INLINE struct enclosed hs_sqrt_(struct enclosed a, struct format type) { return hs_sqrt(a, type); }

INLINE struct enclosed hs_sin_(struct enclosed a, struct format type) { return hs_sin(a, type); }

INLINE struct enclosed hs_cos(struct enclosed a, struct format type)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    return of_library(cos(a.value), fmin(a.radius, 2), type);
}

INLINE double sigmoid_of(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

#define MONOTONE(name, of, places)                                                              \
    INLINE struct enclosed hs_##name(struct enclosed a, struct format type)                     \
    {                                                                                           \
        double value = of(a.value);                                                             \
        if (a.radius == 0)                                                                      \
            return of_ends(value, value, value, places, type);                                  \
        return a.radius == INFINITY ? ANYTHING                                                  \
                                    : of_ends(of(LOW(a)), value, of(HIGH(a)), places, type);    \
    }

/* Of numbers that may be negative, NaN: not finite, so that anything is admissible. */
MONOTONE(log, log, 0)
MONOTONE(log1p, log1p, 0)
MONOTONE(expm1, expm1, 0)
MONOTONE(tanh, tanh, 0)
MONOTONE(erf, erf, 0)
/* An exponential, a sum, a quotient, which may be four roundings, a product. */
MONOTONE(sigmoid_, sigmoid_of, 6)

INLINE struct enclosed hull_of(double value, const double *others, int count, double places,
                               struct format type)
{
    double low = value, high = value;
    for (int i = 0; i < count; i++) {
        if (!isfinite(others[i]))
            return ANYTHING;
        low = fmin(low, others[i]), high = fmax(high, others[i]);
    }
    return of_ends(low, value, high, places, type);
}

/* Of positive numbers it is monotone in both; of others, defined where the exponent is whole. */
INLINE struct enclosed hs_pow_(struct enclosed a, struct enclosed b, struct format type)
{
    if (a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    double value = pow(a.value, b.value);
    if (a.radius == 0 && b.radius == 0 && !isfinite(value))
        return exactly(value);
    bool whole = b.radius == 0 && is_whole(b.value), crosses = LOW(a) <= 0 && HIGH(a) >= 0;
    if (a.radius > 0 && crosses && !(whole && b.value >= 0))
        return ANYTHING;
    if (b.radius > 0 && !(LOW(a) > 0))
        return ANYTHING;
    double log_of = a.value != 0 ? fabs(b.value * log(fabs(a.value))) : 0;
    double places = log_of + (whole ? fabs(b.value) : 0);
    if (a.radius == 0 && b.radius == 0)
        return hull_of(value, NULL, 0, isfinite(places) ? places : 0, type);
    double ends[] = {pow(LOW(a), LOW(b)), pow(LOW(a), HIGH(b)), pow(HIGH(a), LOW(b)),
                     pow(HIGH(a), HIGH(b)), value};
    if (a.radius > 0 && crosses)
        ends[4] = pow(0, b.value);
    return hull_of(value, ends, 5, isfinite(places) ? places : 0, type);
}

/* A number that may become zero on its way. */
INLINE struct enclosed perhaps_flushed(struct enclosed a, struct format type)
{
#ifdef MAY_FLUSH
    if (a.value != 0 && fabs(a.value) - a.radius < type.tiny)
        a.radius += type.tiny;
#endif
    return a;
}

/* The signs of zeros, which -ffast-math does not keep, are the two sides of the cut. */
INLINE struct enclosed hs_atan2(struct enclosed a, struct enclosed b, struct format type)
{
    a = perhaps_flushed(a, type), b = perhaps_flushed(b, type);
    if (a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    double value = atan2(a.value, b.value);
    bool exact = a.radius == 0 && b.radius == 0, signed_zeros = exact;
    hs_jumped |= !exact && LOW(b) <= 0;
#ifdef MAY_FLUSH
    signed_zeros = false;
#endif
    if (!signed_zeros && LOW(a) <= 0 && HIGH(a) >= 0 && LOW(b) <= 0) {
        double pi = 0x1.921fb54442d19p1;
        return rounded(0, pi * (1 + LAST_PLACES * type.unit), pi, true, type);
    }
    if (exact)
        return of_library(value, 0, type);
    double ends[] = {atan2(LOW(a), LOW(b)), atan2(LOW(a), HIGH(b)), atan2(HIGH(a), LOW(b)),
                     atan2(HIGH(a), HIGH(b))};
    return hull_of(value, ends, 4, 0, type);
}

INLINE struct enclosed hs_abs_(struct enclosed a)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    return (struct enclosed){fabs(a.value), a.radius, a.size};
}

/* Of integers. What is not known exactly has any bits. */
INLINE bool are_known(struct enclosed a, struct enclosed b)
{
    bool known = a.radius == 0 && b.radius == 0;
    hs_jumped |= !known;
    return known;
}

#define OF_BITS(a, operator, b) exactly((double)((int64_t)(a).value operator(int64_t)(b).value))

INLINE struct enclosed hs_bit_and(struct enclosed a, struct enclosed b)
{
    return are_known(a, b) ? OF_BITS(a, &, b) : ANYTHING;
}

INLINE struct enclosed hs_bit_or(struct enclosed a, struct enclosed b)
{
    return are_known(a, b) ? OF_BITS(a, |, b) : ANYTHING;
}

INLINE struct enclosed hs_bit_xor(struct enclosed a, struct enclosed b)
{
    return are_known(a, b) ? OF_BITS(a, ^, b) : ANYTHING;
}

/* Of integers. Where the bounds of `a` are rounded, a quotient jumps. */
INLINE struct enclosed hs_sdiv(struct enclosed a, struct enclosed b)
{
    if (a.radius == INFINITY || b.radius > 0 || b.value == 0)
        return ANYTHING;
    hs_jumped |= a.radius > 0;
    double one = trunc(LOW(a) / b.value), other = trunc(HIGH(a) / b.value);
    return one == other ? exactly(one) : between(fmin(one, other), fmax(one, other));
}

INLINE struct enclosed hs_floor(struct enclosed a)
{
    if (a.radius == INFINITY)
        return ANYTHING;
    if (!isfinite(a.value))
        return a;
    hs_jumped |= a.radius > 0;
    double low = floor(LOW(a)), high = floor(HIGH(a));
    return low == high ? exactly(a.radius == 0 ? floor(a.value) : low) : between(low, high);
}

INLINE struct enclosed hs_ashr(struct enclosed a, struct enclosed b)
{
    if (b.radius > 0 || b.value < 0 || b.value > 31)
        return ANYTHING;
    double scale = ldexp(1, -(int)b.value);
    return hs_floor((struct enclosed){a.value * scale, a.radius * scale, a.size});
}

INLINE struct enclosed hs_rint(struct enclosed a)
{
    if (a.radius == INFINITY || !isfinite(a.value))
        return a;
    hs_jumped |= a.radius > 0;
    double low = rint(LOW(a)), high = rint(HIGH(a));
    return low == high ? exactly(a.radius == 0 ? rint(a.value) : low) : between(low, high);
}

/* Where it is open which one is larger, the result is not: at least the larger one of both lows. */
INLINE struct enclosed hs_max_(struct enclosed a, struct enclosed b)
{
    if (a.radius == INFINITY || b.radius == INFINITY)
        return ANYTHING;
    if (isnan(a.value) || isnan(b.value))
        return isnan(a.value) ? a : b;
    if (a.radius + b.radius == 0 || fabs(a.value - b.value) > a.radius + b.radius)
        return a.value > b.value ? a : b;
    struct enclosed hull = between(fmax(LOW(a), LOW(b)), fmax(HIGH(a), HIGH(b)));
    hull.size = fmax(a.size, b.size);
    return hull;
}

INLINE struct enclosed hs_min_(struct enclosed a, struct enclosed b)
{
    return negative(hs_max_(negative(a), negative(b)));
}

INLINE struct enclosed hs_relu_(struct enclosed a) { return hs_max_(a, exactly(0)); }

INLINE struct enclosed hs_select_lt(struct enclosed a, struct enclosed b, struct enclosed yes,
                                    struct enclosed no)
{
    return hs_select(a, b, yes, no);
}

INLINE struct enclosed hs_select_le(struct enclosed a, struct enclosed b, struct enclosed yes,
                                    struct enclosed no)
{
    note_jump(a, b, yes, no);
    if (a.radius + b.radius > 0 && !(fabs(a.value - b.value) > a.radius + b.radius))
        return either(yes, no);
    return a.value <= b.value ? yes : no;
}

INLINE struct enclosed hs_select_eq(struct enclosed a, struct enclosed b, struct enclosed yes,
                                    struct enclosed no)
{
    note_jump(a, b, yes, no);
    if (a.radius + b.radius > 0 && !(fabs(a.value - b.value) > a.radius + b.radius))
        return either(yes, no);
    return a.value == b.value ? yes : no;
}

/* -- elements --------------------------------------------------------------------------------- */

INLINE double rounding_of_sum(double terms, double size, int state, struct format type)
{
    if (terms == 0 || (!(state & FRACTION) && size <= type.whole))
        return 0;
    double count = state & REPEATED ? 2 * terms : fmin(terms + 1, 8 * sqrt(terms));
    return type.unit * size * count;
}

INLINE struct enclosed load_float(const struct cell *cell, struct format type)
{
    if (cell->state == UNSET || cell->error == INFINITY)
        return ANYTHING;
    if (!isfinite(cell->value))
        return exactly(cell->value);
    if (!(cell->size <= type.most))
        return ANYTHING;
    double radius = cell->error + rounding_of_sum(cell->terms, cell->size, cell->state, type);
    return (struct enclosed){cell->value, radius, cell->size};
}

INLINE struct enclosed load_int(const struct cell *cell)
{
    if (cell->state == UNSET || cell->error == INFINITY)
        return ANYTHING;
    return (struct enclosed){cell->value, cell->error, fabs(cell->value) + cell->error};
}

INLINE void assign(struct cell *cell, struct enclosed a)
{
    int state = a.radius == 0 && is_whole(a.value) ? SET : SET | FRACTION;
    *cell = (struct cell){a.value, a.size, a.radius, 0, state | WRITTEN_TO};
}

INLINE void add_float(struct cell *cell, struct enclosed a, bool repeated)
{
    cell->value += a.value;
    cell->size += a.size;
    cell->error += a.radius;
    cell->terms += a.size != 0;
    cell->state |= (a.radius == 0 && is_whole(a.value) ? 0 : FRACTION) | WRITTEN_TO | ADDED_TO
                   | (repeated ? REPEATED : 0);
}

/* Sums wrap, too; but those of i32, of which some order overflows, are undefined. */
INLINE void add_int(struct cell *cell, struct enclosed a, double least, double most)
{
    struct enclosed total = {cell->value + a.value, cell->error + a.radius, 0};
    if (cell->state != UNSET) {
        total = int_as_int(total, least, most);
        cell->value = total.value;
        cell->error = total.radius;
        cell->size += fabs(a.value) + a.radius;
        cell->terms += a.size != 0;
        if (most > 0xffff && !(cell->size <= most))
            cell->error = INFINITY;
    }
    cell->state |= WRITTEN_TO | ADDED_TO;
}
