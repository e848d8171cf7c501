"""The command: `python -m plimsoll plan net.onnx`."""

import signal
import sys

from ._plimsoll import command


def main() -> int:
    """Runs the command with the arguments of the process, and gives its exit status."""
    # The command is not Python: Ctrl-C ends it at once, as it does anywhere else.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["plimsoll", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
