/* What a kernel's file may include: the names that a parser has to know, and no more. */
#ifndef SCHEDSEARCH_STDDEF_H
#define SCHEDSEARCH_STDDEF_H
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef int wchar_t;
#define NULL ((void *)0)
#endif
