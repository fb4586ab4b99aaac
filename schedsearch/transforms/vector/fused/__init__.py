"""Fused vector instructions, generated for the loops they stand for.

`recognise.fuse` describes a loop as a `model.Fused`, pure data: the same value for the
same statements, in any procedure and any process. `source` writes the Exo procedure,
`function` the C that it stands for, of `values` and `snippets`. `joined` and
`joined_function` are the same for nests over narrow rows.
"""
