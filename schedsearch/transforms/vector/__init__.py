"""Which vector code does what a loop does, and what is its text?

Instructions of a set are the rows of `table`, written by `instruction_text`, or a user's file
(`instruction_sets`, also what an exported schedule has to carry along); `matching` finds the one
that a loop nest is the body of. `extension` has the registers that all of them share, and
register blocks' own instructions. `fused` writes an instruction for a loop that is none of these.
"""
