/* Every line starts with the job's nonce, so that output of the kernel itself is
 * never mistaken for a result. */
#include "channel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char nonce[64];
static int channel;

void report(const char *format, ...)
{
    char line[1024];
    int used = snprintf(line, sizeof line, "%s ", nonce);
    va_list values;
    va_start(values, format);
    used += vsnprintf(line + used, sizeof line - used - 1, format, values);
    va_end(values);
    line[used++] = '\n';
    for (int done = 0; done < used;) {
        ssize_t count = write(channel, line + done, used - done);
        if (count <= 0)
            _exit(3);
        done += count;
    }
}

_Noreturn void fail(const char *what)
{
    report("error %s", what);
    _exit(2);
}

bool another_round(void)
{
    char answer;
    if (read(channel, &answer, 1) != 1)
        _exit(3);
    return answer == 'g';
}

double job_number(void)
{
    double value;
    if (scanf("%lf", &value) != 1)
        fail("malformed job: number expected");
    return value;
}

void job_line(char *into, size_t size)
{
    int first;
    while ((first = getchar()) == '\n' || first == ' ')
        ;
    ungetc(first, stdin);
    if (!fgets(into, size, stdin))
        fail("malformed job: text expected");
    into[strcspn(into, "\n")] = 0;
}

void open_channel(int descriptor)
{
    channel = descriptor;
    job_line(nonce, sizeof nonce);
}
