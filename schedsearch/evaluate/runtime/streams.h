/* Ways of moving given amounts of memory, for peak.c, which defines LANE_BYTES. Which is the
 * fastest depends on the level and the machine: one after the other where the cores
 * prefetch best, several at once where more misses at a time or both ports are needed. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef int32_t line_part __attribute__((vector_size(LANE_BYTES)));

enum { UNROLL = 8, ROUND_BYTES = UNROLL * LANE_BYTES, MOST_STEPS = 12 };
enum { READ, WRITTEN, UPDATED, KINDS };

/* Bytes of this thread, whole rounds of each kind, and where they are. */
struct mix {
    size_t bytes[KINDS];
    char *at[KINDS];
};

/* Stores that do not load the line first: what is written only is moved once, not twice. */
static void store_past_caches(char *to, size_t bytes, line_part value)
{
#if defined(__SSE2__)
    __m128i part;
    memcpy(&part, &value, LANE_BYTES < 16 ? LANE_BYTES : 16);
    for (size_t at = 0; at < bytes; at += 16)
        _mm_stream_si128((__m128i *)(to + at), part);
    _mm_sfence();
#else
    for (size_t at = 0; at < bytes; at += LANE_BYTES)
        *(volatile line_part *)(to + at) = value;
#endif
}

/* As many streams of each kind, all constants, in lockstep, register by register, as loops
 * over several arrays do; those of a kind lie behind each other, `length` bytes each. Loads
 * are volatile instead of summed up: in the first level what ends a short loop would count.
 * There short loops of one register at a time are also faster, long ones of `unroll`. */
static inline __attribute__((always_inline)) void
lockstep(char *const at[KINDS], size_t length, int unroll, int read, int written, int updated,
         line_part value)
{
    for (size_t begin = 0; begin < length; begin += unroll * LANE_BYTES)
        _Pragma("GCC unroll 8") for (int u = 0; u < unroll; u++)
        {
            size_t here = begin + u * LANE_BYTES;
            _Pragma("GCC unroll 4") for (int s = 0; s < read; s++)
                (void)*(const volatile line_part *)(at[READ] + s * length + here);
            _Pragma("GCC unroll 4") for (int s = 0; s < written; s++)
                *(volatile line_part *)(at[WRITTEN] + s * length + here) = value;
            _Pragma("GCC unroll 4") for (int s = 0; s < updated; s++)
                *(line_part *)(at[UPDATED] + s * length + here) += value;
        }
    __asm__ volatile("" : : : "memory");
}

#define SHAPE(r, w, u)                                \
    case 100 * (r) + 10 * (w) + (u):                  \
        if (rolled)                                   \
            lockstep(at, length, 1, r, w, u, value);  \
        else                                          \
            lockstep(at, length, UNROLL, r, w, u, value); \
        break;
#define SHAPES_OF_TWO(r, w) SHAPE(r, w, 0) SHAPE(r, w, 1) SHAPE(r, w, 2)
#define SHAPES_OF_ONE(r) SHAPES_OF_TWO(r, 0) SHAPES_OF_TWO(r, 1) SHAPES_OF_TWO(r, 2)

static void move_streams(char *const at[KINDS], size_t length, const int streams[KINDS],
                         bool rolled, line_part value)
{
    switch (100 * streams[READ] + 10 * streams[WRITTEN] + streams[UPDATED]) {
        SHAPES_OF_ONE(0)
        SHAPES_OF_ONE(1)
        SHAPES_OF_ONE(2)
        SHAPE(4, 0, 0)
        SHAPE(0, 4, 0)
        SHAPE(0, 0, 4)
    }
}

struct step {
    char *at[KINDS];
    int streams[KINDS];
    size_t length;
};

/* In lockstep, `wanted` streams of each kind, as long as there is something of all; then
 * what is left of the others. A kind that is alone has twice as many. Decided before it is
 * timed. Returns the number of steps. */
