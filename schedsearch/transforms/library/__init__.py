"""Which rewrites are there?"""
