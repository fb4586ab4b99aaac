/* Verifies and times one candidate kernel; one process per candidate.
 *
 * stdin carries the job (written by harness.py), argv[1] is the descriptor of a
 * socket on which results go out, one line each, and on which the parent says
 * whether another round is wanted. Every line starts with the job's nonce, so
 * that output of the kernel itself is never mistaken for a result.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { CANARY = 4096, HUGE_PAGE = 2 << 20, STAGGER = 256 };
enum { FILL_POISON, FILL_INTEGERS, FILL_FLOATS };

static char nonce[64];
static int channel;

/* -- talking to the parent -------------------------------------------------- */

static void report(const char *format, ...)
{
    char line[1024];
    int used = snprintf(line, sizeof line, "%s ", nonce);
    va_list values;
    va_start(values, format);
    used += vsnprintf(line + used, sizeof line - used - 1, format, values);
    va_end(values);
    line[used++] = '\n';
    for (int done = 0; done < used;) {
        ssize_t count = write(channel, line + done, used - done);
        if (count <= 0)
            _exit(3);
        done += count;
    }
}

static void fail(const char *what)
{
    report("error %s", what);
    _exit(2);
}

static bool another_round(void)
{
    char answer;
    if (read(channel, &answer, 1) != 1)
        _exit(3);
    return answer == 'g';
}

static double job_number(void)
{
    double value;
    if (scanf("%lf", &value) != 1)
        fail("malformed job: number expected");
    return value;
}

static void job_line(char *into, size_t size)
{
    int first;
    while ((first = getchar()) == '\n' || first == ' ')
        ;
    ungetc(first, stdin);
    if (!fgets(into, size, stdin))
        fail("malformed job: text expected");
    into[strcspn(into, "\n")] = 0;
}

/* -- typed elements: every type here fits a double exactly ------------------- */

static size_t size_of(enum hs_type type)
{
    switch (type) {
    case HS_I8: case HS_U8: return 1;
    case HS_BOOL: return sizeof(bool);
    case HS_F16: case HS_U16: return 2;
    case HS_F32: case HS_I32: return 4;
    case HS_F64: return 8;
    case HS_INDEX: return sizeof(int_fast32_t);
    }
    abort();
}

static bool is_float(enum hs_type type) { return type == HS_F16 || type == HS_F32 || type == HS_F64; }

static double load(enum hs_type type, const void *data, size_t i)
{
    switch (type) {
    case HS_F16: return ((const _Float16 *)data)[i];
    case HS_F32: return ((const float *)data)[i];
    case HS_F64: return ((const double *)data)[i];
    case HS_I8: return ((const int8_t *)data)[i];
    case HS_U8: return ((const uint8_t *)data)[i];
    case HS_U16: return ((const uint16_t *)data)[i];
    case HS_I32: return ((const int32_t *)data)[i];
    case HS_INDEX: return ((const int_fast32_t *)data)[i];
    case HS_BOOL: return ((const bool *)data)[i];
    }
    abort();
}

static void store(enum hs_type type, void *data, size_t i, double value)
{
    switch (type) {
    case HS_F16: ((_Float16 *)data)[i] = value; return;
    case HS_F32: ((float *)data)[i] = value; return;
    case HS_F64: ((double *)data)[i] = value; return;
    case HS_I8: ((int8_t *)data)[i] = value; return;
    case HS_U8: ((uint8_t *)data)[i] = value; return;
    case HS_U16: ((uint16_t *)data)[i] = value; return;
    case HS_I32: ((int32_t *)data)[i] = value; return;
    case HS_INDEX: ((int_fast32_t *)data)[i] = value; return;
    case HS_BOOL: ((bool *)data)[i] = value; return;
    }
}

/* -- seeded inputs ------------------------------------------------------------ */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double draw(uint64_t *state, int fill, double lo, double hi)
{
    double unit = (next_random(state) >> 11) * 0x1p-53;
    return fill == FILL_INTEGERS ? floor(lo + unit * (hi - lo + 1)) : lo + unit * (hi - lo);
}

/* -- buffers -------------------------------------------------------------------- */

