#include "stages.h"

#include <alloca.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "channel.h"
#include "copies.h"
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
 * counts scheduler ticks: sandboxes that emulate the kernel, and Linux itself in a process
 * whose CPU time is limited (RLIMIT_CPU), or that has such a timer. Every reading has to
 * advance, then: a tick may happen to be among them. */
static const char *choose_clock(int cores)
{
    if (cores == 1) {
        clock_used = CLOCK_PROCESS_CPUTIME_ID;
        double previous = reading_ns(), finest = COARSE_NS;
        for (int i = 0; i < READINGS; i++) {
            double now = reading_ns(), step = now - previous;
            if (step < finest)
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

static const double LEAST_NS = 0.1; /* what subtracting may leave of a call that does nothing */

/* One side of a comparison: a kernel, and what it is called with. */
struct timed {
    void *function;
    const struct test_case *test;
};

/* Nanoseconds per call. Buffers are restored before a sample, not before each call: a
 * kernel that updates in place sees its own results, the same on both sides. The context
 * is restored each time, since configuration may decide what a call does at all. With
 * warm caches the first of several calls is not timed: restoring has taken their place. */
static double sample_ns(const struct timed *what, long calls)
{
    const struct test_case *test = what->test;
    void *function = what->function;
    restore_read(test);
    if (cold_caches) {
        double total = 0;
        for (long i = 0; i < calls; i++) {
            evict_operands(test);
            double start = reading_ns();
            call(test, function);
            total += reading_ns() - start - clock_cost_ns;
        }
        check_state();
        return total > LEAST_NS * calls ? total / calls : LEAST_NS;
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

enum { TRIES = 3, SLOW_NS = 50000000, SLOWEST_NS = 300000000 };

/* Time of one call, from samples of at least `target_ns`. The least of several: a single one
 * that is disturbed would decide how often the kernel is called; what takes long is called once. */
static double calibrate(const struct timed *what, double target_ns)
{
    for (long calls = 1;;) {
        double per_call = sample_ns(what, calls);
        for (int i = 1; i < TRIES && per_call * calls < SLOW_NS; i++) {
            double again = sample_ns(what, calls);
            per_call = again < per_call ? again : per_call;
        }
        if (per_call * calls >= target_ns)
            return per_call;
        /* Grow at most tenfold: the first calls are cold and overestimate. */
        double wanted = target_ns * 1.1 / (per_call > 0.1 ? per_call : 0.1);
        calls = wanted > 10.0 * calls ? 10 * calls : (wanted > calls ? (long)wanted : calls) + 1;
    }
}

/* Samples of both last about as long, however slow one of them is: a disturbance that
 * comes and goes then takes the same share of both, where a long sample would contain it
 * and a short one slip through between. Kernels about as fast are called as often,
 * so that equal ones are treated alike. */
static void calls_per_sample(const double call_ns[2], double target_ns, long calls[2])
{
    double slower = call_ns[0] > call_ns[1] ? call_ns[0] : call_ns[1];
    double lasting = slower < SLOWEST_NS ? slower : SLOWEST_NS;
    lasting = lasting > target_ns ? lasting : target_ns;
    for (int side = 0; side < 2; side++)
        calls[side] = call_ns[side] < lasting ? (long)(lasting / (call_ns[side] + 0.1) + 0.5) : 1;
    for (int side = 0; side < 2; side++)
        if (calls[side] < calls[1 - side] && call_ns[side] < 2 * call_ns[1 - side])
            calls[side] = calls[1 - side];
}

/* Many short samples a round rather than few long ones: a round is as long as before, and
 * its minima are of the machine's fast state more often. Fewer of what takes long. */
static int samples_per_round(const double call_ns[2], const struct protocol *how,
                             const long calls[2])
{
    double first = calls[0] * call_ns[0], second = calls[1] * call_ns[1];
    double fitting = how->samples * how->target_ns / (first > second ? first : second);
    return fitting < 1 ? 1 : fitting < how->samples ? (int)fitting : how->samples;
}

typedef double sample_pair[MOST_SAMPLES][2];

/* A sample that counts. The clock advances at every reading (`choose_clock`), but a virtual machine
 * may be told late what others had of its processor, which is taken from the time of this process:
 * if nothing is left of a short sample, it is taken again. */
static double counting_ns(const struct timed *what, long calls)
{
    double ns = 0;
    while (!(ns > 0))
        ns = sample_ns(what, calls);
    return ns;
}

/* In each pair of samples, whose turn it is first is random. */
static void interleave(const struct timed sides[2], const long calls[2], int samples,
                       uint64_t *seed, sample_pair ns)
{
    for (int i = 0; i < samples; i++) {
        int first = next_random(seed) & 1;
        ns[i][first] = counting_ns(&sides[first], calls[first]);
        ns[i][!first] = counting_ns(&sides[!first], calls[!first]);
    }
}

/* The same with the stack `shift` bytes further down, a multiple of 16: that is how callers begin
 * it, and where vectors are spilled there as it comes, it decides how long they take. */
static __attribute__((noinline)) void
interleave_lower(size_t shift, const struct timed sides[2], const long calls[2], int samples,
                 uint64_t *seed, sample_pair ns)
{
    volatile char *unused = alloca(shift + 1);
    unused[0] = 0;
    interleave(sides, calls, samples, seed, ns);
}

/* How often each kernel is called in a sample, and samples of a round. Returns whether `ns`
 * then has a sample of a very slow one: that was timed for calibration, long enough to count. */
static bool calibrate_both(const struct timed sides[2], const struct protocol *how, uint64_t *seed,
                           long calls[2], int *samples, sample_pair ns)
{
    double call_ns[2];
    for (int side = 0; side < 2; side++)
        call_ns[side] = calibrate(&sides[side], how->target_ns);
    calls_per_sample(call_ns, how->target_ns, calls);
    *samples = samples_per_round(call_ns, how, calls);
    if (*samples > 1) {
        /* A round only to calibrate again, both in the same minute: calibrated one after the
         * other on a busy machine, equal kernels were called unequally often, and their
         * minima differed by 10 %. */
        interleave(sides, calls, *samples, seed, ns);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < *samples; i++)
                call_ns[side] = ns[i][side] < call_ns[side] ? ns[i][side] : call_ns[side];
        calls_per_sample(call_ns, how->target_ns, calls);
        *samples = samples_per_round(call_ns, how, calls);
    }
    int slow = call_ns[0] > call_ns[1] ? 0 : 1;
    if (call_ns[slow] <= SLOWEST_NS)
        return false;
    ns[0][slow] = call_ns[slow];
    ns[0][!slow] = counting_ns(&sides[!slow], calls[!slow]);
    return true;
}

void time_rounds(const struct test_case *const tests[2], const struct protocol *how)
{
    alarm(how->round_s);
    const char *clock = choose_clock(how->cores);
    cold_caches = how->cold;
    uint64_t seed = how->seed;
    long calls[2] = {how->calls[0], how->calls[1]};
    int samples = how->samples;
    sample_pair ns;
    struct timed sides[2];
    for (int side = 0; side < 2; side++)
        sides[side] = (struct timed){function_of_copy(side, 0), tests[side]};
    bool sampled = calls[0] == 0 && calibrate_both(sides, how, &seed, calls, &samples, ns);
    report("calls %ld %ld %d %s", calls[0], calls[1], samples, clock);
    for (int round = 0;; round++) {
        alarm(how->round_s);
        if (round > 0)
            for (int side = 0; side < 2; side++)
                sides[side].function = function_of_copy(side, round);
        if (round > 0 || !sampled)
            interleave_lower(16 * (next_random(&seed) & 3), sides, calls, samples, &seed, ns);
        char line[1024];
        int used = 0;
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < samples; i++)
                used += snprintf(line + used, sizeof line - used, " %.6g", ns[i][side]);
        report("round%s", line);
        if (!another_round())
            return;
    }
}
