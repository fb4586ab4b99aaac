/* Which of `isas` is used, the best one last: what the processor has, or what the environment
 * variable SCHEDSEARCH_FORCED_BY says. Before this, SCHEDSEARCH_LIBRARY, SCHEDSEARCH_FORCED_BY and `isas` are defined. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int schedsearch_chosen;

static void schedsearch_choose(void)
{
    const int count = sizeof isas / sizeof *isas;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    int found = count - 1, forced = count - 1;
    while (found > 0 && !isas[found].has())
        found--;
    const char *wanted = getenv(SCHEDSEARCH_FORCED_BY);
    while (wanted && forced >= 0 && strcmp(wanted, isas[forced].name))
        forced--;
    if (!wanted || !*wanted) {
        schedsearch_chosen = found;
    } else if (forced < 0) {
        schedsearch_chosen = found;
        fprintf(stderr, "%s: %s=%s is none of", SCHEDSEARCH_LIBRARY, SCHEDSEARCH_FORCED_BY, wanted);
        for (int each = count - 1; each >= 0; each--)
            fprintf(stderr, " %s", isas[each].name);
        fprintf(stderr, "; %s is used\n", isas[found].name);
    } else if (forced > found) {
        schedsearch_chosen = found;
        fprintf(stderr, "%s: %s=%s, which this processor does not have; %s is used\n", SCHEDSEARCH_LIBRARY,
                SCHEDSEARCH_FORCED_BY, wanted, isas[found].name);
    } else {
        schedsearch_chosen = forced;
    }
}

/* By number. */
static int schedsearch_isa(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, schedsearch_choose);
    return schedsearch_chosen;
}

/* How far a size is from that which a variant was tuned for: 1 or more. */
static inline __attribute__((unused)) double schedsearch_apart(double one, double other)
{
    return one > other ? one / other : other / one;
}
