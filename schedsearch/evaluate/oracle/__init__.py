"""Which results may a procedure have, and how much do inputs and sizes tell of them?"""
