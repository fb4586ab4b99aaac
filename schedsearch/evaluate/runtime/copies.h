/* Copies of kernels elsewhere in memory. Where code lies changes how fast it is: copies of
 * one kernel differ by several per cent, the same way as long as the process lives. */
#pragma once

enum { MOST_COPIES = 64 };

/* The two files that are timed, and how many copies of each. Before the sandbox is entered,
 * which is told of the descriptors. */
void make_copies(const char *const paths[2], int count);
int copy_descriptors(int *into); /* and how many they are */

/* The function of copy `number` of a file (0 or 1); the copy before it is unloaded. */
void *function_of_copy(int file, int number);
