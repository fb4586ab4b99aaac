/* What a kernel needs is loaded before the sandbox closes, the kernel itself after. */
#pragma once

void load_libraries(const char *kernel, int threads);
