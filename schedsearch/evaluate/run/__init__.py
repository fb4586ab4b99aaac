"""How is a kernel verified and timed: safely, on which arrays, in how many rounds?"""
