/* What the kernel may do to the machine: limits, no files but to read, no processes, no network. */
#pragma once

/* Lower a limit of this process for good; one that is lower already stays. */
void limit(int resource, double amount);

/* From here on nothing can be undone: the kernel has not been loaded yet. `kept` are the
 * `count` descriptors that must stay open. Reports which layers this system provides. */
void enter_sandbox(const int *kept, int count);
