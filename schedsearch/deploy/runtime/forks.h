/* OpenMP in forked children. GCC's keeps a team of threads for each thread that called it, and a fork
 * copies the list of the team, not the threads: the next call of the thread that forked waits for
 * ever. So that thread, which is the child's first, leaves calls to another one with a team of its
 * own. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int omp_get_max_threads(void);
void omp_set_num_threads(int);

static bool schedsearch_in_child, schedsearch_has_helper;
static sem_t schedsearch_todo, schedsearch_done;
static struct {
    void (*work)(void *);
    void *given;
    int threads;
} schedsearch_asked;

static void schedsearch_forked(void)
{
    schedsearch_in_child = true;
    schedsearch_has_helper = false; /* it is not here */
}

/* What is loaded after a fork has not heard of it; Linux has (PF_FORKNOEXEC). */
__attribute__((constructor)) static void schedsearch_hear_of_forks(void)
{
    char text[512] = "";
    unsigned flags = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
    }
    const char *rest = strrchr(text, ')'); /* the end of the program's name */
    if (rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & 0x40)
        schedsearch_forked();
    pthread_atfork(NULL, NULL, schedsearch_forked);
}

/* One thread needs no team: who asks for that, as many do in children, need not wait for another. */
static bool schedsearch_needs_helper(void)
{
    return schedsearch_in_child && syscall(SYS_gettid) == getpid() && omp_get_max_threads() > 1;
}

static void schedsearch_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore)) /* a signal came */
        ;
}

static void *schedsearch_serve(void *none)
{
    for (;;) {
        schedsearch_wait(&schedsearch_todo);
        omp_set_num_threads(schedsearch_asked.threads);
        schedsearch_asked.work(schedsearch_asked.given);
        sem_post(&schedsearch_done);
    }
    return none;
}

static void schedsearch_help(void (*work)(void *), void *given)
{
    if (!schedsearch_has_helper) {
        pthread_t helper;
        sem_init(&schedsearch_todo, 0, 0);
        sem_init(&schedsearch_done, 0, 0);
        if (pthread_create(&helper, NULL, schedsearch_serve, NULL)) {
            fputs("schedsearch: a forked process cannot begin a thread\n", stderr);
            abort(); /* as OpenMP does */
        }
        pthread_detach(helper);
        schedsearch_has_helper = true;
    }
    schedsearch_asked.work = work;
    schedsearch_asked.given = given;
    schedsearch_asked.threads = omp_get_max_threads();
    sem_post(&schedsearch_todo);
    schedsearch_wait(&schedsearch_done);
}
