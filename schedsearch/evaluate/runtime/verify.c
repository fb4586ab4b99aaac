#include "stages.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel.h"
#include "elements.h"
#include "state.h"

/* Of a file of bounds, everything starts at a multiple of that. */
enum { UNIT = sizeof(uint64_t) };

static size_t padded(size_t size) { return (size + UNIT - 1) / UNIT * UNIT; }

static void write_all(int output, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = write(output, (const char *)data + done, size - done);
        if (count <= 0) {
            report("error cannot write the reference outputs: %s", strerror(errno));
            _exit(2);
        }
        done += count;
    }
}

size_t append(int output, const void *data, size_t size)
{
    static const char zeros[UNIT];
    write_all(output, data, size);
    write_all(output, zeros, padded(size) - size);
    return padded(size);
}

bool is_poison(const unsigned char *bytes, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (bytes[i] != 0xFF)
            return false;
    return true;
}

bool is_admissible(const struct hs_arg *arg, const unsigned char *got,
                   const unsigned char *low, const unsigned char *high, bool bitwise)
{
    size_t width = size_of(arg->type);
    if (memcmp(got, low, width) == 0)
        return true;
    double least = load(arg->type, low, 0), most = load(arg->type, high, 0);
    if (is_float(arg->type) && (is_poison(got, width) || is_poison(low, width)))
        return false;
    double value = load(arg->type, got, 0);
    if (isnan(least))
        return isnan(value);
    if (least > most)
        return true;
    return !bitwise && least <= value && value <= most;
}

#define WITHIN(name, type)                                                              \
    __attribute__((optimize("O3"))) static bool name(const void *got, const void *low,    \
                                                     const void *high, size_t count)      \
    {                                                                                     \
        int outside = 0;                                                                  \
        for (size_t i = 0; i < count; i++) {                                              \
            type value = ((const type *)got)[i];                                          \
            outside |= !(((const type *)low)[i] <= value) | !(value <= ((const type *)high)[i]); \
        }                                                                                 \
        return !outside;                                                                  \
    }
WITHIN(within_f32, float)
WITHIN(within_f64, double)
WITHIN(within_i8, int8_t)
WITHIN(within_i32, int32_t)

/* Whether all elements of an array without gaps lie within their bounds, as it is mostly; false
 * if each has to be looked at. */
static bool all_within(const struct hs_arg *arg, const unsigned char *low,
                       const unsigned char *high, bool bitwise)
{
    size_t count = arg->elements;
    if (has_gaps(arg))
        return false;
    if (bitwise || low == high)
        return memcmp(arg->data, low, count * size_of(arg->type)) == 0;
    switch (arg->type) {
    case HS_F32: return within_f32(arg->data, low, high, count);
    case HS_F64: return within_f64(arg->data, low, high, count);
    case HS_I8: return within_i8(arg->data, low, high, count);
    case HS_I32: return within_i32(arg->data, low, high, count);
    default: return false;
    }
}

/* Compares the logical elements, putting each back to its initial value, so that
 * what differs afterwards was written outside of the array. */
static void compare_outputs(const struct hs_arg *arg, size_t number, size_t position,
                            const unsigned char *low, const unsigned char *high, bool bitwise)
{
    const unsigned char *initial = arg->pristine + arg->before;
    size_t width = size_of(arg->type), wrong = 0, first = 0, flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    double got = 0;
    if (all_within(arg, low, high, bitwise)) {
        memcpy(arg->data, initial, arg->elements * width);
        return;
    }
    do {
        unsigned char *element = (unsigned char *)arg->data + flat * width;
        size_t at = flat * width;
        if (!is_admissible(arg, element, low + at, high + at, bitwise) && wrong++ == 0) {
            first = flat;
            got = load(arg->type, element, 0);
        }
        memcpy(element, initial + at, width);
    } while (next_index(arg, index, &flat));
    if (wrong) {
        report("mismatch %zu %zu %zu %zu %.9g %.9g %.9g", number, position, first, wrong, got,
               load(arg->type, low, first), load(arg->type, high, first));
        _exit(0);
    }
}

/* A file of bounds, in memory, and how far it has been read. */
struct bounds {
    unsigned char *start;
    size_t size, at;
};

static struct bounds open_bounds(const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        fail("cannot read the reference outputs");
    size_t size = (size_t)status.st_size;
    void *start = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0) : NULL;
    if (start == MAP_FAILED)
        fail("cannot read the reference outputs");
    close(file);
    return (struct bounds){start, size, 0};
}

static const unsigned char *next_bounds(struct bounds *bounds, size_t size)
{
    const unsigned char *here = bounds->start + bounds->at;
    if (padded(size) > bounds->size - bounds->at)
        fail("the reference outputs are truncated");
    bounds->at += padded(size);
    return here;
}

