#!/usr/bin/env python3
"""test_layout.py BIOINFER SOURCE_ROOT - one array of all records, by the command."""
import os
import sys
import unittest
import zipfile

import test_cli


class Layout(test_cli.Case):
    def test_matrix(self):
        """--layout matrix: the rows of -o x.npy and its ids; shards merge to the same bytes."""
        self.run_tiny("esm2", "in.fasta", "-o", "x.npy")
        half = "--layout=matrix", "--dtype=f16"
        self.run_tiny("esm2", "in.fasta", "-o", "x.npz", "--layout", "matrix")
        with zipfile.ZipFile(self.path("x.npz")) as z, open(self.path("x.npy"), "rb") as npy:
            self.assertEqual(z.read("embeddings.npy"), npy.read())
            self.assertTrue(z.read("ids.npy").endswith(b"one\0\0two\0\0three"))
        self.run_tiny("esm2", "in.fasta", "-o", "x.npz", *half)
        for shard in "1/2", "2/2":
            self.run_tiny("esm2", "in.fasta", "-o", "m.npz", "--shard", shard, *half)
        self.run_raw("merge", "m.npz", *half)
        with open(self.path("m.npz"), "rb") as m, open(self.path("x.npz"), "rb") as x:
            self.assertEqual(m.read(), x.read())
        run = ("esm2", "in.fasta", "--layout", "matrix", "-o")
        self.check_fails((*run, "x.tsv"), 64, "--layout matrix: tsv has no matrix of all records")
        for more in ("--include=per-residue", "--include=mean,bos", "--layers=1,2"):
            self.check_fails((*run, "y.npz", more), 64, "one vector per record: one of mean, bos")


if __name__ == "__main__":
    test_cli.EXE, test_cli.ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    test_cli.TINY = os.path.join(test_cli.ROOT, "share", "bioinfer-tiny")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
