#!/usr/bin/env python3
"""keywords.py FOLDER - writes _keywords.pyi: the types of the keywords that the methods of a Model
take, from the tables of parameters in FOLDER."""
import os
import re
import sys

TASK = re.compile(r"^(?:TASK|DIRECT|SETTLED)\((\w+), (?:.*\bPYTHON\b|ALL\))", re.M)
ROW = re.compile(r'#include "(?P<file>[^"]+)"|PARAM(?P<list>_LIST)?(?:_RANGE)?\('
                 r'(?P<member>\w+),(?: [a-z]\w*,)?'
                 r'(?: (?P<kind>[A-Z]+),)? .*?\.takers = (?P<takers>[A-Z| ]+)', re.S)
TYPES = {"FLAG": "bool", "INT": "int", "REAL": "float", "CHOICE": "str", "TEXT": "str",
         "OUTPUT": "str", "PATH": 'Union[str, "os.PathLike[str]"]', "RANGE": "Any",
         "BITS": "Union[str, Iterable[str]]", "NAMES": "Union[str, Iterable[Union[str, int]]]",
         "FILE": "Any", "COST": "float"}
# These their methods name, or do without.
POSITIONAL = {("align", "matrix"), ("align", "score_only"), ("affinity", "receptor"),
              ("rescore", "receptor"), ("embed", "include"), ("score", "method"),
              ("relax", "pbc"), ("md", "pbc"), ("md", "trajectory"), ("md", "folder"),
              ("md", "resume"),
              ("design", "n_sequences"), ("design", "temperatures"), ("fold", "text"),
              ("fold", "include"), ("energy", "energy_only"), ("energy", "pbc"),
              ("tracks", "outputs")}
POSITIONAL.add(("contributions", "first_bin"))
POSITIONAL |= {("variants", name) for name in ("kind", "contributions", "first_bin")}
POSITIONAL |= {("intervals", name) for name in ("kind", "first_bin", "stats", "indel", "scorers",
                                                "gtf", "polya", "quantiles")}
TITLE = """\
# Made by keywords.py from the tables of parameters.
import os
from typing import Any, Iterable, Optional, Sequence, TypedDict, Union
"""


def rows(folder, name):
    """(member, type) of each parameter that Python takes."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    found = 0
    for row in ROW.finditer(text):
        found += 1
        if row["file"]:
            yield from rows(folder, row["file"])
        elif "PYTHON" in row["takers"]:
            kind = TYPES[row["kind"] or "RANGE"]
            several = f"Sequence[{kind}]"
            yield row["member"], (kind if not row["list"] else several if row["kind"] != "COST" else
                                  f"Union[{kind}, {several}]")
    assert found == len(re.findall(r"^(?:PARAM|#include)", text, re.M)), name


def main(folder):
    print(TITLE, end="")
    with open(os.path.join(folder, "tasks.inc"), encoding="utf-8") as file:
        methods = {task: task for task in TASK.findall(file.read())}
    methods["intervals"] = "variants"
    for method, task in methods.items():
        print(f"\nclass {method.capitalize()}Keywords(TypedDict, total=False):")
        for member, kind in rows(folder, task + ".inc"):
            if (method, member) not in POSITIONAL:
                print(f"    {member}: Optional[{kind}]")


if __name__ == "__main__":
    main(sys.argv[1])
