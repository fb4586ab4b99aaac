#ifndef SCHEDSEARCH_STDIO_H
#define SCHEDSEARCH_STDIO_H
#include <stddef.h>
typedef struct schedsearch_file FILE;
extern FILE *stdin, *stdout, *stderr;
#endif
