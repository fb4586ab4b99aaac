#ifndef SCHEDSEARCH_TIME_H
#define SCHEDSEARCH_TIME_H
#include <stddef.h>
typedef long time_t;
typedef long clock_t;
struct timespec { time_t tv_sec; long tv_nsec; };
#endif
