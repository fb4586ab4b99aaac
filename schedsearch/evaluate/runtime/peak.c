/* The roofs of some cores together: the first argument says of how many, the next which, then of
 * how many functions, and how many libraries with which paths have them. Prints the register-only
 * multiply-add peaks in GOP/s for f16, f32, f64, i32 and i8 (summed in i32), one operation being a
 * multiplication or an addition, and of sums of which the minimum is taken for f32, f64 and i32,
 * two operations; the functions' values in 1e9 a second; then, for every three further arguments
 * "bytes read, written, updated", the bandwidth in GB/s, bytes loaded plus bytes stored, of moving
 * that. LANE_BYTES is the vector width. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "streams.h"
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

static int threads; /* each on a core of its own */

/* As kernels are timed: one thread by the processor's clock. */
static double now(void)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Threads wait for each other by spinning: a futex wakes them too late for what is timed. */
static atomic_int arrived;

static void meet(int *meetings)
{
    int all = ++*meetings * threads;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < all)
        ;
}

/* Two multiply-add units of latency 4 to 5 need 8 to 10 independent chains. */
enum { CHAINS = 12, STEPS = 1 << 16 };

/* GOP/s of `operations` per step and chain; `step` changes `chain`, a register of `vector`. */
#define DEFINE_PEAK(name, vector, operations, step)                                       \
    static double name##_peak(int *meetings)                                              \
    {                                                                                     \
        static const unsigned char one = 1;                                               \
        vector chains[CHAINS], factor, term;                                              \
        memset(&factor, *(volatile const unsigned char *)&one, sizeof factor);            \
        memset(&term, *(volatile const unsigned char *)&one, sizeof term);                \
        memset(chains, 0, sizeof chains);                                                 \
        meet(meetings);                                                                   \
        double start = now();                                                             \
        for (int s = 0; s < STEPS; s++)                                                   \
            _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++)                     \
            {                                                                             \
                vector chain = chains[c];                                                 \
                step;                                                                     \
                chains[c] = chain;                                                        \
            }                                                                             \
        for (int c = 0; c < CHAINS; c++)                                                  \
            __asm__ volatile("" : "+m"(chains[c]));                                       \
        meet(meetings);                                                                   \
        return 1e-9 * threads * CHAINS * (double)STEPS * (operations) / (now() - start);  \
    }

#define DEFINE_ELEMENT_PEAK(name, type)                                    \
    typedef type name##_vector __attribute__((vector_size(LANE_BYTES)));   \
    DEFINE_PEAK(name, name##_vector, 2.0 * LANE_BYTES / sizeof(type), chain = chain * factor + term)

DEFINE_ELEMENT_PEAK(f32, float)
DEFINE_ELEMENT_PEAK(f64, double)
DEFINE_ELEMENT_PEAK(i32, int32_t)

#if defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
DEFINE_ELEMENT_PEAK(f16, _Float16)
#else
#define f16_peak f32_peak /* converted to f32 */
#endif

/* The multiply-add of most bytes: four products a lane, else two of 16 bits. */
#if defined(__AVX512VNNI__) && LANE_BYTES == 64
DEFINE_PEAK(i8, __m512i, 2.0 * 64, chain = _mm512_dpbusd_epi32(chain, factor, term))
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__) && LANE_BYTES == 32
DEFINE_PEAK(i8, __m256i, 2.0 * 32, chain = _mm256_dpbusd_epi32(chain, factor, term))
#elif defined(__AVXVNNI__) && LANE_BYTES == 32
DEFINE_PEAK(i8, __m256i, 2.0 * 32, chain = _mm256_dpbusd_avx_epi32(chain, factor, term))
#elif defined(__ARM_FEATURE_DOTPROD)
DEFINE_PEAK(i8, int32x4_t, 2.0 * 16,
            chain = vdotq_s32(chain, vreinterpretq_s8_s32(factor), vreinterpretq_s8_s32(term)))
#elif defined(__AVX512BW__) && LANE_BYTES == 64
DEFINE_PEAK(i8, __m512i, 64.0,
            chain = _mm512_add_epi32(chain, _mm512_madd_epi16(_mm512_xor_si512(chain, factor), term)))
