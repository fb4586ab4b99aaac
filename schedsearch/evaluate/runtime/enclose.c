/* Evaluates the procedure on a case and writes down what each output may be: per array a word,
 * whether there are intervals, then the lower bounds and, if so, the upper ones, each of the array's
 * own type and layout (of SOME elements: how many, which, and both bounds of each); then the context,
 * and a radius for each of its fields.
 *
 * Bounds the wrong way round admit anything. Elements that are not written have their initial
 * value as bounds. */
#include "stages.h"

#include <float.h>
#include <string.h>
#include <sys/mman.h>
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

/* Of a look, for which iterations may be long, and there may be many looks, few. */
enum { FIRST_ITERATIONS = 4, LAST_ITERATIONS = 12, OF_A_LOOK = 1 };
const bool *hs_samples;
int64_t hs_first, hs_last;
bool hs_jumped;

/* One iteration of as many as lie between two, on average, so that no larger block goes without. */
static const bool *samples_of(const struct test_case *test)
{
    if (test->share == 1)
        return NULL;
    int64_t longest = 1;
    for (size_t i = 0; i < hs_arg_count; i++)
        for (int d = 0; d < test->args[i].ndim; d++)
            longest = test->args[i].extents[d] > longest ? test->args[i].extents[d] : longest;
    bool *samples = calloc((size_t)longest, sizeof *samples);
    if (!samples)
        fail("out of memory for the samples of an evaluation");
    int64_t apart = (int64_t)ceil(1 / test->share);
    for (int64_t block = 0; block * apart < longest; block++) {
        uint64_t state = test->seed + (uint64_t)block;
        int64_t taken = block * apart + (int64_t)(next_random(&state) % (uint64_t)apart);
        if (taken < longest)
            samples[taken] = true;
    }
    return samples;
}

/* What cases can tell of an array: how many elements are written, for how many of these a
 * result is promised, in how many a term more or less, or a value left at 0, would show, and in
 * how many it drowns in roundings. */
struct power {
    size_t written, defined, sharp, rough;
};

static bool judge_power(struct power *power, struct enclosed a, const struct cell *cell)
{
    double term = a.size / (cell->terms + 1);
    bool added = !(cell->state & ADDED_TO) || cell->terms > 0;
    bool clear = a.radius == 0 || a.radius <= term / 4;
    power->rough += !clear;
    power->sharp += clear && added && a.value != 0 && a.radius <= fabs(a.value) / 4;
    return clear;
}

/* Arrays of no more elements have a mark for each: whether a fault may drown in it, and whether it
 * is 0, but no constant, so that what is lost of it does not show. */
enum { MOST_MARKS = 1 << 18, DROWNED = 1, SILENT = 2 };

static unsigned char mark(struct enclosed a, const struct cell *cell, bool clear)
{
    bool constant = (cell->state & (CONSTANT | ADDED_TO)) == CONSTANT;
    return (clear ? 0 : DROWNED) | (a.value == 0 && !constant ? SILENT : 0);
}

/* The bounds of an element, as the `at`th of `low` and `high`; returns whether they differ. */
static bool bound_element(enum hs_type type, const struct cell *cell, bool finite_only,
                          struct power *power, unsigned char *unclear, void *low, void *high,
                          size_t at)
{
    struct enclosed a = load_cell(type, cell);
    bool special = !isfinite(a.value), taken = cell->state & TAKEN;
    struct power nothing = {0}, *own = taken ? &nothing : power;
    own->written++;
    *unclear = taken && a.radius < INFINITY ? 0 : DROWNED | SILENT;
    if (a.radius == INFINITY || (special && finite_only)) {
        store_anything(type, low, high, at);
        return true;
    }
    own->defined++;
    /* NaN and infinity say little of what they were made of */
    bool clear = !special && judge_power(own, a, cell);
    if (!taken)
        *unclear = mark(a, cell, clear);
    if (special || a.radius == 0) {
        store(type, low, at, a.value);
        store(type, high, at, a.value);
        return false;
    }
    store_outward(type, low, at, a.value - a.radius * (1 + 1e-9), false);
    store_outward(type, high, at, a.value + a.radius * (1 + 1e-9), true);
    return true;
}

static bool bound_elements(const struct hs_arg *arg, const struct cell *cells, bool finite_only,
                           unsigned char *low, unsigned char *high, struct power *power,
                           unsigned char *unclear)
{
    const unsigned char *initial = arg->pristine + arg->before;
    size_t width = size_of(arg->type), flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    bool intervals = false;
    do {
        unsigned char unused, *own = arg->elements <= MOST_MARKS ? &unclear[flat] : &unused;
        if (!(cells[flat].state & WRITTEN_TO)) {
            memcpy(low + flat * width, initial + flat * width, width);
            memcpy(high + flat * width, initial + flat * width, width);
        } else {
            intervals |= bound_element(arg->type, &cells[flat], finite_only, power, own, low, high,
                                       flat);
        }
    } while (next_index(arg, index, &flat));
    return intervals;
}

