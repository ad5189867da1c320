#!/usr/bin/env python3
"""check_man.py BIOINFER MANPAGE ROOT - `bioinfer help all` and the man page have the same options
and exit codes, and every command its usage; what the page's source lacks is put in by
cli/man_page.py."""
import os
import re
import subprocess
import sys
import tempfile

# an option of one command, of several, with a letter, with a value that may be left out
LACKS = ("fmax", "seed", "output", "resume")
ENTRIES = (r"""
.It Fl \-fmax Ar F
Relaxed where no force is larger, in eV/angstrom (default: 0.05).
""", r"""
.It Fl o Ar FILE , Fl \-output Ar FILE
Where results go; '-' is standard output.
""", "\n.It Fl \\-resume Ns Op = Ns Ar HOW\n", "\n.It Fl \\-seed Ar N\nDesign: ", "\n.br\nMd: ")
SECTION = """
.Ss bioinfer relax [MODEL] FRAMES -o FILE --weights WHERE [options]
Atoms, or atoms and cell, moved to a minimum of the energy.
FRAMES is extended XYZ, XYZ, POSCAR or PDB, plain or gzip, a folder of them, or \
'-' for standard input.
.Bd -literal -offset indent
bioinfer relax in.xyz --weights FOLDER -o relaxed.extxyz
"""
SYNOPSIS = r"""
.Nm
.Cm relax
.Op Ar MODEL
.Ar FRAMES
.Fl o
.Ar FILE
.Fl \-weights
.Ar WHERE
.Op Ar options
.Nm
"""


def put_in(exe, root):
    """Problems of the page whose source lacks a section and some options."""
    with open(os.path.join(root, "docs", "man", "bioinfer.1"), encoding="utf-8") as file:
        source = file.read()
    cut = re.sub(r"^\.Ss bioinfer relax .*?(?=^\.Ss )", "", source, flags=re.M | re.S)
    for name in LACKS:
        cut, n = re.subn(r"^\.It .*Fl \\-%s\b(?!-).*\n(?:(?!\.It |\.El).*\n)*" % name, "", cut,
                         flags=re.M)
        assert n == 1, (name, n)
    assert cut.count(".Ss ") == source.count(".Ss ") - 1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page")
        with open(path, "w", encoding="utf-8") as file:
            file.write(cut)
        page = subprocess.run([sys.executable, os.path.join(root, "cli", "man_page.py"), exe, path],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
    return ["the page lacks %r" % text for text in (*ENTRIES, SECTION, SYNOPSIS)
            if text not in page] + differences(exe, page, "the page of a cut source")


def differences(exe, man, page):
    text = subprocess.run([exe, "help", "all"], check=True, capture_output=True, text=True).stdout
    head, status = text.split("Exit status:")
    in_help = set(re.findall(r"^\s+(?:-\w, )?--([a-z][a-z-]*)", head, re.M))
    letters_help = set(re.findall(r"^\s+-(\w), --", head, re.M))
    codes_help = set(re.findall(r"^\s+(\d+)  ", status, re.M))

    options = man.split(".Sh OPTIONS")[1].split(".Sh SIGNALS")[0]
    tags = [line for line in options.splitlines() if line.startswith(".It ")]
    in_man = {name for tag in tags for name in re.findall(r"Fl \\-([a-z][a-z-]*)", tag)}
    letters_man = {name for tag in tags for name in re.findall(r"Fl (\w)\b", tag)}
    codes_man = set(re.findall(r"^\.It (\d+)$", man, re.M))

    wrong = []
    for what, left, right in (("option", in_help, in_man), ("letter", letters_help, letters_man),
                              ("exit code", codes_help, codes_man)):
        if not left:
            wrong.append(f"no {what} found in `help all`")
        wrong += [f"{what} {name} is in `help all`, not in {page}" for name in sorted(left - right)]
        wrong += [f"{what} {name} is in {page}, not in `help all`" for name in sorted(right - left)]
    usages = re.findall(r"^  bioinfer (.*)$", head.split("\nOptions:")[0], re.M)
    n = man.split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0].count(".Nm\n")
    if not usages or n != len(usages):
        wrong.append(f"{len(usages)} usages in `help all`, {n} in {page}")
    print(f"{len(in_help)} options, {len(codes_help)} exit codes, {len(usages)} usages")
    return wrong


def main(exe, page, root):
    with open(page, encoding="utf-8") as file:
        wrong = differences(exe, file.read(), page) + put_in(exe, root)
    print(*wrong, sep="\n")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