static int plan_together(const struct mix *mix, const int wanted[KINDS],
                         struct step steps[MOST_STEPS])
{
    struct mix left = *mix;
    for (int count = 0; count < MOST_STEPS; count++) {
        struct step *step = &steps[count];
        int kinds = 0;
        for (int kind = 0; kind < KINDS; kind++)
            kinds += left.bytes[kind] > 0;
        if (kinds == 0)
            return count;
        step->length = SIZE_MAX;
        for (int kind = 0; kind < KINDS; kind++) {
            size_t bytes = left.bytes[kind];
            int fitting = kinds == 1 ? 2 * wanted[kind] : wanted[kind];
            int shift = bytes < (size_t)fitting * ROUND_BYTES ? 0 : fitting / 2; /* 1, 2, 4 */
            step->streams[kind] = bytes == 0 ? 0 : 1 << shift;
            step->at[kind] = left.at[kind];
            size_t each = (bytes >> shift) & -(size_t)ROUND_BYTES;
            if (bytes > 0 && each < step->length)
                step->length = each;
        }
        for (int kind = 0; kind < KINDS; kind++) {
            left.at[kind] += step->streams[kind] * step->length;
            left.bytes[kind] -= step->streams[kind] * step->length;
        }
    }
    abort(); /* each step but one of a kind leaves nothing, or less than a round of each stream */
}

/* One kind after the other, in `pieces` turns; what is only written past the caches or not. */
static void move_by_turns(const struct mix *mix, size_t pieces, bool past_caches, line_part value)
{
    static const int single[KINDS][KINDS] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    size_t done[KINDS] = {0};
    for (size_t piece = 1; piece <= pieces; piece++)
        for (int kind = 0; kind < KINDS; kind++) {
            size_t upto = mix->bytes[kind] / ROUND_BYTES * piece / pieces * ROUND_BYTES;
            char *at[KINDS] = {0};
            at[kind] = mix->at[kind] + done[kind];
            if (kind == WRITTEN && past_caches)
                store_past_caches(at[kind], upto - done[kind], value);
            else
                move_streams(at, upto - done[kind], single[kind], false, value);
            done[kind] = upto;
        }
}

/* By the C library, which compilers call where a loop copies or clears. */
static void move_by_library(const struct mix *mix, line_part value)
{
    size_t read = mix->bytes[READ], written = mix->bytes[WRITTEN];
    size_t copied = read < written ? read : written;
    memcpy(mix->at[WRITTEN], mix->at[READ], copied);
    memset(mix->at[WRITTEN] + copied, 0, written - copied);
    struct mix left = {{read - copied, 0, mix->bytes[UPDATED]},
                       {mix->at[READ] + copied, NULL, mix->at[UPDATED]}};
    move_by_turns(&left, 1, false, value);
    __asm__ volatile("" : : : "memory");
}

/* The ways: bits. TOGETHER, with two streams of the kinds in the lowest bits, or by turns. */
enum { ROLLED = 16, TOGETHER = 8, LIBRARY = 4, IN_PIECES = 1, PAST_CACHES = 2, WAYS = 32 };
enum { PIECE_BYTES = 16 << 10 };

/* Whether a way is none of the others for this mix. */
static bool applies(int way, const struct mix *mix)
{
    if (!(way & TOGETHER)) {
        int kinds = 0;
        for (int kind = 0; kind < KINDS; kind++)
            kinds += mix->bytes[kind] > 0;
        return way == 0 || ((kinds > 1 || !(way & IN_PIECES)) &&
                            (mix->bytes[WRITTEN] > 0 ? way <= LIBRARY : way == IN_PIECES));
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (mix->bytes[kind] == 0 && way >> kind & 1)
            return false;
    return true;
}

/* A way of moving a mix. */
struct plan {
    const struct mix *mix;
    int way, steps; /* steps of those moved together */
    struct step together[MOST_STEPS];
};

static struct plan make_plan(const struct mix *mix, int way)
{
    const int wanted[KINDS] = {1 + (way & 1), 1 + (way >> 1 & 1), 1 + (way >> 2 & 1)};
    struct plan plan = {mix, way, 0, {{{0}, {0}, 0}}};
    if (way & TOGETHER)
        plan.steps = plan_together(mix, wanted, plan.together);
    return plan;
}

static void move(const struct plan *plan, line_part value)
{
    if (plan->way & TOGETHER) {
        for (const struct step *step = plan->together; step < plan->together + plan->steps; step++)
            move_streams(step->at, step->length, step->streams, plan->way & ROLLED, value);
    } else if (plan->way & LIBRARY) {
        move_by_library(plan->mix, value);
    } else {
        const size_t *bytes = plan->mix->bytes;
        size_t footprint = bytes[READ] + bytes[WRITTEN] + bytes[UPDATED];
        size_t pieces = plan->way & IN_PIECES ? footprint / PIECE_BYTES + 1 : 1;
        move_by_turns(plan->mix, pieces, plan->way & PAST_CACHES, value);
    }
}
