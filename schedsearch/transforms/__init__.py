"""Everything that touches Exo: mirror to the query AST, rewrites, replay, identity, export."""
