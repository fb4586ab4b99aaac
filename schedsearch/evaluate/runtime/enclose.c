/* Evaluates the procedure on a case and writes down what each output may be: per array a word,
 * whether there are intervals, then the lower bounds and, if so, the upper ones, each of the
 * array's own type and layout; then the context, and a radius for each of its fields.
 *
 * Bounds the wrong way round admit anything. Elements that are not written have their initial
 * value as bounds. */
#include "stages.h"

#include <float.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "elements.h"
#include "enclosure.h"

_Noreturn void hs_out_of_bounds(const char *name, int dim, int64_t index, int64_t extent)
{
    report("error index %lld of dimension %d of %s is outside of [0, %lld)", (long long)index, dim,
           name, (long long)extent);
    _exit(2);
}

void *hs_cells(int64_t count)
{
    struct cell *cells = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *cells);
    if (!cells)
        fail("out of memory for the evaluation of the procedure");
    return cells;
}

static struct format format_of(enum hs_type type)
{
    switch (type) {
    case HS_F16: return (struct format){0x1p-11, 0x1p-14, 0x1p11, 65504};
    case HS_F32: return (struct format){0x1p-24, 0x1p-126, 0x1p24, FLT_MAX};
    default: return (struct format){0x1p-52, 0x1p-1022, 0x1p53, DBL_MAX};
    }
}

static struct enclosed load_cell(enum hs_type type, const struct cell *cell)
{
    return is_float(type) ? load_float(cell, format_of(type)) : load_int(cell);
}

static void least_and_most(enum hs_type type, double *least, double *most)
{
    *least = type == HS_I8 ? -128 : type == HS_I32 ? -0x1p31 : 0;
    *most = type == HS_I8 ? 127 : type == HS_U8 ? 255 : type == HS_U16 ? 65535 : 0x1p31 - 1;
}

/* The nearest element of the type not above `value`, or, with `up`, not below. */
static void store_outward(enum hs_type type, void *data, size_t i, double value, bool up)
{
    double least, most;
    switch (type) {
    case HS_F16: /* up to one more */
        value += (up ? 1 : -1) * (fabs(value) * 0x1p-11 + 0x1p-25);
        store(type, data, i, value);
        return;
    case HS_F32: {
        float near = (float)value;
        if (up ? near < value : near > value)
            near = nextafterf(near, up ? INFINITY : -INFINITY);
        ((float *)data)[i] = near;
        return;
    }
    case HS_F64:
        ((double *)data)[i] = value;
        return;
    default:
        least_and_most(type, &least, &most);
        store(type, data, i, fmin(fmax(up ? ceil(value) : floor(value), least), most));
    }
}

static void store_anything(enum hs_type type, void *low, void *high, size_t i)
{
    store(type, low, i, 1);
    store(type, high, i, 0);
}

/* What cases can tell of an array: how many elements are written, for how many of these a
 * result is promised, in how many a term more or less, or a value left at 0, would show, and in
 * how many it drowns in roundings. */
struct power {
    size_t written, defined, sharp, rough;
};

static void judge_power(struct power *power, struct enclosed a, const struct cell *cell)
{
    double term = a.size / (cell->terms + 1);
    bool added = !(cell->state & ADDED_TO) || cell->terms > 0;
    bool clear = a.radius == 0 || a.radius <= term / 4;
    power->rough += !clear;
    power->sharp += clear && added && a.value != 0 && a.radius <= fabs(a.value) / 4;
}

static bool bound_elements(const struct hs_arg *arg, const struct cell *cells, bool finite_only,
                           unsigned char *low, unsigned char *high, struct power *power)
{
    const unsigned char *initial = arg->pristine + arg->before;
    size_t width = size_of(arg->type), flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    bool intervals = false;
    do {
        if (!(cells[flat].state & WRITTEN_TO)) {
            memcpy(low + flat * width, initial + flat * width, width);
            memcpy(high + flat * width, initial + flat * width, width);
            continue;
        }
        struct enclosed a = load_cell(arg->type, &cells[flat]);
        bool special = !isfinite(a.value);
        power->written++;
        if (a.radius == INFINITY || (special && finite_only)) {
            store_anything(arg->type, low, high, flat);
            intervals = true;
            continue;
        }
        power->defined++;
        if (!special) /* NaN and infinity say little of what they were made of */
            judge_power(power, a, &cells[flat]);
        if (special || a.radius == 0) {
            store(arg->type, low, flat, a.value);
            store(arg->type, high, flat, a.value);
            continue;
        }
        intervals = true;
        store_outward(arg->type, low, flat, a.value - a.radius * (1 + 1e-9), false);
        store_outward(arg->type, high, flat, a.value + a.radius * (1 + 1e-9), true);
    } while (next_index(arg, index, &flat));
    return intervals;
}

