"""The command `bioinfer` of a wheel, which lies in the package as a program of its own.

It stands beside the package, as importing that brings NumPy, which takes longer than small runs do.
"""
import os
import signal
import sys
from typing import NoReturn

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bioinfer", "bin", "bioinfer")


def main() -> NoReturn:
    """Becomes the program, with the arguments of this process."""
    if not os.access(COMMAND, os.X_OK):
        sys.exit(f"bioinfer: no program {COMMAND}: this Python package was installed without the "
                 "command, which wheels bring")
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and what is ignored is handed on
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execv(COMMAND, ["bioinfer", *sys.argv[1:]])


if __name__ == "__main__":
    main()
