#include "stages.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "elements.h"
#include "state.h"

static size_t append(int output, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = write(output, (const char *)data + done, size - done);
        if (count <= 0) {
            report("error cannot write the reference outputs: %s", strerror(errno));
            _exit(2);
        }
        done += count;
    }
    return size;
}

void record_case(struct test_case *test, void *function, int output)
{
    restore(test);
    double start = now_ns();
    hs_invoke(function, test->context, test->args);
    double elapsed = now_ns() - start;
    check_state();

    size_t not_finite = 0, bytes = 0;
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        if (!arg->written)
            continue;
        size_t width = size_of(arg->type);
        bytes += append(output, arg->data, width * arg->elements);
        const unsigned char *before = arg->pristine + arg->before, *after = arg->data;
        int_fast32_t index[HS_MAX_DIMS] = {0};
        size_t flat = 0;
        do
            not_finite += !isfinite(load(arg->type, after, flat))
                && memcmp(before + flat * width, after + flat * width, width) != 0;
        while (next_index(arg, index, &flat));
    }
    bytes += append(output, test->context, hs_context_size);
    report("recorded %.0f %zu %zu", elapsed, not_finite, bytes);
}

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
    const unsigned char *initial = arg->pristine + arg->before;
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

void verify_case(struct test_case *test, void *function, size_t number)
{
    report("verifying %zu", number);
    restore(test);
    poison_surroundings(test, true);
    spoil_fresh_memory(true);
    hs_invoke(function, test->context, test->args);
    spoil_fresh_memory(false);
    poison_surroundings(test, false);
    check_state();

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
