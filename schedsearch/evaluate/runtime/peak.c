/* Register-only multiply-add peak and copy bandwidth of one core, printed as
 * "f32 GFLOP/s", "f64 GFLOP/s" and "copy GB/s" (bytes read plus bytes written).
 * LANE_BYTES is the vector width; COPY_BYTES the size of each copied array. */
#define _GNU_SOURCE
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

/* Two multiply-add units of latency 4 to 5 need 8 to 10 independent chains. */
enum { CHAINS = 12, STEPS = 1 << 18, REPEATS = 12 };

#define DEFINE_PEAK(name, type)                                                  \
    typedef type name##_vector __attribute__((vector_size(LANE_BYTES)));         \
    static double name##_peak(void)                                              \
    {                                                                            \
        volatile type seed = (type)0.5;                                          \
        name##_vector chains[CHAINS], factor = {0}, term = {0};                  \
        factor += seed;                                                          \
        term += seed;                                                            \
        double best = 0;                                                         \
        for (int c = 0; c < CHAINS; c++)                                         \
            chains[c] = term * (type)c;                                          \
        for (int r = 0; r < REPEATS; r++) {                                      \
            double start = now();                                                \
            for (int s = 0; s < STEPS; s++)                                      \
                _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++)        \
                    chains[c] = chains[c] * factor + term;                       \
            double elapsed = now() - start;                                      \
            for (int c = 0; c < CHAINS; c++)                                     \
                __asm__ volatile("" : "+m"(chains[c]));                          \
            double lanes = LANE_BYTES / sizeof(type);                            \
            double rate = 2.0 * lanes * CHAINS * STEPS / elapsed * 1e-9;         \
            best = rate > best ? rate : best;                                    \
        }                                                                        \
        return best;                                                             \
    }

DEFINE_PEAK(f32, float)
DEFINE_PEAK(f64, double)

static double copy_bandwidth(void)
{
    size_t bytes = COPY_BYTES;
    char *from = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED)
        exit(1);
    madvise(from, 2 * bytes, MADV_HUGEPAGE);
    memset(from, 1, 2 * bytes);
    double best = 0;
    for (int r = 0; r < 5; r++) {
        double start = now();
        memcpy(from + bytes, from, bytes);
        double elapsed = now() - start;
        __asm__ volatile("" : : "r"(from) : "memory");
        double rate = 2.0 * bytes / elapsed * 1e-9;
        best = rate > best ? rate : best;
    }
    return best;
}

int main(void)
{
    printf("%.3f %.3f %.3f\n", f32_peak(), f64_peak(), copy_bandwidth());
    return 0;
}
