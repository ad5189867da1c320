#!/usr/bin/env python3
"""check_types.py FOLDER SOURCE_ROOT - mypy --strict accepts the package in FOLDER and all that
docs/python.md shows, and sees what is wrong: a check that accepts everything would pass, too."""
import doctest
import os
import re
import subprocess
import sys
import tempfile

# each line is refused for this reason
WRONG = """\
import bioinfer
bioinfer.align("MKT", "MKT").cigars  # attr-defined
bioinfer.align("MKT", ["MKT"]).score  # attr-defined
next(bioinfer.align("MKT", "MKT"))  # call-overload
next(bioinfer.align("MKT", "MKT", top=1)).identity.x  # attr-defined
bioinfer.align("MKT", 3)  # call-overload
bioinfer.open("tiny").embed(["MKT"]).one().energy  # attr-defined
bioinfer.open("tiny").embed(["MKT"], layers="0")  # arg-type
bioinfer.open("tiny").score(["MKT"], windows=9)  # call-arg
bioinfer.open("tiny").variants("v.vcf")  # call-arg
bioinfer.open("tiny").variants("v.vcf", genome="g.fa").one().start  # attr-defined
bioinfer.connect("http://a:1").score(["MKT"]).one().log_probs  # attr-defined
bioinfer.connect("http://a:1", "token")  # call-arg
bioinfer.nearest("a.npz", metrics="cosine")  # call-arg
"""
RIGHT = """\
import bioinfer
from typing import Iterator
one: bioinfer.Alignment = bioinfer.align(("a", "MKT"), b"MKT")
many: Iterator[bioinfer.Alignment] = bioinfer.align(iter(["MKT"]), [("a", "MKT")])
best: Iterator[bioinfer.Alignment] = bioinfer.align("MKT", "MKT", top=1)
m = bioinfer.open("tiny")
positions = [v.pos + 1 for v in m.variants("v.vcf", genome="g.fa", tracks=[0, "1-2"])]
hit: bioinfer.Neighbour = next(iter(bioinfer.nearest("a.npz", progress=True)))
lost = [r.message for r in m.embed(["MKT"], progress=True).save("x.npz")]
scores: float = bioinfer.connect("http://a:1").score(["MKT"]).one().pseudo_perplexity
status: bioinfer.Status = bioinfer.open("tiny").embed(["MKT"]).one().status
"""


def mypy(folder, code, name):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    # optional packages need not be installed, and have few annotations
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
         "--allow-subclassing-any", "--no-warn-return-any", "--allow-untyped-calls",
         "--cache-dir=" + os.path.join(folder, "cache"), "--no-error-summary", path],
        capture_output=True, text=True, cwd=folder)


def accepted(folder, code, name):
    done = mypy(folder, code, name)
    print(done.stdout + done.stderr, end="")
    assert not done.returncode, f"mypy refuses {name}"


def examples(text):
    """The code of a page, each line where it stands in it: examples, and blocks of plain Python."""
    lines = [""] * (text.count("\n") + 1)
    for example in doctest.DocTestParser().get_examples(text):
        for i, line in enumerate(example.source.splitlines()):
            lines[example.lineno + i] = line
    for block in re.finditer(r"^    (?:from|import) .*\n(?:    .*\n)*", text, re.M):
        first = text.count("\n", 0, block.start())
        for i, line in enumerate(block[0].splitlines()):
            lines[first + i] = line[4:]
    return "\n".join(lines) + "\n"


def main(package, root):
    os.environ["MYPYPATH"] = package
    with open(os.path.join(root, "docs", "python.md"), encoding="utf-8") as file:
        page = examples(file.read())
    assert page.count("bioinfer.align(") >= 3 and "Calculator(" in page
    with tempfile.TemporaryDirectory(prefix="bioinfer-mypy-") as folder:
        accepted(folder, page, "python_md.py")
        accepted(folder, RIGHT, "right.py")
        refused = mypy(folder, WRONG, "wrong.py").stdout
    told = dict(re.findall(r":(\d+): error: .*\[([\w-]+)\]$", refused, re.M))
    want = {str(i): line.split("# ")[1] for i, line in enumerate(WRONG.splitlines(), 1)
            if "# " in line}
    assert told == want, refused
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
