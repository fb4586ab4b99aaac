"""How is one Exo operator described, applied and checked?"""
