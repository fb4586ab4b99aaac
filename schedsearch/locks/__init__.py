"""Are the schedules that a repository relies on still right, and as fast as when they were pinned?

`entry` is what a lock file says, `format` its text, `place` where it is; `pin`, `check` and
`repair` do what the commands say; `table`, `junit` and `github` report; `pytest_plugin` makes
tests of entries.
"""
