/* What is done with a case. */
#pragma once
#include "case.h"

/* Call the reference and keep what it wrote in the case's file. */
void record_case(struct test_case *test, void *function);

/* Call the kernel and compare; reports the first difference and ends the process. */
void verify_case(struct test_case *test, void *function, size_t number);

/* Interleaved rounds of two kernels until the parent has enough; the process ends
 * with SIGALRM if calibration, or any round, takes more than `round_s` seconds. */
void time_rounds(const struct test_case *test, void *functions[2], double target_ns, uint64_t seed,
                 unsigned round_s);
