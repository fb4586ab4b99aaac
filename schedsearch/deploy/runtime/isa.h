/* Which instruction sets this processor and its operating system have. Each function answers for
 * all that the compiler's option of that name allows. */
#include <stdbool.h>

struct isa {
    const char *name;
    bool (*has)(void);
};

#define ISA_TEST static inline __attribute__((unused)) bool

ISA_TEST has_scalar(void) { return true; }

#if defined(__x86_64__)
#include <cpuid.h>

/* Some compilers have no names for these; none of them adds state that the system has to save. */
static inline bool has_bits(unsigned leaf, unsigned wanted)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(leaf, &a, &b, &c, &d) && (c & wanted) == wanted;
}

ISA_TEST has_sse2(void) { return true; } /* every x86-64 */

/* -march=x86-64-v2 -mavx */
ISA_TEST has_avx(void)
{
    return __builtin_cpu_supports("avx") && __builtin_cpu_supports("popcnt") && has_bits(1, bit_CMPXCHG16B);
}

/* -march=x86-64-v3 */
ISA_TEST has_avx2(void)
{
    return has_avx() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
        && has_bits(1, bit_MOVBE | bit_F16C) && has_bits(0x80000001, bit_LZCNT);
}

/* -march=x86-64-v4 */
ISA_TEST has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl");
}

ISA_TEST has_avx512_vnni(void) { return __builtin_cpu_supports("avx512vnni"); }

#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

ISA_TEST has_neon(void) { return getauxval(AT_HWCAP) & HWCAP_ASIMD; }

ISA_TEST has_asimddp(void) { return getauxval(AT_HWCAP) & HWCAP_ASIMDDP; }

#endif
