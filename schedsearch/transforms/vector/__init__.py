"""Which vector code can replace a loop, and what is its text?

Instructions of a set are the rows of `table`, written by `instruction_text`, or a user's file.
`instruction_sets` loads them, and cuts out the part that an exported schedule needs; `matching`
finds the instruction whose body a loop nest is. `extension` has the registers that all of them
share, and register blocks' own instructions. `fused` writes an instruction for any other loop.
"""
