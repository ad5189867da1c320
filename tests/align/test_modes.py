#!/usr/bin/env python3
"""test_modes.py BIOINFER - local alignments and their formats, columns of BLAST and statistics.

A plain Smith-Waterman here gives the scores."""
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

EXE = None
ACIDS = "ARNDCQEGHILKMFPSTWYV"
HBA = ("MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHK"
       "LRVDPVNFKLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR")
HBB = ("MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSE"
       "LHCDKLHVDPENFRLLGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH")


def best_local(q, t, match, mismatch, opening, extend):
    """The largest score of Smith-Waterman; a gap of k costs opening + (k - 1) extend."""
    h, f, best = [0] * (len(t) + 1), [-10 ** 9] * (len(t) + 1), 0
    for a in q:
        corner, e = 0, -10 ** 9
        for j, b in enumerate(t, 1):
            e = max(h[j - 1] - opening, e - extend)
            f[j] = max(h[j] - opening, f[j] - extend)
            corner, h[j] = h[j], max(0, corner + (match if a == b else mismatch), e, f[j])
            best = max(best, h[j])
    return best


def best_global(q, t, score, opening, extend):
    """The score of Needleman-Wunsch."""
    h = [0] + [-opening - k * extend for k in range(len(t))]
    f = [-10 ** 9] * (len(t) + 1)
    for i, a in enumerate(q):
        corner, e = h[0], -10 ** 9
        h[0] = -opening - i * extend
        for j, b in enumerate(t, 1):
            e = max(h[j - 1] - opening, e - extend)
            f[j] = max(h[j] - opening, f[j] - extend)
            corner, h[j] = h[j], max(corner + score[a, b], e, f[j])
    return h[-1]


def best_of_two(q, t, match, mismatch, gap):
    """The score of Needleman-Wunsch where a gap of k costs gap(k), by all lengths of gaps."""
    h = {(0, 0): 0}
    for i in range(len(q) + 1):
        for j in range(len(t) + 1):
            if i or j:
                h[i, j] = max([h[i - k, j] - gap(k) for k in range(1, i + 1)] +
                              [h[i, j - k] - gap(k) for k in range(1, j + 1)] +
                              ([h[i - 1, j - 1] + (match if q[i - 1] == t[j - 1] else mismatch)]
                               if i and j else []))
    return h[len(q), len(t)]


def rescore(q, t, row, costs):
    """Scores the CIGAR of a row of tsv once more, from where the row says that it begins."""
    match, mismatch, opening, extend = costs
    i, j, score = int(row[4]) - 1, int(row[6]) - 1, 0
    for n, op in re.findall(r"(\d+)([=XID])", row[8]):
        n = int(n)
        if op in "ID":
            score -= opening + (n - 1) * extend
            i, j = i + n * (op == "I"), j + n * (op == "D")
            continue
        for _ in range(n):
            assert (q[i] == t[j]) == (op == "="), (row, i, j)
            score += match if op == "=" else mismatch
            i, j = i + 1, j + 1
    assert (i, j) == (int(row[5]), int(row[7])), row
    return score


