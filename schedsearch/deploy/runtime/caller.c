/* Calls a kernel on Python's buffers. Every check is here; what a refusal says is written in
 * Python (refusals.py), which gets its kind. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <time.h>

#include "caller.h"

/* As `Refused` of refusals.py. */
enum refusal {
    TOO_MANY, UNKNOWN_NAME, TWICE, MISSING, NO_CONTROL, NO_ARRAY, ELEMENT, RANK, STRIDES, ALIGNMENT,
    READ_ONLY, NO_SCALAR, SHAPE, CONDITION, ONTO_ITSELF, OVERLAP
};

/* As `LAYOUTS` of recorded.py. */
enum layout { DENSE, ROWS, STRIDED };

enum { VARIANTS = 256 }; /* a power of two */

/* Of a recording (recorder.py). Other processes read it. */
struct counter {
    uint64_t calls, ns;
};

/* The kernel for some sizes, while `using` has this value; and, of the recording `epoch`, where
 * calls with windows that lie so are counted. */
struct variant {
    void *function;
    struct counter *counter; /* NULL: nothing is recorded */
    PyObject *using;
    uint64_t epoch, layouts;
};

struct state {
    PyObject *resolve, *refuse, *as_buffer, *using;
    const volatile uint64_t *epoch; /* of the recording that goes on; 0: none does */
    PyObject **names;
    struct variant variants[VARIANTS];
    int_fast32_t *keys; /* `size_count` of each variant */
};

/* What is held of an argument during a call. */
struct held {
    PyObject *object, *owner; /* as given; what was made of it */
    Py_buffer view;
    bool open;
    const char *begin, *end;
    union {
        double d; float f; int8_t b; uint8_t B; uint16_t H; int32_t i;
#ifdef __FLT16_MAX__
        _Float16 e;
#endif
    } scalar;
};

struct call {
    const struct state *state;
    struct arg *args;
    struct held *held;
};

/* Raise what `refuse` raises. It may find that an overlap is none: then 0. */
static int refuse(const struct call *call, enum refusal kind, int position, int detail, PyObject *what)
{
    /* What an argument's own code raised is why it is refused; but an interrupt is none. */
    if (PyErr_Occurred() && (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)))
        return -1;
    PyObject *values = PyTuple_New(parameter_count);
    if (!values)
        return -1;
    for (int p = 0; p < parameter_count; p++) {
        PyObject *value = call->held[p].object;
        if (!parameters[p].element && call->args[p].known)
            value = PyLong_FromLongLong(call->args[p].control);
        else
            value = Py_NewRef(value ? value : Py_None);
        if (!value) {
            Py_DECREF(values);
            return -1;
        }
        PyTuple_SET_ITEM(values, p, value);
    }
    if (!what)
        what = position >= 0 && call->held[position].object ? call->held[position].object : Py_None;
    PyErr_Clear();
    PyObject *answer = PyObject_CallFunction(call->state->refuse, "iiiOO", (int)kind, position, detail, what, values);
    Py_DECREF(values);
    if (!answer)
        return -1;
    Py_DECREF(answer);
    return 0;
}

static int refused(const struct call *call, enum refusal kind, int position, int detail, PyObject *what)
{
    if (refuse(call, kind, position, detail, what) == 0)
        PyErr_Format(PyExc_ValueError, "%s cannot be called with these arguments", procedure_name);
    return -1;
}

static int place(const struct call *call, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t next = 0;
    for (int p = 0; p < parameter_count; p++) {
        call->held[p].object = call->held[p].owner = NULL;
        call->held[p].open = call->args[p].known = false;
    }
    for (int p = 0; p < parameter_count && next < count; p++)
        if (parameters[p].element)
            call->held[p].object = given[next++];
    if (next < count)
        return refused(call, TOO_MANY, -1, (int)count, NULL);
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t n = 0; n < named; n++) {
        PyObject *name = PyTuple_GET_ITEM(names, n);
        int p = 0;
        while (p < parameter_count && name != call->state->names[p])
            p++;
        if (p == parameter_count) /* not interned */
            for (p = 0; p < parameter_count && PyUnicode_Compare(name, call->state->names[p]); p++)
                ;
        if (p == parameter_count)
            return refused(call, UNKNOWN_NAME, -1, 0, name);
        if (call->held[p].object)
            return refused(call, TWICE, p, 0, NULL);
        call->held[p].object = given[count + n];
    }
    return 0;
}

