/* Which of `isas` is used, the best one last: what the processor has, or what the environment
 * variable SS_FORCED_BY says. Before this, SS_LIBRARY, SS_FORCED_BY and `isas` are defined. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ss_chosen;

static void ss_choose(void)
{
    const int count = sizeof isas / sizeof *isas;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    int found = count - 1, forced = count - 1;
    while (found > 0 && !isas[found].has())
        found--;
    const char *wanted = getenv(SS_FORCED_BY);
    while (wanted && forced >= 0 && strcmp(wanted, isas[forced].name))
        forced--;
    if (!wanted || !*wanted) {
        ss_chosen = found;
    } else if (forced < 0) {
        ss_chosen = found;
        fprintf(stderr, "%s: %s=%s is none of", SS_LIBRARY, SS_FORCED_BY, wanted);
        for (int each = count - 1; each >= 0; each--)
            fprintf(stderr, " %s", isas[each].name);
        fprintf(stderr, "; %s is used\n", isas[found].name);
    } else if (forced > found) {
        ss_chosen = found;
        fprintf(stderr, "%s: %s=%s, which this processor does not have; %s is used\n", SS_LIBRARY,
                SS_FORCED_BY, wanted, isas[found].name);
    } else {
        ss_chosen = forced;
    }
}

/* By number. */
static int ss_isa(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ss_choose);
    return ss_chosen;
}

/* How far a size is from that which a variant was tuned for: 1 or more. */
static inline __attribute__((unused)) double ss_apart(double one, double other)
{
    return one > other ? one / other : other / one;
}
