#!/usr/bin/env python3
"""test_nearest.py BIOINFER SOURCE_ROOT - neighbours between files of embeddings, against NumPy's
in float64."""
import json
import os
import sys
import unittest

import test_cli

try:
    import numpy as np
except ImportError:
    print("no numpy")
    sys.exit(77)


def neighbours(a, b, k, metric, itself=False):
    """Places and values of the k nearest of b for each row of a, ties in order."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    if metric == "cosine":
        near = a @ b.T / np.sqrt((a * a).sum(1)[:, None] * (b * b).sum(1))
    else:
        near = -np.sqrt(np.array([((b - row) ** 2).sum(1) for row in a]))
    if itself:
        np.fill_diagonal(near, -np.inf)
    order = np.argsort(-near, axis=1, kind="stable")[:, :min(k, len(b) - itself)]
    values = np.take_along_axis(near, order, 1)
    return order, values if metric == "cosine" else -values


class Nearest(test_cli.Case):
    def save(self, name, rows, letter):
        np.savez(self.path(name), embeddings=rows,
                 ids=np.array(["%s%d" % (letter, i) for i in range(len(rows))], "S"))
        return name

    def table(self, *args):
        lines = self.run_raw("nearest", *args).stdout.decode().splitlines()
        return lines[0], [line.split("\t") for line in lines[1:]]

    def check(self, rows, want):
        places, values = want
        k = places.shape[1]
        self.assertEqual([row[1] for row in rows], [str(1 + i % k) for i in range(places.size)])
        self.assertEqual([row[2] for row in rows], ["b%d" % place for place in places.flat])
        np.testing.assert_allclose([float(row[3]) for row in rows], values.ravel(), rtol=1e-8,
                                   atol=1e-9)

    def test_numpy(self):
        """Equal to NumPy's, whatever the sizes, the threads and the kernels; ties in order."""
        rng = np.random.default_rng(7)
        for n_queries, n_targets, width, k in ((70, 900, 33, 10), (1, 5, 3, 1), (2, 4, 1, 100),
                                               (130, 9000, 8, 3), (3, 40, 1500, 40)):
            a = rng.normal(1, 1, (n_queries, width)).astype(np.float32)
            b = rng.normal(1, 1, (n_targets, width)).astype(np.float32)
            b[n_targets // 2] = b[0]  # a tie
            b[-1] = a[-1]
            self.save("a.npz", a, "a")
            self.save("b.npz", b, "b")
            for metric in "cosine", "euclidean":
                args = ("a.npz", "b.npz", "-k", str(k), "--metric", metric)
                head, rows = self.table(*args)
                self.assertEqual(head, "query\trank\thit\t" + (
                    "similarity" if metric == "cosine" else "distance"))
                if width > 1:  # all cosines of one number are 1 or -1
                    self.check(rows, neighbours(a, b, k, metric))
                for more in ("--threads", "1"), ("--threads", "5"), ("--cpu-mask", "generic"):
                    self.assertEqual(self.table(*args, *more), (head, rows))

    def test_near_and_far(self):
        """Values that differ by less than float32 shows, and those beyond its products."""
        rng = np.random.default_rng(8)
        b = (1000 + rng.normal(0, 0.05, (3000, 64))).astype(np.float32)
        self.save("a.npz", b[:5], "a")
        self.save("b.npz", b, "b")
        for metric in "cosine", "euclidean":
            self.check(self.table("a.npz", "b.npz", "--metric", metric)[1],
                       neighbours(b[:5], b, 10, metric))
        for factor in 1e30, 1e-30:
            far = (rng.normal(0, 1, (50, 20)) * factor).astype(np.float32)
            self.save("a.npz", far[:9], "a")
            self.save("b.npz", far, "b")
            for metric in "cosine", "euclidean":
                places, values = neighbours(far[:9], far, 5, metric)
                rows = self.table("a.npz", "b.npz", "-k5", "--metric", metric)[1]
                self.assertEqual([row[2] for row in rows], ["b%d" % i for i in places.flat])
                np.testing.assert_allclose([float(row[3]) for row in rows], values.ravel(),
                                           rtol=1e-6)

    def test_outputs(self):
        """Outputs of the command in every format, alone: no vector is its own neighbour."""
        tables = []
        for name in "x.npz", "x.h5", "x.safetensors", "x.jsonl", "x.npy":
            self.run_tiny("esm2", "in.fasta", "-o", name, "--include", "mean")
            head, rows = self.table(name)
            tables.append(sorted(rows))
            self.assertEqual(len(rows), len(test_cli.FASTA) * (len(test_cli.FASTA) - 1))
            self.assertTrue(all(row[0] != row[2] for row in rows))
        self.assertTrue(all(table == tables[0] for table in tables))
        self.run_raw("nearest", "x.npz", "x.h5", "-o", "hits.tsv", "-k", "1")
        with open(self.path("hits.tsv")) as file:
            hits = [line.split("\t") for line in file.read().splitlines()[1:]]
        self.assertTrue(all(row[0] == row[2] and row[3] == "1" for row in hits))

    def test_kinds(self):
        self.run_tiny("esm2", "in.fasta", "-o", "both.npz", "--include", "mean,bos")
        self.run_tiny("esm2", "in.fasta", "-o", "layers.npz", "--include", "mean", "--layers",
                      "0,6")
        self.run_tiny("esm2", "in.fasta", "-o", "mean.npz", "--include", "mean")
        self.run_tiny("esm2", "in.fasta", "-o", "residues.npz", "--include", "per-residue")
        self.check_fails(("nearest", "both.npz"), 65, "both.npz", "mean, bos", "--array")
        self.check_fails(("nearest", "layers.npz", "--array", "mean"), 66, "layer_0/mean",
                         "layer_6/mean")
        self.check_fails(("nearest", "residues.npz"), 65, "residues.npz", "per-residue", "means")
        want = self.table("mean.npz")
        self.assertEqual(self.table("both.npz", "--array", "mean"), want)
        self.assertEqual(self.table("layers.npz", "--array", "layer_6/mean"), want)
        self.assertNotEqual(self.table("both.npz", "--array", "bos"), want)

    def test_two_models(self):
        """Vectors of two models are told apart by the fingerprints of their files."""
        self.run_tiny("esm2", "in.fasta", "-o", "one.npz", "--include", "mean")
        with open(self.path("one.npz"), "rb") as file:
            data = file.read()
        at = data.rindex(b"\nkinds mean") - 49
        other = b"0" if data[at:at + 1] != b"0" else b"1"
        with open(self.path("two.npz"), "wb") as file:
            file.write(data[:at] + other + data[at + 1:])
        for a, b, warned in ("one", "two", True), ("one", "one", False):
            words = self.run_raw("nearest", a + ".npz", b + ".npz", "-o", "hits.tsv").words
            self.assertEqual("two models" in words, warned, words)

    def test_refusals(self):
        rows = np.ones((4, 3), np.float32)
        self.save("a.npz", rows, "a")
        self.save("wide.npz", np.ones((2, 5), np.float32), "w")
        bad = rows.copy()
        bad[2, 1] = np.nan
        self.save("nan.npz", bad, "n")
        bad[2] = 0
        self.save("zero.npz", bad, "z")
        np.savez(self.path("empty.npz"))
        np.savez(self.path("uneven.npz"), one=rows[0], two=np.ones(7, np.float32))
        self.check_fails(("nearest", "a.npz", "wide.npz"), 65, "a.npz", "3", "wide.npz", "5")
        for args in ("nan.npz", "a.npz"), ("a.npz", "nan.npz"):
            self.check_fails(("nearest", *args, "-o", "o.tsv"), 65, "nan.npz", "'n2'", "value 1")
        self.check_fails(("nearest", "zero.npz"), 65, "zero.npz", "'z2'", "euclidean")
        self.assertEqual(len(self.table("zero.npz", "--metric", "euclidean")[1]), 12)
        self.check_fails(("nearest", "empty.npz"), 65, "empty.npz", "no vector")
        self.check_fails(("nearest", "uneven.npz"), 65, "'two'", "7", "3")
        self.check_fails(("nearest", "in.fasta"), 65, "in.fasta", "npz")
        self.check_fails(("nearest", "none.npz"), 66, "none.npz")
        self.check_fails(("nearest", "a.npz", "--array", "bos"), 66, "bos", "embeddings")
        self.check_fails(("nearest", "a.npz", "-o", "a.npz"), 64, "a.npz")
        self.check_fails(("nearest", "a.npz", "-k", "0"), 64, "--neighbours")
        self.check_fails(("nearest", "a.npz", "--metric", "dot"), 64, "cosine")
        self.check_fails(("nearest",), 64, "A is missing")
        self.check_fails(("nearest", "a.npz", "a.npz", "a.npz"), 64, "a.npz")
        self.check_fails(("nearest", "a.npz", "-o", "o.npz"), 64, "tsv")
        self.write("bad.jsonl", json.dumps({"ordinal": 0, "id": "x"})[:-1] + "\n")
        self.check_fails(("nearest", "bad.jsonl"), 65, "bad.jsonl")


if __name__ == "__main__":
    test_cli.EXE, test_cli.ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    test_cli.TINY = os.path.join(test_cli.ROOT, "share", "bioinfer-tiny")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
