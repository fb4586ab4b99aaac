#ifndef SCHEDSEARCH_STDLIB_H
#define SCHEDSEARCH_STDLIB_H
#include <stddef.h>
#endif
