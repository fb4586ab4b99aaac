#ifndef SCHEDSEARCH_SYS_TIME_H
#define SCHEDSEARCH_SYS_TIME_H
#include <time.h>
struct timeval { time_t tv_sec; long tv_usec; };
#endif
