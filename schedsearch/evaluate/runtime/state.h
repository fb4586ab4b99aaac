/* What a call must leave as it found it, because all that follows depends on it. */
#pragma once

void keep_state(void); /* as it is now */

/* After calls of a kernel: reports what has changed and ends the process. Registers whose
 * contents slow others down are cleared. */
void check_state(void);
