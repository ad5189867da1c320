#!/usr/bin/env python3
"""test_top.py BIOINFER - the best targets of each query, and databases that are read in passes.

What --top writes is what sorting all pairs by score, stably, puts first."""
import gzip
import os
import random
import subprocess
import sys
import tempfile
import unittest

EXE = None
ACIDS = "ARNDCQEGHILKMFPSTWYV"


def best(text, k):
    """The table of all pairs, cut to the k best rows of each query."""
    head, *rows = text.splitlines(keepends=True)
    of = {}
    for row in rows:
        of.setdefault(row.split("\t")[0], []).append(row)
    return head + "".join("".join(sorted(r, key=lambda row: -float(row.split("\t")[2]))[:k])
                          for r in of.values())


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = holder.name
        rng = random.Random(4)
        cls.q = cls.fasta("q.fa", [("q%d" % i, "".join(rng.choices(ACIDS, k=rng.randint(5, 60))))
                                   for i in range(23)])
        # short ones have many equal scores
        cls.db = cls.fasta("db.fa", [("t%d" % i, "".join(rng.choices(ACIDS, k=rng.randint(1, 9))))
                                     for i in range(16000)])
        cls.few = cls.fasta("few.fa", [("f%d" % i, "".join(rng.choices("AR", k=rng.randint(1, 9))))
                                       for i in range(250)])

    @classmethod
    def fasta(cls, name, records):
        path = os.path.join(cls.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f">{i}\n{s}\n" for i, s in records)
        return path

    def run_it(self, *args, code=0, **more):
        done = subprocess.run([EXE, "align", *args, "--matrix", "BLOSUM62", "-q"],
                              capture_output=True, text=True, check=False, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_passes(self):
        """A database in memory and one that is read again give the same bytes, in order."""
        large = self.fasta("large.fa", [("r%d" % i, "A" * 1200000 if i == 5 else "MKVA"[i % 4:])
                                        for i in range(12)])
        for args in ((self.q, self.db), (large,)):
            args = (*args, "--all-vs-all", "--score-only")
            want = self.run_it(*args).stdout
            out = os.path.join(self.folder, "passes.tsv")
            self.assertEqual(self.run_it(*args, "--db-memory", "1").stdout, want)
            self.assertEqual(self.run_it(*args, "--db-memory", "1", "--workers", "2").stdout, want)
            self.run_it(*args, "--db-memory", "1", "--resume=no", "-o", out)
            with open(out, encoding="ascii") as f:
                self.assertEqual(f.read(), want)

        args = (large, "--all-vs-all", "--score-only", "--top", "11")
        want = self.run_it(*args).stdout
        self.assertEqual(len(want.splitlines()), 12 * 11 + 1)
        self.assertEqual(self.run_it(*args, "--db-memory", "1", "--block-pairs", "4").stdout, want)

    def test_best(self):
        pairs = (self.q, self.few, "--all-vs-all")
        for more in ((), ("--score-only",), ("--local",), ("--min-identity", "0.15"),
                     ("--min-score", "-20"), ("--mode", "ends-free", "--ties", "wfa")):
            all_pairs = self.run_it(*pairs, *more).stdout
            for k in (1, 6, 1000):
                want = best(all_pairs, k)
                for how in ((), ("--block-pairs", "7"),
                            ("--block-pairs", "5", "--db-memory", "1", "--threads", "1")):
                    self.assertEqual(self.run_it(*pairs, *more, "--top", str(k), *how).stdout, want,
                                     (more, k, how))
        passes = (self.q, self.db, "--all-vs-all", "--score-only")
        want = best(self.run_it(*passes).stdout, 9)
        self.assertEqual(self.run_it(*passes, "--top", "9", "--block-pairs", "4", "--db-memory",
                                     "1").stdout, want)

    def test_strands(self):
        rng = random.Random(2)
        gene = "".join(rng.choices("ACGT", k=400))
        turned = gene[::-1].translate(str.maketrans("ACGT", "TGCA"))
        a = self.fasta("reads.fa", [("r0", gene[30:90]), ("r1", turned[100:170])])
        b = self.fasta("genes.fa", [("g%d" % i, "".join(rng.choices("ACGT", k=300)))
                                    for i in range(20)] + [("gene", gene)])
        args = [EXE, "align", a, b, "--all-vs-all", "--local", "--matrix", "EDNAFULL", "--strand",
                "both", "-q"]
        every = subprocess.run(args, capture_output=True, text=True, check=True).stdout
        got = subprocess.run([*args, "--top", "3"], capture_output=True, text=True, check=True)
        self.assertEqual(got.stdout, best(every, 3))
        first = [line.split("\t") for line in got.stdout.splitlines()[1::3]]
        self.assertEqual([(r[1], r[4]) for r in first], [("gene", "+"), ("gene", "-")])

    def test_one_file(self):
        """Every record meets all others, and not itself."""
        twice = self.run_it(self.few, self.few, "--all-vs-all").stdout.splitlines(keepends=True)
        others = (line for line in twice if line.split("\t")[0] != line.split("\t")[1])
        want = best("".join(others), 4)
        for how in ((), ("--block-pairs", "33")):
            self.assertEqual(self.run_it(self.few, "--all-vs-all", "--top", "4", *how).stdout, want)

    def test_one_query(self):
        one = self.fasta("one.fa", [("x", "MKTAYIAKQR")])
        args = ("--one-vs-all", "--local", "--format", "paf")
        want = self.run_it(one, self.db, *args, "--top", "3").stdout
        self.assertEqual(len(want.splitlines()), 3)
        with open(self.db, encoding="ascii") as f:
            self.assertEqual(self.run_it(one, "-", *args, "--top", "3", "--db-memory", "1",
                                         stdin=f).stdout, want)
        packed = os.path.join(self.folder, "db.fa.gz")
        with open(self.db, "rb") as f, gzip.open(packed, "wb") as g:
            g.write(f.read())
        self.assertEqual(self.run_it(one, packed, *args, "--top", "3").stdout, want)
        self.assertIn("--one-vs-all takes one",
                      self.run_it(self.q, self.db, *args, "--top", "3", code=65).stderr)

    def test_jobs(self):
        args = (self.q, self.few, "--all-vs-all", "--top", "5", "--block-pairs", "4")
        want = self.run_it(*args).stdout
        out = os.path.join(self.folder, "top.tsv")
        for shard in ("1/3", "2/3", "3/3"):
            self.run_it(*args, "-o", out, "--shard", shard)
        subprocess.run([EXE, "merge", out, "-q"], check=True)
        with open(out, encoding="ascii") as f:
            self.assertEqual(f.read(), want)
        with open(out + ".manifest.tsv", encoding="ascii") as f:
            ids = [line.split("\t")[1] for line in f][1:]
        self.assertEqual(ids, ["0-3", "4-7", "8-11", "12-15", "16-19", "20-22"])

    def test_workers(self):
        """Several processes give the bytes and the words of one."""
        bad = self.fasta("odd.fa", [("ok", "MKTAY"), ("odd", "MK!"), ("fine", "MKTAA"),
                                    ("more", "KTA")])
        out = os.path.join(self.folder, "workers.tsv")
        for files in ((self.q, self.few), (self.few,), (bad, bad)):
            for more in ((), ("--score-only",), ("--local", "--min-identity", "0.3"),
                         ("--db-memory", "1")):
                args = (*files, "--all-vs-all", "--top", "3", "--block-pairs", "6", *more)
                code = files[0] == bad
                want = self.run_it(*args, code=code)
                for n in ("1", "3"):
                    got = self.run_it(*args, "--workers", n, code=code)
                    self.assertEqual(got.stdout, want.stdout)
                    self.assertEqual(sorted(got.stderr.splitlines()),
                                     sorted(want.stderr.splitlines()))
                self.run_it(*args, "--workers", "2", "--resume=no", "-o", out, code=code)
                with open(out, encoding="ascii") as f:
                    self.assertEqual(f.read(), want.stdout)
        large = (self.q, self.db, "--all-vs-all", "--top", "3", "--db-memory", "1",
                 "--block-pairs", "6", "--score-only")
        self.assertEqual(self.run_it(*large, "--workers", "2").stdout, self.run_it(*large).stdout)

    def test_bad_records(self):
        bad = self.fasta("bad.fa", [("ok", "MKTAY"), ("odd", "MK!"), ("fine", "MKTAA")])
        out = os.path.join(self.folder, "bad.tsv")
        done = self.run_it(bad, bad, "--all-vs-all", "--top", "2", code=1)
        self.assertEqual([line.split("\t")[:2] for line in done.stdout.splitlines()[1:]],
                         [["ok", "ok"], ["ok", "fine"], ["fine", "fine"], ["fine", "ok"]])
        self.run_it(bad, bad, "--all-vs-all", "--top", "2", "-o", out, "--resume", code=1)
        with open(out + ".manifest.tsv", encoding="ascii") as f:
            self.assertIn("5 of 9 pairs have no result: ok odd bad_residue", f.read())

    def test_refusals(self):
        empty = self.fasta("empty.fa", [])
        for args, words in (((self.q, self.few, "--top", "3"), "say --all-vs-all or --one-vs-all"),
                            ((self.q, self.few, "--all-vs-all", "--top", "3", "--format", "sam"),
                             "names all targets"),
                            ((self.q, "-", "--all-vs-all", "--top", "3", "--workers", "2"),
                             "expected a plain file")):
            self.assertIn(words, self.run_it(*args, code=64).stderr)
        for args, name in (((empty, self.few), "empty.fa"), ((self.few, empty), "empty.fa"),
                           ((empty,), "empty.fa")):
            for more in ((), ("--top", "3")):
                done = self.run_it(*args, "--all-vs-all", *more, code=65)
                self.assertRegex(done.stderr, name + ": no (FASTA )?records")
        with open(self.db, encoding="ascii") as f:
            done = self.run_it(self.q, "-", "--all-vs-all", "--db-memory", "1", stdin=f, code=65)
        self.assertIn("standard input: its records take more than --db-memory, 1 MiB", done.stderr)
        damaged = os.path.join(self.folder, "damaged.fa.gz")
        with open(self.db, "rb") as f, gzip.open(damaged, "wb") as g:
            g.write(f.read())
        with open(damaged, "rb+") as f:
            f.truncate(os.path.getsize(damaged) - 400)
        for more in ((), ("--top", "3"), ("--db-memory", "1")):
            done = self.run_it(self.q, damaged, "--all-vs-all", "--score-only", *more, code=65)
            self.assertIn("damaged.fa.gz", done.stderr)


if __name__ == "__main__":
    EXE = sys.argv.pop(1)
    unittest.main(verbosity=2)
