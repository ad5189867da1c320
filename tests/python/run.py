#!/usr/bin/env python3
"""run.py FOLDER BIOINFER SOURCE_ROOT pytest|doctest|mypy - tests the package in FOLDER by a Python
that has NumPy (and pytest, or mypy); exit 77 where there is none."""
import os
import subprocess
import sys


def find(*modules):
    """A Python that has the modules: this one, or that of the system."""
    for python in (sys.executable, "/usr/bin/python3"):
        if not subprocess.run([python, "-c", "import " + ", ".join(modules)],
                              stderr=subprocess.DEVNULL).returncode:
            return python
    print("no Python has", " and ".join(modules))
    sys.exit(77)


def main(folder, exe, root, what):
    env = dict(os.environ, PYTHONPATH=folder, BIOINFER_COMMAND=os.path.abspath(exe),
               BIOINFER_ROOT=os.path.abspath(root), PYTHONDONTWRITEBYTECODE="1")
    if what == "pytest":
        command = [find("numpy", "pytest"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs",
                   os.path.join(root, "tests", "python")]
    elif what == "mypy":
        command = [find("numpy", "mypy"), os.path.join(root, "tests", "python", "check_types.py"),
                   folder, root]
    else:
        command = [find("numpy"), "-m", "doctest", "-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE",
                   os.path.join(root, "docs", "python.md")]
    return subprocess.run(command, env=env, cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
