"""How fast could it be: operations, bytes, and the peaks of this machine?"""
