/* Read before every file. GNU's words, and what plain `char` is for this compiler. */
#ifndef SCHEDSEARCH_PRELUDE_H
#define SCHEDSEARCH_PRELUDE_H
#define __attribute__(x)
#define __extension__
#define __restrict restrict
#define __restrict__ restrict
#define __inline inline
#define __inline__ inline
#define __const const
#define __volatile__ volatile
#define __asm__(x)
#define __builtin_assume_aligned(p, n) (p)
#ifdef __CHAR_UNSIGNED__
typedef unsigned char schedsearch_plain_char;
#else
typedef signed char schedsearch_plain_char;
#endif
#endif
