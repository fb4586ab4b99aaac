"""The kernel suite: tune naive loop nests, compare with what is installed, in one table."""
