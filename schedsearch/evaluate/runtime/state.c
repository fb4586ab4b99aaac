#define _GNU_SOURCE
#include "state.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "channel.h"

static cpu_set_t given;

#if defined(__x86_64__)

/* System V ABI for AMD64, 3.2.1: control bits are preserved by calls, status bits are not;
 * the direction flag is clear and the x87 stack empty. */
struct registers {
    uint32_t mxcsr;
    uint16_t x87;
};

enum { MXCSR_CONTROL = 0xFFC0, DIRECTION = 1 << 10, ALL_EMPTY = 0xFFFF };

static struct registers kept;

static struct registers read_registers(void)
{
    struct registers now;
    __asm__ volatile("stmxcsr %0" : "=m"(now.mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(now.x87));
    now.mxcsr &= MXCSR_CONTROL;
    return now;
}

static const char *changed_registers(void)
{
    struct {
        uint32_t control, status, tags, rest[4];
    } x87;
    uint64_t flags;
    __asm__ volatile("pushfq; popq %0; cld" : "=r"(flags) : : "cc", "memory");
    __asm__ volatile("fnstenv %0; fldenv %0" : "=m"(x87));
#if defined(__AVX__)
    __asm__ volatile("vzeroupper"); /* or SSE code is slow from here on */
#endif
    struct registers now = read_registers();
    if (flags & DIRECTION)
        return "the direction flag";
    if ((x87.tags & ALL_EMPTY) != ALL_EMPTY)
        return "the x87 register stack";
    if (now.mxcsr != kept.mxcsr)
        return "the floating-point mode (MXCSR)";
    if (now.x87 != kept.x87)
        return "the floating-point mode (x87)";
    return NULL;
}

#elif defined(__aarch64__)

static uint64_t kept;

static uint64_t read_registers(void)
{
    uint64_t now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now));
    return now;
}

static const char *changed_registers(void)
{
    return read_registers() == kept ? NULL : "the floating-point mode (FPCR)";
}

#else

static int kept;

static int read_registers(void)
{
    return 0;
}

static const char *changed_registers(void)
{
    return NULL;
}

#endif

/* OpenMP libraries bind threads to single cores, but only to cores we were given. */
static bool elsewhere(void)
{
    cpu_set_t now, common;
    if (sched_getaffinity(0, sizeof now, &now) != 0)
        return false;
    CPU_AND(&common, &now, &given);
    return !CPU_EQUAL(&common, &now);
}

void keep_state(void)
{
    sched_getaffinity(0, sizeof given, &given);
    kept = read_registers();
}

void check_state(void)
{
    const char *changed = changed_registers();
    if (!changed && elsewhere())
        changed = "the cores it runs on";
    if (changed) {
        report("changed %s", changed);
        _exit(0);
    }
}
