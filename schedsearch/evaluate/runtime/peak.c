/* Register-only multiply-add peak and copy bandwidth of THREADS cores together, printed
 * as "f32 GFLOP/s", "f64 GFLOP/s" and "copy GB/s" (bytes read plus bytes written).
 * LANE_BYTES is the vector width; COPY_BYTES the size of the array that is copied. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Threads wait for each other by spinning: a futex wakes them too late for what is timed. */
static atomic_int arrived;

static void meet(int *meetings)
{
    int all = ++*meetings * THREADS;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < all)
        ;
}

/* Two multiply-add units of latency 4 to 5 need 8 to 10 independent chains. */
enum { CHAINS = 12, STEPS = 1 << 18, REPEATS = 12 };

#define DEFINE_PEAK(name, type)                                                  \
    typedef type name##_vector __attribute__((vector_size(LANE_BYTES)));         \
    static double name##_peak(int *meetings)                                     \
    {                                                                            \
        volatile type seed = (type)0.5;                                          \
        name##_vector chains[CHAINS], factor = {0}, term = {0};                  \
        factor += seed;                                                          \
        term += seed;                                                            \
        double best = 0;                                                         \
        for (int c = 0; c < CHAINS; c++)                                         \
            chains[c] = term * (type)c;                                          \
        for (int r = 0; r < REPEATS; r++) {                                      \
            meet(meetings);                                                      \
            double start = now();                                                \
            for (int s = 0; s < STEPS; s++)                                      \
                _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++)        \
                    chains[c] = chains[c] * factor + term;                       \
            for (int c = 0; c < CHAINS; c++)                                     \
                __asm__ volatile("" : "+m"(chains[c]));                          \
            meet(meetings);                                                      \
            double elapsed = now() - start;                                      \
            double lanes = LANE_BYTES / sizeof(type);                            \
            double rate = 2.0 * THREADS * lanes * CHAINS * STEPS / elapsed * 1e-9; \
            best = rate > best ? rate : best;                                    \
        }                                                                        \
        return best;                                                             \
    }

DEFINE_PEAK(f32, float)
DEFINE_PEAK(f64, double)

static char *copied;

static double copy_bandwidth(int *meetings, int rank)
{
    size_t bytes = COPY_BYTES / THREADS;
    char *from = copied + rank * bytes;
    double best = 0;
    for (int r = 0; r < 5; r++) {
        meet(meetings);
        double start = now();
        memcpy(from + COPY_BYTES, from, bytes);
        __asm__ volatile("" : : "r"(from) : "memory");
        meet(meetings);
        double elapsed = now() - start;
        double rate = 2.0 * THREADS * bytes / elapsed * 1e-9;
        best = rate > best ? rate : best;
    }
    return best;
}

struct result {
    double f32, f64, copy;
};

static void *measure(void *rank)
{
    static struct result results[THREADS];
    int meetings = 0, own = (int)(size_t)rank;
    struct result *mine = &results[own];
    mine->f32 = f32_peak(&meetings);
    mine->f64 = f64_peak(&meetings);
    mine->copy = copy_bandwidth(&meetings, own);
    return mine;
}

int main(void)
{
    size_t bytes = 2 * COPY_BYTES;
    copied = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copied == MAP_FAILED)
        return 1;
    madvise(copied, bytes, MADV_HUGEPAGE);
    memset(copied, 1, bytes);
    pthread_t others[THREADS];
    for (size_t rank = 1; rank < THREADS; rank++)
        if (pthread_create(&others[rank], NULL, measure, (void *)rank) != 0)
            return 1;
    struct result *all = measure(NULL);
    for (int rank = 1; rank < THREADS; rank++)
        pthread_join(others[rank], NULL);
    printf("%.3f %.3f %.3f\n", all->f32, all->f64, all->copy);
    return 0;
}