/* Advances `index` over `extents`, innermost fastest; false after the last element. */
static bool next_index(const struct hs_arg *arg, int_fast32_t *index, size_t *flat)
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

static const char *page_policy = "base";

/* Zeroed memory in which the byte `before` bytes from the start begins a huge page. */
static unsigned char *map_bytes(size_t bytes, size_t before, struct hs_mapping *mapping)
{
    mapping->size = bytes + 2 * HUGE_PAGE;
    mapping->start = mmap(NULL, mapping->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->start == MAP_FAILED)
        fail("out of memory for the arrays");
    uintptr_t aligned = ((uintptr_t)mapping->start + before + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (bytes >= HUGE_PAGE && madvise((void *)aligned, bytes, MADV_HUGEPAGE) == 0)
        page_policy = "huge";
    return (unsigned char *)aligned - before;
}

static void make_buffer(struct hs_arg *arg, uint64_t seed, size_t position)
{
    arg->elements = 1;
    for (int d = 0; d < arg->ndim; d++)
        arg->elements += (arg->extents[d] - 1) * arg->strides[d];
    /* Staggered, so that equal offsets in different arrays do not alias modulo 4 KiB. */
    size_t stagger = position % 16 * STAGGER;
    arg->bytes = CANARY + arg->elements * size_of(arg->type) + CANARY;
    arg->working = map_bytes(arg->bytes + stagger, CANARY, &arg->mappings[0]) + stagger;
    arg->pristine = map_bytes(arg->bytes, CANARY, &arg->mappings[1]);
    arg->data = arg->working + CANARY;

    /* All ones is a NaN in every float type: reading a canary poisons the result.
     * Not in arrays that are written: adding to a NaN would leave no mark. */
    size_t width = size_of(arg->type);
    int poison = is_float(arg->type) ? 0xFF : 0xA5;
    memset(arg->pristine, is_float(arg->type) && arg->written ? 0x47 : poison, arg->bytes);
    uint64_t state = seed + 0x632be59bd9b4e019u * (position + 1);
    int_fast32_t index[HS_MAX_DIMS] = {0};
    size_t flat = 0;
    unsigned char *data = arg->pristine + CANARY;
    do
        if (arg->fill == FILL_POISON)
            memset(data + flat * width, poison, width);
        else
            store(arg->type, data, flat, draw(&state, arg->fill, arg->lo, arg->hi));
    while (next_index(arg, index, &flat));
    memcpy(arg->working, arg->pristine, arg->bytes);
}

/* -- a case: one set of sizes and inputs ------------------------------------------ */

struct test_case {
    char expected_path[4096];
    struct hs_arg *args;
    unsigned char *context, *pristine_context;
};

static struct test_case read_case(void)
{
    struct test_case test;
    job_line(test.expected_path, sizeof test.expected_path);
    uint64_t seed = (uint64_t)job_number();
    test.args = calloc(hs_arg_count + 1, sizeof *test.args);
    test.context = calloc(1, hs_context_size + 1);
    test.pristine_context = calloc(1, hs_context_size + 1);
    for (size_t i = 0; i < hs_field_count; i++) {
        uint64_t state = seed + i;
        int fill = (int)job_number();
        double lo = job_number(), hi = job_number();
        store(hs_fields[i].type, test.pristine_context + hs_fields[i].offset, 0,
              draw(&state, fill, lo, hi));
    }
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test.args[i];
        arg->is_buffer = job_number() != 0;
        if (!arg->is_buffer) {
            arg->control = (int_fast32_t)job_number();
            continue;
        }
        arg->type = (enum hs_type)job_number();
        arg->fill = (int)job_number();
        arg->lo = job_number();
        arg->hi = job_number();
        arg->written = job_number() != 0;
        arg->absolute = job_number();
        arg->relative = job_number();
        arg->ndim = (int)job_number();
        for (int d = 0; d < arg->ndim; d++)
            arg->extents[d] = (int_fast32_t)job_number();
        for (int d = 0; d < arg->ndim; d++)
            arg->strides[d] = (int_fast32_t)job_number();
        make_buffer(arg, seed, i);
    }
    return test;
}

