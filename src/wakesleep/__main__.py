"""`python -m wakesleep` is `wakesleep`."""

import sys

from wakesleep.cli import main

if __name__ == "__main__":
    sys.exit(main())
