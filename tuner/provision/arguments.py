"""The command line of the set-up."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tuner.provision.recipes import COMMANDS, main


def run(argv: Sequence[str]) -> int:
    """Exit code. What follows the command's name goes to the program it hands over to."""
    listing = "\n".join(f"  {name:<14}{command.help}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python3 -m tuner.provision",
        description=f"commands:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on")
    chosen = parser.parse_args(argv)
    return main(chosen.command, chosen.arguments)
