/* What the generated signature of a workload and the fixed runtime share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_type { HS_F16, HS_F32, HS_F64, HS_I8, HS_U8, HS_U16, HS_I32, HS_INDEX, HS_BOOL };

enum { HS_MAX_DIMS = 16 };

struct hs_mapping {
    void *start;
    size_t size;
};

/* An argument of the procedure: a control value, or a buffer with strides in elements. */
struct hs_arg {
    int_fast32_t control;
    void *data;
    int ndim;
    int_fast32_t extents[HS_MAX_DIMS], strides[HS_MAX_DIMS];
    enum hs_type type;
    bool is_buffer, written, whole;    /* `whole`: certainly every element is written */
    int fill;
    double lo, hi;                     /* range of input values */
    double density;                    /* share of those that are not 0, away from the edges */
    size_t elements, bytes;            /* span of the data; of canary + data + canary */
    size_t before;                     /* bytes of the canary in front */
    unsigned char *working, *pristine; /* canary + data + canary, and the copy to restore */
    struct hs_mapping mappings[2];     /* of `working` and `pristine` */
};

/* A configuration field inside the context struct. */
struct hs_field {
    size_t offset;
    enum hs_type type;
};

extern const char *const hs_proc_name;
extern const size_t hs_arg_count, hs_field_count, hs_context_size;
extern const struct hs_field hs_fields[];
struct cell;
/* What the procedure may compute (enclosure.h): into `cells` of the arguments that are
 * written, `fields` of the configuration, and the control fields of `context`. */
__attribute__((weak)) void hs_enclose(const struct hs_arg *args, void *context, struct cell *const *cells,
                struct cell *fields);
void hs_invoke(void *function, void *context, const struct hs_arg *args);
