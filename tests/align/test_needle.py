#!/usr/bin/env python3
"""test_needle.py BIOINFER [PAIRS] - the same as EMBOSS needle and water; skipped without them."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile


def relative(rng, q, letters):
    out = []
    for c in q:
        dice = rng.random()
        if dice < 0.05:
            continue
        if dice < 0.1:
            out += rng.choices(letters, k=rng.randint(1, 6))
        out.append(rng.choice(letters) if dice > 0.7 else c)
    return "".join(out) or letters[0]


def fasta(path, name, sequences):
    with open(path, "w", encoding="ascii") as f:
        for i, s in enumerate(sequences):
            f.write(">%s%d\n%s\n" % (name, i, s))


def needle(program, folder, queries, targets, args):
    """(score, query row, target row) of every pair; one call aligns one query with many."""
    found = []
    for q, ts in zip(queries, targets):
        fasta(folder + "/a", "q", [q])
        fasta(folder + "/b", "t", ts)
        subprocess.run([program, "-asequence", folder + "/a", "-bsequence", folder + "/b",
                        "-outfile", folder + "/out", "-aformat", "pair", "-auto"] + args,
                       check=True)
        text = open(folder + "/out", encoding="ascii").read()
        for block in text.split("# Aligned_sequences: 2")[1:]:
            score = float(re.search(r"^# Score: (\S+)", block, re.M).group(1))
            rows = {"q": "", "t": ""}
            for line in block.splitlines():
                match = re.match(r"([qt])\d+ +\d+ ([A-Z-]+) +\d+$", line)
                if match:
                    rows[match.group(1)] += match.group(2)
            found.append((max(score, 0.0) if program == "water" else score, rows["q"], rows["t"]))
    return found


def cigar_of(query, target):
    runs = []
    for a, b in zip(query, target):
        op = "D" if a == "-" else "I" if b == "-" else "=" if a == b else "X"
        if runs and runs[-1][1] == op:
            runs[-1][0] += 1
        else:
            runs.append([1, op])
    return "".join("%d%s" % (n, op) for n, op in runs)


def text_of(program, folder, args):
    """Returns what a program writes, from the first alignment on."""
    subprocess.run(program + args, check=True, stderr=subprocess.DEVNULL)
    with open(folder + "/out", encoding="ascii") as f:
        return f.read().split("#=======================================",
                              1)[1].replace("Matrix: E", "Matrix: ")


def same_text(exe, rng, folder):
    """The same bytes in srspair, codes of several letters included."""
    wrong = 0
    for letters, matrix in (("ARNDCQEGHILKMFPSTWYVBZX", "BLOSUM62"),
                            ("ACGTACGTACGTRYSWKMBDHVNU", "EDNAFULL")):
        query = "".join(rng.choices(letters, k=130))
        fasta(folder + "/a", "a_long_name_of_record_", [query])
        fasta(folder + "/b", "t",
              [relative(rng, query, letters) for _ in range(20)] + [query[:3], query[60:80]])
        kind = "nucleotide" if matrix == "EDNAFULL" else "protein"
        for gaps in (("12", "1"), ("10", "0.25")):
            theirs = text_of(["needle"], folder,
                             ["-asequence", folder + "/a", "-bsequence", folder + "/b", "-outfile",
                              folder + "/out", "-auto", "-gapopen", gaps[0], "-gapextend", gaps[1],
                              "-s%s1" % kind, "-s%s2" % kind, "-datafile",
                              "EDNAFULL" if kind == "nucleotide" else "E" + matrix])
            ours = text_of([exe], folder, ["align", "--one-vs-all", folder + "/a", folder + "/b",
                                           "-o", folder + "/out", "--format", "needle", "--mode",
                                           "ends-free", "--ties", "emboss", "--matrix", matrix,
                                           "--gap-open", gaps[0], "--gap-extend", gaps[1]])
            blocks = list(zip(ours.split("# Aligned_sequences"),
                              theirs.split("# Aligned_sequences")))
            differ = [pair for pair in blocks if pair[0] != pair[1]]
            print("%s %s: %d of %d differ in their text" % (matrix, gaps, len(differ), len(blocks)))
            for mine, other in differ[:1]:
                print(mine, other, sep="\n---- needle:\n")
            wrong += len(differ) + (len(blocks) != 23)
    return wrong


def main(exe, n="12"):
    if not shutil.which("needle"):
        print("needle (Debian package emboss) is not installed: skipped")
        return 77
    rng = random.Random(5)
    wrong = pairs = others = 0
    for letters, matrix, gaps, mode in (
            ("ARNDCQEGHILKMFPSTWYV", "BLOSUM62", ("11", "1"), "global"),
            ("ARNDCQEGHILKMFPSTWYV", "BLOSUM62", ("10", "0.5"), "global"),
            ("ACGT", "EDNAFULL", ("10", "0.5"), "global"),
            ("ARNDCQEGHILKMFPSTWYV", "BLOSUM62", ("10", "0.5"), "ends-free"),
            ("ACGT", "EDNAFULL", ("12", "2"), "ends-free"),
            ("AC|GT", "EDNAFULL", ("10", "0.5"), "ends-free"),
            ("ARNDCQEGHILKMFPSTWYV", "BLOSUM62", ("11", "1"), "local"),
            ("ACGT", "EDNAFULL", ("10", "0.5"), "local")):
        if "|" in letters:  # nothing in common: nothing is aligned
            ours, theirs = letters.split("|")
            queries = ["".join(rng.choices(ours, k=1 + i % 9)) for i in range(int(n))]
            targets = [["".join(rng.choices(theirs, k=rng.randint(1, 9))) for _ in range(5)]
                       for _ in queries]
        else:
            queries = ["".join(rng.choices(letters, k=rng.randint(20, 150))) for _ in range(int(n))]
            targets = [[relative(rng, q, letters) for _ in range(5)] for q in queries]
        kind = "nucleotide" if matrix == "EDNAFULL" else "protein"
        args = ["-gapopen", gaps[0], "-gapextend", gaps[1], "-s%s1" % kind, "-s%s2" % kind]
        args += [] if mode != "global" else ["-endweight", "-endopen", gaps[0], "-endextend",
                                             gaps[1]]
        with tempfile.TemporaryDirectory() as folder:
            theirs = needle("water" if mode == "local" else "needle", folder, queries, targets,
                            args)
            fasta(folder + "/a", "q", [q for q, ts in zip(queries, targets) for _ in ts])
            fasta(folder + "/b", "t", [t for ts in targets for t in ts])
            out = subprocess.run([exe, "align", folder + "/a", folder + "/b", "--matrix", matrix,
                                  "--gap-open", gaps[0], "--gap-extend", gaps[1], "--ties",
                                  "emboss", "-q",
                                  *(["--local"] if mode == "local" else ["--mode", mode])],
                                 check=True, capture_output=True, text=True)
        ours = [line.split("\t") for line in out.stdout.splitlines()[1:]]
        assert len(ours) == len(theirs) == 5 * int(n), (len(ours), len(theirs))
        for mine, (score, query, target) in zip(ours, theirs):
            pairs += 1
            if mode == "local" and float(mine[2]) == score and mine[-1] != cigar_of(query, target):
                others += 1  # an equally good one, as needle takes with free ends, too
            elif float(mine[2]) != score or mine[-1] != cigar_of(query, target):
                wrong += 1
                if wrong < 6:
                    print("%s %s %s: ours %s %s, needle's %s %s" %
                          (matrix, gaps, mode, mine[2], mine[-1], score, cigar_of(query, target)))
    print("%d pairs, %d differ, %d others as good" % (pairs, wrong, others))
    wrong += others > int(n) / 4
    with tempfile.TemporaryDirectory() as folder:
        wrong += same_text(exe, rng, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
