#!/usr/bin/env python3
"""test_blast.py BIOINFER - bit scores and E-values against blastp and blastn, where these are
installed (Debian: ncbi-blast+): of pairs in which they find an alignment of our raw score."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

PROTEINS = [(o, 2) for o in range(6, 12)] + [(o, 1) for o in range(9, 14)]
NUCLEOTIDES = [(2, 3, o, 2) for o in (2, 4, 5, 6)] + [
    (1, 2, *gaps) for gaps in ((2, 2), (1, 2), (0, 2), (3, 1), (2, 1), (1, 1))]
LENGTHS = 30, 60, 150, 400


def fasta(folder, name, records):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as f:
        f.writelines(f">{i}\n{s}\n" for i, s in records)
    return path


def changed(rng, letters, text, share):
    out = []
    for c in text:
        x = rng.random() / share
        if x >= 0.2:
            out.append((rng.choice(letters) if x < 0.4 else "") +
                       (rng.choice(letters) if x < 1 else c))
    return "".join(out)


def make(rng, letters):
    queries = [("q%d" % n, "".join(rng.choices(letters, k=n))) for n in LENGTHS]
    targets = []
    for name, text in queries:
        for k in range(8):
            at = rng.randint(0, len(text) // 2)
            ends = ["".join(rng.choices(letters, k=rng.randint(5, 300))) for _ in range(2)]
            core = text[at:at + rng.randint(20, len(text))]
            targets.append((f"{name}.{k}", changed(rng, letters, core, (0.1, 0.3, 0.5, 0.6)[k % 4]).
                            join(ends)))
    return queries, targets


def rows(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def compare(exe, folder, letters, program, kind, sets):
    queries, targets = make(random.Random(5), letters)
    q, t = fasta(folder, program + ".q", queries), fasta(folder, program + ".t", targets)
    subprocess.run(["makeblastdb", "-in", t, "-dbtype", kind, "-out", t], check=True,
                   stdout=subprocess.DEVNULL)
    size = str(sum(len(s) for _, s in targets))
    for ours, theirs in sets:
        best = {}
        for row in rows(program, "-query", q, "-db", t, "-outfmt", "6 std score", "-evalue", "1000",
                        "-max_target_seqs", "5000", *theirs):
            best.setdefault((row[0], row[1]), row[10:])
        n = equal = 0
        common = ("--all-vs-all", "--local", "-q", "--gap-convention", "w", *ours)
        points = {(row[0], row[1]): row[2] for row in
                  rows(exe, "align", q, t, *common, "--score-only")[1:]}
        for row in rows(exe, "align", q, t, *common, "--format", "blast", "--db-size", size,
                        "--db-records", str(len(targets))):
            e, bits, score = best.get((row[0], row[1]), ("nan", "", "nan"))
            if float(points[row[0], row[1]]) != float(score):
                continue  # a heuristic has found less
            assert bits.strip() == row[11], (theirs, row, bits)
            if float(e) > 900:
                continue
            n += 1
            equal += e == row[10]
            assert abs(float(e) - float(row[10])) <= 0.011 * float(e), (theirs, row, e)
        print(f"{program} {' '.join(theirs[:8])}: {equal} of {n} E-values are the same text")
        assert n >= 40 and equal >= n - 3, (theirs, n, equal)


def large_scores(exe, folder):
    """Bit scores of proteins with themselves: the fraction is cut above 99.9, and an exponent comes
    from 10^5 on."""
    rng = random.Random(8)
    texts = {n: 0 for n in (38, 39, 40, 41, 42, 43, 60, 61, 62, 500, 2400, 4300, 4400, 5000, 46000)}
    for n in texts:
        path = fasta(folder, "large", [("q", "".join(rng.choices("ARNDCQEGHILKMFPSTWYV", k=n)))])
        theirs = rows("blastp", "-query", path, "-subject", path, "-outfmt", "6 bitscore",
                      "-comp_based_stats", "0", "-seg", "no")[0][0]
        ours = rows(exe, "align", path, path, "--local", "--matrix", "BLOSUM62", "--gap-convention",
                    "w", "--gap-open", "11", "--gap-extend", "1", "--format", "blast", "-q")[0][11]
        assert ours == theirs.strip(), (n, ours, theirs)
        texts[n] = ours
    assert "e+05" in texts[46000] and texts[5000].isdigit() and "." in texts[38], texts
    print("bit scores of", len(texts), "proteins with themselves are the same text")


def main(exe):
    if not shutil.which("blastp") or not shutil.which("blastn"):
        print("blastp and blastn are not installed (Debian: ncbi-blast+)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        large_scores(exe, folder)
        compare(exe, folder, "ARNDCQEGHILKMFPSTWYV", "blastp", "prot", [
            (("--matrix", "BLOSUM62", "--gap-open", str(o), "--gap-extend", str(e)),
             ("-gapopen", str(o), "-gapextend", str(e), "-comp_based_stats", "0", "-seg", "no",
              "-word_size", "2", "-threshold", "9")) for o, e in PROTEINS])
        compare(exe, folder, "ACGT", "blastn", "nucl", [
            (("--match", str(a), "--mismatch", str(-b), "--gap-open", str(o), "--gap-extend",
              str(e)),
             ("-reward", str(a), "-penalty", str(-b), "-gapopen", str(o), "-gapextend", str(e),
              "-dust", "no", "-word_size", "7", "-strand", "plus", "-task", "blastn"))
            for a, b, o, e in NUCLEOTIDES])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