static int read_control(const struct call *call, int p)
{
    struct arg *arg = &call->args[p];
    PyObject *object = call->held[p].object;
    if (!object)
        return 0;
    if (parameters[p].truth) {
        if (!PyBool_Check(object))
            return refused(call, NO_CONTROL, p, 0, NULL);
        arg->control = object == Py_True;
    } else {
        int beyond = 0;
        PyObject *number = PyBool_Check(object) ? NULL : PyNumber_Index(object);
        long long value = number ? PyLong_AsLongLongAndOverflow(number, &beyond) : 0;
        Py_XDECREF(number);
        if (!number || beyond || value < INT32_MIN || value > INT32_MAX)
            return refused(call, NO_CONTROL, p, 0, NULL);
        arg->control = (int_fast32_t)value;
    }
    arg->known = true;
    return 0;
}

/* A number where the procedure reads a scalar: 1 if it is one. */
static int read_number(const struct call *call, int p)
{
    struct held *held = &call->held[p];
    PyObject *object = held->object;
    bool whole = strchr("bBHi", parameters[p].element) != NULL;
    if (PyBool_Check(object) || !(PyLong_Check(object) || (PyFloat_Check(object) && !whole)))
        return 0;
    if (whole) {
        int beyond;
        long long value = PyLong_AsLongLongAndOverflow(object, &beyond);
        switch (parameters[p].element) {
        case 'b': held->scalar.b = (int8_t)value; beyond |= held->scalar.b != value; break;
        case 'B': held->scalar.B = (uint8_t)value; beyond |= held->scalar.B != value; break;
        case 'H': held->scalar.H = (uint16_t)value; beyond |= held->scalar.H != value; break;
        default: held->scalar.i = (int32_t)value; beyond |= held->scalar.i != value;
        }
        if (beyond)
            return refused(call, NO_SCALAR, p, 0, NULL);
    } else {
        double value = PyFloat_AsDouble(object), kept = value;
        if (PyErr_Occurred())
            return refused(call, NO_SCALAR, p, 0, NULL);
        switch (parameters[p].element) {
#ifdef __FLT16_MAX__
        case 'e': kept = held->scalar.e = (_Float16)value; break;
#endif
        case 'f': kept = held->scalar.f = (float)value; break;
        default: held->scalar.d = value;
        }
        if (isinf(kept) && !isinf(value))
            return refused(call, NO_SCALAR, p, 0, NULL);
    }
    call->args[p].data = &held->scalar;
    held->begin = held->end = NULL;
    return 1;
}

static bool is_element(const struct parameter *wanted, const Py_buffer *view)
{
    const char *format = view->format ? view->format : "B";
    const char own = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    if (*format == '@' || *format == '=' || *format == own)
        format++;
    bool same = *format == wanted->element || (*format == 'l' && wanted->element == 'i');
    return same && !format[1] && view->itemsize == wanted->bytes;
}

/* Whether two of its elements may be one. It may say so of windows in which none are: nobody has
 * those. */
static bool lies_on_itself(const struct arg *arg, int rank)
{
    bool seen[MOST_DIMS] = {false};
    ptrdiff_t reach = 0;
    for (int round = 0; round < rank; round++) {
        int least = -1;
        for (int d = 0; d < rank; d++)
            if (!seen[d] && (least < 0 || Py_ABS(arg->strides[d]) < Py_ABS(arg->strides[least])))
                least = d;
        seen[least] = true;
        if (arg->shape[least] == 1)
            continue;
        if (Py_ABS(arg->strides[least]) <= reach)
            return true;
        reach += (arg->shape[least] - 1) * Py_ABS(arg->strides[least]);
    }
    return false;
}