#elif defined(__AVX2__) && LANE_BYTES == 32
DEFINE_PEAK(i8, __m256i, 32.0,
            chain = _mm256_add_epi32(chain, _mm256_madd_epi16(_mm256_xor_si256(chain, factor), term)))
#else
#define i8_peak i32_peak
#endif

/* A sum and the minimum of it, of which a core starts more or fewer than multiply-adds. */
#if defined(__AVX512F__) && LANE_BYTES == 64
#define MINIMUM(suffix, a, b) _mm512_min_##suffix(a, b)
typedef __m512 f32_operand;
typedef __m512d f64_operand;
typedef __m512i i32_operand;
#elif defined(__AVX2__) && LANE_BYTES == 32
#define MINIMUM(suffix, a, b) _mm256_min_##suffix(a, b)
typedef __m256 f32_operand;
typedef __m256d f64_operand;
typedef __m256i i32_operand;
#elif defined(__SSE4_1__) && LANE_BYTES == 16
#define MINIMUM(suffix, a, b) _mm_min_##suffix(a, b)
typedef __m128 f32_operand;
typedef __m128d f64_operand;
typedef __m128i i32_operand;
#endif

#ifdef MINIMUM
#define DEFINE_MINIMUM_PEAK(name, suffix, type)                           \
    DEFINE_PEAK(name##_min, name##_vector, 2.0 * LANE_BYTES / sizeof(type), \
                chain = (name##_vector)MINIMUM(suffix, (name##_operand)(chain + factor), (name##_operand)term))
DEFINE_MINIMUM_PEAK(f32, ps, float)
DEFINE_MINIMUM_PEAK(f64, pd, double)
DEFINE_MINIMUM_PEAK(i32, epi32, int32_t)
#else
#define f32_min_peak f32_peak
#define f64_min_peak f64_peak
#define i32_min_peak i32_peak
#endif

/* -- bandwidth ------------------------------------------------------------------------- */

enum { WORTH_TIMING = 32 << 20 }; /* bytes: 70 us in a first-level cache, 1 ms in memory */

/* GB/s, loaded plus stored. */
static double bandwidth(const struct mix *mix, int way, int *meetings)
{
    static const int32_t zero = 0;
    line_part value = {0};
    value += *(volatile const int32_t *)&zero; /* unknown to the compiler */
    size_t footprint = mix->bytes[READ] + mix->bytes[WRITTEN] + mix->bytes[UPDATED];
    size_t passes = WORTH_TIMING / footprint + 1;
    struct plan plan = make_plan(mix, way);
    move(&plan, value);
    meet(meetings);
    double start = now();
    for (size_t pass = 0; pass < passes; pass++)
        move(&plan, value);
    meet(meetings);
    return 1e-9 * threads * passes * (footprint + mix->bytes[UPDATED]) / (now() - start);
}

/* -- functions ------------------------------------------------------------------------- */

enum { ARRAY_BYTES = 4096, APART = 256, VALUES = 1 << 20 }; /* 0.1 ms and more */

/* As the libraries have it. */
struct function {
    int kind, bytes;
    void (*run)(const void *, const void *, void *, long);
};

/* Where arguments are, by turns: C's functions take other branches elsewhere, and the fastest
 * counts. */
enum { RANGES = 4 };
static const double ranges[RANGES][2] = {{0.3, 0.45}, {0.6, 0.95}, {1.1, 1.5}, {20, 60}};

/* Arguments and results of a thread. */
struct arguments {
    char room[3][ARRAY_BYTES + APART] __attribute__((aligned(64)));
};

static void fill(struct arguments *arguments, int bytes, int first)
{
    for (int which = 0; which < 2; which++) {
        const double *range = ranges[(first + which) % RANGES];
        for (int i = 0; i < ARRAY_BYTES / bytes; i++) {
            double value = range[0] + (i * 37 + which * 11) % 128 / 128.0 * (range[1] - range[0]);
            if (bytes == sizeof(float))
                ((float *)arguments->room[which])[i] = (float)value;
            else
                ((double *)arguments->room[which])[i] = value;
        }
    }
}

/* 1e9 values a second. */
static double function_rate(const struct function *function, int range, int *meetings)
{
    static __thread struct arguments own;
    long length = ARRAY_BYTES / function->bytes;
    fill(&own, function->bytes, range);
    function->run(own.room[0], own.room[1], own.room[2], length);
    meet(meetings);
    double start = now();
    for (long pass = 0; pass < VALUES / length; pass++)
        function->run(own.room[0], own.room[1], own.room[2], length);
    meet(meetings);
    return 1e-9 * threads * VALUES / (now() - start);
}

/* -- everything ------------------------------------------------------------------------ */

enum { PEAKS = 8, MOST_MIXES = 16, TRIES = 4 };
static const double LASTING_S = 0.6, LATE_S = 15; /* on a busy machine one try is enough */

static int mixes, *cores;
static struct mix (*all_mixes)[MOST_MIXES]; /* by thread */
static double best_peaks[PEAKS], best_ways[MOST_MIXES][WAYS];
static int ways[MOST_MIXES], tried[MOST_MIXES][WAYS]; /* which is next, and how often */

enum { MOST_FUNCTIONS = 256 };
static int kinds, functions, tried_function[MOST_FUNCTIONS], due[MOST_FUNCTIONS];
static struct function all_functions[MOST_FUNCTIONS];
static double best_functions[MOST_FUNCTIONS];

static double best_function(int kind)
{
    double best = 0;
    for (int f = 0; f < functions; f++)
        if (all_functions[f].kind == kind && best_functions[f] > best)
            best = best_functions[f];
    return best;
}

/* What a library has; one that cannot be loaded has nothing. */
static void add_functions(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const int *count = library ? dlsym(library, "function_count") : NULL;
    const struct function *found = library ? dlsym(library, "functions") : NULL;
    for (int f = 0; count && found && f < *count && functions < MOST_FUNCTIONS; f++) {
        due[functions] = 1;
        all_functions[functions++] = found[f];
    }
}

static double best_way(int m)
{
    double best = 0;
    for (int way = 0; way < WAYS; way++)
        best = best_ways[m][way] > best ? best_ways[m][way] : best;
    return best;
}

/* Whether every way of moving it has been tried so many times. */
static int all_tried(int m, int times)
{
    for (int way = 0; way < WAYS; way++)
        if (applies(way, &all_mixes[0][m]) && tried[m][way] < times)
            return 0;
    return 1;
}

static const double WORSE = 0.9, HOPELESS = 0.5; /* than the best, by this factor */

/* Chooses which functions to try again, as `next_way` does. Whether all have been tried so many
 * times; one attempt at C's function of a single number may take as long as all others. */
static int functions_tried(int times)
{
    int all = 1;
    for (int f = 0; f < functions; f++) {
        double of_best = best_functions[f] / best_function(all_functions[f].kind);
        tried_function[f] += due[f];
        due[f] = of_best >= (tried_function[f] < TRIES ? HOPELESS : WORSE);
        all = all && (tried_function[f] >= times || of_best < HOPELESS);
    }
    return all;
}

/* The next one that has not been tried some times, or is not much worse than the best: where
 * several are as good, what is measured longest is the machine's best moment. A single attempt
 * at a way may be disturbed. */
static int next_way(int m)
{
    double enough = WORSE * best_way(m);
    for (int next = ways[m] + 1;; next++) {
        int way = next % WAYS;
        if (applies(way, &all_mixes[0][m]) && (tried[m][way] < TRIES || best_ways[m][way] >= enough))
            return way;
    }
}

static void keep(int rank, double *best, double rate)
{
    if (rank == 0 && rate > *best)
        *best = rate;
}

/* All by turns and again, for a while, so that a disturbance does not meet all attempts at
 * one figure. */
static void *measure(void *argument)
{
    static double (*const peaks[PEAKS])(int *) = {f16_peak,     f32_peak,     f64_peak,    i32_peak,
                                                 i8_peak,      f32_min_peak, f64_min_peak, i32_min_peak};
    int meetings = 0, rank = (int)(intptr_t)argument;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cores[rank], &own);
    sched_setaffinity(0, sizeof own, &own); /* of this thread; refused, it may run anywhere */
    static int enough; /* as `ways`, written by the first thread between two meetings */
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (!enough) {
        for (int peak = 0; peak < PEAKS; peak++)
            keep(rank, &best_peaks[peak], peaks[peak](&meetings));
        for (int f = 0; f < functions; f++)
            if (due[f])
                keep(rank, &best_functions[f],
                     function_rate(&all_functions[f], tried_function[f] % RANGES, &meetings));
        for (int m = 0; m < mixes; m++)
            keep(rank, &best_ways[m][ways[m]], bandwidth(&all_mixes[rank][m], ways[m], &meetings));
        clock_gettime(CLOCK_MONOTONIC, &end);
        double elapsed = end.tv_sec - begin.tv_sec + 1e-9 * (end.tv_nsec - begin.tv_nsec);
        meet(&meetings);
        if (rank == 0) {
            int times = elapsed < LATE_S ? TRIES : 1;
            enough = functions_tried(times) && elapsed > LASTING_S;
            for (int m = 0; m < mixes; m++) {
                tried[m][ways[m]]++;
                ways[m] = next_way(m);
                enough = enough && all_tried(m, times);
            }
        }
        meet(&meetings);
    }
    return NULL;
}

/* A thread's share of `bytes`, in whole rounds, at least one if there are any. */
static size_t share(double bytes)
{
    size_t rounds = (size_t)(bytes / threads / ROUND_BYTES + 0.5);
    return (rounds > 0 || bytes == 0 ? rounds : 1) * ROUND_BYTES;
}

enum { HUGE_PAGE = 2 << 20 };

/* All mixes in the same memory, touched here, their kinds at equal offsets in pages, as kernels
 * have their arrays; false if it is short. */
static int place_mixes(char **arguments)
{
    size_t room[3] = {0}, before[3], of_thread = 0;
    for (int m = 0; m < mixes; m++)
        for (int kind = 0; kind < 3; kind++) {
            size_t bytes = share(atof(arguments[3 * m + kind]));
            for (int rank = 0; rank < threads; rank++)
                all_mixes[rank][m].bytes[kind] = bytes;
            room[kind] = bytes > room[kind] ? bytes : room[kind];
        }
    for (int kind = 0; kind < 3; kind++) {
        before[kind] = of_thread;
        of_thread += (room[kind] + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    }
    size_t total = of_thread * threads + HUGE_PAGE;
    char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    memory = (char *)(((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    madvise(memory, total - HUGE_PAGE, MADV_HUGEPAGE);
    memset(memory, 1, total - HUGE_PAGE);
    for (int rank = 0; rank < threads; rank++)
        for (int m = 0; m < mixes; m++)
            for (int kind = 0; kind < 3; kind++)
                all_mixes[rank][m].at[kind] = memory + rank * of_thread + before[kind];
    return 1;
}

int main(int count, char **arguments)
{
    threads = atoi(arguments[1]);
    cores = calloc(threads, sizeof *cores);
    all_mixes = calloc(threads, sizeof *all_mixes);
    pthread_t *others = calloc(threads, sizeof *others);
    kinds = atoi(arguments[2 + threads]);
    int libraries = atoi(arguments[3 + threads]), before = 4 + threads + libraries;
    for (int library = 0; library < libraries; library++)
        add_functions(arguments[4 + threads + library]);
    mixes = (count - before) / 3;
    if (!cores || !all_mixes || !others || mixes > MOST_MIXES || !place_mixes(arguments + before))
        return 1;
    for (int rank = 0; rank < threads; rank++)
        cores[rank] = atoi(arguments[2 + rank]);
    for (intptr_t rank = 1; rank < threads; rank++)
        if (pthread_create(&others[rank], NULL, measure, (void *)rank) != 0)
            return 1;
    measure(NULL);
    for (int rank = 1; rank < threads; rank++)
        pthread_join(others[rank], NULL);
    for (int peak = 0; peak < PEAKS; peak++)
        printf("%.6g ", best_peaks[peak]);
    for (int kind = 0; kind < kinds; kind++)
        printf("%.6g ", best_function(kind));
    for (int m = 0; m < mixes; m++)
        printf("%.6g ", best_way(m));
    return 0;
}
