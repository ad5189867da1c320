#!/usr/bin/env python3
"""test_square.py BIOINFER - matrices of identities, distances, scores against tables of pairs."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

EXE = None
ACIDS = "ARNDCQEGHILKMFPSTWYV"


class Square(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        rng = random.Random(8)
        core = "".join(rng.choices(ACIDS, k=60))
        self.records = [("p%d" % i, "".join(c for c in core[i % 9:] if rng.random() > 0.1) +
                         "".join(rng.choices(ACIDS, k=rng.randint(0, 9)))) for i in range(19)]
        self.a = self.fasta("a.fa", self.records)
        self.b = self.fasta("b.fa", [("t%d" % i, s[::-1][:40]) for i, (_, s) in
                                     enumerate(self.records[:7])])

    def fasta(self, name, records):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f">{i}\n{s}\n" for i, s in records)
        return path

    def run_it(self, *args, code=0):
        done = subprocess.run([EXE, "align", *args, "-q"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def table(self, *args):
        """By names of query and target: score, and equal columns of how many."""
        found = {}
        for line in self.run_it(*args).stdout.splitlines()[1:]:
            row = line.split("\t")
            runs = [(int(n), op) for n, op in re.findall(r"(\d+)([=XID])", row[-1])]
            found[row[0], row[1]] = (row[2], sum(n for n, op in runs if op == "="),
                                     sum(n for n, _ in runs))
        return found

    def square(self, *args, code=0):
        text = self.run_it(*args, code=code).stdout
        head, *rows = [line.split("\t") for line in text.splitlines()]
        self.assertEqual(head[0], "")
        return {(row[0], name): cell for row in rows for name, cell in zip(head[1:], row[1:])}

    def test_values(self):
        lengths = {i: len(s) for i, s in self.records}
        for more in ((), ("--mode", "ends-free", "--ties", "wfa"), ("--local",),
                     ("--gap-open", "2.5", "--gap-extend", "0.5", "--ties", "emboss")):
            more = ("--matrix", "BLOSUM62", *more)
            pairs = self.table(self.a, "--all-vs-all", *more)
            pairs.update({(j, i): r for (i, j), r in pairs.items()})
            identity = self.square(self.a, "--values", "identity", *more)
            distance = self.square(self.a, "--values", "distance", "--threads", "1", *more)
            score = self.square(self.a, "--values", "score", *more)
            shorter = self.square(self.a, "--values", "identity", "--identity-of", "shorter", *more)
            self.assertEqual(len(identity), 19 * 19)
            for i, _ in self.records:
                self.assertEqual((identity[i, i], distance[i, i]), ("1.000000", "0.000000"))
            for (i, j), (points, equal, columns) in pairs.items():
                share = equal / columns if columns else 0
                self.assertAlmostEqual(float(identity[i, j]), share, delta=6e-7)
                self.assertAlmostEqual(float(distance[i, j]), 1 - share, delta=6e-7)
                self.assertAlmostEqual(float(shorter[i, j]), equal / min(lengths[i], lengths[j]),
                                       delta=6e-7)
                self.assertEqual(score[i, j], points)

    def test_two_files(self):
        words = ("--matrix", "PAM250", "--strand", "forward")
        pairs = self.table(self.a, self.b, "--all-vs-all", *words)
        cells = self.square(self.a, self.b, "--values", "identity", *words)
        self.assertEqual(cells.keys(), pairs.keys())
        for pair, (_, equal, columns) in pairs.items():
            self.assertAlmostEqual(float(cells[pair]), equal / columns, delta=6e-7)

    def test_strands(self):
        gene = "".join(random.Random(3).choices("ACGT", k=90))
        turned = gene[::-1].translate(str.maketrans("ACGT", "TGCA"))
        a = self.fasta("g.fa", [("fore", gene), ("back", turned)])
        cells = self.square(a, "--values", "identity", "--matrix", "EDNAFULL", "--strand", "both")
        self.assertEqual(set(cells.values()), {"1.000000"})

    def test_phylip(self):
        words = (self.a, "--values", "distance", "--matrix", "BLOSUM62")
        cells = self.square(*words)
        names = [i for i, _ in self.records]
        for shape in ("square", "lower"):
            for kind in ("relaxed", "strict"):
                lines = self.run_it(*words, "--format", "phylip", "--shape", shape, "--names",
                                    kind).stdout.splitlines()
                self.assertEqual(lines[0], "   19")
                for i, (name, line) in enumerate(zip(names, lines[1:])):
                    if kind == "strict":
                        self.assertEqual(line[:10], f"{name:10}")
                    got = line[10:].split() if kind == "strict" else line.split(" ")[1:]
                    until = i if shape == "lower" else len(names)
                    self.assertEqual(got, [cells[name, other] for other in names[:until]])
        long = self.fasta("long.fa", [("elevenchars", "MKV"), ("b", "MKV")])
        done = self.run_it(long, "--values", "distance", "--matrix", "BLOSUM62", "--format",
                           "phylip", "--names", "strict", code=65)
        self.assertIn("record elevenchars: strict PHYLIP has no such names", done.stderr)

    def test_arrays(self):
        out = os.path.join(self.folder, "s.npz")
        words = ("--values", "score", "--matrix", "BLOSUM62", "--gap-open", "2.5", "--gap-extend",
                 "0.5")
        cells = self.square(self.a, self.b, *words)
        self.run_it(self.a, self.b, *words, "-o", out)
        with zipfile.ZipFile(out) as z:
            self.assertEqual(z.namelist(), ["score.npy", "ids.npy"])
            data = z.read("score.npy")
        self.assertIn(b"'shape': (19, 7)", data[:120])
        values = struct.unpack("<133f", data[-4 * 133:])
        self.assertEqual(list(values), [float(cell) for cell in cells.values()])

    def test_tiles(self):
        """The bytes do not depend on tiles, processes, threads, and where they go."""
        holder = os.path.join(self.folder, "tmp")
        os.mkdir(holder)
        env = dict(os.environ, TMPDIR=holder)
        out = os.path.join(self.folder, "out")
        for files, kind, more in (((self.a,), "identity", ()), ((self.a, self.b), "score", ()),
                                  ((self.b, self.a), "distance", ()),
                                  ((self.a,), "distance", ("--shape", "lower"))):
            want = None
            for how in ((), ("--block-pairs", "1"), ("--block-pairs", "7"),
                        ("--block-pairs", "16", "--threads", "1"),
                        ("--block-pairs", "100", "--workers", "2"),
                        ("--block-pairs", "400"), ("-o", out),
                        ("-o", out, "--resume", "--block-pairs", "36")):
                done = subprocess.run([EXE, "align", *files, "--values", kind, "--matrix",
                                       "BLOSUM62", "--format", "tsv", "-q", *more, *how],
                                      capture_output=True, check=False, env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                got = done.stdout
                if "-o" in how:
                    with open(out, "rb") as f:
                        got = f.read()
                want = want or got
                self.assertEqual(got, want, how)
                self.assertEqual(os.listdir(holder), [])
            with open(out + ".manifest.tsv", encoding="ascii") as f:
                last = f.read().splitlines()[-1].split("\t")
            n, m = len(self.records), len(self.records) if len(files) == 1 else 7
            n, m = (7, 19) if files[0] == self.b else (n, m)
            self.assertTrue(last[1].endswith(f"-{n - 1},{m - 1}-{m - 1}") or
                            last[1].endswith(f"-{n - 1},{m // 6 * 6}-{m - 1}"), last)

    def test_large_scores(self):
        """Arrays of 32 bits hold no whole numbers above 2^24; a table of the same values does."""
        out = os.path.join(self.folder, "s.npz")
        many = self.fasta("many.fa", [("n", "A" * 3000)])
        words = (many, "--values", "score", "--match", "9999", "--mismatch", "-1", "-o", out)
        done = self.run_it(*words, code=65)
        self.assertIn(f"{out}: record n has scores above 2^24, which npz does not hold",
                      done.stderr)
        self.assertFalse(os.path.exists(out))
        table = os.path.join(self.folder, "s.tsv")
        subprocess.run([EXE, "merge", table, out + ".part", "--format", "tsv", "-q"], check=True)
        with open(table, encoding="ascii") as f:
            self.assertEqual(f.read(), "\tn\nn\t29997000\n")
        with open(table + ".manifest.tsv", encoding="ascii") as f:
            self.assertEqual(f.read().splitlines()[1], "0\t0-0,0-0\t6000\tok\t\t")

    def test_without_result(self):
        bad = self.fasta("bad.fa", [("a", "MKV"), ("odd", "M!V"), ("b", "MKVA")])
        cells = self.square(bad, "--values", "identity", "--matrix", "BLOSUM62", code=1)
        for (i, j), cell in cells.items():
            self.assertEqual(cell == "nan", "odd" in (i, j))

    def test_usage(self):
        both = (self.a, self.b)
        for args, words in (
                ((*both, "--values", "identity", "--format", "phylip"), "say --values distance"),
                ((*both, "--values", "distance", "--format", "phylip"), "no square one"),
                ((*both, "--values", "distance", "--shape", "lower"), "no square one"),
                ((self.a, "--values", "distance", "--format", "npz"), "say -o FILE"),
                ((self.a, "--values", "distance", "--format", "paf"), "not as paf"),
                ((self.a, "--values", "identity", "--score-only"), "needs alignments"),
                ((self.a, "--values", "identity", "--min-score", "3"), "leave out --min-score"),
                ((self.a, "--values", "identity", "--top", "3", "--all-vs-all"), "leave out --top"),
                ((self.a, "--values", "identity", "--top", "3"), "leave out --top"),
                ((self.a, "--values", "score", "--identity-of", "shorter"), "--identity-of is for"),
                ((self.a, "--values", "score", "--resume"), "--resume needs a file"),
                ((*both, "--format", "phylip"), "is for the matrix"),
                ((*both, "--shape", "lower"), "--shape is for the matrix")):
            self.assertIn(words, self.run_it(*args, code=64).stderr)


if __name__ == "__main__":
    EXE = sys.argv.pop(1)
    unittest.main(verbosity=2)
