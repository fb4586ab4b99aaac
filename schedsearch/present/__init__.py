"""How results look: text, live views, HTML. Command line and Python API share it."""
