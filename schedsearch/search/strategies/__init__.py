"""Which schedules does a search expand and measure next?"""
