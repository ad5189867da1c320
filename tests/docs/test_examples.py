#!/usr/bin/env python3
"""test_examples.py BIOINFER ROOT DOCUMENT... - what documents show is what happens.

Every block that begins with ```console is run: a line "$ ..." is a command (lines "> ..." go on
with it), and the lines below are what it prints, on standard output and standard error. "..." is
any text in a line, and a line of nothing else any lines. The commands of a document run in one
shell, in an empty folder with links to share/, examples/, tests/ and tools/, where no cache of
weights is.
Exit 77 when a program that a document uses is not there.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

MARK = "@@ end of command @@"
TOOLS = ("curl", "python3", "zcat", "gzip")


def blocks(text):
    """(line, command, expected) of every command of a document."""
    found = []
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.M | re.S):
        number = text[:block.start(1)].count("\n") + 1
        for at, line in enumerate(block.group(1).splitlines()):
            if line.startswith("$ "):
                found.append((number + at, line[2:], []))
            elif line.startswith("> ") and not found[-1][2]:
                found[-1] = (found[-1][0], found[-1][1] + "\n" + line[2:], [])
            else:
                found[-1][2].append(line)
    return [(number, command, "\n".join(lines)) for number, command, lines in found]


def pattern(expected):
    """A regular expression of what a command prints."""
    parts = []
    for line in expected.split("\n"):
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*?".join(re.escape(part) for part in line.split("...")) + r"\n")
    return "".join(parts) if expected else ""


def run(exe, root, commands, folder):
    """Gives what each command prints."""
    bin_folder = os.path.join(folder, ".bin")
    os.mkdir(bin_folder)
    os.symlink(exe, os.path.join(bin_folder, "bioinfer"))
    for name in ("share", "examples", "tests", "tools"):
        os.symlink(os.path.join(root, name), os.path.join(folder, name))
    env = dict(os.environ, PATH=bin_folder + ":" + os.environ["PATH"], HF_HOME=folder + "/.hf",
               HOME=folder, LC_ALL="C.UTF-8", OMP_NUM_THREADS="1")
    env.pop("HF_HUB_CACHE", None)
    script = "".join("%s\nprintf '%%s\\n' '%s'\n" % (command, MARK) for command in commands)
    path = os.path.join(folder, ".script")
    with open(path, "w") as file:
        file.write(script)
    done = subprocess.run(["bash", path], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, check=False)
    return done.stdout.split(MARK + "\n")


def check(exe, root, document):
    with open(document, encoding="utf-8") as file:
        steps = blocks(file.read())
    name = os.path.relpath(document, root)
    if not steps:
        print("%s: no block of commands" % name)
        return 1
    for tool in TOOLS:
        if any(re.search(r"(^|[|(] *)%s " % tool, step[1], re.M) for step in steps):
            if not shutil.which(tool):
                print("%s: %s is not installed" % (name, tool))
                return 77
    if any("bioinfer serve" in step[1] for step in steps):
        said = subprocess.run([exe, "serve", "esm2", "--weights", "tiny", "--listen", "unix:"],
                              capture_output=True, text=True, check=False).stderr
        if "cannot serve" in said:
            print("%s: %s" % (name, said))
            return 77
    with tempfile.TemporaryDirectory(prefix="bi-docs-") as folder:
        printed = run(exe, root, [step[1] for step in steps], folder)
    wrong = 0
    for i, (number, command, expected) in enumerate(steps):
        got = printed[i] if i < len(printed) else ""
        if i + 1 >= len(printed) or not re.fullmatch(pattern(expected), got):
            print("%s:%d: $ %s\n--- printed\n%s--- expected\n%s\n" %
                  (name, number, command, got, expected))
            wrong += 1
    print("%s: %d commands, %d wrong" % (name, len(steps), wrong))
    return 1 if wrong else 0


def main(exe, root, *documents):
    codes = [check(os.path.abspath(exe), os.path.abspath(root), document) for document in documents]
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
