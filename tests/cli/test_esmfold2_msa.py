#!/usr/bin/env python3
"""test_esmfold2_msa.py BIOINFER SOURCE_ROOT - ESMFold2 with alignments by the command, with small
random weights.

What it computes is compared with the published program by the test "esmfold2 msa", and rows of
several chains by the test "rows of alignments". Standard library only.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = sys.argv[1:3]
GOLDEN = os.path.join(ROOT, "tests", "golden", "esmfold2")
WEIGHTS, FAST = os.path.join(GOLDEN, "msa"), os.path.join(GOLDEN, "tiny")
DRAWN = "_seed-0_sample-0"
RECORDS = (("one", "MKWGHE"), ("two", "MKW:AC:MKW"), ("deep", "ACDE"))
FILES = {"one": ">q\nMKWGHE\n>b\nMR-GHE\n>c\n-KlvWGHE\n",
         "two_A": ">q\nMKW\n>b key=5\nMKF\n>c\nM-W\n", "two_B": ">q\nAC\n>b key=5\nSC\n",
         "deep": ">q\nACDE\n" + "".join(">r\nA%sDE\n" % c for c in "CDEFGHIKLMNPQRST-VWY")}


class Alignments(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def put(self, folder, files):
        os.makedirs(self.path(folder), exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(self.path(folder), name + ".a3m"), "w") as file:
                file.write(text)
        return self.path(folder)

    def fold(self, records, out, *args, code=0, weights=WEIGHTS, family="esmfold2"):
        with open(self.path(out + ".fasta"), "w", encoding="ascii") as file:
            file.writelines(">%s\n%s\n" % record for record in records)
        p = subprocess.run([EXE, family, self.path(out + ".fasta"), "-o", self.path(out),
                            *(("--weights", weights) if weights else ()), "--device", "cpu",
                            "--quiet", *args], capture_output=True)
        self.assertEqual(p.returncode, code, p.stderr[-1500:])
        return p.stderr.decode()

    def data(self, out, name):
        with open(os.path.join(self.path(out), name), "rb") as file:
            return file.read()

    def refused(self, out, records, files, words):
        """One record fails, and says so in the manifest."""
        self.fold(records, out, "--msa", self.put(out + ".msa", files), code=1)
        with open(self.path(out) + ".manifest.tsv", encoding="utf-8") as file:
            said = file.read()
        for word in words:
            self.assertIn(word, said)

    def test_same_alone_and_in_company(self):
        msa = self.put("msa", FILES)
        self.fold(RECORDS, "all", "--msa", msa, "--include", "plddt,pae", "--threads", "2")
        for record in RECORDS:
            self.fold([record], record[0], "--msa", msa, "--include", "plddt,pae", "--threads", "1")
            for end in (".cif", ".npz"):
                self.assertEqual(self.data("all", record[0] + DRAWN + end),
                                 self.data(record[0], record[0] + DRAWN + end))

    def test_one_row_is_no_alignment(self):
        self.fold(RECORDS[:2], "without")
        msa = self.put("rows", {"one": ">q\nMKWGHE\n", "two_A": ">q\nMKW\n", "two_B": ">q\nAC\n"})
        self.fold(RECORDS[:2], "rows.out", "--msa", msa)
        self.fold(RECORDS[:2], "first", "--msa", self.put("msa", FILES), "--msa-depth", "1")
        for name in ("one" + DRAWN + ".cif", "two" + DRAWN + ".cif"):
            self.assertEqual(self.data("without", name), self.data("rows.out", name))
            self.assertEqual(self.data("without", name), self.data("first", name))

    def test_what_changes_a_structure(self):
        query = ">q\nMKWGHE\n"
        files = {"none": "", "row": ">b\nMR-GHE\n", "insertion": ">b\nMR-GlvHE\n",
                 "end": ">b\nMR-GHElv\n", "gaps": ">b\n------\n"}
        got = {}
        for name, row in files.items():
            self.fold([("x", "MKWGHE")], name, "--msa", self.put(name + ".msa", {"x": query + row}))
            got[name] = self.data(name, "x" + DRAWN + ".cif")
        self.assertEqual(got["row"], got["end"])
        self.assertEqual(len(set(got.values())), 4)

    def test_compressed(self):
        self.fold(RECORDS[:1], "plain", "--msa", self.put("msa", FILES))
        os.mkdir(self.path("gz"))
        with gzip.open(os.path.join(self.path("gz"), "one.a3m.gz"), "wt") as file:
            file.write(FILES["one"])
        self.fold(RECORDS[:1], "packed", "--msa", self.path("gz"))
        name = "one" + DRAWN + ".cif"
        self.assertEqual(self.data("plain", name), self.data("packed", name))

    def test_many_rows(self):
        """Rows after the first 16,384 do not count."""
        rows = ["MK", "M-", "AK", "SR"] * 5000
        for name, n in (("all", 20000), ("some", 16384)):
            text = ">q\nMK\n" + "".join(">r\n%s\n" % row for row in rows[:n - 1])
            self.fold([("x", "MK")], name, "--cycles", "0", "--msa",
                      self.put(name + ".msa", {"x": text}))
        name = "x" + DRAWN + ".cif"
        self.assertEqual(self.data("all", name), self.data("some", name))

    def test_bad_files(self):
        record = [("x", "MKW")]
        for i, (text, words) in enumerate((
                (">q\nMKF\n", ("x.a3m", "has F in column 3, expected W of chain A")),
                (">q\nMKWA\n", ("the first row has 4 residues, expected chain A with 3",)),
                (">q\nMKW\n>b\nMK\n", ("line 3", "row 2 has 2 columns, expected 3")),
                (">q\n---\n>b\n---\n", ("the first row has a gap in column 1",)),
                (">q\nmkw\n", ("the first row has no residues",)),
                (">q\nMKW\n>b\nM1W\n", ("line 4: character 2 is '1'",)),
                ("", ("no rows",)))):
            self.refused("bad%d" % i, record, {"x": text}, words)
        self.refused("missing", [("y", "MKW"), ("x", "MK")], {"x": ">q\nMK\n"},
                     ("y.a3m", "expected the alignment of chain A"))
        self.assertTrue(self.data("missing", "x" + DRAWN + ".cif"))
        self.refused("second", [("x", "MK:AC")], {"x_A": ">q\nMK\n", "x": ">q\nMK\n"},
                     ("x_B.a3m", "expected the alignment of chain B"))

    def test_refusals(self):
        msa = self.put("msa", FILES)
        said = self.fold(RECORDS[:1], "fast", "--msa", msa, weights=FAST, code=64)
        self.assertIn("esmfold2 reads no alignments (msa)", said)
        said = self.fold([("x", "MKW:ACD")], "abb", "--msa", msa, weights=None, family="flashabb",
                         code=64)
        self.assertIn("flashabb reads no alignments (msa)", said)
        said = self.fold(RECORDS[:1], "folder", "--msa", self.path("nowhere"), code=64)
        self.assertIn("expected one of alignments", said)
        said = self.fold(RECORDS[:1], "depth", "--msa-depth", "3", code=64)
        self.assertIn("without a folder of them", said)
        for depth in ("0", "16385", "x"):
            self.fold(RECORDS[:1], "d" + depth, "--msa", msa, "--msa-depth", depth, code=64)

    def test_settings(self):
        os.mkdir(self.path("w"))
        shutil.copy(os.path.join(WEIGHTS, "model.safetensors"), self.path("w"))
        with open(os.path.join(WEIGHTS, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        for i, (key, value, words) in enumerate((
                ("enabled", False, "msa_encoder.enabled is false"),
                ("num_hidden_layers", 2, "no tensor of ESMFold2"),
                ("num_hidden_layers", 4, "msa_encoder.layers.2.msa_pair_weighted_averaging"),
                ("outer_hidden_size", 5, "expected 10"), ("head_dim", 9, "expected [18"))):
            changed = dict(config, msa_encoder=dict(config["msa_encoder"], **{key: value}))
            with open(os.path.join(self.path("w"), "config.json"), "w") as file:
                json.dump(changed, file)
            self.assertIn(words, self.fold(RECORDS[:1], "s%d" % i, weights=self.path("w"), code=78))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
