#!/usr/bin/env python3
"""check_man.py BIOINFER MANPAGE - `bioinfer help all` and the man page have the same options
and exit codes."""
import re
import subprocess
import sys


def main(exe, page):
    text = subprocess.run([exe, "help", "all"], check=True, capture_output=True, text=True).stdout
    head, status = text.split("Exit status:")
    in_help = set(re.findall(r"^\s+(?:-\w, )?--([a-z][a-z-]*)", head, re.M))
    letters_help = set(re.findall(r"^\s+-(\w), --", head, re.M))
    codes_help = set(re.findall(r"^\s+(\d+)  ", status, re.M))

    man = open(page).read()
    options = man.split(".Sh OPTIONS")[1].split(".Sh SIGNALS")[0]
    tags = [line for line in options.splitlines() if line.startswith(".It ")]
    in_man = {name for tag in tags for name in re.findall(r"Fl \\-([a-z][a-z-]*)", tag)}
    letters_man = {name for tag in tags for name in re.findall(r"Fl (\w)\b", tag)}
    codes_man = set(re.findall(r"^\.It (\d+)$", man, re.M))

    wrong = 0
    for what, left, right in (("option", in_help, in_man), ("letter", letters_help, letters_man),
                              ("exit code", codes_help, codes_man)):
        if not left:
            print(f"no {what} found in `help all`")
            wrong += 1
        for name in sorted(left - right):
            print(f"{what} {name} is in `help all`, not in {page}")
            wrong += 1
        for name in sorted(right - left):
            print(f"{what} {name} is in {page}, not in `help all`")
            wrong += 1
    print(f"{len(in_help)} options, {len(codes_help)} exit codes, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
