/* What the caller of one procedure consists of: the generated signature (signature.c), and the
 * code that all signatures share (caller.c). */
#ifndef CALLER_H
#define CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_DIMS = 8 };

struct parameter {
    const char *name;
    char element;        /* of data: its letter in buffer formats; 0: a control value */
    int bytes;           /* of an element */
    int rank;            /* -1: a scalar */
    bool truth;          /* of control values: a boolean */
    bool window;         /* data with strides of its own */
    bool written;
};

struct arg {
    int_fast32_t control;
    bool known;          /* of control values: given, or inferred */
    void *data;
    ptrdiff_t shape[MOST_DIMS];
    int_fast32_t strides[MOST_DIMS]; /* in elements */
};

/* The signature. Parameters are those of the procedure, in its order. */
extern const char *const procedure_name;
extern const int parameter_count, size_count;
extern const struct parameter parameters[];
extern const int sizes[];                  /* which parameters are sizes */
void infer(struct arg *args);              /* control values, from shapes */
int wrong_shape(const struct arg *args, int *dim); /* the parameter, -1 if all are right */
int broken(const struct arg *args);        /* the number of the condition, -1 if all hold */
void invoke(void *function, const struct arg *args);

#endif