static void restore(const struct test_case *test)
{
    memcpy(test->context, test->pristine_context, hs_context_size);
    for (size_t i = 0; i < hs_arg_count; i++) {
        const struct hs_arg *arg = &test->args[i];
        if (arg->written)
            memcpy(arg->working, arg->pristine, arg->bytes);
    }
}

static void discard(struct test_case *test)
{
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        if (arg->is_buffer) {
            for (int copy = 0; copy < 2; copy++)
                munmap(arg->mappings[copy].start, arg->mappings[copy].size);
        }
    }
    free(test->args);
    free(test->context);
    free(test->pristine_context);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* -- reference outputs --------------------------------------------------------------- */

static void record_case(struct test_case *test, void *function)
{
    restore(test);
    double start = now_ns();
    hs_invoke(function, test->context, test->args);
    double elapsed = now_ns() - start;

    FILE *file = fopen(test->expected_path, "wb");
    if (!file)
        fail("cannot write the reference outputs");
    size_t not_finite = 0;
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        if (!arg->written)
            continue;
        size_t width = size_of(arg->type);
        fwrite(arg->data, width, arg->elements, file);
        const unsigned char *before = arg->pristine + CANARY, *after = arg->data;
        int_fast32_t index[HS_MAX_DIMS] = {0};
        size_t flat = 0;
        do
            not_finite += !isfinite(load(arg->type, after, flat))
                && memcmp(before + flat * width, after + flat * width, width) != 0;
        while (next_index(arg, index, &flat));
    }
    fwrite(test->context, 1, hs_context_size, file);
    if (fclose(file) != 0)
        fail("cannot write the reference outputs");
    report("recorded %.0f %zu", elapsed, not_finite);
}

/* -- comparison -------------------------------------------------------------------- */

static bool equal_within(double expected, double got, double tolerance)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    return expected == got || fabs(expected - got) <= tolerance;
}

/* Compares the logical elements, putting each back to its initial value, so that
 * what differs afterwards was written outside of the array. */
static void compare_outputs(const struct hs_arg *arg, size_t number, size_t position,
                            const unsigned char *expected)
{
    const unsigned char *initial = arg->pristine + CANARY;
    size_t width = size_of(arg->type), wrong = 0, first = 0, flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    double scale = 0, want = 0, got = 0;
    if (arg->relative > 0)
        do {
            double magnitude = fabs(load(arg->type, expected, flat));
            if (isfinite(magnitude) && magnitude > scale)
                scale = magnitude;
        } while (next_index(arg, index, &flat));
    double tolerance = arg->absolute + arg->relative * scale;
    flat = 0;
    do {
        double e = load(arg->type, expected, flat), g = load(arg->type, arg->data, flat);
        if (!equal_within(e, g, tolerance) && wrong++ == 0) {
            first = flat;
            want = e;
            got = g;
        }
        memcpy((unsigned char *)arg->data + flat * width, initial + flat * width, width);
    } while (next_index(arg, index, &flat));
    if (wrong) {
        report("mismatch %zu %zu %zu %zu %.9g %.9g %.3g", number, position, first, wrong, want, got,
               tolerance);
        _exit(0);
    }
}

static void check_untouched(const struct hs_arg *arg, size_t number, size_t position)
{
    if (memcmp(arg->working, arg->pristine, arg->bytes) == 0)
        return;
    size_t at = 0;
    while (arg->working[at] == arg->pristine[at])
        at++;
    report("touched %zu %zu %td %zu", number, position, (ptrdiff_t)(at - CANARY),
           arg->elements * size_of(arg->type));
    _exit(0);
}

