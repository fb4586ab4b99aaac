"""Frozen data shared by every other package; imports none of them."""
