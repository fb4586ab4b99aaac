#ifndef SCHEDSEARCH_STDARG_H
#define SCHEDSEARCH_STDARG_H
typedef void *va_list;
#endif