static void verify_case(struct test_case *test, void *function, size_t number)
{
    report("verifying %zu", number);
    restore(test);
    hs_invoke(function, test->context, test->args);

    FILE *file = fopen(test->expected_path, "rb");
    if (!file)
        fail("cannot read the reference outputs");
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        if (arg->written) {
            size_t width = size_of(arg->type);
            unsigned char *expected = malloc(width * arg->elements);
            if (!expected || fread(expected, width, arg->elements, file) != arg->elements)
                fail("the reference outputs are truncated");
            compare_outputs(arg, number, i, expected);
            free(expected);
        }
        if (arg->is_buffer)
            check_untouched(arg, number, i);
    }
    unsigned char *context = malloc(hs_context_size + 1);
    if (fread(context, 1, hs_context_size, file) != hs_context_size)
        fail("the reference outputs are truncated");
    for (size_t i = 0; i < hs_field_count; i++) {
        const struct hs_field *field = &hs_fields[i];
        double want = load(field->type, context + field->offset, 0);
        double got = load(field->type, test->context + field->offset, 0);
        if (!equal_within(want, got, 0)) {
            report("config %zu %zu %.9g %.9g", number, i, want, got);
            _exit(0);
        }
    }
    free(context);
    fclose(file);
}

/* -- timing --------------------------------------------------------------------------- */

/* Buffers are restored before a sample, not before each call: a kernel that updates
 * in place sees its own results, the same on both sides. */
static double sample_ns(const struct test_case *test, void *function, long calls)
{
    restore(test);
    double start = now_ns();
    for (long i = 0; i < calls; i++)
        hs_invoke(function, test->context, test->args);
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

static void time_rounds(const struct test_case *test, void *functions[2], double target_ns, uint64_t seed)
{
    long calls[2];
    double call_ns[2];
    for (int side = 0; side < 2; side++)
        calls[side] = calibrate(test, functions[side], target_ns, &call_ns[side]);
    int samples = call_ns[0] > SLOW_NS || call_ns[1] > SLOW_NS ? 1 : SAMPLES;
    report("calls %ld %ld %d %s", calls[0], calls[1], samples, page_policy);
    do {
        double ns[2][SAMPLES];
        for (int i = 0; i < samples; i++) {
            int first = next_random(&seed) & 1;
            for (int turn = 0; turn < 2; turn++) {
                int side = first ^ turn;
                ns[side][i] = sample_ns(test, functions[side], calls[side]);
            }
        }
        char line[512];
        int used = 0;
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < samples; i++)
                used += snprintf(line + used, sizeof line - used, " %.17g", ns[side][i]);
        report("round%s", line);
    } while (another_round());
}

/* -- sandbox and main ------------------------------------------------------------------- */

static void limit(int resource, double amount)
{
    struct rlimit value = {(rlim_t)amount, (rlim_t)amount};
    if (setrlimit(resource, &value) != 0)
        fail("setrlimit");
}

static void *open_kernel(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, hs_proc_name) : NULL;
    if (!function) {
        report("error cannot load the kernel: %.800s", dlerror());
        _exit(2);
    }
    return function;
}

static void set_up_process(void)
{
    /* Die with the parent. The number of processes is not limited: that limit is
     * per user, so other work of the same user would count. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
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
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_AS, job_number());
    limit(RLIMIT_CPU, job_number());
    limit(RLIMIT_FSIZE, job_number());
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* flush denormals to zero, read them as zero */
#endif
}

int main(int argc, char **argv)
{
    char action[16], kernel[4096], anchor[4096];
    channel = argc > 1 ? atoi(argv[1]) : 1;
    job_line(nonce, sizeof nonce);
    job_line(action, sizeof action);
    job_line(kernel, sizeof kernel);
    job_line(anchor, sizeof anchor);
    set_up_process();
    double verify_limit = job_number(), target_ns = job_number();
    uint64_t seed = (uint64_t)job_number();
    size_t cases = (size_t)job_number();
    bool record = strcmp(action, "record") == 0;

    alarm((unsigned)verify_limit);
    void *functions[2] = {open_kernel(kernel), NULL};
    for (size_t number = 0; number < cases; number++) {
        struct test_case test = read_case();
        if (record)
            record_case(&test, functions[0]);
        else
            verify_case(&test, functions[0], number);
        if (!record && number + 1 == cases) {
            report("verified");
            alarm(0);
            functions[1] = open_kernel(anchor);
            time_rounds(&test, functions, target_ns, seed);
        }
        discard(&test);
    }
    report("end");
    _exit(0);
}