static int read_array(const struct call *call, int p)
{
    const struct parameter *wanted = &parameters[p];
    struct arg *arg = &call->args[p];
    struct held *held = &call->held[p];
    if (!held->object)
        return refused(call, MISSING, p, 0, NULL);
    if (wanted->rank < 0 && !wanted->written) {
        int number = read_number(call, p);
        if (number)
            return number < 0 ? -1 : 0;
    }
    PyObject *source = held->object;
    if (!PyObject_CheckBuffer(source)) {
        source = held->owner = PyObject_CallOneArg(call->state->as_buffer, source);
        if (!source)
            return refused(call, NO_ARRAY, p, 0, NULL);
    }
    if (PyObject_GetBuffer(source, &held->view, PyBUF_STRIDES | PyBUF_FORMAT) < 0)
        return refused(call, NO_ARRAY, p, 0, NULL);
    held->open = true;
    const Py_buffer *view = &held->view;
    if (!is_element(wanted, view))
        return refused(call, ELEMENT, p, 0, NULL);
    bool scalar = wanted->rank < 0;
    if (scalar ? view->len != view->itemsize : view->ndim != wanted->rank)
        return refused(call, RANK, p, 0, NULL);
    if (wanted->written && view->readonly)
        return refused(call, READ_ONLY, p, 0, NULL);
    if ((uintptr_t)view->buf % (size_t)wanted->bytes)
        return refused(call, ALIGNMENT, p, 0, NULL);
    arg->data = view->buf;
    held->begin = view->buf, held->end = held->begin + wanted->bytes;
    if (scalar)
        return 0;
    ptrdiff_t dense = 1;
    for (int d = wanted->rank; d-- > 0;) {
        ptrdiff_t extent = view->shape[d], stride = view->strides[d];
        arg->shape[d] = extent;
        arg->strides[d] = stride / wanted->bytes;
        if (extent == 1 && stride == 0)
            arg->strides[d] = dense; /* of a new axis; nothing is reached by it */
        else if (extent > 1 && (stride % wanted->bytes || (!wanted->window && arg->strides[d] != dense)))
            return refused(call, STRIDES, p, d, NULL);
        dense *= extent;
        *(stride < 0 ? &held->begin : &held->end) += (extent - 1) * stride;
    }
    if (!dense)
        held->end = held->begin; /* no elements */
    if (wanted->window && wanted->written && dense && lies_on_itself(arg, wanted->rank))
        return refused(call, ONTO_ITSELF, p, 0, NULL);
    return 0;
}

static int check_apart(const struct call *call)
{
    for (int p = 0; p < parameter_count; p++) {
        if (!parameters[p].element || !parameters[p].written)
            continue;
        const struct held *one = &call->held[p];
        for (int o = 0; o < parameter_count; o++) {
            const struct held *other = &call->held[o];
            if (o == p || !parameters[o].element || (o < p && parameters[o].written))
                continue;
            if (one->begin >= other->end || other->begin >= one->end)
                continue;
            bool windows = parameters[p].window || parameters[o].window;
            if ((windows ? refuse : refused)(call, OVERLAP, p, o, NULL) < 0)
                return -1;
        }
    }
    return 0;
}

static int read_all(const struct call *call)
{
    for (int p = 0; p < parameter_count; p++)
        if ((parameters[p].element ? read_array : read_control)(call, p) < 0)
            return -1;
    infer(call->args);
    for (int p = 0; p < parameter_count; p++)
        if (!parameters[p].element && !call->args[p].known)
            return refused(call, MISSING, p, 0, NULL);
    int number, dim;
    if ((number = wrong_shape(call->args, &dim)) >= 0)
        return refused(call, SHAPE, number, dim, NULL);
    if ((number = broken(call->args)) >= 0)
        return refused(call, CONDITION, -1, number, NULL);
    return check_apart(call);
}