class Modes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def fasta(self, name, records):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f">{i}\n{s}\n" for i, s in records)
        return path

    def run_it(self, *args, code=0):
        done = subprocess.run([EXE, "align", *args], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def pairs(self, letters, n):
        rng = random.Random(9)
        queries, targets = [], []
        for i in range(n):
            core = "".join(rng.choices(letters, k=rng.randint(1, 60)))
            q, t = ("".join(rng.choices(letters, k=rng.randint(0, 30))) for _ in range(2))
            other = "".join(c for c in core if rng.random() > 0.08)
            queries.append((f"q{i}", q + core + t))
            targets.append((f"t{i}", t[::-1] + other + q[::-1] or "A"))
        return queries, targets

    def test_local(self):
        queries, targets = self.pairs("ACGT", 150)
        a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
        costs = (2, -3, 5, 2)
        words = ("--local", "--match", "2", "--mismatch", "-3", "--gap-open", "5", "--gap-extend",
                 "2", "-q")
        scores = self.run_it(a, b, *words, "--score-only").stdout.splitlines()[1:]
        for ties in ("parasail", "emboss", "wfa"):
            rows = [line.split("\t") for line in
                    self.run_it(a, b, *words, "--ties", ties).stdout.splitlines()]
            self.assertEqual(rows[0][4:8],
                             ["query_start", "query_end", "target_start", "target_end"])
            for (_, q), (_, t), row, line in zip(queries, targets, rows[1:], scores,
                                                 strict=True):
                self.assertEqual(int(row[2]), best_local(q, t, *costs))
                self.assertEqual(int(row[2]), rescore(q, t, row, costs))
                self.assertEqual(line.split("\t")[2], row[2])
        paf = self.run_it(a, b, *words, "--format", "paf").stdout.splitlines()
        rows = self.run_it(a, b, *words).stdout.splitlines()[1:]
        for line, row in zip(paf, rows, strict=True):
            line, row = line.split("\t"), row.split("\t")
            self.assertEqual([line[2], line[3], line[7], line[8]],
                             [str(int(row[4]) - 1), row[5], str(int(row[6]) - 1), row[7]])

    def test_alphabets(self):
        """A file may have any of A to Z and *, and other scores in each direction."""
        rng = random.Random(6)
        letters = "".join(chr(c) for c in range(ord("A"), ord("Z") + 1)) + "*"
        for alphabet in (letters, "QZ", "K*"):
            score = {(a, b): rng.randint(-40, 90) for a in alphabet for b in alphabet}
            path = os.path.join(self.folder, "own.mat")
            with open(path, "w", encoding="ascii") as f:
                f.write("# rows are the query\n " + " ".join(alphabet).lower() + "\n")
                f.writelines(f"{a} {' '.join(str(score[a, b]) for b in alphabet)}\n"
                             for a in alphabet)
            pairs = self.pairs(alphabet, 12)  # one * at the end of a record is dropped
            queries, targets = ([(i, s + alphabet[0]) for i, s in side] for side in pairs)
            a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
            words = (a, b, "--matrix", path, "--gap-open", "30", "--gap-extend", "3", "-q")
            rows = [line.split("\t") for line in self.run_it(*words).stdout.splitlines()[1:]]
            only = self.run_it(*words, "--score-only").stdout.splitlines()[1:]
            for (_, q), (_, t), row, line in zip(queries, targets, rows, only, strict=True):
                self.assertEqual(line.split("\t")[2], row[2])
                self.assertEqual(int(row[2]), best_global(q, t, score, 30, 3))
                i = j = points = 0
                for n, op in re.findall(r"(\d+)([=XID])", row[4]):
                    n = int(n)
                    if op in "ID":
                        points -= 30 + 3 * (n - 1)
                        i, j = i + n * (op == "I"), j + n * (op == "D")
                        continue
                    for _ in range(n):
                        self.assertEqual(q[i] == t[j], op == "=")
                        points += score[q[i], t[j]]
                        i, j = i + 1, j + 1
                self.assertEqual((i, j, points), (len(q), len(t), int(row[2])))
        for head, words in (("A 1", "expected single letters (or *) as names of columns"),
                            ("A -", "expected single letters"), ("AC", "expected single letters")):
            with open(path, "w", encoding="ascii") as f:
                f.write(head + "\nA 1 2\n")
            self.assertIn(words, self.run_it(a, b, "--matrix", path, code=65).stderr)

    def test_nothing(self):
        a, b = self.fasta("a.fa", [("q", "WWW")]), self.fasta("b.fa", [("t", "AAAA")])
        words = ("--local", "--matrix", "BLOSUM62", "-q")
        self.assertEqual(self.run_it(a, b, *words).stdout.splitlines()[1].split("\t")[2:],
                         ["0", "0.000000", "0", "0", "0", "0", "*"])
        self.assertEqual(self.run_it(a, b, *words, "--format", "sam").stdout.splitlines()[-1][:10],
                         "q\t4\t*\t0\t0\t")
        self.assertEqual(self.run_it(a, b, *words, "--format", "blast").stdout, "")

    def test_fasta(self):
        a, b = self.fasta("a.fa", [("q", "WWACDEF")]), self.fasta("b.fa", [("t", "HHHACEFPPP")])
        done = self.run_it(a, b, "--local", "--matrix", "BLOSUM62", "--gap-open", "2",
                           "--gap-extend", "1", "-q", "--format", "fasta")
        self.assertEqual(done.stdout, ">q\nACDEF\n>t\nAC-EF\n")

    def test_blast(self):
        queries, targets = self.pairs(ACIDS, 60)
        a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
        words = ("--local", "--matrix", "BLOSUM62", "--gap-convention", "w", "--gap-open", "11",
                 "--gap-extend", "1", "-q")
        rows = [line.split("\t") for line in self.run_it(a, b, *words).stdout.splitlines()[1:]]
        for size in (None, 5000000):
            more = ("--db-size", str(size)) if size else ()
            lines = self.run_it(a, b, *words, "--format", "blast", *more).stdout.splitlines()
            self.assertEqual(len(lines), sum(row[8] != "*" for row in rows))
            found = {line.split("\t")[0]: line.split("\t") for line in lines}
            for (name, q), (_, t), row in zip(queries, targets, rows, strict=True):
                if row[8] == "*":
                    continue
                runs = re.findall(r"(\d+)([=XID])", row[8])
                count = {op: sum(int(n) for n, o in runs if o == op) for op in "=XID"}
                columns = sum(count.values())
                most = 0.041 * len(q) * (size or len(t)) * math.exp(-0.267 * int(row[2]))
                bits = (0.267 * int(row[2]) - math.log(0.041)) / math.log(2)
                line = found[name]
                self.assertEqual(line[2:10], ["%.3f" % (100 * count["="] / columns), str(columns),
                                              str(count["X"]), str(sum(o in "ID" for _, o in runs)),
                                              row[4], row[5], row[6], row[7]])
                if int(row[2]) > 90:  # few places are left to alignments so long
                    self.assertTrue(0 < float(line[10]) < most)
                self.assertEqual(line[11], "%d" % bits if bits > 99.9 else "%.1f" % bits)
        few = self.run_it(a, b, *words, "--format", "blast", "--max-evalue", "1e-6").stdout
        self.assertTrue(0 < few.count("\n") < len(lines))
        self.assertTrue(all(float(x.split("\t")[10]) <= 1e-6 for x in few.splitlines()))

    def test_known_evalues(self):
        """As blastp -comp_based_stats 0 -seg no and blastn -dust no of BLAST+ 2.12 print."""
        a = self.fasta("hba.fa", [("hba", HBA)])
        b = self.fasta("hbb.fa", [("hbb", HBB)])
        words = (a, b, "--local", "--matrix", "BLOSUM62", "--gap-convention", "w", "--format",
                 "blast", "-q")
        first, second = "42.069 145 76 2 3 141 4 146", "43.448 145 74 3 3 141 4 146"
        for gaps, size, tail in ((("11", "1"), None, first + " 2.54e-38 114"),
                                 (("11", "1"), "200000000", first + " 3.46e-32 114"),
                                 (("9", "2"), None, second + " 2.19e-39 118"),
                                 (("9", "2"), "200000000", second + " 2.98e-33 118")):
            done = self.run_it(*words, "--gap-open", gaps[0], "--gap-extend", gaps[1],
                               *(("--db-size", size) if size else ()))
            self.assertEqual(done.stdout.split()[2:], tail.split())
        a = self.fasta("q.fa", [("q", "ACGTTGCATGCCATGGATCCTAGGCATTACGGATCAATCGGCTAAGC")])
        b = self.fasta("t.fa", [("t", "TTTGACACGTTGCATGCATGGATCCTAGGCTTTACGGATCAATCGGCTAAGC"
                                 "TTCCAGACTTAGACAGATTT")])
        for size, e in ((None, "2.14e-19"), ("3000000", "6.41e-15")):
            done = self.run_it(a, b, "--local", "--match", "2", "--mismatch", "-3", "--gap-open",
                               "5", "--gap-extend", "2", "--gap-convention", "w", "--format",
                               "blast", "-q", *(("--db-size", size) if size else ()))
            self.assertEqual(done.stdout.split()[2:],
                             f"95.745 47 1 1 1 47 7 52 {e} 73.4".split())

    def test_databases_beyond_an_int(self):
        """UniRef and nr have more residues than 2^31; an E-value grows with them."""
        a, b = self.fasta("hba.fa", [("hba", HBA)]), self.fasta("hbb.fa", [("hbb", HBB)])
        found = [float(self.run_it(a, b, "--local", "--matrix", "BLOSUM62", "--format", "blast",
                                   "-q", "--db-size", size).stdout.split()[10])
                 for size in ("2000000000", "200000000000")]
        self.assertLess(abs(found[1] / found[0] - 100), 1)

    def test_blast_nucleotides(self):
        """Scores of 2 and -3 are rounded down to even ones for E-values and not for bits, as NCBI
        BLAST does."""
        a, b = self.fasta("a.fa", [("q", "ACGTACGT")]), self.fasta("b.fa", [("t", "ACGTCCGT")])
        done = self.run_it(a, b, "--local", "--match", "2", "--mismatch", "-3", "--gap-convention",
                           "w", "--gap-open", "5", "--gap-extend", "2", "-q", "--format", "blast")
        bits = (0.625 * 11 - math.log(0.41)) / math.log(2)
        self.assertEqual(done.stdout.split("\t")[11], "%.1f\n" % bits)

    def test_strands(self):
        """The better of a query and its reverse complement, forward where both are as good."""
        letters, other = "ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN"
        turn = str.maketrans(letters, other)
        queries, targets = self.pairs("ACGT", 80)
        queries = [(i, (q.translate(turn)[::-1] if k % 2 else q) + "RYN"[:k % 4])
                   for k, (i, q) in enumerate(queries)] + [("same", "ACGT")]
        targets.append(("same", "ACGT"))
        back = [(i, q.translate(turn)[::-1]) for i, q in queries]
        a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
        c = self.fasta("c.fa", back)
        for mode in (("--local",), (), ("--mode", "ends-free")):
            words = (*mode, "--matrix", "EDNAFULL", "-q")
            rows = [[line.split("\t") for line in self.run_it(x, b, *words).stdout.splitlines()]
                    for x in (a, c)]
            both = [line.split("\t") for line in
                    self.run_it(a, b, *words, "--strand", "both").stdout.splitlines()]
            few = [line.split("\t") for line in self.run_it(
                a, b, *words, "--strand", "both", "--score-only").stdout.splitlines()]
            self.assertEqual((both[0][4], few[0][3]), ("strand", "strand"))
            found = set()
            for f, r, row, score, (_, q) in zip(rows[0][1:], rows[1][1:], both[1:], few[1:],
                                                queries, strict=True):
                reverse = float(r[2]) > float(f[2])
                want = r if reverse else f
                found.add(reverse)
                if mode == ("--local",) and reverse:
                    want[4:6] = str(len(q) - int(r[5]) + 1), str(len(q) - int(r[4]) + 1)
                self.assertEqual(row, want[:4] + ["-" if reverse else "+"] + want[4:])
                self.assertEqual(score, [*want[:3], row[4]])
            self.assertEqual(found, {False, True})
            self.assertEqual(both[-1][4], "+")
        self.strands_elsewhere(a, b, dict(queries), dict(back))

    def strands_elsewhere(self, a, b, queries, back):
        words = ("--local", "--match", "2", "--mismatch", "-3", "--gap-convention", "w",
                 "--gap-open", "5", "--gap-extend", "2", "--strand", "both", "-q")
        tsv = [line.split("\t") for line in self.run_it(a, b, *words).stdout.splitlines()[1:]]
        made = {f: [line.split("\t") for line in self.run_it(
            a, b, *words, "--format", f).stdout.splitlines() if line[0] != "@"]
            for f in ("paf", "sam", "blast")}
        for row, paf, sam, blast in zip(tsv, made["paf"], made["sam"], made["blast"], strict=True):
            name, sign = row[0], row[4]
            self.assertEqual(paf[2:5], [str(int(row[5]) - 1), row[6], sign])
            self.assertEqual((sam[1], sam[9]), ("16", back[name]) if sign == "-"
                             else ("0", queries[name]))
            ends = row[7:9] if sign == "+" else row[8:6:-1]
            self.assertEqual(blast[6:10], [*row[5:7], *ends])
        lines = self.run_it(a, b, *words, "--format", "fasta").stdout.splitlines()
        for row, (head, query, other, target) in zip(tsv, zip(*[iter(lines)] * 4), strict=True):
            self.assertEqual([head, other], [">%s strand=%s" % (row[0], row[4]), ">" + row[1]])
            source = back[row[0]] if row[4] == "-" else queries[row[0]]
            self.assertIn(query.replace("-", ""), source)
            equal = sum(x == y for x, y in zip(query, target, strict=True))
            self.assertAlmostEqual(equal / len(query), float(row[3]), places=6)
        out = os.path.join(self.folder, "out.tsv")
        want = self.run_it(a, b, *words).stdout
        for how in (("--resume", "--block-pairs", "7"), ("--workers", "2")):
            self.run_it(a, b, *words, *how, "-o", out)
            with open(out, encoding="ascii") as f:
                self.assertEqual(f.read(), want)
        every = self.run_it(a, b, *words, "--all-vs-all").stdout.splitlines()
        self.assertEqual(len(every), 1 + len(queries) ** 2)
        self.assertTrue(set(want.splitlines()) <= set(every))

    def test_strands_refused(self):
        a = self.fasta("a.fa", [("q", "ACGT")])
        for args, words in ((("--format", "needle"), "no place for a strand"),
                            (("--matrix", "BLOSUM62"), "is for nucleotides")):
            done = self.run_it(a, a, "--strand", "both", *args, code=64)
            self.assertIn(words, done.stderr)

    def test_no_cigar(self):
        """All columns but the last one; a threshold of identity, and what has no CIGAR to leave."""
        for letters, costs in (("ACGT", ("--matrix", "EDNAFULL")),
                               (ACIDS, ("--matrix", "BLOSUM62"))):
            queries, targets = self.pairs(letters, 150)
            a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
            for more in ((), ("--mode", "ends-free"), ("--local",), ("--ties", "wfa"),
                         ("--ties", "emboss", "--gap-open", "4", "--gap-extend", "4"),
                         ("--gap-open", "5,9", "--gap-extend", "2,1"), ("--min-identity", "0.4"),
                         ("--all-vs-all", "--top", "2", "--min-identity", "0.4"),
                         ("--free-ends", "target-begin", "--block-pairs", "9", "--resume", "-o",
                          os.path.join(self.folder, "out.tsv"))):
                text = [self.run_it(a, b, *costs, *more, "-q", "--cigar", kind).stdout
                        for kind in ("extended", "none")]
                if "-o" in more:
                    with open(more[-1], encoding="ascii") as f:
                        text[1] = f.read()
                    os.remove(more[-1])
                    self.run_it(a, b, *costs, *more[:-2], "-q", "-o", more[-1])
                    with open(more[-1], encoding="ascii") as f:
                        text[0] = f.read()
                    os.remove(more[-1])
                self.assertEqual("".join(line.rsplit("\t", 1)[0] + "\n"
                                         for line in text[0].splitlines()), text[1])
                self.assertGreater(text[1].count("\n"), 20)
        done = self.run_it(a, b, "--cigar", "none", "--format", "paf", code=64)
        self.assertIn("paf is made of CIGARs", done.stderr)

    def test_two_pieces(self):
        """Gaps of two pieces cost the less of both, in both conventions."""
        queries, targets = self.pairs("ACGT", 40)
        a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
        words = ("--match", "2", "--mismatch", "-4", "-q")
        made = []
        for costs in (("--gap-convention", "w", "--gap-open", "4,9.5", "--gap-extend", "2,0.5"),
                      ("--gap-open", "6,10", "--gap-extend", "2,0.5")):
            rows = [line.split("\t") for line in
                    self.run_it(a, b, *words, *costs).stdout.splitlines()[1:]]
            only = self.run_it(a, b, *words, *costs, "--score-only").stdout.splitlines()[1:]
            self.assertEqual([row[:3] for row in rows], [line.split("\t") for line in only])
            made.append(rows)
        self.assertEqual(*made)
        long_gaps = 0
        for (_, q), (_, t), row in zip(queries, targets, made[0], strict=True):
            def gap(k):
                return min(4 + 2 * k, 9.5 + 0.5 * k)
            self.assertEqual(float(row[2]), best_of_two(q, t, 2, -4, gap))
            runs = [(int(n), op) for n, op in re.findall(r"(\d+)([=XID])", row[4])]
            points = {"=": lambda n: 2 * n, "X": lambda n: -4 * n}
            self.assertEqual(float(row[2]),
                             sum(points.get(op, lambda n: -gap(n))(n) for n, op in runs))
            long_gaps += any(n > 4 for n, op in runs if op in "ID")
        self.assertGreater(long_gaps, 5)
        needle = self.run_it(a, b, *words, *costs, "--format", "needle").stdout
        self.assertIn("# Gap_penalty: 6.0,10.0\n# Extend_penalty: 2.0,0.5\n", needle)
        out = os.path.join(self.folder, "out.tsv")  # shards of other costs are no parts of it
        self.run_it(a, b, *words, *costs, "--shard", "1/2", "--block-pairs", "7", "-o", out)
        self.run_it(a, b, *words, "--gap-open", "6,11", "--gap-extend", "2,0.5", "--shard", "2/2",
                    "--block-pairs", "7", "-o", out)
        done = subprocess.run([EXE, "merge", out], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 65, done.stderr)

    def test_two_pieces_refused(self):
        a = self.fasta("a.fa", [("q", "ACGT")])
        for opening, extend, words in (("4,24", "2", "--gap-open has 2 costs and gap-extend 1"),
                                       ("4,24", None, "--gap-open has 2 costs and gap-extend 1"),
                                       ("4", "2,1", "--gap-open has 1 costs and gap-extend 2"),
                                       ("24,4", "2,1", "else one piece never counts"),
                                       ("4,24", "2,2", "else one piece never counts"),
                                       ("4,24", "2,-1", "else one piece never counts"),
                                       ("4,0", "2,1", "else one piece never counts"),
                                       ("4,5,6", "2,1", "has 3 costs and gap-extend 2"),
                                       (",5", "2,1", "'' is not a number")):
            done = self.run_it(a, a, "--match", "2", "--mismatch", "-4", "--gap-open", opening,
                               *(("--gap-extend", extend) if extend else ()), code=64)
            self.assertIn(words, done.stderr)

    def test_refusals(self):
        a, b = self.fasta("a.fa", [("q", "MKV")]), self.fasta("b.fa", [("t", "MKV")])
        for args, words in ((("--local", "--mode", "global"), "exclude each other"),
                            (("--local", "--free-ends", "query-end"), "exclude each other"),
                            (("--format", "blast"), "for the alignments of --local"),
                            (("--local", "--format", "blast", "--gap-open", "4"), "are not known"),
                            (("--local", "--format", "blast", "--gap-open", "12,20",
                              "--gap-extend", "1,0"), "and a second piece are not known"),
                            (("--local", "--format", "blast", "--lambda", "0.2"), "come together"),
                            (("--local", "--format", "blast", "--lambda", "-1", "--karlin-k", "1"),
                             "not a number above 0"),
                            (("--local", "--max-evalue", "1"), "are for --format blast")):
            done = self.run_it(a, b, "--matrix", "BLOSUM62", *args, code=64)
            self.assertIn(words, done.stderr)
        self.run_it(a, b, "--matrix", "BLOSUM62", "--local", "--format", "blast", "--gap-open", "4",
                    "--lambda", "0.2", "--karlin-k", "0.05", "-q")

    def test_job(self):
        """Blocks of local alignments in a journal, and by workers, give the same bytes."""
        queries, targets = self.pairs("ACGT", 30)
        a, b = self.fasta("a.fa", queries), self.fasta("b.fa", targets)
        words = ("--local", "--match", "2", "--mismatch", "-3", "--gap-convention", "w",
                 "--gap-open", "5", "--gap-extend", "2", "--format", "blast", "--block-pairs", "7",
                 "-q")
        out = os.path.join(self.folder, "out.blast")
        want = self.run_it(a, b, *words).stdout
        self.assertIn("\n", want)
        for how in (("--resume",), ("--workers", "2"), ("--resume", "--workers", "2")):
            self.run_it(a, b, *words, *how, "-o", out)
            with open(out, encoding="ascii") as f:
                self.assertEqual(f.read(), want, how)
            for name in os.listdir(self.folder):
                if name.startswith("out"):
                    os.remove(os.path.join(self.folder, name))


if __name__ == "__main__":
    EXE = sys.argv.pop(1)
    unittest.main(verbosity=2)
