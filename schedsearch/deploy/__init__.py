"""Which schedule runs when a user calls a kernel, how are arrays of Python handed to it, and how is
it shipped?"""
