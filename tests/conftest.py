from __future__ import annotations

import signal

# Shells ignore Ctrl-C for what they start in the background, and commands inherit that:
# `make test &` would wait in vain for those that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
