"""How do locked schedules become a library that needs no schedsearch?"""
