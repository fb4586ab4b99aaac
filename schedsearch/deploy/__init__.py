"""Which schedule runs when a user calls a kernel, and how are arrays of Python handed to it?"""
