"""`python -m tuner.cli`: how the supervisor starts its children."""

import sys

from tuner.cli import main

sys.exit(main())
