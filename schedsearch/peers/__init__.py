"""How fast is a procedure elsewhere? Libraries, compilers and code of the user, timed beside it."""
