#define _GNU_SOURCE
#include "case.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "elements.h"

enum { HUGE_PAGE = 2 << 20, CANARY = 4096 };

#define GAMMA 0x9e3779b97f4a7c15u

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t next_random(uint64_t *state) { return mixed(*state += GAMMA); }

static double unit_random(uint64_t *state) { return (next_random(state) >> 11) * 0x1p-53; }

static double draw(uint64_t *state, int fill, double lo, double hi)
{
    double unit = unit_random(state);
    if (fill == FILL_NEAR)
        return floor(lo + unit * (hi - lo + 1)) + (unit_random(state) - 0.5) / 16;
    return fill == FILL_INTEGERS ? floor(lo + unit * (hi - lo + 1)) : lo + unit * (hi - lo);
}

enum { EDGE_FRONT = 8, EDGE_BACK = 24 };

/* Near the beginning or the end of a dimension, where tails are. */
static bool near_edge(const struct hs_arg *arg, const int_fast32_t *index)
{
    for (int d = 0; d < arg->ndim; d++)
        if (index[d] < EDGE_FRONT || index[d] >= arg->extents[d] - EDGE_BACK)
            return true;
    return false;
}

static double special_number(enum hs_type type, uint64_t number)
{
    double tiny = type == HS_F16 ? 0x1p-24 : type == HS_F32 ? 0x1p-149 : 0x1p-1074;
    const double all[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, tiny, -3 * tiny, 1000 * tiny};
    return all[number % (sizeof all / sizeof *all)];
}

/* Of special inputs, those that are special: of small arrays more, so that each kind is there. */
static double share_of_specials(const struct hs_arg *arg)
{
    return fmax(arg->density, fmin(0.25, 8.0 / arg->elements));
}

/* Inputs with fewer numbers than that have few at their edges, too. */
static const double SPARSEST = 0x1p-12;

/* An element of an input. Sparse ones are dense at their edges; in dominant ones the diagonal
 * of the last two dimensions outweighs the rest of its row; a few of special ones are not
 * ordinary numbers, but each kind by turns; `specials` counts them. */
static double draw_element(const struct hs_arg *arg, const int_fast32_t *index, uint64_t *state,
                           uint64_t *specials)
{
    double value = draw(state, arg->fill, arg->lo, arg->hi);
    if (arg->fill == FILL_RISING) { /* the extreme is at an end */
        double at = unit_random(state) / 2;
        for (int d = 0; d < arg->ndim; d++)
            at += index[d];
        double most = 1;
        for (int d = 0; d < arg->ndim; d++)
            most += arg->extents[d];
        return arg->lo + (arg->hi - arg->lo) * at / most;
    }
    bool special = arg->fill == FILL_SPECIAL || arg->fill == FILL_NAN;
    bool sparse = arg->density < 1 && !special;
    double edge = arg->density < SPARSEST ? 0.25 : 1;
    if (sparse && unit_random(state) >= (near_edge(arg, index) ? edge : arg->density))
        return 0;
    if (arg->fill == FILL_DOMINANT && arg->ndim > 1) {
        int row = arg->ndim - 2, column = arg->ndim - 1;
        return index[row] == index[column] ? 1.5 + 0.5 * value : value / arg->extents[column];
    }
    if (special && is_float(arg->type) && unit_random(state) < share_of_specials(arg))
        return arg->fill == FILL_NAN ? NAN : special_number(arg->type, (*specials)++);
    return value;
}

/* The same for all of an array without gaps whose elements are independent of where they are: a
 * loop that compilers vectorise. */
#define FILL(name, type, rounded)                                                          \
    __attribute__((optimize("O3"))) static void name(void *data, size_t count, uint64_t state, \
                                                     double lo, double span)               \
    {                                                                                      \
        for (size_t i = 0; i < count; i++)                                                 \
            ((type *)data)[i] =                                                            \
                (type)rounded(lo + (mixed(state + (i + 1) * GAMMA) >> 11) * 0x1p-53 * span); \
    }
FILL(fill_f32, float, )
FILL(fill_f64, double, )
FILL(fill_whole_f32, float, floor)
FILL(fill_whole_f64, double, floor)
FILL(fill_i8, int8_t, floor)
FILL(fill_i32, int32_t, floor)

/* All ones is a NaN in every float type: reading it poisons the result. */
static int poison_of(enum hs_type type) { return is_float(type) ? 0xFF : 0xA5; }

