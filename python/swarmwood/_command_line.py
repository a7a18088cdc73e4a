"""The command line `swarmwood`, as it is installed with the package."""

from __future__ import annotations

import signal
import sys

from swarmwood import _core


def main() -> None:
    """Run the command line with the arguments of the process."""
    # The command line has its own way to stop: Ctrl-C keeps the best model so far.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.run_command_line(sys.argv[1:]))