static PyObject *sizes_of(const struct call *call)
{
    PyObject *found = PyTuple_New(size_count);
    for (int s = 0; found && s < size_count; s++) {
        PyObject *size = PyLong_FromLongLong(call->args[sizes[s]].control);
        if (!size)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, s, size);
    }
    return found;
}

static enum layout layout_of(const struct arg *arg, int rank)
{
    enum layout found = DENSE;
    ptrdiff_t dense = 1;
    for (int d = rank; d-- > 0;) {
        if (arg->shape[d] > 1 && arg->strides[d] != dense) {
            if (d == rank - 1)
                return STRIDED;
            found = ROWS;
        }
        dense *= arg->shape[d];
    }
    return found;
}

/* How windows lie, two bits for each of the first 32. */
static uint64_t layouts(const struct arg *args)
{
    uint64_t found = 0;
    for (int p = 0, shift = 0; p < parameter_count && shift < 64; p++)
        if (parameters[p].window) {
            found |= (uint64_t)layout_of(&args[p], parameters[p].rank) << shift;
            shift += 2;
        }
    return found;
}

/* The kernel for these sizes, in this context, and where its calls are counted; 0 if found, -1 with
 * an exception. */
static int find(struct state *state, const struct call *call, struct variant *found)
{
    PyObject *using;
    if (PyContextVar_Get(state->using, Py_None, &using) < 0)
        return -1;
    uint64_t epoch = *state->epoch, lie = epoch ? layouts(call->args) : 0;
    uint64_t hash = lie * 0x9E3779B97F4A7C15u;
    for (int s = 0; s < size_count; s++)
        hash = (hash ^ (uint64_t)call->args[sizes[s]].control) * 0x9E3779B97F4A7C15u;
    size_t slot = (hash >> 32) % VARIANTS;
    struct variant *variant = &state->variants[slot];
    int_fast32_t *key = &state->keys[slot * (size_t)size_count];
    bool same = variant->function && variant->using == using && variant->epoch == epoch && variant->layouts == lie;
    for (int s = 0; same && s < size_count; s++)
        same = key[s] == call->args[sizes[s]].control;
    int result = 0;
    *found = *variant;
    if (!same) {
        PyObject *wanted = sizes_of(call);
        PyObject *both = wanted ? PyObject_CallFunction(state->resolve, "OOK", wanted, using, (unsigned long long)lie) : NULL;
        Py_XDECREF(wanted);
        unsigned long long function, counter;
        result = both && PyArg_ParseTuple(both, "KK", &function, &counter) ? 0 : -1;
        Py_XDECREF(both);
        if (result == 0) { /* stored at once: `resolve` may have called this kernel */
            for (int s = 0; s < size_count; s++)
                key[s] = call->args[sizes[s]].control;
            PyObject *before = variant->using;
            *found = (struct variant){(void *)(uintptr_t)function, (struct counter *)(uintptr_t)counter, Py_NewRef(using), epoch, lie};
            *variant = *found;
            Py_XDECREF(before);
        }
    }
    Py_DECREF(using);
    return result;
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Run the kernel while other threads of Python run. Counting is not part of that: a count is one
 * thread's. */
static void run(void *function, struct counter *counter, const struct arg *args)
{
    uint64_t ns = 0;
    Py_BEGIN_ALLOW_THREADS
    if (counter) {
        ns = clock_ns();
        invoke(function, args);
        ns = clock_ns() - ns;
    } else {
        invoke(function, args);
    }
    Py_END_ALLOW_THREADS
    if (counter)
        counter->calls++, counter->ns += ns;
}

static PyObject *with_arguments(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names, bool only_sizes)
{
    struct state *state = PyCapsule_GetPointer(self, NULL);
    if (!state)
        return NULL;
    struct arg args[parameter_count + 1];
    struct held held[parameter_count + 1];
    const struct call call = {state, args, held};
    PyObject *result = NULL;
    if (place(&call, given, count, names) == 0 && read_all(&call) == 0) {
        if (only_sizes) {
            result = sizes_of(&call);
        } else {
            struct variant found;
            if (find(state, &call, &found) == 0) {
                run(found.function, found.counter, args);
                result = Py_NewRef(Py_None);
            }
        }
    }
    for (int p = 0; p < parameter_count; p++) {
        if (held[p].open)
            PyBuffer_Release(&held[p].view);
        Py_XDECREF(held[p].owner);
    }
    return result;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
    return with_arguments(self, given, count, names, false);
}

static PyObject *infer_sizes(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
    return with_arguments(self, given, count, names, true);
}

#define KEYWORDS (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef call_method = {"call", (PyCFunction)(void (*)(void))call_kernel, KEYWORDS, NULL};
static PyMethodDef sizes_method = {"sizes", (PyCFunction)(void (*)(void))infer_sizes, KEYWORDS, NULL};

static void free_state(PyObject *capsule)
{
    struct state *state = PyCapsule_GetPointer(capsule, NULL);
    Py_XDECREF(state->resolve);
    Py_XDECREF(state->refuse);
    Py_XDECREF(state->as_buffer);
    Py_XDECREF(state->using);
    for (int p = 0; state->names && p < parameter_count; p++)
        Py_XDECREF(state->names[p]);
    for (int v = 0; v < VARIANTS; v++)
        Py_XDECREF(state->variants[v].using);
    PyMem_Free(state->names);
    PyMem_Free(state->keys);
    PyMem_Free(state);
}

static const volatile uint64_t never;

/* caller(resolve, refuse, as_buffer, using, address of the epoch) -> (call, sizes); without the
 * last, nothing is ever recorded. `resolve(sizes, using, layouts)` -> (address of the kernel, address
 * of its counter or 0). */
static PyObject *make_caller(PyObject *module, PyObject *given)
{
    struct state *state = PyMem_Calloc(1, sizeof *state);
    if (!state)
        return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(state, NULL, free_state);
    if (!capsule) {
        PyMem_Free(state);
        return NULL;
    }
    PyObject *call = NULL, *infer_ = NULL, *both = NULL;
    call_method.ml_name = procedure_name;
    state->names = PyMem_Calloc((size_t)parameter_count + 1, sizeof *state->names);
    state->keys = PyMem_Calloc((size_t)size_count * VARIANTS + 1, sizeof *state->keys);
    if (!state->names || !state->keys) {
        PyErr_NoMemory();
        goto end;
    }
    unsigned long long epoch = (uintptr_t)&never;
    if (!PyArg_ParseTuple(given, "OOOO|K", &state->resolve, &state->refuse, &state->as_buffer, &state->using, &epoch)) {
        state->resolve = state->refuse = state->as_buffer = state->using = NULL;
        goto end;
    }
    state->epoch = (const volatile uint64_t *)(uintptr_t)epoch;
    Py_INCREF(state->resolve);
    Py_INCREF(state->refuse);
    Py_INCREF(state->as_buffer);
    Py_INCREF(state->using);
    for (int p = 0; p < parameter_count; p++)
        if (!(state->names[p] = PyUnicode_InternFromString(parameters[p].name)))
            goto end;
    call = PyCFunction_New(&call_method, capsule);
    infer_ = PyCFunction_New(&sizes_method, capsule);
    both = call && infer_ ? PyTuple_Pack(2, call, infer_) : NULL;
end:
    Py_XDECREF(call);
    Py_XDECREF(infer_);
    Py_DECREF(capsule);
    return both;
}

static PyMethodDef methods[] = {{"caller", make_caller, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "schedsearch_caller", .m_methods = methods};

PyMODINIT_FUNC PyInit_schedsearch_caller(void)
{
    return PyModuleDef_Init(&definition);
}
