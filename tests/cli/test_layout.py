#!/usr/bin/env python3
"""test_layout.py BIOINFER SOURCE_ROOT - one array of all records, by the command."""
import os
import sys
import unittest
import zipfile

import test_cli


class Layout(test_cli.Case):
    def test_compression(self):
        """--compression gzip: the same arrays in chunks, in a run, from shards and in parts."""
        run = ("esm2", "in.fasta", "--include", "mean,per-residue", "-o")
        self.run_tiny(*run, "none.h5")
        self.run_tiny(*run, "also.h5", "--compression", "none")
        self.run_tiny(*run, "gzip.h5", "--compression", "gzip")
        for shard in "1/2", "2/2":
            self.run_tiny(*run, "m.h5", "--shard", shard)
        self.run_raw("merge", "m.h5", "--compression", "gzip")
        self.run_tiny("esm2", "in.fasta", "-o", "rows.h5", "--layout=matrix", "--compression=gzip")
        text = [self.read(name) for name in ("none.h5", "also.h5", "gzip.h5", "m.h5")]
        self.assertEqual(text[0], text[1])
        self.assertEqual(text[2], text[3])
        self.assertNotEqual(text[0], text[2])
        listed = [self.run_raw("info", name).stdout.split(b"how it was made")[0].split(b"\n", 1)[1]
                  for name in ("none.h5", "gzip.h5")]
        self.assertEqual(*listed)
        for name in ("x.npz", "x.tsv"):
            self.check_fails((*run[:2], "-o", name, "--compression", "gzip"), 64, "h5 has")
        try:
            import h5py
        except ImportError:
            return
        with h5py.File(self.path("none.h5")) as a, h5py.File(self.path("gzip.h5")) as b:
            for key in ("one/mean", "three/per-residue"):
                self.assertEqual(a[key][...].tobytes(), b[key][...].tobytes())
                self.assertEqual((b[key].chunks, b[key].compression), (b[key].shape, "gzip"))
                self.assertIsNone(a[key].compression)
        with h5py.File(self.path("rows.h5")) as f:
            self.assertEqual(f["embeddings"].compression, "gzip")

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

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
