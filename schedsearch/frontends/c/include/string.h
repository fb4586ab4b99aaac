#ifndef SCHEDSEARCH_STRING_H
#define SCHEDSEARCH_STRING_H
#include <stddef.h>
#endif
