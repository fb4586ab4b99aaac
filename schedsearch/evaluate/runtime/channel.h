/* Talking to the parent: the job on stdin, reports on the channel. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

void open_channel(int descriptor);               /* and reads the nonce from the job */
void report(const char *format, ...);            /* one line */
_Noreturn void fail(const char *what);           /* reports an error of the harness itself */
bool another_round(void);                        /* asks the parent */
double job_number(void);
void job_line(char *into, size_t size);
