/* What sanitized programs have beside the rest: the part of OpenMP that `omp parallel for`
 * needs, on threads that ThreadSanitizer understands (it does not know the barriers of gcc's
 * own library), and what sanitizers are asked to do. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

struct member {
    void (*body)(void *);
    void *data;
    int number, count;
    pthread_t thread;
};

static _Thread_local const struct member *self;

int omp_get_num_threads(void)
{
    return self ? self->count : 1;
}

int omp_get_thread_num(void)
{
    return self ? self->number : 0;
}

static void *run(void *argument)
{
    self = argument;
    self->body(self->data);
    return NULL;
}

/* The entry that gcc calls; parallel regions inside of others have one thread. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)threads, (void)flags;
    struct member team[THREADS];
    int count = self ? 1 : THREADS;
    const struct member *outer = self;
    for (int i = 0; i < count; i++)
        team[i] = (struct member){body, data, i, count, 0};
    for (int i = 1; i < count; i++)
        if (pthread_create(&team[i].thread, NULL, run, &team[i]) != 0) {
            perror("pthread_create");
            abort();
        }
    run(&team[0]);
    self = outer;
    for (int i = 1; i < count; i++)
        pthread_join(team[i].thread, NULL);
}

const char *__asan_default_options(void)
{
    /* Fresh blocks are filled, all of them, so that what is read before it is written shows. */
    return "detect_leaks=0:detect_stack_use_after_return=1:max_malloc_fill_size=1073741824";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=0";
}

const char *__tsan_default_options(void)
{
    return "halt_on_error=1:report_thread_leaks=0";
}
