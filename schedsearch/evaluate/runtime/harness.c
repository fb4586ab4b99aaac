/* Verifies and times one candidate kernel; one process per candidate.
 *
 * stdin carries the job (written by harness.py and bench.py), argv[1] is the
 * descriptor of a socket on which results go out, one line each, and on which the
 * parent says whether another round is wanted. argv[2], if what a kernel computes is to
 * be recorded, is that of a file for it: nothing here opens a file to write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "channel.h"
#include "copies.h"
#include "libraries.h"
#include "sandbox.h"
#include "stages.h"
#include "state.h"

/* `set_threads` is the OpenMP library's, NULL if the kernel does not use it. */
struct kernel {
    void *library, *function;
    void (*set_threads)(int);
};

static struct kernel open_kernel(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, hs_proc_name) : NULL;
    if (!function) {
        report("error cannot load the kernel: %.800s", dlerror());
        _exit(2);
    }
    void (*set_threads)(int) = (void (*)(int))dlsym(library, "omp_set_num_threads");
    return (struct kernel){library, function, set_threads};
}

enum { RACE_CHECKS = 5, ROUND_S = 10, COUNT_S = 120 };

/* A race shows rarely: a kernel with threads runs several times, every other time with
 * more threads than cores, so that they are interrupted anywhere. */
static void verify_races(struct test_case *test, struct kernel kernel, size_t number, int cores,
                         bool bitwise)
{
    for (int check = 1; check < RACE_CHECKS; check++) {
        kernel.set_threads(check % 2 ? 2 * cores + 1 : cores);
        verify_case(test, kernel.function, number, bitwise);
    }
}

/* Returns the number of cores given. */
static int set_up_process(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* die with the parent */
    cpu_set_t cores;
    CPU_ZERO(&cores);
    char threads[16];
    int count = (int)job_number();
    for (int i = 0; i < count; i++)
        CPU_SET((int)job_number(), &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    /* Whatever the parent was given (Ray sets 1); read when OpenMP is loaded. */
    snprintf(threads, sizeof threads, "%d", count);
    setenv("OMP_NUM_THREADS", threads, 1);
    setenv("OMP_PROC_BIND", "true", 1);
    /* Idle threads of LLVM's library spin for 200 ms, which the other kernel would feel. */
    setenv("KMP_BLOCKTIME", "1", 1);
    limit(RLIMIT_AS, job_number());
    limit(RLIMIT_FSIZE, job_number());
    keep_state();
    return count;
}

/* Of a kernel that counts (sanitize.py): the blocks that no call has run, by number. */
static void report_unreached(struct kernel kernel)
{
    const unsigned char *reached = dlsym(kernel.library, "schedsearch_reached");
    const unsigned *count = dlsym(kernel.library, "schedsearch_blocks");
    for (unsigned block = 0; reached && count && block < *count; block++)
        if (!reached[block])
            report("unreached %u", block);
}

int main(int argc, char **argv)
{
    char action[16], kernel[4096], anchor[4096];
    int channel = argc > 1 ? atoi(argv[1]) : STDOUT_FILENO;
    int output = argc > 2 ? atoi(argv[2]) : STDOUT_FILENO;
    int kept[5 + 2 * MOST_COPIES] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, channel, output};
    open_channel(channel);
    job_line(action, sizeof action);
    job_line(kernel, sizeof kernel);
    job_line(anchor, sizeof anchor);
    int cores = set_up_process();
    double verify_limit = job_number(), target_ns = job_number();
    struct protocol how = {.target_ns = target_ns, .cores = cores};
    /* A round is some 30 samples; others may be using the core as well. */
    how.round_s = (unsigned)(verify_limit + ROUND_S + 30e-9 * target_ns);
    how.seed = (uint64_t)job_number();
    how.cold = job_number() != 0;
    how.samples = (int)job_number();
    for (int side = 0; side < 2; side++)
        how.calls[side] = (long)job_number();
    int rounds = (int)job_number();
    enum contract contract = (enum contract)job_number();
    size_t cases = (size_t)job_number();
    bool record = strcmp(action, "enclose") == 0, count = strcmp(action, "count") == 0;
    bool unverified = strcmp(action, "time") == 0; /* what computes something else */

    alarm((unsigned)verify_limit);
    load_libraries(kernel, cores);
    load_libraries(anchor, cores);
    make_copies((const char *[2]){kernel, anchor}, rounds);
    catch_faults();
#if !defined(SANITIZED) /* sanitizers need more; what they check was verified in the sandbox */
    enter_sandbox(kept, 5 + copy_descriptors(kept + 5));
#endif
    struct kernel candidate = open_kernel(kernel);
    struct test_case first; /* of two cases that are timed, which differ in where arrays are */
    bool two = false;
    for (size_t number = 0; number < cases; number++) {
        struct test_case test = read_case();
        watch(&test, number);
        if (record)
            enclose_case(&test, candidate.function, number, contract, output);
        else if (unverified)
            report("verifying %zu", number);
        else
            verify_case(&test, candidate.function, number, contract == STRICT);
        if (!record && !unverified && candidate.set_threads && test.placement != FOR_TIMING)
            verify_races(&test, candidate, number, cores, contract == STRICT);
        if (!record && number + 1 == cases) {
            report("verified");
#if !defined(SANITIZED)
            if (count)
                count_steps(&test, COUNT_S);
            else if (rounds > 0)
                time_rounds((const struct test_case *[2]){two ? &first : &test, &test}, &how);
#endif
        }
        if (rounds > 0 && number + 2 == cases && test.placement == FOR_TIMING) {
            first = test;
            two = true;
        } else {
            discard(&test);
        }
    }
    report_unreached(candidate);
    report("end");
    _exit(0);
}
