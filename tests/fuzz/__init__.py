"""Random procedures, random legal schedules of them, and what both compute."""
