#include "stages.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "channel.h"
#include "elements.h"
#include "state.h"

static clockid_t clock_used = CLOCK_MONOTONIC;
static double clock_cost_ns; /* of one reading, subtracted where each call is timed by itself */
static bool cold_caches;

static double reading_ns(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

enum { READINGS = 200, COARSE_NS = 20000 };

/* Time on the processor, not on the wall: what else runs on this core does not count. Of
 * one thread only, since several threads' times add up; and not where the clock only
 * counts scheduler ticks (sandboxes that emulate the kernel). */
static const char *choose_clock(int cores)
{
    if (cores == 1) {
        clock_used = CLOCK_PROCESS_CPUTIME_ID;
        double begin = reading_ns(), previous = begin, finest = 0;
        for (int i = 0; i < READINGS; i++) {
            double now = reading_ns(), step = now - previous;
            if (step > 0 && (finest == 0 || step < finest))
                finest = step;
            previous = now;
        }
        clock_cost_ns = finest;
        if (finest > 0 && finest < COARSE_NS)
            return "cpu";
    }
    clock_used = CLOCK_MONOTONIC;
    clock_cost_ns = 0;
    return "wall";
}

enum { LINE = 64 }; /* no processor here has shorter ones */

/* Puts a line out of all caches. */
static void evict_line(const char *line)
{
#if defined(__SSE2__)
    _mm_clflush(line);
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
    (void)line;
    fail("cold caches are for x86-64 and AArch64");
#endif
}

static void evict_operands(const struct test_case *test)
{
    for (size_t i = 0; i < hs_arg_count; i++) {
        const struct hs_arg *arg = &test->args[i];
        size_t bytes = arg->is_buffer ? arg->elements * size_of(arg->type) : 0;
        for (size_t at = 0; at < bytes; at += LINE)
            evict_line((const char *)arg->data + at);
    }
    __sync_synchronize(); /* the lines are out before the clock is read */
}

static void call(const struct test_case *test, void *function)
{
    if (hs_context_size > 0)
        memcpy(test->context, test->pristine_context, hs_context_size);
    hs_invoke(function, test->context, test->args);
}

/* Nanoseconds per call. Buffers are restored before a sample, not before each call: a
 * kernel that updates in place sees its own results, the same on both sides. The context
 * is restored each time, since configuration may decide what a call does at all. With
 * warm caches the first of several calls is not timed: restoring has taken their place. */
static double sample_ns(const struct test_case *test, void *function, long calls)
{
    restore(test);
    if (cold_caches) {
        double total = 0;
        for (long i = 0; i < calls; i++) {
            evict_operands(test);
            double start = reading_ns();
            call(test, function);
            total += reading_ns() - start - clock_cost_ns;
        }
        check_state();
        return total / calls;
    }
    if (calls > 1)
        call(test, function);
    double start = reading_ns();
    for (long i = 0; i < calls; i++)
        call(test, function);
    double elapsed = reading_ns() - start;
    check_state();
    return elapsed / calls;
}

/* Time of one call, from a sample of at least `target_ns`. */
static double calibrate(const struct test_case *test, void *function, double target_ns)
{
    long calls = 1;
    for (;;) {
        double per_call = sample_ns(test, function, calls);
        if (per_call * calls >= target_ns)
            return per_call;
        /* Grow at most tenfold: the first calls are cold and overestimate. */
        double wanted = target_ns * 1.1 / (per_call > 0.1 ? per_call : 0.1);
        calls = wanted > 10.0 * calls ? 10 * calls : (wanted > calls ? (long)wanted : calls) + 1;
    }
}

enum { SAMPLES = 3, SLOW_NS = 50000000, SLOWEST_NS = 300000000 };

/* Samples of both last about as long, however slow one of them is: a disturbance that
 * comes and goes then takes the same share of both, where a long sample would contain it
 * and a short one slip through between. Kernels about as fast are called as often. */
static void calls_per_sample(const double call_ns[2], double target_ns, long calls[2])
{
    double slower = call_ns[0] > call_ns[1] ? call_ns[0] : call_ns[1];
    double lasting = slower < SLOWEST_NS ? slower : SLOWEST_NS;
    lasting = lasting > target_ns ? lasting : target_ns;
    for (int side = 0; side < 2; side++)
        calls[side] = 1 + (long)(lasting / (call_ns[side] > 0.1 ? call_ns[side] : 0.1));
    for (int side = 0; side < 2; side++)
        if (calls[side] < calls[1 - side] && call_ns[side] < 1.25 * call_ns[1 - side])
            calls[side] = calls[1 - side];
    for (int side = 0; side < 2; side++)
        if (call_ns[side] >= lasting)
            calls[side] = 1;
}

void time_rounds(const struct test_case *test, void *functions[2], const struct protocol *how)
{
    alarm(how->round_s);
    const char *clock = choose_clock(how->cores);
    cold_caches = how->cold;
    uint64_t seed = how->seed;
    long calls[2];
    double call_ns[2];
    for (int side = 0; side < 2; side++)
        call_ns[side] = calibrate(test, functions[side], how->target_ns);
    calls_per_sample(call_ns, how->target_ns, calls);
    int samples = call_ns[0] > SLOW_NS || call_ns[1] > SLOW_NS ? 1 : SAMPLES;
    report("calls %ld %ld %d %s %s", calls[0], calls[1], samples, page_policy, clock);
    bool first_round = true;
    do {
        alarm(how->round_s);
        double ns[2][SAMPLES];
        for (int i = 0; i < samples; i++) {
            int first = next_random(&seed) & 1;
            for (int turn = 0; turn < 2; turn++) {
                int side = first ^ turn;
                /* A very slow call has been timed for calibration, long enough to count. */
                bool timed = first_round && call_ns[side] > SLOWEST_NS;
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
