"""Which vector code does what a loop does, and what is its text?"""
