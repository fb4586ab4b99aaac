"""What else computes a procedure: libraries, compilers and code of the user, timed beside it."""