/* Elements that were not evaluated may be anything but the NaN that outputs start as. */
static void find_unwritten(const struct hs_arg *arg, size_t number, size_t position)
{
    size_t width = size_of(arg->type), unwritten = 0, first = 0, flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    do
        if (is_poison((const unsigned char *)arg->data + flat * width, width) && unwritten++ == 0)
            first = flat;
    while (next_index(arg, index, &flat));
    if (unwritten) {
        report("mismatch %zu %zu %zu %zu %.9g 1 0", number, position, first, unwritten, NAN);
        _exit(0);
    }
}

/* Compares the elements that were evaluated, and puts back all. */
static void compare_evaluated(const struct hs_arg *arg, size_t number, size_t position,
                              struct bounds *bounds, bool bitwise)
{
    size_t width = size_of(arg->type), wrong = 0, first = 0, flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    uint64_t count;
    memcpy(&count, next_bounds(bounds, sizeof count), sizeof count);
    const uint64_t *places = (const uint64_t *)next_bounds(bounds, count * sizeof *places);
    const unsigned char *low = next_bounds(bounds, count * width);
    const unsigned char *high = next_bounds(bounds, count * width);
    unsigned char *data = arg->data;
    for (size_t i = 0; i < count; i++)
        if (!is_admissible(arg, data + places[i] * width, low + i * width, high + i * width, bitwise)
            && wrong++ == 0)
            first = i;
    if (wrong) {
        report("mismatch %zu %zu %zu %zu %.9g %.9g %.9g", number, position, (size_t)places[first],
               wrong, load(arg->type, data, places[first]), load(arg->type, low, first),
               load(arg->type, high, first));
        _exit(0);
    }
    if (arg->whole)
        find_unwritten(arg, number, position);
    const unsigned char *initial = arg->pristine + arg->before;
    if (!has_gaps(arg)) {
        memcpy(data, initial, arg->elements * width);
        return;
    }
    do
        memcpy(data + flat * width, initial + flat * width, width);
    while (next_index(arg, index, &flat));
}

static void compare_array(const struct hs_arg *arg, size_t number, size_t position,
                          struct bounds *bounds, bool bitwise)
{
    size_t bytes = arg->elements * size_of(arg->type);
    uint64_t intervals;
    memcpy(&intervals, next_bounds(bounds, sizeof intervals), sizeof intervals);
    if (intervals == SOME) {
        compare_evaluated(arg, number, position, bounds, bitwise);
        return;
    }
    const unsigned char *low = next_bounds(bounds, bytes);
    compare_outputs(arg, number, position, low, intervals ? next_bounds(bounds, bytes) : low, bitwise);
}

static void compare_context(const struct test_case *test, size_t number, struct bounds *bounds)
{
    const unsigned char *context = next_bounds(bounds, hs_context_size);
    const double *radii = (const double *)next_bounds(bounds, hs_field_count * sizeof *radii);
    for (size_t i = 0; i < hs_field_count; i++) {
        const struct hs_field *field = &hs_fields[i];
        double want = load(field->type, context + field->offset, 0);
        double got = load(field->type, test->context + field->offset, 0);
        bool same = want == got || (isnan(want) && isnan(got)) || fabs(want - got) <= radii[i];
        if (!same && radii[i] < INFINITY) {
            report("config %zu %zu %.9g %.9g", number, i, want, got);
            _exit(0);
        }
    }
}

static void check_untouched(const struct hs_arg *arg, size_t number, size_t position)
{
    if (arg->working == arg->pristine) /* it cannot be written */
        return;
    if (memcmp(arg->working, arg->pristine, arg->bytes) == 0)
        return;
    size_t at = 0;
    while (arg->working[at] == arg->pristine[at])
        at++;
    report("touched %zu %zu %td %zu", number, position, (ptrdiff_t)(at - arg->before),
           arg->elements * size_of(arg->type));
    _exit(0);
}

/* Whether what malloc returns is filled with large numbers (0x7f7f..), instead of holding what was
 * left there: a kernel must not rely on that. glibc; small blocks that are used again keep their
 * contents, sanitizers fill those. */
static void spoil_fresh_memory(bool spoil)
{
#if defined(M_PERTURB)
    mallopt(M_PERTURB, spoil ? 0x80 : 0);
#endif
    (void)spoil;
}

void verify_case(struct test_case *test, void *function, size_t number, bool bitwise)
{
    report("verifying %zu", number);
    restore(test);
    poison_surroundings(test, true);
    spoil_fresh_memory(true);
    double start = now_ns();
    hs_invoke(function, test->context, test->args);
    double elapsed = now_ns() - start;
    spoil_fresh_memory(false);
    poison_surroundings(test, false);
    check_state();
    report("called %zu %.0f", number, elapsed);

    struct bounds bounds = open_bounds(test->expected_path);
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        if (arg->written)
            compare_array(arg, number, i, &bounds, bitwise);
        if (arg->is_buffer)
            check_untouched(arg, number, i);
    }
    compare_context(test, number, &bounds);
    munmap(bounds.start, bounds.size);
}
