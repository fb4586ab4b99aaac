"""How fast is a candidate likely to be, without measuring it?"""