/* False if the array is none of those. */
static bool fill_at_once(const struct hs_arg *arg, void *data, uint64_t state)
{
    size_t count = arg->elements;
    bool whole = arg->fill == FILL_INTEGERS;
    if (arg->fill == FILL_POISON && !has_gaps(arg)) {
        memset(data, poison_of(arg->type), count * size_of(arg->type));
        return true;
    }
    if (has_gaps(arg) || arg->density < 1 || !(whole || arg->fill == FILL_FLOATS))
        return false;
    double span = arg->hi - arg->lo + whole;
    switch (arg->type) {
    case HS_F32: (whole ? fill_whole_f32 : fill_f32)(data, count, state, arg->lo, span); break;
    case HS_F64: (whole ? fill_whole_f64 : fill_f64)(data, count, state, arg->lo, span); break;
    case HS_I8: fill_i8(data, count, state, arg->lo, span); break;
    case HS_I32: fill_i32(data, count, state, arg->lo, span); break;
    default: return false;
    }
    return true;
}

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

static void map_guarded(size_t bytes, struct hs_mapping *mapping)
{
    mapping->size = bytes;
    mapping->start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->start == MAP_FAILED)
        fail("out of memory for the arrays");
}

static void unmap(struct hs_mapping *mapping)
{
    if (mapping->start)
        munmap(mapping->start, mapping->size);
    *mapping = (struct hs_mapping){0};
}

static void set_access(uintptr_t start, size_t bytes, int access)
{
    if (mprotect((void *)start, bytes, access) != 0)
        fail("out of memory for the arrays");
}

/* Zeroed memory for what is timed, `offset` bytes past the start of a page, as allocators return
 * it: nothing is asked of the system about its pages. Those around it cannot be accessed. */
static unsigned char *map_bytes(size_t bytes, size_t offset, struct hs_mapping *mapping)
{
    uintptr_t page = page_size();
    size_t used = (offset + bytes + page - 1) / page * page;
    map_guarded(used + 2 * page, mapping);
    uintptr_t first = (uintptr_t)mapping->start + page;
    set_access(first, used, PROT_READ | PROT_WRITE);
    return (unsigned char *)first + offset;
}

/* Two for each argument, from case to case: to touch pages for the first time takes longer than all
 * that verification does with them. */
static struct hs_mapping *kept;

static void release_kept(void)
{
    for (size_t i = 0; kept && i < 2 * hs_arg_count; i++)
        unmap(&kept[i]);
}

/* Memory, with what a case before left in it, that ends, or else starts, next to pages that cannot
 * be accessed; what is not used of it cannot, either. */
