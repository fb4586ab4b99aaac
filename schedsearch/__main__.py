"""`python -m schedsearch`"""

from schedsearch.cli.main import main

main()
