#include "stages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

/* Buffers are restored before a sample, not before each call: a kernel that updates
 * in place sees its own results, the same on both sides. The context is restored
 * each time, since configuration may decide what a call does at all. */
static double sample_ns(const struct test_case *test, void *function, long calls)
{
    restore(test);
    double start = now_ns();
    for (long i = 0; i < calls; i++) {
        if (hs_context_size > 0)
            memcpy(test->context, test->pristine_context, hs_context_size);
        hs_invoke(function, test->context, test->args);
    }
    return (now_ns() - start) / calls;
}

/* Calls per sample so that it lasts `target_ns`; sets the time of one call. */
static long calibrate(const struct test_case *test, void *function, double target_ns, double *per_call)
{
    long calls = 1;
    for (;;) {
        *per_call = sample_ns(test, function, calls);
        if (*per_call * calls >= target_ns)
            return calls;
        /* Grow at most tenfold: the first calls are cold and overestimate. */
        double wanted = target_ns * 1.1 / (*per_call > 0.1 ? *per_call : 0.1);
        calls = wanted > 10.0 * calls ? 10 * calls : (wanted > calls ? (long)wanted : calls) + 1;
    }
}

enum { SAMPLES = 3, SLOW_NS = 50000000 };

void time_rounds(const struct test_case *test, void *functions[2], double target_ns, uint64_t seed,
                 unsigned round_s)
{
    alarm(round_s);
    long calls[2];
    double call_ns[2];
    for (int side = 0; side < 2; side++)
        calls[side] = calibrate(test, functions[side], target_ns, &call_ns[side]);
    int samples = call_ns[0] > SLOW_NS || call_ns[1] > SLOW_NS ? 1 : SAMPLES;
    report("calls %ld %ld %d %s", calls[0], calls[1], samples, page_policy);
    bool first_round = true;
    do {
        alarm(round_s);
        double ns[2][SAMPLES];
        for (int i = 0; i < samples; i++) {
            int first = next_random(&seed) & 1;
            for (int turn = 0; turn < 2; turn++) {
                int side = first ^ turn;
                /* A slow call has been timed for calibration, long enough to count. */
                bool timed = first_round && call_ns[side] > SLOW_NS;
                ns[side][i] = timed ? call_ns[side] : sample_ns(test, functions[side], calls[side]);
            }
        }
        char line[512];
        int used = 0;
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < samples; i++)
                used += snprintf(line + used, sizeof line - used, " %.17g", ns[side][i]);
        report("round%s", line);
        first_round = false;
    } while (another_round());
}