static void *grown(void *data, size_t bytes)
{
    data = realloc(data, bytes);
    if (!data)
        fail("out of memory for the bounds of an array");
    return data;
}

/* Of an array of which a part is evaluated: how many elements, which, and their bounds. */
static size_t write_evaluated(const struct hs_arg *arg, const struct cell *cells, bool finite_only,
                              struct power *power, unsigned char *unclear, int output)
{
    size_t width = size_of(arg->type), flat = 0, room = 0;
    uint64_t count = 0, *places = NULL, kind = SOME;
    unsigned char *low = NULL, *high = NULL, unused;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    do {
        if (!(cells[flat].state & WRITTEN_TO))
            continue;
        if (count == room) {
            room = 2 * room + 1024;
            places = grown(places, room * sizeof *places);
            low = grown(low, room * width);
            high = grown(high, room * width);
        }
        places[count] = flat;
        bound_element(arg->type, &cells[flat], finite_only, power,
                      arg->elements <= MOST_MARKS ? &unclear[flat] : &unused, low, high, count);
        count++;
    } while (next_index(arg, index, &flat));
    size_t written = append(output, &kind, sizeof kind) + append(output, &count, sizeof count);
    written += append(output, places, count * sizeof *places);
    written += append(output, low, count * width) + append(output, high, count * width);
    free(places);
    free(low);
    free(high);
    return written;
}

void hs_initial(struct cell *cell, const struct hs_arg *arg, size_t flat)
{
    if (arg->fill == FILL_POISON)
        return;
    assign(cell, exactly(load(arg->type, arg->pristine + arg->before, flat)));
    cell->state &= ~WRITTEN_TO;
}

/* Of an argument, all unset: memory that is not touched takes none. */
static struct cell *cells_of(const struct hs_arg *arg)
{
    size_t bytes = arg->elements * sizeof(struct cell);
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        fail("out of memory for the evaluation of the procedure");
    madvise(start, bytes, MADV_NOHUGEPAGE);
    return start;
}

static size_t write_array(const struct hs_arg *arg, const unsigned char *low,
                          const unsigned char *high, bool intervals, int output)
{
    size_t bytes = arg->elements * size_of(arg->type);
    uint64_t sides = intervals;
    size_t written = append(output, &sides, sizeof sides) + append(output, low, bytes);
    return written + (intervals ? append(output, high, bytes) : 0);
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

/* How far elements that were evaluated are known, at most: twice their radius, relative to
 * themselves and to the mean. */
static double roughest(const struct hs_arg *arg, const struct cell *cells, double mean)
{
    double most = 0;
    size_t flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    do {
        if (!(cells[flat].state & WRITTEN_TO))
            continue;
        struct enclosed a = load_cell(arg->type, &cells[flat]);
        if (a.radius > 0 && (isfinite(a.value) || a.radius == INFINITY))
            most = fmax(most, 2 * a.radius / (fabs(a.value) + mean + DBL_MIN));
    } while (next_index(arg, index, &flat));
    return most;
}

/* What the kernel makes of elements that were not evaluated: just that, or, of floats, within a
 * thousandth, or as roughly as the others are known. Where functions jump, nobody knows. */
static void take_outputs(const struct hs_arg *arg, bool exact, struct cell *cells)
{
    const unsigned char *initial = arg->pristine + arg->before;
    size_t width = size_of(arg->type);
    double mean = 0, rough = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t flat = 0;
        int_fast32_t index[HS_MAX_DIMS] = {0};
        do {
            const unsigned char *element = (const unsigned char *)arg->data + flat * width;
            double value = load(arg->type, element, 0), size = fabs(value);
            bool same = memcmp(element, initial + flat * width, width) == 0;
            bool unknown = !exact && (hs_jumped || rough == INFINITY);
            /* integers may be the same by chance */
            bool untouched = arg->fill == FILL_POISON && same && (is_float(arg->type) || !unknown);
            if (pass == 0) {
                mean += isfinite(size) ? size / arg->elements : 0;
            } else if (!untouched && !(cells[flat].state & WRITTEN_TO)) {
                bool open = !exact && is_float(arg->type) && isfinite(value);
                double radius = open ? fmax(1e-3, rough) * (size + mean) : 0;
                assign(&cells[flat], unknown ? ANYTHING : (struct enclosed){value, radius, size});
                cells[flat].state |= TAKEN;
            }
        } while (next_index(arg, index, &flat));
        if (pass == 0)
            rough = roughest(arg, cells, mean);
    }
}

