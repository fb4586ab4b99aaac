"""Do printed speed-ups and their intervals hold in other sessions?"""