static struct cell *initial_cells(const struct hs_arg *arg)
{
    struct cell *cells = hs_cells((int64_t)arg->elements);
    if (arg->fill == FILL_POISON)
        return cells;
    size_t flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    do {
        assign(&cells[flat], exactly(load(arg->type, arg->data, flat)));
        cells[flat].state &= ~WRITTEN_TO;
    } while (next_index(arg, index, &flat));
    return cells;
}

static size_t write_array(const struct hs_arg *arg, const struct cell *cells, bool finite_only,
                          int output, struct power *power)
{
    size_t bytes = arg->elements * size_of(arg->type);
    unsigned char *low = calloc(1, bytes), *high = calloc(1, bytes);
    if (!low || !high)
        fail("out of memory for the bounds of an array");
    uint64_t intervals = bound_elements(arg, cells, finite_only, low, high, power);
    size_t written = append(output, &intervals, sizeof intervals);
    written += append(output, low, bytes);
    if (intervals)
        written += append(output, high, bytes);
    free(low);
    free(high);
    return written;
}

static size_t write_context(struct test_case *test, const struct cell *fields, int output)
{
    double *radii = calloc(hs_field_count + 1, sizeof *radii);
    for (size_t i = 0; i < hs_field_count; i++) {
        const struct hs_field *field = &hs_fields[i];
        if (!(fields[i].state & WRITTEN_TO))
            continue;
        struct enclosed a = load_cell(field->type, &fields[i]);
        store(field->type, (char *)test->context + field->offset, 0, a.value);
        radii[i] = a.radius;
    }
    size_t written = append(output, test->context, hs_context_size);
    written += append(output, radii, hs_field_count * sizeof *radii);
    free(radii);
    return written;
}

/* What the kernel makes of them: just that, or, for want of an evaluation, within a thousandth. */
static void take_outputs(const struct hs_arg *arg, bool exact, struct cell *cells)
{
    double total = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t flat = 0;
        int_fast32_t index[HS_MAX_DIMS] = {0};
        do {
            double value = load(arg->type, arg->data, flat), size = fabs(value);
            if (pass == 0) {
                total += isfinite(size) ? size / arg->elements : 0;
                continue;
            }
            bool open = !exact && is_float(arg->type) && isfinite(value);
            double radius = open ? 1e-3 * (size + total) : 0;
            assign(&cells[flat], (struct enclosed){value, radius, size});
        } while (next_index(arg, index, &flat));
    }
}

void enclose_case(struct test_case *test, void *as_written, size_t number, enum contract contract,
                  int output)
{
    restore(test);
    struct cell **cells = calloc(hs_arg_count + 1, sizeof *cells);
    struct cell *fields = hs_cells((int64_t)hs_field_count);
    for (size_t i = 0; i < hs_arg_count; i++)
        if (test->args[i].written)
            cells[i] = initial_cells(&test->args[i]);
    for (size_t i = 0; i < hs_field_count; i++) {
        const struct hs_field *field = &hs_fields[i];
        assign(&fields[i], exactly(load(field->type, (char *)test->context + field->offset, 0)));
        fields[i].state &= ~WRITTEN_TO;
    }
    if (test->as_written) {
        hs_invoke(as_written, test->context, test->args);
        for (size_t i = 0; i < hs_arg_count; i++)
            if (test->args[i].written)
                take_outputs(&test->args[i], contract == STRICT, cells[i]);
    } else {
        hs_enclose(test->args, test->context, cells, fields);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct power power = {0};
        if (!test->args[i].written)
            continue;
        bytes += write_array(&test->args[i], cells[i], contract == FAST, output, &power);
        report("power %zu %zu %zu %zu %zu %zu", number, i, power.written, power.defined,
               power.sharp, power.rough);
        free(cells[i]);
    }
    bytes += write_context(test, fields, output);
    report("enclosed %zu %zu", number, bytes);
    free(fields);
    free(cells);
}