static unsigned char *kept_bytes(size_t bytes, bool at_end, struct hs_mapping *mapping)
{
    uintptr_t page = page_size();
    size_t used = (bytes + page - 1) / page * page;
    size_t room = (used + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (mapping->size < room + 2 * HUGE_PAGE) {
        unmap(mapping);
        map_guarded(room + 2 * HUGE_PAGE, mapping);
    }
    room = mapping->size - 2 * HUGE_PAGE;
    uintptr_t first = ((uintptr_t)mapping->start + page + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (bytes >= HUGE_PAGE)
        madvise((void *)first, room, MADV_HUGEPAGE);
    set_access(first, room, PROT_NONE);
    set_access(at_end ? first + room - used : first, used, PROT_READ | PROT_WRITE);
    return (unsigned char *)(at_end ? first + room - bytes : first);
}

static unsigned char *memory(size_t position, int copy, size_t bytes, size_t offset,
                             enum placement placement, struct hs_mapping *mapping)
{
    if (placement == FOR_TIMING)
        return map_bytes(bytes, offset, mapping);
    if (!kept)
        kept = calloc(2 * hs_arg_count, sizeof *kept);
    struct hs_mapping *own = &kept[2 * position + copy];
    unsigned char *start = kept_bytes(bytes, placement == GUARDED_END, own);
    *mapping = *own;
    return start;
}

static void make_buffer(struct hs_arg *arg, const struct test_case *test, uint64_t seed,
                        size_t position)
{
    enum placement placement = test->placement;
    arg->elements = 1;
    for (int d = 0; d < arg->ndim; d++)
        arg->elements += (arg->extents[d] - 1) * arg->strides[d];
    size_t width = size_of(arg->type), data_bytes = arg->elements * width;
    /* Arrays differ in where they lie; all are aligned to their elements. */
    size_t apart = test->offset * (1 + position % 3) / width * width;
    arg->before = placement == GUARDED_START ? apart : CANARY;
    arg->bytes = arg->before + data_bytes + (placement == GUARDED_END ? apart : CANARY);
    size_t offset = test->offset / width * width;
    unsigned char *copies[2];
    for (int copy = 0; copy < 1 + arg->written; copy++)
        copies[copy] = memory(position, copy, arg->bytes, offset, placement, &arg->mappings[copy]);
    arg->working = copies[0];
    arg->pristine = copies[arg->written]; /* what is not written cannot be */
    arg->data = arg->working + arg->before;

    /* Not poison around arrays that are written: adding to a NaN would leave no mark. */
    int poison = poison_of(arg->type), around = is_float(arg->type) && arg->written ? 0x47 : poison;
    memset(arg->pristine, around, arg->before);
    memset(arg->pristine + arg->before, around, has_gaps(arg) ? data_bytes : 0);
    memset(arg->pristine + arg->before + data_bytes, around, arg->bytes - arg->before - data_bytes);
    uint64_t state = seed + 0x632be59bd9b4e019u * (position + 1);
    uint64_t specials = seed + 3 * position;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    size_t flat = 0;
    unsigned char *data = arg->pristine + arg->before;
    if (!fill_at_once(arg, data, state))
        do
            if (arg->fill == FILL_POISON)
                memset(data + flat * width, poison, width);
            else
                store(arg->type, data, flat, draw_element(arg, index, &state, &specials));
        while (next_index(arg, index, &flat));
    /* What outputs are compared with is out of reach of stray writes. */
    uintptr_t first = (uintptr_t)arg->pristine / page_size() * page_size();
    set_access(first, (uintptr_t)arg->pristine + arg->bytes - first, PROT_READ);
}

struct test_case read_case(void)
{
    struct test_case test;
    job_line(test.expected_path, sizeof test.expected_path);
    test.placement = (enum placement)job_number();
    test.offset = (size_t)job_number();
    if (test.placement == FOR_TIMING)
        release_kept();
    test.share = job_number();
    test.as_written = job_number() != 0;
    test.uncalled = job_number() != 0;
    test.look = job_number() != 0;
    uint64_t seed = test.seed = (uint64_t)job_number();
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
        int written = (int)job_number();
        arg->written = written > 0;
        arg->whole = written > 1;
        arg->density = job_number();
        arg->ndim = (int)job_number();
        for (int d = 0; d < arg->ndim; d++)
            arg->extents[d] = (int_fast32_t)job_number();
        for (int d = 0; d < arg->ndim; d++)
            arg->strides[d] = (int_fast32_t)job_number();
        make_buffer(arg, &test, seed, i);
    }
    return test;
}

void restore(const struct test_case *test)
{
    memcpy(test->context, test->pristine_context, hs_context_size);
    for (size_t i = 0; i < hs_arg_count; i++) {
        const struct hs_arg *arg = &test->args[i];
        if (arg->written)
            memcpy(arg->working, arg->pristine, arg->bytes);
    }
}

void restore_read(const struct test_case *test)
{
    for (size_t i = 0; i < hs_arg_count; i++) {
        const struct hs_arg *arg = &test->args[i];
        if (arg->written && arg->fill != FILL_POISON)
            memcpy(arg->working, arg->pristine, arg->bytes);
    }
}

#if defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>

/* The canaries, and what is between the rows of windows. */
void poison_surroundings(const struct test_case *test, bool poisoned)
{
    for (size_t i = 0; i < hs_arg_count; i++) {
        const struct hs_arg *arg = &test->args[i];
        if (!arg->is_buffer)
            continue;
        ASAN_UNPOISON_MEMORY_REGION(arg->working, arg->bytes);
        if (!poisoned)
            continue;
        ASAN_POISON_MEMORY_REGION(arg->working, arg->bytes);
        size_t width = size_of(arg->type), flat = 0;
        int_fast32_t index[HS_MAX_DIMS] = {0};
        do
            ASAN_UNPOISON_MEMORY_REGION((char *)arg->data + flat * width, width);
        while (next_index(arg, index, &flat));
    }
}
#else
void poison_surroundings(const struct test_case *test, bool poisoned)
{
    (void)test, (void)poisoned;
}
#endif

static const struct test_case *watched;
static size_t watched_number;

/* An access to what lies around an array is a finding; any other one takes its course. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    for (size_t i = 0; watched && i < hs_arg_count; i++) {
        const struct hs_arg *arg = &watched->args[i];
        const struct hs_mapping *around = &arg->mappings[0];
        ptrdiff_t at = (unsigned char *)info->si_addr - (unsigned char *)around->start;
        if (arg->is_buffer && at >= 0 && at < (ptrdiff_t)around->size) {
            report("outside %zu %zu %td %zu", watched_number, i,
                   (unsigned char *)info->si_addr - (unsigned char *)arg->data,
                   arg->elements * size_of(arg->type));
            _exit(0);
        }
    }
}

void catch_faults(void)
{
    static char stack[1 << 16]; /* the kernel's own may be used up */
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternative, NULL);
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    sigaction(SIGSEGV, &action, NULL);
}

void watch(const struct test_case *test, size_t number)
{
    watched = test;
    watched_number = number;
}

void discard(struct test_case *test)
{
    watched = NULL;
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        for (int copy = 0; copy < 2 && test->placement == FOR_TIMING; copy++)
            unmap(&arg->mappings[copy]);
    }
    free(test->args);
    free(test->context);
    free(test->pristine_context);
}

double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
