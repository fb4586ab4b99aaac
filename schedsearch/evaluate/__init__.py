"""Build, verify and time candidates natively; knows C text and the query AST, not Exo."""
