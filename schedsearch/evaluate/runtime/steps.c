#include "stages.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"
#include "copies.h"
#include "state.h"

#if defined(__x86_64__)

static volatile unsigned long long steps;

static void on_step(int signal)
{
    (void)signal;
    steps++;
}

/* Not inlined: pushing must not write into a caller's red zone. The trap flag is bit 8 of the
 * flags; the processor then traps after every instruction, the first of which is the return. */
__attribute__((naked, noinline)) static void begin_steps(void)
{
    __asm__("pushfq; orq $0x100, (%rsp); popfq; ret");
}

__attribute__((naked, noinline)) static void end_steps(void)
{
    __asm__("pushfq; andq $~0x100, (%rsp); popfq; ret");
}

static unsigned long long steps_of_call(const struct test_case *test, void *function)
{
    /* Once before: what is bound, or allocated, by the first call is not counted. */
    for (int call = 0; call < 2; call++) {
        restore(test);
        if (hs_context_size > 0)
            memcpy(test->context, test->pristine_context, hs_context_size);
        steps = 0;
        if (call > 0)
            begin_steps();
        hs_invoke(function, test->context, test->args);
        end_steps();
    }
    check_state();
    return steps;
}

void count_steps(const struct test_case *test, unsigned seconds)
{
    struct sigaction action = {.sa_handler = on_step};
    if (sigaction(SIGTRAP, &action, NULL) != 0)
        fail("sigaction");
    for (int side = 0; side < 2; side++) {
        alarm(seconds);
        unsigned long long found = steps_of_call(test, function_of_copy(side, 0));
        report("instructions %d %llu", side, found);
    }
}

#else

void count_steps(const struct test_case *test, unsigned seconds)
{
    (void)test, (void)seconds;
    report("error instructions are counted on x86-64");
    _exit(2);
}

#endif
