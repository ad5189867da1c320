#!/usr/bin/env python3
"""Checks that binaries run on systems as old as a release promises.

    symbols.py [--glibc=2.28] FILE...

Each symbol that a file takes from glibc must be of that version or older, it may need no other
libraries than those which manylinux_2_28 allows, and its search path may not lead out of its own
folders. Prints a line for each file; exit 1 where one fails.
"""
import os
import re
import subprocess
import sys

LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libz.so.1",
             "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OWN = re.compile(r"libbioinfer\.so\.\d+$")
ZLIB = (1, 2, 9)  # AlmaLinux 8, the base of manylinux_2_28, has 1.2.11


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def numbers(version):
    return tuple(int(n) for n in version.split("."))


def check(path, glibc):
    """All that is wrong with a file, and the newest glibc that it asks for."""
    problems, newest = [], (0,)
    # readelf knows the files of all processors, objdump does not
    for line in output("readelf", "--dyn-syms", "-W", path).splitlines():
        found = re.search(r"\bUND (\S+?)@(\w+?)_([\d.]+)( \(\d+\))?$", line)
        if not found:
            continue
        name, library, version = found[1], found[2], numbers(found[3])
        if library == "GLIBC":
            newest = max(newest, version)
            if version > glibc:
                problems.append(f"{name} is of glibc {found[3]}")
        elif library == "ZLIB" and version > ZLIB:
            problems.append(f"{name} is of zlib {found[3]}")
    dynamic = output("readelf", "-dW", path)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if name not in LIBRARIES and not OWN.match(name):
            problems.append(f"needs {name}")
    for place in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        if not all(part.startswith("$ORIGIN/") and ".." not in part for part in place.split(":")):
            problems.append(f"looks for libraries in {place}")
    return problems, newest


def main(arguments):
    glibc, failed = (2, 28), False
    for argument in arguments:
        if argument.startswith("--glibc="):
            glibc = numbers(argument.split("=", 1)[1])
            continue
        if argument.startswith("-"):
            print(__doc__)
            return 0 if argument == "--help" else 2
        problems, newest = check(argument, glibc)
        failed |= bool(problems)
        print("%s: glibc %s%s" % (os.path.basename(argument), ".".join(map(str, newest)),
                                  "".join("\n    " + problem for problem in problems)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
