"""Where `python3 /tuner/probe` begins."""

import sys

from tuner.load.probe.commands import main

sys.exit(main(sys.argv[1:]))
