"""usage(doc, packages ...): --help of a tool, also where the packages that it imports are not
installed."""
import importlib.util
import sys


def usage(doc, *packages):
    """Prints doc and ends when help is asked for and argparse cannot give it: a package is missing,
    or none is named, as the tool has no argparse."""
    if {"-h", "--help"} & set(sys.argv[1:]) and not (packages and
                                                     all(map(importlib.util.find_spec, packages))):
        print(doc.strip())
        sys.exit(0)
