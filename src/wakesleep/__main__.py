"""`python -m wakesleep` is `wakesleep`."""

import sys

from wakesleep.cli import main

sys.exit(main())
