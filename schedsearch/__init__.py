"""schedsearch: a schedule-search autotuner for Exo.

A schedule is a list of data (a trace); everything else finds, checks, times
or remembers traces.
"""

__version__ = "0.1.0"
