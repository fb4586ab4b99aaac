/* The filter of system calls. */
#pragma once
#include <stdbool.h>

/* Allow what computing needs; report anything else that is known, and end the process;
 * answer the rest as a kernel does that lacks it. False if this system has no filters. */
bool filter_syscalls(const int *kept, int count);
