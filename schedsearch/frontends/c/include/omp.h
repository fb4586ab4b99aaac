#ifndef SCHEDSEARCH_OMP_H
#define SCHEDSEARCH_OMP_H
#include <stddef.h>
#endif
