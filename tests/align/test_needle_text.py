#!/usr/bin/env python3
"""test_needle_text.py BIOINFER - Biopython's two readers of EMBOSS take --format needle; skipped
without Biopython."""
import os
import random
import subprocess
import sys
import tempfile

try:
    from Bio import Align, AlignIO
except ImportError:
    print("Biopython is not installed: skipped")
    sys.exit(77)


def main(exe):
    rng = random.Random(3)
    letters = "ARNDCQEGHILKMFPSTWYVBZX"
    # related: Biopython cannot read a first line of one residue, of needle's files neither
    queries = ["".join(rng.choices(letters, k=rng.randint(30, 160))) for _ in range(60)]
    targets = ["".join(c if rng.random() < 0.8 else rng.choice(["", "WW", "A"]) for c in q) +
               "CC" * rng.randint(0, 40) for q in queries]
    for mode in ("global", "ends-free"):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name)
                     for name in ("a.fasta", "b.fasta", "out.needle", "out.tsv")]
            for name, prefix, records in ((names[0], "query_number_", queries),
                                          (names[1], "t", targets)):
                with open(name, "w", encoding="ascii") as f:
                    f.writelines(">%s%d\n%s\n" % (prefix, i, s) for i, s in enumerate(records))
            for form, out in (("needle", names[2]), ("tsv", names[3])):
                subprocess.run([exe, "align", *names[:2], "--matrix", "BLOSUM62", "--mode", mode,
                                "--format", form, "-o", out, "-q"], check=True)
            found = list(Align.parse(names[2], "emboss"))
            assert (len(found) == 60 and
                    len(list(AlignIO.parse(names[2], "emboss"))) == 60), len(found)
            with open(names[3], encoding="ascii") as f:
                rows = [line.rstrip("\n").split("\t") for line in f][1:]
            for a, row, query, target in zip(found, rows, queries, targets, strict=True):
                assert a.annotations["Score"] == float(row[2]), (a.annotations, row)
                assert (a[0].replace("-", "") == query and
                        a[1].replace("-", "") == target), (a, query, target)
                runs = sum(int(n)
                           for n in "".join(c if c.isdigit() else " " for c in row[4]).split())
                assert a.shape == (2, runs), (a.shape, row[4])
    print("120 alignments read")


if __name__ == "__main__":
    main(*sys.argv[1:])
