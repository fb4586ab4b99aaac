"""How well the static estimate and the learned model rank what was measured."""
