#ifndef SCHEDSEARCH_UNISTD_H
#define SCHEDSEARCH_UNISTD_H
#include <stddef.h>
#endif
