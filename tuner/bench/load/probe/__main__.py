"""Where `python3 /tuner/probe` begins."""

import sys

from tuner.bench.load.probe.commands import main

sys.exit(main(sys.argv[1:]))
