"""How does C become an object that can be run, on this machine or for another?"""
