/* What is done with a case. */
#pragma once
#include "case.h"

size_t append(int output, const void *data, size_t size); /* to a file; returns bytes, padded */

/* What is promised of floating-point results (`FloatingPoint`). */
enum contract { FAST, REASSOCIATE, STRICT };

/* Evaluate the procedure, or call it as written, and append what its outputs may be to a file;
 * under FAST nothing is said of outputs that are infinite or NaN. */
void enclose_case(struct test_case *test, void *as_written, size_t number, enum contract contract,
                  int output);

enum { SOME = 2 }; /* in a file of bounds, where 0 or 1 says whether there are intervals */

bool is_poison(const unsigned char *bytes, size_t width); /* what outputs start as */

/* Whether an element lies within its bounds. The NaN that outputs start as is no result: only
 * what is not to be written keeps it. */
bool is_admissible(const struct hs_arg *arg, const unsigned char *got, const unsigned char *low,
                   const unsigned char *high, bool bitwise);

/* Call the kernel and compare, bit by bit if asked to; reports the first difference and ends
 * the process. */
void verify_case(struct test_case *test, void *function, size_t number, bool bitwise);

enum { MOST_SAMPLES = 15 };

/* How kernels are timed: nanoseconds a sample lasts at least, samples a round has at most of
 * each kernel (up to MOST_SAMPLES), seconds that calibration or a round may take, cores that
 * kernels run on, and whether operands are put out of the caches before each call. `calls`
 * are those of a sample of each, if a process before this one has found them (and then
 * `samples` too): else 0. */
struct protocol {
    double target_ns;
    int samples;
    long calls[2];
    unsigned round_s;
    int cores;
    uint64_t seed;
    bool cold;
};

/* Interleaved rounds of two kernels (copies.h, other copies in each round), each with a case of
 * its own or both with the same, until the parent has enough; the process ends with SIGALRM if
 * calibration, or any round, takes longer than it may. */
void time_rounds(const struct test_case *const tests[2], const struct protocol *how);

/* Reports the instructions that one call of each kernel runs, counted one by one: exact, whatever
 * else the machine does, and slow (1 us each, in virtual machines 10). Of kernels of one thread;
 * the process ends with SIGALRM if one takes longer than it may. */
void count_steps(const struct test_case *test, unsigned seconds);