/* The kernel has been called: it must lie within the bounds of what was evaluated. */
static void check_outputs(const struct hs_arg *arg, size_t number, size_t position,
                          const unsigned char *low, const unsigned char *high)
{
    size_t width = size_of(arg->type), flat = 0;
    int_fast32_t index[HS_MAX_DIMS] = {0};
    do {
        const unsigned char *element = (const unsigned char *)arg->data + flat * width;
        size_t at = flat * width;
        if (!is_admissible(arg, element, low + at, high + at, false)) {
            report("mismatch %zu %zu %zu 1 %.9g %.9g %.9g", number, position, flat,
                   load(arg->type, element, 0), load(arg->type, low, flat),
                   load(arg->type, high, flat));
            _exit(0);
        }
    } while (next_index(arg, index, &flat));
}

static size_t write_bounded(const struct hs_arg *arg, const struct cell *cells, bool finite_only,
                            bool called, size_t number, size_t position, struct power *power,
                            unsigned char *unclear, int output)
{
    size_t size = arg->elements * size_of(arg->type);
    unsigned char *low = calloc(1, size), *high = calloc(1, size);
    if (!low || !high)
        fail("out of memory for the bounds of an array");
    bool intervals = bound_elements(arg, cells, finite_only, low, high, power, unclear);
    if (called)
        check_outputs(arg, number, position, low, intervals ? high : low);
    size_t written = write_array(arg, low, high, intervals, output);
    free(low);
    free(high);
    return written;
}

static void call_as_written(struct test_case *test, void *as_written, size_t number, bool exact,
                            struct cell *const *cells)
{
    restore(test);
    double start = now_ns();
    hs_invoke(as_written, test->context, test->args);
    report("called %zu %.0f", number, now_ns() - start);
    for (size_t i = 0; i < hs_arg_count; i++)
        if (test->args[i].written)
            take_outputs(&test->args[i], exact, cells[i]);
}

void enclose_case(struct test_case *test, void *as_written, size_t number, enum contract contract,
                  int output)
{
    restore(test);
    hs_samples = samples_of(test);
    hs_first = test->look ? OF_A_LOOK : FIRST_ITERATIONS;
    hs_last = test->look ? OF_A_LOOK : LAST_ITERATIONS;
    hs_jumped = false;
    struct cell **cells = calloc(hs_arg_count + 1, sizeof *cells);
    struct cell *fields = hs_cells((int64_t)hs_field_count);
    for (size_t i = 0; i < hs_arg_count; i++)
        if (test->args[i].written)
            cells[i] = cells_of(&test->args[i]);
    for (size_t i = 0; i < hs_field_count; i++) {
        const struct hs_field *field = &hs_fields[i];
        assign(&fields[i], exactly(load(field->type, (char *)test->context + field->offset, 0)));
        fields[i].state &= ~WRITTEN_TO;
    }
    bool called = test->as_written || (test->share < 1 && !test->uncalled);
    if (!test->as_written)
        hs_enclose(test->args, test->context, cells, fields);
    if (called)
        call_as_written(test, as_written, number, contract == STRICT, cells);
    size_t bytes = 0;
    unsigned char **unclear = calloc(hs_arg_count + 1, sizeof *unclear);
    for (size_t i = 0; i < hs_arg_count; i++) {
        struct hs_arg *arg = &test->args[i];
        struct power power = {0};
        if (!arg->written)
            continue;
        unclear[i] = calloc(1, arg->elements <= MOST_MARKS ? arg->elements : 1);
        if (!unclear[i])
            fail("out of memory for the bounds of an array");
        if (test->uncalled)
            bytes += write_evaluated(arg, cells[i], contract == FAST, &power, unclear[i], output);
        else
            bytes += write_bounded(arg, cells[i], contract == FAST, called, number, i, &power,
                                   unclear[i], output);
        report("power %zu %zu %zu %zu %zu %zu", number, i, power.written, power.defined,
               power.sharp, power.rough);
        munmap(cells[i], arg->elements * sizeof *cells[i]);
    }
    bytes += write_context(test, fields, output);
    for (size_t i = 0; i < hs_arg_count; i++) {
        if (test->args[i].written && test->args[i].elements <= MOST_MARKS)
            bytes += append(output, unclear[i], test->args[i].elements);
        free(unclear[i]);
    }
    free(unclear);
    free((void *)hs_samples);
    report("enclosed %zu %zu", number, bytes);
    free(fields);
    free(cells);
}
