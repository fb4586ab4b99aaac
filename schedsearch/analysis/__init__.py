"""What does a procedure do: which elements, how often, in which order, under which conditions?

Answers come from the query AST alone, for rewrites, estimates, verification and peers alike.
"""
