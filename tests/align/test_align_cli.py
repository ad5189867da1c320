#!/usr/bin/env python3
"""test_align_cli.py BIOINFER - `bioinfer align` as a user drives it."""
import gzip
import os
import subprocess
import sys
import tempfile
import unittest

EXE = ""
A = {"a1": "MKTAYIAKQRQISFVKSHFSRQ", "a2": "RYDGYRYYMRGRWCIF", "a3": "M"}
B = {"b1": "GGGGGAYIAKQRQISFVKSH", "b2": "CWDYIWQDYYEKDWNY", "b3": "RNWDKYR"}


class Align(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.a = self.fasta("a.fasta", A)
        self.b = self.fasta("b.fasta", B)

    def tearDown(self):
        self.assertFalse([f for f in os.listdir(self.folder.name) if ".part" in f])
        self.folder.cleanup()

    def fasta(self, name, records):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="latin-1") as f:
            f.writelines(">%s\n%s\n" % r for r in (records.items() if isinstance(records, dict) else records))
        return path

    def run_it(self, *args, code=0):
        done = subprocess.run([EXE, "align", *args], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def rows(self, *args, code=0):
        return [line.split("\t") for line in self.run_it(*args, code=code).stdout.splitlines()]

    def test_pairs_in_order(self):
        rows = self.rows(self.a, self.b, "--matrix", "BLOSUM62", "--gap-open", "11", "--gap-extend", "1")
        self.assertEqual(rows[0], ["query", "target", "score", "identity", "cigar"])
        self.assertEqual([r[:3] for r in rows[1:]], [["a1", "b1", "41"], ["a2", "b2", "-7"], ["a3", "b3", "-17"]])
        self.assertEqual(rows[2][4], "2X1=1X1D3X1=4X1=1I2X")
        self.assertEqual(rows[3][3:], ["0.000000", "6D1X"])

    def test_modes(self):
        self.assertEqual(self.rows(self.a, self.b, "--mode", "ends-free")[1][2], "67")
        self.assertEqual(self.rows(self.a, self.b, "--score-only")[:2], [["query", "target", "score"], ["a1", "b1", "41"]])
        rows = self.rows(self.a, self.b, "--all-vs-all", "--score-only")
        self.assertEqual([r[:2] for r in rows[1:]], [[a, b] for a in A for b in B])
        rows = self.rows(self.a, "--all-vs-all")
        self.assertEqual([r[:2] for r in rows[1:]], [["a1", "a2"], ["a1", "a3"], ["a2", "a3"]])
        one = self.fasta("one.fasta", {"x": A["a1"]})
        rows = self.rows(one, self.b, "--one-vs-all", "--threads", "2")
        self.assertEqual([r[:2] for r in rows[1:]], [["x", b] for b in B])
        self.assertEqual(self.rows(self.a, self.b, "--cigar", "plain")[3][4], "6D1M")

    def test_devices_and_ties(self):
        same = self.run_it(self.a, self.b).stdout
        self.assertEqual(self.run_it(self.a, self.b, "--device", "cpu", "--cpu-mask", "generic").stdout, same)
        for ties in ("parasail", "emboss", "wfa"):
            self.assertEqual([r[2] for r in self.rows(self.a, self.b, "--ties", ties)], [r.split("\t")[2] for r in same.splitlines()])
        self.assertIn("no such device", self.run_it(self.a, self.b, "--device", "tpu:0", code=69).stderr)

    def test_formats(self):
        q = self.fasta("q.fasta", {"q": "TTACGTACGTTT"})
        t = self.fasta("t.fasta", {"t": "ACGTCCGT"})
        common = (q, t, "--match", "2", "--mismatch", "-3", "--gap-open", "5", "--gap-extend", "1")
        self.assertEqual(self.rows(*common, "--format", "paf", "--mode", "ends-free")[0],
                         "q 12 2 10 + t 8 0 8 7 8 255 NM:i:1 AS:i:11 cg:Z:4=1X3=".split())
        self.assertEqual(self.rows(*common, "--mode", "ends-free")[1], ["q", "t", "11", "0.583333", "2I4=1X3=2I"])
        sam = self.rows(*common, "--format", "sam", "--mode", "ends-free", "--cigar", "plain")
        self.assertEqual(sam[1], ["@SQ", "SN:t", "LN:8"])
        self.assertEqual(sam[3], "q 0 t 1 255 2S8M2S * 0 0 TTACGTACGTTT * AS:i:11 NM:i:1".split())
        text = self.run_it(*common, "--format", "needle").stdout
        self.assertIn("# Identity:         7/12 (58.3%)", text)
        self.assertIn("# Score: -1\n", text)
        self.assertIn("q                  1 TTACGTACGTTT", text)
        self.assertIn("                       ||||.||  |", text)

    def test_nucleotides_and_costs(self):
        q = self.fasta("q.fasta", {"q": "acgtn"})
        t = self.fasta("t.fasta", {"t": "ACGT"})
        done = self.run_it(q, t)
        self.assertIn("matrix EDNAFULL, gaps 10/0.5", done.stderr)
        self.assertEqual(done.stdout.splitlines()[1].split("\t")[2], "10")
        self.assertEqual(self.rows(q, t, "--gap-open", "10.25")[1][2], "9.75")
        self.assertEqual(self.rows(q, t, "--gap-open", "6", "--gap-extend", "2", "--gap-convention", "w")[1][2], "12")
        self.assertEqual(self.rows(q, t, "--match", "0.5", "--mismatch", "-1", "--gap-open", "1", "--gap-extend", "1")[1][2], "1")

    def test_matrix_file(self):
        path = os.path.join(self.folder.name, "my.mat")
        with open(path, "w", encoding="ascii") as f:
            f.write("# mine\n   A  C  M\nA  3 -1 -2\nC -1  4 -2\nM -2 -2  7\n")
        one = self.fasta("one.fasta", {"x": "MACM"})
        self.assertEqual(self.rows(one, one, "--matrix", path)[1][2], "21")
        bad = self.run_it(self.a, self.b, "--matrix", path, code=1)
        self.assertIn("residue 2 of the query is 'K', which matrix my.mat has not", bad.stderr)
        self.assertIn("3 of 3 pairs have no result", bad.stderr)
        for text, words in (("", "no line of letters"), ("A C\nA 1 2\n", "no row for C"), ("A C\nA 1 x\n", "score 2"),
                            ("A C\nA 1\n", "1 scores, expected 2"), ("A A\n", "column A twice"), ("A C\nA 1 2\nA 1 2\n", "row A twice"),
                            ("A C\nQ 1 2\n", "a row must begin"), ("A C\nA 1 2 3\n", "more than 2 scores"), ("A C\nA 1 99999\n", "score 2")):
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
            self.assertIn(words, self.run_it(self.a, self.b, "--matrix", path, code=65).stderr)

    def test_bad_input(self):
        short = self.fasta("short.fasta", {"b1": "MKV"})
        self.assertIn("has more records than", self.run_it(self.a, short, code=65).stderr)
        self.assertIn("has more records than", self.run_it(short, self.a, code=65).stderr)
        out = os.path.join(self.folder.name, "out.tsv")
        self.run_it(short, self.a, "-o", out, code=65)
        self.assertFalse(os.path.exists(out))
        odd = self.fasta("odd.fasta", [("x", "MK1V"), ("e", ""), ("y", "MKV")])
        done = self.run_it(self.a, odd, code=1)
        self.assertIn("a1, x: no result: bad_residue", done.stderr)
        self.assertIn("a2, e: no result: empty", done.stderr)
        self.assertEqual([r.split("\t")[:2] for r in done.stdout.splitlines()[1:]], [["a3", "y"]])
        self.assertIn("--one-vs-all takes one", self.run_it(self.a, self.b, "--one-vs-all", code=65).stderr)
        self.run_it(self.a, os.path.join(self.folder.name, "none"), code=66)
        self.assertIn("neither a file nor one of", self.run_it(self.a, self.b, "--matrix", "BLOSUM63", code=66).stderr)

    def test_many_batches(self):
        """More pairs than three batches hold: all of them, in order, what fails in its place."""
        n, letters = 200001, "ACGT"
        word = lambda i: "".join(letters[i >> 2 * k & 3] for k in range(9))
        bad = {7, 65535, 65536, 131072, 200000}
        a = self.fasta("many_a.fasta", [("q%d" % i, word(i)) for i in range(n)])
        b = self.fasta("many_b.fasta", [("t%d" % i, word(i)[:-1] + ("!" if i in bad else "") + "A") for i in range(n)])
        expected = None
        for threads in "1", "3":
            done = self.run_it(a, b, "--match=2", "--mismatch=-4", "--score-only", "--threads", threads, code=1)
            rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
            self.assertEqual([r[:2] for r in rows], [["q%d" % i, "t%d" % i] for i in range(n) if i not in bad])
            for i, row in zip((i for i in range(n) if i not in bad), rows):
                self.assertEqual(row[2], "18" if word(i)[-1] == "A" else "12")
            self.assertEqual([line.split(":")[1].strip() for line in done.stderr.splitlines() if "no result:" in line],
                             ["q%d, t%d" % (i, i) for i in sorted(bad)])
            expected = expected or done.stdout
            self.assertEqual(done.stdout, expected)
        full = self.run_it(a, b, "--match=2", "--mismatch=-4", "--threads", "2", code=1).stdout.splitlines()
        self.assertEqual([line.split("\t")[:3] for line in full[1:]], rows)

    def test_usage(self):
        for args in ((), (self.a,), (self.a, self.b, self.b), (self.a, self.b, "--format", "npz"),
                     (self.a, self.b, "--score-only", "--format", "sam"), (self.a, self.b, "--gap-open", "x"),
                     (self.a, self.b, "--gap-open", "1", "--gap-extend", "2"), (self.a, self.b, "--gap-open", "1.0001"),
                     (self.a, self.b, "--match", "1"), (self.a, self.b, "--matrix", "BLOSUM62", "--match", "1", "--mismatch", "0"),
                     (self.a, self.b, "--all-vs-all", "--one-vs-all"), ("-", "-"), (self.a, self.b, "--weights", "tiny"),
                     (self.a, self.b, "--ties", "blast")):
            self.run_it(*args, code=64)

    def test_long_pair(self):
        q = self.fasta("q.fasta", {"q": "ACGGTTCA" * 5000})
        t = self.fasta("t.fasta", {"t": "ACGGTACA" * 4900})
        common = (q, t, "--match", "2", "--mismatch", "-4", "--gap-open", "6", "--gap-extend", "2")
        done = self.run_it(*common)
        few = self.run_it(*common, "--memory-limit", "8")
        self.assertIn("above --memory-limit", few.stderr)
        self.assertEqual(few.stdout, done.stdout)
        self.assertIn("the traceback of 40000 x 39200 residues needs", self.run_it(*common, "--memory-limit", "1", code=1).stderr)

    def test_lists_of_different_ends(self):
        """Files are read ahead in lists of 32,768 records and 32 Mi residues: these end at different places."""
        n = 34000
        tiny = [("q%d" % i, "MKV"[i % 3:] or "M") for i in range(n)]
        mixed = [("t%d" % i, "A" * 12000000 if i in (1, 2, 3) else "MKTAYIAK"[i % 5:]) for i in range(n)]
        a, b = self.fasta("tiny.fasta", tiny), self.fasta("mixed.fasta", mixed)
        rows = self.rows(a, b, "--score-only", "--gap-open", "1", "--gap-extend", "1", "-q")
        self.assertEqual([r[:2] for r in rows[1:]], [["q%d" % i, "t%d" % i] for i in range(n)])
        by_letters = {}
        for (_, q), (_, t), row in zip(tiny, mixed, rows[1:]):
            self.assertEqual(by_letters.setdefault((q, t), row[2]), row[2])
        cut = self.fasta("cut.fasta", tiny[:33000])
        for one, other in ((a, cut), (cut, a)):
            self.assertIn("which ends after 33000", self.run_it(one, other, "--score-only", code=65).stderr)
        with open(cut, "rb") as f, gzip.open(cut + ".gz", "wb") as g:
            g.write(f.read())
        with open(cut + ".gz", "rb+") as f: # damaged behind the first list
            f.truncate(os.path.getsize(cut + ".gz") - 400)
        self.assertIn("cut.fasta.gz", self.run_it(a, cut + ".gz", "--score-only", code=65).stderr)

    def test_batches_and_gzip(self):
        path = os.path.join(self.folder.name, "many.fasta.gz")
        with gzip.open(path, "wt") as f:
            f.writelines(">s%d\n%s\n" % (i, "ACGT" * (1 + i % 7)) for i in range(40000))
        rows = self.rows(path, path, "--score-only", "-q")
        self.assertEqual(len(rows), 40001)
        self.assertTrue(all(r[0] == r[1] == "s%d" % i and r[2] == str(20 * (1 + i % 7)) for i, r in enumerate(rows[1:])))


if __name__ == "__main__":
    EXE = sys.argv.pop(1)
    unittest.main()
