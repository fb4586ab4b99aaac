"""Recorded timings of schedules that are close, and what a race makes of them."""
