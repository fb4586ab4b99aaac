/* Typed elements: every value of every type here fits a double exactly. */
#pragma once
#include "harness.h"

#include <stdlib.h>

static inline size_t size_of(enum hs_type type)
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

static inline bool is_float(enum hs_type type) { return type == HS_F16 || type == HS_F32 || type == HS_F64; }

/* clang 14 has _Float16 only for processors that compute with it; elsewhere no kernel with it compiles. */
static inline double load(enum hs_type type, const void *data, size_t i)
{
    switch (type) {
#ifdef __FLT16_MAX__
    case HS_F16: return ((const _Float16 *)data)[i];
#else
    case HS_F16: break;
#endif
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

static inline void store(enum hs_type type, void *data, size_t i, double value)
{
    switch (type) {
#ifdef __FLT16_MAX__
    case HS_F16: ((_Float16 *)data)[i] = value; return;
#else
    case HS_F16: break;
#endif
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
