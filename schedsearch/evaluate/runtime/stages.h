/* What is done with a case. */
#pragma once
#include "case.h"

/* Call the reference and append what it wrote to a file. */
void record_case(struct test_case *test, void *function, int output);

/* Call the kernel and compare; reports the first difference and ends the process. */
void verify_case(struct test_case *test, void *function, size_t number);

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

/* Interleaved rounds of two kernels (copies.h, other copies in each round) until the parent
 * has enough; the process ends with SIGALRM if calibration, or any round, takes longer
 * than it may. */
void time_rounds(const struct test_case *test, const struct protocol *how);
