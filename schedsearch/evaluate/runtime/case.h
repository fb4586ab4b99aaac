/* A case: one set of sizes and inputs, as the job describes it. */
#pragma once
#include "harness.h"

/* Where arrays are: for timing, with canaries on both sides; or with no byte between
 * their end, or their start, and memory that cannot be accessed. */
enum placement { FOR_TIMING, GUARDED_END, GUARDED_START };
enum {
    FILL_POISON, FILL_INTEGERS, FILL_FLOATS, FILL_DOMINANT, FILL_SPECIAL, FILL_NEAR, FILL_NAN,
    FILL_RISING
};

struct test_case {
    char expected_path[4096];
    enum placement placement;
    size_t offset; /* bytes between arrays and the boundary that they are placed at: of what is
                      timed, the start of a page */
    uint64_t seed;
    double share; /* of the iterations of loops that may be sampled, those that are evaluated */
    bool uncalled; /* what is not evaluated may be anything: a call as written takes too long */
    bool look;     /* only how much the inputs tell is of interest */
    bool as_written; /* what outputs are is what the procedure as written makes of them */
    struct hs_arg *args;
    unsigned char *context, *pristine_context;
};

uint64_t next_random(uint64_t *state);
struct test_case read_case(void);
void restore(const struct test_case *test); /* everything the kernel may write, before each call */
void restore_read(const struct test_case *test); /* of that, arrays whose values count */
void discard(struct test_case *test);
void poison_surroundings(const struct test_case *test, bool poisoned); /* for AddressSanitizer */
void catch_faults(void); /* accesses next to the arrays of a case that is watched are reported */
void watch(const struct test_case *test, size_t number);
double now_ns(void);

/* Whether there are bytes between the elements of an array: rows of a window. */
static inline bool has_gaps(const struct hs_arg *arg)
{
    size_t count = 1;
    for (int d = 0; d < arg->ndim; d++)
        count *= (size_t)arg->extents[d];
    return count != arg->elements;
}

/* Advances `index` over `extents`, innermost fastest; false after the last element. */
static inline bool next_index(const struct hs_arg *arg, int_fast32_t *index, size_t *flat)
{
    for (int d = arg->ndim - 1; d >= 0; d--) {
        *flat += arg->strides[d];
        if (++index[d] < arg->extents[d])
            return true;
        *flat -= arg->strides[d] * arg->extents[d];
        index[d] = 0;
    }
    return false;
}
