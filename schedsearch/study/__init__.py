"""Answers questions about stored schedules: what rewrites did, which is faster, what can go."""
