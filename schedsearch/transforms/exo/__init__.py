"""How is Exo 1.0.0 driven: loaded, mirrored, made sound and fast, and asked for C?"""
