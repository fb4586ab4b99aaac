"""Everything that touches Exo: mirror to the query AST, rewrites, replay, identity, export."""

from schedsearch.transforms.exo import yapf_grammar as yapf_grammar  # before Exo is imported
