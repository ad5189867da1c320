#!/usr/bin/env python3
"""test_align_cli.py BIOINFER - `bioinfer align` as a user drives it."""
import gzip
import os
import random
import re
import shutil
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
            f.writelines(">%s\n%s\n" % r
                         for r in (records.items() if isinstance(records, dict) else records))
        return path

    def run_it(self, *args, code=0):
        done = subprocess.run([EXE, "align", *args], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def rows(self, *args, code=0):
        return [line.split("\t") for line in self.run_it(*args, code=code).stdout.splitlines()]

    def test_pairs_in_order(self):
        rows = self.rows(self.a, self.b, "--matrix", "BLOSUM62", "--gap-open", "11", "--gap-extend",
                         "1")
        self.assertEqual(rows[0], ["query", "target", "score", "identity", "cigar"])
        self.assertEqual([r[:3] for r in rows[1:]],
                         [["a1", "b1", "41"], ["a2", "b2", "-7"], ["a3", "b3", "-17"]])
        self.assertEqual(rows[2][4], "2X1=1X1D3X1=4X1=1I2X")
        self.assertEqual(rows[3][3:], ["0.000000", "6D1X"])

    def test_modes(self):
        self.assertEqual(self.rows(self.a, self.b, "--mode", "ends-free")[1][2], "67")
        self.assertEqual(self.rows(self.a, self.b, "--score-only")[:2],
                         [["query", "target", "score"], ["a1", "b1", "41"]])
        rows = self.rows(self.a, self.b, "--all-vs-all", "--score-only")
        self.assertEqual([r[:2] for r in rows[1:]], [[a, b] for a in A for b in B])
        rows = self.rows(self.a, "--all-vs-all")
        self.assertEqual([r[:2] for r in rows[1:]], [["a1", "a2"], ["a1", "a3"], ["a2", "a3"]])
        one = self.fasta("one.fasta", {"x": A["a1"]})
        rows = self.rows(one, self.b, "--one-vs-all", "--threads", "2")
        self.assertEqual([r[:2] for r in rows[1:]], [["x", b] for b in B])
        self.assertEqual(self.rows(self.a, self.b, "--cigar", "plain")[3][4], "6D1M")

    def test_free_ends(self):
        q = self.fasta("read.fasta", {"q": "ACGTTGCA"})
        t = self.fasta("genome.fasta", {"t": "TTTTACGTTGCAGGG"})
        costs = ("--match", "2", "--mismatch", "-3", "--gap-open", "5", "--gap-extend", "1")
        within = self.rows(q, t, *costs, "--free-ends", "target-begin,target-end")[1]
        self.assertEqual(within[2:], ["16", "0.533333", "4D8=3D"])
        paf = self.rows(q, t, *costs, "--free-ends", "target-end,target-begin", "--format", "paf")
        self.assertEqual(paf[0][7:9], ["4", "12"])
        half = self.rows(q, t, *costs, "--free-ends", "target-begin")[1]
        self.assertEqual(half[2], "9")  # 16 - 7, a gap of 3
        every = ("query-begin,query-end,target-begin,target-end",)
        self.assertEqual(self.run_it(self.a, self.b, "--free-ends", *every).stdout,
                         self.run_it(self.a, self.b, "--mode", "ends-free").stdout)
        for ends in ("target", "target-end,", "Query-end"):
            said = self.run_it(q, t, *costs, "--free-ends", ends, code=64).stderr
            self.assertIn("--free-ends", said)
        self.run_it(q, t, "--free-ends", "target-end", "--mode", "ends-free", code=64)

    def test_thresholds(self):
        protein = (self.a, self.b, "--matrix", "BLOSUM62", "--gap-open", "11", "--gap-extend", "1")
        names = lambda *more, code=0: [r[0] for r in self.rows(*protein, *more, code=code)[1:]]
        self.assertEqual(names("--min-score", "-7"), ["a1", "a2"])
        self.assertEqual(names("--min-score", "-7", "--score-only"), ["a1", "a2"])
        self.assertEqual(names("--min-score=-6.5", "--workers", "2"), ["a1"])
        share = float(self.rows(*protein)[2][3])
        self.assertEqual(names("--min-identity", "%.5f" % (share - 1e-4)), ["a1", "a2"])
        self.assertEqual(names("--min-identity", "%.5f" % (share + 1e-4)), ["a1"])
        self.assertEqual(names("--min-identity", "1"), [])
        for bad in (("--min-score", "x"), ("--min-score", "nan"), ("--min-identity", "1.5"),
                    ("--min-identity", "50%"), ("--min-identity", "0.5", "--score-only")):
            self.run_it(*protein, *bad, code=64)

    def test_no_columns(self):
        """Where nothing is aligned there is no identity, which is below any share that is asked
        for."""
        q, t = self.fasta("q.fasta", {"q": "AAAA"}), self.fasta("t.fasta", {"t": "WWWW"})
        common = (q, t, "--local", "--matrix", "BLOSUM62", "-q")
        for form in ("tsv", "paf", "sam", "fasta"):
            for more in ((), ("--all-vs-all", "--top", "1")):
                if more and form == "sam":
                    continue
                none = self.run_it(*common, *more, "--format", form, "--min-identity", "1e-9")
                self.assertEqual([line for line in none.stdout.splitlines()
                                  if line[0] != "@" and not line.startswith("query\ttarget")], [])
        self.assertEqual(self.rows(*common)[1][2], "0")
        self.assertEqual(self.rows(*common, "--min-identity", "0")[1][2], "0")

    def test_aligned_fasta(self):
        pairs = (self.a, self.b, "--mode", "ends-free", "--all-vs-all")
        lines = self.run_it(*pairs, "--format", "fasta").stdout.split("\n")
        rows = self.rows(*pairs)[1:]
        self.assertEqual((len(lines), len(rows)), (4 * len(rows) + 1, len(A) * len(B)))
        for row, (a, query, b, target) in zip(rows, zip(*[iter(lines[:-1])] * 4)):
            self.assertEqual([a, b], [">" + row[0], ">" + row[1]])
            self.assertEqual(query.replace("-", ""), A[row[0]])
            self.assertEqual(target.replace("-", ""), B[row[1]])
            runs = "".join("I" if t == "-" else "D" if q == "-" else "=" if q == t else "X"
                           for q, t in zip(query, target))
            cigar = "".join(int(n) * op for n, op in re.findall(r"(\d+)([ID=X])", row[4]))
            self.assertEqual(len(query), len(target))
            self.assertEqual(runs, cigar)
        whole = self.run_it(self.a, self.b, "--format", "fasta").stdout
        out = os.path.join(self.folder.name, "out.fa")
        self.run_it(self.a, self.b, "-o", out, "--resume", "--block-pairs", "2")
        with open(out) as f:
            self.assertEqual(f.read(), whole)

    def test_devices_and_ties(self):
        same = self.run_it(self.a, self.b).stdout
        self.assertEqual(self.run_it(self.a, self.b, "--device", "cpu", "--cpu-mask", "generic")
                         .stdout, same)
        for ties in ("parasail", "emboss", "wfa"):
            self.assertEqual([r[2] for r in self.rows(self.a, self.b, "--ties", ties)],
                             [r.split("\t")[2] for r in same.splitlines()])
        self.assertIn("no such device",
                      self.run_it(self.a, self.b, "--device", "tpu:0", code=69).stderr)

    def test_formats(self):
        q = self.fasta("q.fasta", {"q": "TTACGTACGTTT"})
        t = self.fasta("t.fasta", {"t": "ACGTCCGT"})
        common = (q, t, "--match", "2", "--mismatch", "-3", "--gap-open", "5", "--gap-extend", "1")
        self.assertEqual(self.rows(*common, "--format", "paf", "--mode", "ends-free")[0],
                         "q 12 2 10 + t 8 0 8 7 8 255 NM:i:1 AS:i:11 cg:Z:4=1X3=".split())
        self.assertEqual(self.rows(*common, "--mode", "ends-free")[1],
                         ["q", "t", "11", "0.583333", "2I4=1X3=2I"])
        sam = self.rows(*common, "--format", "sam", "--mode", "ends-free", "--cigar", "plain")
        self.assertEqual(sam[1], ["@SQ", "SN:t", "LN:8"])
        self.assertEqual(sam[3], "q 0 t 1 255 2S8M2S * 0 0 TTACGTACGTTT * AS:i:11 NM:i:1".split())
        text = self.run_it(*common, "--format", "needle").stdout
        self.assertIn("# Identity:       7/12 (58.3%)", text)
        self.assertIn("# Score: -1.0\n# \n", text)
        self.assertIn("q                  1 TTACGTACGTTT", text)
        self.assertIn("                       ||||.||  |", text)

    def test_blast(self):
        """E-values and bits of blastp 2.12.0 for the same pairs (-subject, -comp_based_stats 0,
        -seg no, -word_size 2, -threshold 9). test_blast.py has more, where BLAST is installed."""
        head = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRV"
        long = (head + "GDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQTLGQHDFSAGEGLYTHM"
                "KALRPDEDRLSPLHSVYVDQWDWE")
        far = ("GGSGMKTAYLAKQWQISHVKSHFSRNLEERIGLQAPILTRVGDGTQDPLSGAEKAVKVKALPDAEFEVVH"
               "TLAKWHRQGDFSAGEGLYSHMKSLRPDGGSS")
        for q, t, costs, want in (
                (head, head, (11, 1), ["9.87e-28", "78.6"]),
                (head, head, (10, 1), ["2.85e-25", "72.7"]),
                (head, far, (11, 1), ["1.81e-18", "57.8"]),
                (head, far, (10, 1), ["3.28e-17", "54.1"]),
                (head, far, (9, 2), ["4.05e-19", "59.3"]),
                (long, head, (10, 1), ["2.66e-24", "72.7"]),
                (long, far, (11, 1), ["4.81e-52", "146"]),
                (long, far, (10, 1), ["3.22e-48", "135"])):
            row = self.rows(self.fasta("q.fasta", {"q": q}), self.fasta("t.fasta", {"t": t}),
                            "--local", "--gap-convention", "w", "--matrix", "BLOSUM62",
                            "--gap-open", str(costs[0]), "--gap-extend", str(costs[1]),
                            "--format", "blast")[0]
            self.assertEqual(row[10:], want, (q, t, costs))

    def test_letters(self):
        """Columns are equal where their letters are, whatever these score; U is T."""
        q, t = self.fasta("q.fasta", {"q": "MJOUX"}), self.fasta("t.fasta", {"t": "MXXXX"})
        for ties in ("parasail", "emboss", "wfa"):
            self.assertEqual(self.rows(q, t, "--matrix", "BLOSUM62", "--ties", ties)[1],
                             ["q", "t", "1", "0.400000", "1=3X1="])
        self.assertIn("NM:i:3", self.run_it(q, t, "--matrix", "BLOSUM62", "--format", "paf").stdout)
        self.assertIn("# Identity:       2/5 (40.0%)",
                      self.run_it(q, t, "--matrix", "BLOSUM62", "--format", "needle").stdout)
        u, d = self.fasta("u.fasta", {"u": "ACGU"}), self.fasta("d.fasta", {"d": "acgt"})
        for costs in (("--matrix", "EDNAFULL"), ("--match", "5", "--mismatch", "-4")):
            self.assertEqual(self.rows(u, d, *costs)[1], ["u", "d", "20", "1.000000", "4="])
            self.assertEqual(self.rows(u, u, *costs)[1][2:], ["20", "1.000000", "4="])
            self.assertIn("NM:i:0", self.run_it(u, d, *costs, "--format", "sam").stdout)
            self.assertEqual(self.rows(u, d, *costs, "--values", "identity", "-q")[1][1],
                             "1.000000")
        # needle of EMBOSS 6.6 has "Identity: 3/4", and a colon between the two
        needle = self.run_it(u, d, "--matrix", "EDNAFULL", "--format", "needle").stdout
        self.assertIn("# Identity:       3/4 (75.0%)", needle)
        self.assertIn(" |||:\n", needle)

    def test_nm(self):
        """NM of SAM as samtools calmd counts it: N is equal to nothing, other codes to themselves.
        U is T, which samtools takes for N. Of proteins N is a residue."""
        pairs = (("ACGTNNRYAC", "ACGTNNRYAC", 2), ("ACGTACGTAC", "ACGTNCGTAC", 1),
                 ("ACGUACGUAC", "ACGTACGTAC", 0), ("ACGTACGNAC", "ACGTACGNAG", 2),
                 ("ACGTNACGTACGTAA", "ACGTNACGTACTAA", 2))
        q = self.fasta("q.fasta", [("q%d" % i, p[0]) for i, p in enumerate(pairs)])
        t = self.fasta("t.fasta", [("t%d" % i, p[1]) for i, p in enumerate(pairs)])
        costs = ("--matrix", "EDNAFULL", "--gap-open", "10", "--gap-extend", "1", "-q")
        sam = self.run_it(q, t, *costs, "--format", "sam").stdout
        self.assertEqual(re.findall(r"NM:i:(\d+)", sam), [str(p[2]) for p in pairs])
        paf = self.rows(q, t, *costs, "--format", "paf")
        for row, p in zip(paf, pairs):
            self.assertEqual(row[12], "NM:i:%d" % p[2])
            self.assertEqual(int(row[10]) - int(row[9]), p[2])
        for more in (("--match", "5", "--mismatch", "-4"),):
            self.assertIn("NM:i:2", self.run_it(q, t, *more, "--format", "sam", "-q").stdout)
        p = self.fasta("p.fasta", {"p": "MKNNTA"})
        self.assertIn("NM:i:0", self.run_it(p, p, "--matrix", "BLOSUM62", "--format", "sam").stdout)
        if not shutil.which("samtools"):
            return
        path = os.path.join(self.folder.name, "out.sam")
        with open(path, "w", encoding="ascii") as f:
            f.write(sam)
        done = subprocess.run(["samtools", "calmd", path, t], capture_output=True, text=True,
                              check=True)
        for found, p in zip(re.findall(r"NM:i:(\d+)", done.stdout), pairs, strict=True):
            self.assertEqual(found, str(p[2] + p[0].count("U")))

    def test_identities(self):
        """Six decimals as printf rounds them: halves of the last one go to the even or to where the
        double lies."""
        pairs = [(k, n) for n in (1, 3, 7, 64, 128, 160, 320, 333, 640, 1280)
                 for k in range(0, n + 1, 1 + n // 40)]
        q = self.fasta("q.fasta", [("q%d" % i, "A" * n) for i, (k, n) in enumerate(pairs)])
        t = self.fasta("t.fasta",
                       [("t%d" % i, "A" * k + "C" * (n - k)) for i, (k, n) in enumerate(pairs)])
        rows = self.rows(q, t, "--match", "1", "--mismatch", "-1", "--gap-open", "5000", "-q")[1:]
        self.assertEqual([r[2:4] for r in rows],
                         [[str(2 * k - n), "%.6f" % (k / n)] for k, n in pairs])

    def test_stops(self):
        """A stop inside a sequence is a residue, which every matrix of proteins has; the last one
        is dropped."""
        q, t = self.fasta("q.fasta", {"q": "MKT*AYIA*"}), self.fasta("t.fasta", {"t": "MKTWAYIA"})
        self.assertEqual(self.rows(q, t, "--matrix", "BLOSUM62")[1],
                         ["q", "t", "30", "0.875000", "3=1X4="])
        self.assertEqual(self.rows(q, q, "--matrix", "BLOSUM62")[1],
                         ["q", "q", "35", "1.000000", "8="])
        self.assertIn("'*', which matrix EDNAFULL has not",
                      self.run_it(self.fasta("d.fasta", {"d": "AC*GT"}), t, "--matrix", "EDNAFULL",
                                  code=1).stderr)

    def test_nothing_to_align(self):
        """The best of ends-free may be to align nothing: it scores 0, in every format."""
        q, t = self.fasta("q.fasta", {"q": "GGGGGGG"}), self.fasta("t.fasta", {"t": "CCCCC"})
        common = (q, t, "--mode", "ends-free", "--matrix", "EDNAFULL", "-q")
        for ties in ("parasail", "emboss", "wfa"):
            self.assertEqual(self.rows(*common, "--ties", ties)[1],
                             ["q", "t", "0", "0.000000", "7I5D"])
        self.assertEqual(self.rows(*common, "--score-only")[1], ["q", "t", "0"])
        self.assertEqual(self.rows(*common, "--format", "paf")[0][:12],
                         "q 7 7 7 + t 5 0 0 0 0 255".split())
        self.assertEqual(self.rows(*common, "--format", "sam")[-1][:11],
                         "q 4 * 0 0 * * 0 0 GGGGGGG *".split())
        self.assertIn("12/12 (100.0%)", self.run_it(*common, "--format", "needle").stdout)
        a, c = self.fasta("a4.fasta", {"a": "AAAA"}), self.fasta("c5.fasta", {"c": "CCCCC"})
        self.assertEqual(self.rows(a, c, "--mode", "ends-free", "--match", "1", "--mismatch", "-9",
                                   "--gap-open", "1", "--gap-extend", "1")[1],
                         ["a", "c", "0", "0.000000", "4I5D"])

    def test_nucleotides_and_costs(self):
        q = self.fasta("q.fasta", {"q": "acgtn"})
        t = self.fasta("t.fasta", {"t": "ACGT"})
        done = self.run_it(q, t)
        self.assertIn("matrix EDNAFULL, gaps 10/0.5", done.stderr)
        self.assertEqual(done.stdout.splitlines()[1].split("\t")[2], "10")
        self.assertEqual(self.rows(q, t, "--gap-open", "10.25")[1][2], "9.75")
        self.assertIn("matrix ednafull, gaps 10/0.5",
                      self.run_it(q, t, "--matrix", "ednafull").stderr)
        self.assertEqual(self.rows(q, t, "--gap-open", "6", "--gap-extend", "2", "--gap-convention",
                                   "w")[1][2], "12")
        self.assertEqual(self.rows(q, t, "--match", "0.5", "--mismatch", "-1", "--gap-open", "1",
                                   "--gap-extend", "1")[1][2], "1")

    def test_sam_names_and_scores(self):
        q, t = (self.fasta("q.fasta", {"q": "ACGTACGTAA", "r": "ACGTACGTAA"}),
                self.fasta("t.fasta", {"t": "ACGTACGTAA", "u": "ACGTACAA"}))
        costs = ("--matrix", "EDNAFULL", "-q")  # gaps 10/0.5
        for form in ("sam", "paf"):
            rows = self.rows(q, t, *costs, "--format", form)[-2:]
            self.assertIn("AS:i:50", rows[0])
            self.assertIn("as:f:29.5", rows[1])
            self.assertFalse([x for x in rows[1] if x.startswith("AS")])
            self.assertFalse([x for x in rows[0] if x.startswith("as")])
        twice = self.fasta("twice.fasta", [("t", "ACGT"), ("u", "ACGT"), ("t", "ACGA")])
        for how in ((), ("--all-vs-all",)):
            done = self.run_it(twice, twice, *how, "--format", "sam", code=65)
            self.assertIn("two targets are named t", done.stderr)
            self.assertEqual(done.stdout, "")
            self.run_it(twice, twice, *how, "--format", "paf")
        for name in ("*t", "=t", "t(1)", "t,u", "<t", "t\\"):
            done = self.run_it(q, self.fasta("n.fasta", [(name, "ACGT"), ("u", "ACGT")]),
                               "--format", "sam", code=65)
            self.assertIn("target %s: SAM has no such names" % name, done.stderr)
        for name in ("@q", "*", "q" * 255):
            done = self.run_it(self.fasta("n.fasta", [(name, "ACGT"), ("u", "ACGT")]), t,
                               "--format", "sam", code=65)
            self.assertIn("query %s: SAM has no such names" % name, done.stderr)
        fine = self.fasta("fine.fasta",
                          [("HLA-A*02:01=x", "ACGT"), ("sp|P1|A_B@c", "ACGT"), ("e", "")])
        lines = self.run_it(q, fine, "--one-vs-all", "--format", "sam", code=65).stderr
        self.assertIn("--one-vs-all takes one", lines)
        rows = self.rows(self.fasta("one.fasta", {"q": "ACGT"}), fine, "--one-vs-all", "--format",
                         "sam", code=1)
        self.assertEqual([r[1] for r in rows if r[0] == "@SQ"],
                         ["SN:HLA-A*02:01=x", "SN:sp|P1|A_B@c"])

    def test_suffixes(self):
        for suffix, first in ((".tsv", "query\ttarget"), ("", "query\ttarget"),
                              (".paf", "a1\t22\t"), (".sam", "@HD\t"), (".needle", "######"),
                              (".srspair", "######")):
            out = os.path.join(self.folder.name, "out.d" + suffix if suffix else "out")
            self.run_it(self.a, self.b, "-o", out)
            with open(out, encoding="ascii") as f:
                self.assertTrue(f.read().startswith(first), suffix)
        out = os.path.join(self.folder.name, "out.bam")
        self.assertIn("out.bam: no --format is given, and the suffix is '.bam', expected one of "
                      "npz, tsv, fasta, paf, sam, needle",
                      self.run_it(self.a, self.b, "-o", out, code=64).stderr)
        self.run_it(self.a, self.b, "-o", out, "--format", "sam")
        self.assertIn("the name says paf, --format says sam",
                      self.run_it(self.a, self.b, "-o", "x.paf", "--format", "sam", code=64).stderr)
        self.assertIn("the name says 'npy', expected one of npz, tsv, fasta, paf, sam, needle",
                      self.run_it(self.a, self.b, "-o", "x.npy", code=64).stderr)
        self.assertIn("has no alignment to write as paf",
                      self.run_it(self.a, self.b, "-o", "x.paf", "--score-only", code=64).stderr)

    def test_nucleotides_or_proteins(self):
        dna = {"d%d" % i: "ACGTTGCATGCAGTCAGTCATTGACCGTAA" for i in range(10)}
        plain = self.fasta("plain.fasta", dna)
        coded = self.fasta("coded.fasta", {**dna, "d7": dna["d7"][:-1] + "R"})
        done = self.run_it(coded, plain)
        self.assertIn("the letters look like nucleotides: matrix EDNAFULL", done.stderr)
        self.assertEqual(done.stdout.splitlines()[1].split("\t")[2:], ["150", "1.000000", "30="])
        self.assertEqual(done.stdout.splitlines()[8].split("\t")[2:], ["146", "0.966667", "29=1X"])
        self.assertEqual(self.run_it(coded, plain, "-q").stderr, "")
        one = self.fasta("one.fasta", {"x": "ACGTTGCATGCAGTCAGTCATTGACCGTAARYACGTAA"})
        self.assertIn("EDNAFULL; for proteins say", self.run_it(one, one, "-q").stderr)
        # peptides that look like DNA, proteins that nearly do, DNA with X, DNA against proteins
        for a, b, words in (({"p": "AAGG"}, {"q": "AAGA"}, "8 letters look like nucleotides"),
                            ({"p": "GGGGSGGGGSGGGGS"}, {"q": "GGGGSGGGGS"},
                             "only 20 of 25 are A, C, G, T, U or N: matrix BLOSUM62"),
                            (dna, {"x%s" % k: s[:-1] + "X" for k, s in dna.items()},
                             "record xd0 has 'X', which is no nucleotide: matrix BLOSUM62"),
                            (dna, {k: "MKTAYIAKQR" for k in dna}, "record d0 has 'I'")):
            done = self.run_it(self.fasta("g.fasta", a), self.fasta("h.fasta", b), "-q")
            self.assertIn("warning: ", done.stderr)
            self.assertIn(words, done.stderr)
        done = self.run_it(self.a, self.b)
        self.assertIn("the letters look like proteins: matrix BLOSUM62", done.stderr)
        self.assertEqual(self.run_it(self.a, self.b, "-q").stderr, "")

    def test_costs(self):
        """Costs in the user's own numbers: any with three decimals up to 10000, gaps that cost
        nothing."""
        q, t = self.fasta("q.fasta", {"q": "ACGTACGT"}), self.fasta("t.fasta", {"t": "CGTTACG"})
        lcs = self.rows(q, t, "--match", "1", "--mismatch", "0", "--gap-open", "0")[1]
        self.assertEqual(lcs[2], "6")
        self.assertEqual(self.rows(q, q, "--match", "100.125", "--mismatch", "-1")[1][2], "801")
        self.assertEqual(self.rows(q, q, "--match", "10000", "--mismatch", "-10000", "--gap-open",
                                   "9999.999")[1][2], "80000")
        for costs, words in ((("--gap-open", "1", "--gap-extend", "2"),
                              "costs 1, every other one 2, expected at most as much"),
                             (("--gap-open", "-0.5"), "costs -0.5 and every other one"),
                             (("--gap-open", "10001"),
                              "'10001' is not a number from -10000 to 10000")):
            self.assertIn(words, self.run_it(q, t, *costs, code=64).stderr)
        self.assertEqual(self.rows(q, t, "--gap-open", "0", "--gap-extend", "2", "--gap-convention",
                                   "w")[1][2],
                         self.rows(q, t, "--gap-open", "2", "--gap-extend", "2")[1][2])
        slow = self.run_it(q, t, "--gap-open", "25.001")
        self.assertEqual(slow.stderr.count("need numbers of 64 bits"), 1)
        self.assertEqual(self.run_it(q, t, "--gap-open", "25.001", "-q").stderr.count("numbers of"),
                         0)
        self.assertNotIn("numbers of",
                         self.run_it(q, t, "--match", "100", "--mismatch", "-100", "--gap-open",
                                     "200", "--gap-extend", "100").stderr)

    def test_match_and_codes(self):
        """--match and --mismatch take every code of nucleotides, none of which matches, and no
        proteins."""
        q, t = (self.fasta("q.fasta", {"q": "ACGTNRYSWKMBDHVU"}),
                self.fasta("t.fasta", {"t": "ACGTNRYSWKMBDHVT"}))
        rows = self.rows(q, t, "--match", "2", "--mismatch", "-1", "--gap-open", "9",
                         "--gap-extend", "9")
        self.assertEqual(rows[1][2:], [str(5 * 2 - 11), "1.000000", "16="])
        done = self.run_it(self.a, self.b, "--match", "2", "--mismatch", "-1", code=1)
        self.assertIn("residue 6 of the query is 'I', no nucleotide: match and mismatch are of "
                      "these; proteins take a matrix", done.stderr)

    def test_any_letters(self):
        """--letters any: match and mismatch of proteins and of alphabets of one's own, as a matrix
        that says so for each two letters."""
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
        path = os.path.join(self.folder.name, "same.mat")
        with open(path, "w", encoding="ascii") as f:
            f.write(" ".join(letters) + "\n")
            f.writelines(a + " " + " ".join("3" if a == b else "-2" for b in letters) + "\n"
                         for a in letters)
        costs = ("--gap-open", "6", "--gap-extend", "1", "--all-vs-all", "-q")
        simple = ("--match", "3", "--mismatch", "-2", "--letters", "any")
        u = self.fasta("u.fasta", {"u": "HHHEEECCNNXXUT", "t": "HHEEECCCNNXTTU"})
        for files in ((self.a, self.b), (u, u)):
            for mode in ((), ("--local",), ("--mode", "ends-free")):
                self.assertEqual(self.rows(*files, *simple, *costs, *mode),
                                 self.rows(*files, "--matrix", path, *costs, *mode))
        self.assertEqual(self.rows(self.a, self.a, *simple)[1][2:], ["66", "1.000000", "22="])
        self.assertIn("gaps 11/1", self.run_it(self.a, self.b, *simple).stderr)
        self.assertIn("needs match and mismatch",
                      self.run_it(self.a, self.b, "--letters", "any", code=64).stderr)
        self.assertIn("is for nucleotides",
                      self.run_it(self.a, self.b, *simple, "--strand", "both", code=64).stderr)

    def test_matrix_file(self):
        path = os.path.join(self.folder.name, "my.mat")
        with open(path, "w", encoding="ascii") as f:
            f.write("# mine\n   A  C  M\nA  3 -1 -2\nC -1  4 -2\nM -2 -2  7\n")
        one = self.fasta("one.fasta", {"x": "MACM"})
        self.assertEqual(self.rows(one, one, "--matrix", path)[1][2], "21")
        bad = self.run_it(self.a, self.b, "--matrix", path, code=1)
        self.assertIn("residue 2 of the query is 'K', which matrix my.mat has not", bad.stderr)
        self.assertIn("3 of 3 pairs have no result", bad.stderr)
        for text, words in (("", "no line of letters"), ("A C\nA 1 2\n", "no row for C"),
                            ("A C\nA 1 x\n", "score 2"), ("A C\nA 1\n", "1 scores, expected 2"),
                            ("A A\n", "column A twice"), ("A C\nA 1 2\nA 1 2\n", "row A twice"),
                            ("A C\nQ 1 2\n", "a row must begin"),
                            ("A C\nA 1 2 3\n", "more than 2 scores"),
                            ("A C\nA 1 99999\n", "score 2")):
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
        self.assertIn("--one-vs-all takes one",
                      self.run_it(self.a, self.b, "--one-vs-all", code=65).stderr)
        self.run_it(self.a, os.path.join(self.folder.name, "none"), code=66)
        self.run_it(self.a, self.b, "--matrix", os.path.join(self.folder.name, "none.mat"), code=66)
        self.assertIn("one argument too many: '%s'" % short,
                      self.run_it(self.a, self.b, short, code=64).stderr)
        self.assertIn("--matrix 'BLOSUM63': neither a file nor one of",
                      self.run_it(self.a, self.b, "--matrix", "BLOSUM63", code=64).stderr)

    def test_many_batches(self):
        """More pairs than three batches hold: all of them, in order, what fails in its place."""
        n, letters = 200001, "ACGT"
        word = lambda i: "".join(letters[i >> 2 * k & 3] for k in range(9))
        bad = {7, 65535, 65536, 131072, 200000}
        a = self.fasta("many_a.fasta", [("q%d" % i, word(i)) for i in range(n)])
        b = self.fasta("many_b.fasta", [("t%d" % i, word(i)[:-1] + ("!" if i in bad else "") + "A")
                                        for i in range(n)])
        expected = None
        for threads in "1", "3":
            done = self.run_it(a, b, "--match=2", "--mismatch=-4", "--score-only", "--threads",
                               threads, code=1)
            rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
            self.assertEqual([r[:2] for r in rows],
                             [["q%d" % i, "t%d" % i] for i in range(n) if i not in bad])
            for i, row in zip((i for i in range(n) if i not in bad), rows):
                self.assertEqual(row[2], "18" if word(i)[-1] == "A" else "12")
            self.assertEqual([line.split(":")[1].strip() for line in done.stderr.splitlines()
                              if "no result:" in line], ["q%d, t%d" % (i, i) for i in sorted(bad)])
            expected = expected or done.stdout
            self.assertEqual(done.stdout, expected)
        full = self.run_it(a, b, "--match=2", "--mismatch=-4", "--threads", "2",
                           code=1).stdout.splitlines()
        self.assertEqual([line.split("\t")[:3] for line in full[1:]], rows)

    def test_workers(self):
        """Workers give the bytes and the words of one process, in every format and pairing."""
        def word(i, n):
            return "".join("ACGT"[(i * 7 + k * k * (i % 5 + 1)) % 4] for k in range(n))
        a = self.fasta("wa.fasta", [("q%d" % i, word(i, 20 + i % 30)) for i in range(300)])
        b = self.fasta("wb.fasta", [("t%d" % i, word(i + 3, 25 + i % 20) + "!" * (i % 50 == 7))
                                    for i in range(300)])
        one = self.fasta("one.fasta", {"x": word(1, 40)})
        few = self.fasta("few.fasta", [("f%d" % i, word(i, 30)) for i in range(20)])
        single = self.fasta("single.fasta", {"alone": word(2, 30)})
        block = ("--block-pairs", "32", "--ties", "wfa")
        for args, code in (((a, b, *block), 1), ((a, b, "--score-only", *block), 1),
                           ((a, b, "--format", "paf", *block), 1),
                           ((a, b, "--format", "sam", *block), 1),
                           ((a, b, "--format", "needle", *block), 1),
                           ((one, b, "--one-vs-all", *block), 1),
                           ((few, b, "--all-vs-all", *block), 1),
                           ((few, "--all-vs-all", *block), 0),
                           ((few, a, "--all-vs-all", "--block-pairs", "7"), 0),
                           ((single, "--all-vs-all"), 0), ((a, "-", *block), 1)):
            with open(b, encoding="ascii") as pipe:
                want = subprocess.run([EXE, "align", *args], capture_output=True, stdin=pipe,
                                      check=False)
            for workers in ("1", "3"):
                with open(b, encoding="ascii") as pipe:
                    got = subprocess.run([EXE, "align", *args, "--workers", workers], stdin=pipe,
                                         capture_output=True, check=False)
                self.assertEqual((got.returncode, want.returncode), (code, code), got.stderr)
                self.assertEqual(got.stdout, want.stdout, args)
                # the time apart
                words = [p.stderr.decode().split(" in ")[0].splitlines() for p in (got, want)]
                self.assertEqual(*map(sorted, words), args)
        # text of more than a MiB to a block, which takes memory that is shared
        long = self.fasta("long.fasta", [("l%d" % i, word(i, 3000)) for i in range(1500)])
        want = self.run_it(long, long, "--format", "needle").stdout
        self.assertGreater(len(want), 8 << 20)
        done = self.run_it(long, long, "--format", "needle", "--workers", "2")
        self.assertEqual(done.stdout, want)
        for args, words, code in (([a, few], "has more records than", 65),
                                  ([a, b, "--device", "cpu,tpu:0"], "no such device", 69),
                                  ([a, b, "--matrix", "BLOSUM63"], "neither a file nor one", 64)):
            self.assertIn(words, self.run_it(*args, "--workers", "2", code=code).stderr)

    def test_usage(self):
        for args in ((), (self.a,), (self.a, self.b, self.b), (self.a, self.b, "--format", "npz"),
                     (self.a, self.b, "--score-only", "--format", "sam"),
                     (self.a, self.b, "--gap-open", "x"),
                     (self.a, self.b, "--gap-open", "1", "--gap-extend", "2"),
                     (self.a, self.b, "--gap-open", "1.0001"),
                     (self.a, self.b, "--match", "1"),
                     (self.a, self.b, "--matrix", "BLOSUM62", "--match", "1", "--mismatch", "0"),
                     (self.a, self.b, "--all-vs-all", "--one-vs-all"), ("-", "-"),
                     (self.a, self.b, "--weights", "tiny"),
                     (self.a, self.b, "--ties", "blast")):
            self.run_it(*args, code=64)

    def test_long_pair(self):
        q = self.fasta("q.fasta", {"q": "ACGGTTCA" * 5000})
        far = "".join(random.Random(7).choices("ACGT", k=39200))
        t = self.fasta("t.fasta", {"t": far})
        common = (q, t, "--match", "2", "--mismatch", "-4", "--gap-open", "6", "--gap-extend", "2")
        done = self.run_it(*common)
        few = self.run_it(*common, "--memory-limit", "8")
        self.assertIn("above --memory-limit", few.stderr)
        self.assertEqual(few.stdout, done.stdout)
        shared = self.run_it(*common, "--memory-limit", "8", "--workers", "1")
        self.assertEqual(shared.stdout, done.stdout)
        self.assertEqual(shared.stderr.splitlines()[:-1], few.stderr.splitlines()[:-1])
        self.assertIn("the traceback of 40000 x 39200 residues needs",
                      self.run_it(*common, "--memory-limit", "1", code=1).stderr)

    def test_longest_record(self):
        """A record of a small gzip file may be long: it costs the memory that the limit allows."""
        def peak(path, *args):
            out = os.path.join(self.folder.name, "out.tsv")
            command = [EXE, "align", path, path, "-o", out, "--matrix", "PAM30", "--threads", "1"]
            with subprocess.Popen([*command, *args], stderr=subprocess.PIPE, text=True) as p:
                words = p.stderr.read()
                _, status, usage = os.wait4(p.pid, 0)
                p.returncode = os.waitstatus_to_exitcode(status)
            with open(out, encoding="utf-8") as f:
                return p.returncode, words, usage.ru_maxrss / 1024, len(f.readlines())

        path = os.path.join(self.folder.name, "long.fasta.gz")
        with gzip.open(path, "wt") as f:
            f.write(">short\nMKV\n>long\n" + "A" * 60000000 + "\n>last\nMKV\n")
        self.assertLess(os.path.getsize(path), 100000)
        usual = peak(self.a)
        self.assertEqual(usual[0], 0, usual)
        for args, most in ((("--memory-limit", "16"), 800000), (("--max-length", "70000"), 70000),
                           ((), 51200000)):
            code, words, memory, lines = peak(path, *args)
            self.assertEqual((code, lines), (1, 3), words)
            self.assertIn(f"more than {most} residues", words)
            if args:
                self.assertLess(memory, usual[2] + 24)

    def test_lists_of_different_ends(self):
        """Files are read ahead in lists of 32,768 records and 32 Mi residues: these end at
        different places."""
        n = 34000
        tiny = [("q%d" % i, "MKV"[i % 3:] or "M") for i in range(n)]
        mixed = [("t%d" % i, "A" * 12000000 if i in (1, 2, 3) else "MKTAYIAK"[i % 5:])
                 for i in range(n)]
        a, b = self.fasta("tiny.fasta", tiny), self.fasta("mixed.fasta", mixed)
        rows = self.rows(a, b, "--score-only", "--gap-open", "1", "--gap-extend", "1", "-q")
        self.assertEqual([r[:2] for r in rows[1:]], [["q%d" % i, "t%d" % i] for i in range(n)])
        few = self.rows(self.fasta("few_a.fasta", tiny[:25]), self.fasta("few_b.fasta", mixed[:25]),
                        "--score-only", "--gap-open", "1", "--gap-extend", "1", "-q")
        by_letters = {(q, t): row[2] for (_, q), (_, t), row in zip(tiny, mixed, few[1:])}
        self.assertGreater(len(set(by_letters.values())), 8)
        for (_, q), (_, t), row in zip(tiny, mixed, rows[1:]):
            self.assertEqual(by_letters[q, t], row[2])
        cut = self.fasta("cut.fasta", tiny[:33000])
        for one, other in ((a, cut), (cut, a)):
            self.assertIn("which ends after 33000",
                          self.run_it(one, other, "--score-only", code=65).stderr)
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
        self.assertTrue(all(r[0] == r[1] == "s%d" % i and
                            r[2] == str(20 * (1 + i % 7)) for i, r in enumerate(rows[1:])))


if __name__ == "__main__":
    EXE = sys.argv.pop(1)
    unittest.main(verbosity=2)
