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
        self.written = []

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def put(self, folder, files):
        os.makedirs(self.path(folder), exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(self.path(folder), name + ".a3m"), "w") as file:
                file.write(text)
        return self.path(folder)

    def write(self, name, records):
        """Once for each name: a job goes on with a file of the same time alone."""
        if name not in self.written:
            with open(self.path(name), "w", encoding="ascii") as file:
                file.writelines(">%s\n%s\n" % record for record in records)
            self.written.append(name)

    def fold(self, records, out, *args, code=0, weights=WEIGHTS, family="esmfold2"):
        self.write(out + ".fasta", records)
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

    def test_names_and_lines(self):
        """Files have the names of outputs; ends of lines and empty lines do not matter."""
        records = [(name, "MKW") for name in ("a/b", "../x", "..", "crlf")]
        msa = self.put("msa", {name: ">q\nMKW\n>b\nM-W\n" for name in ("a_b", "_._x", "_.")})
        with open(os.path.join(msa, "crlf.a3m"), "wb") as file:
            file.write(b"\xef\xbb\xbf#3\t1\r\n>q\r\nMK\r\nW\r\n\r\n>b\r\nM-W\r\n\r\n")
        self.fold(records, "out", "--msa", msa, "--cycles", "0")
        self.refused("nul", [("x", "MKW")], {"x": ">q\nMKW\n\0>r\nAC\n"}, ("line 3", "NUL"))
        long = "x" * 200
        self.refused("long", [(long, "MKW")], {"x": ">q\nMKW\n"},
                     ("its id names no file of an alignment",))

    def test_bad_files(self):
        record = [("x", "MKW")]
        for i, (text, words) in enumerate((
                (">q\nMKF\n", ("x.a3m", "has F in column 3, expected W of chain A")),
                (">q\nMKWA\n", ("the first row has 4 residues, expected chain A with 3",)),
                (">q\nMKW\n>b\nMK\n", ("line 3", "row 2 has 2 columns, expected 3")),
                (">q\n---\n>b\n---\n", ("the first row has a gap in column 1",)),
                (">q\nmkw\n", ("the first row has no residues in upper case",)),
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
        self.assertIn("no such folder, expected a folder of alignments", said)
        said = self.fold(RECORDS[:1], "file", "--msa", os.path.join(msa, "one.a3m"), code=64)
        self.assertIn("one.a3m: no folder, expected a folder of alignments", said)
        said = self.fold(RECORDS[:1], "depth", "--msa-depth", "3", code=64)
        self.assertIn("without a folder of them", said)
        for depth in ("0", "16385", "x"):
            self.fold(RECORDS[:1], "d" + depth, "--msa", msa, "--msa-depth", depth, code=64)

    def test_changed_alignments(self):
        """A job goes on only with the alignments that its results are of, wherever they lie."""
        records, options = RECORDS[:2], ("--shard", "1/1", "--resume", "--cycles", "0")
        msa = self.put("msa", FILES)
        self.fold(records, "out", "--msa", msa, *options)
        self.fold(records, "out", "--msa", msa, *options)
        for name, text in (("one", FILES["one"] + ">d\nMR-GHE\n"),
                           ("one", FILES["one"].replace("lv", "lw")),
                           ("two_B", FILES["two_B"].replace("SC", "TC")),
                           ("two_A", FILES["two_A"].replace("key=5", "key=6"))):
            self.put("msa", {name: text})
            said = self.fold(records, "out", "--msa", msa, *options, code=65)
            self.assertIn("(%r) is not the one that this journal" % name.split("_")[0], said)
            self.assertIn("of other alignments", said)
            self.put("msa", FILES)
        os.remove(os.path.join(msa, "two_B.a3m"))
        self.assertIn("'two'", self.fold(records, "out", "--msa", msa, *options, code=65))
        self.put("msa", FILES)
        self.assertIn("an option", self.fold(records, "out", "--msa", msa, "--msa-depth", "2",
                                             *options, code=73))
        self.assertIn("an input", self.fold(records, "out", *options, code=73))
        self.put("msa", {"another": ">q\nMK\n"})
        self.fold(records, "out", "--msa", msa, *options)

    def test_shards(self):
        """Alignments of shards may lie in different folders."""
        self.fold(RECORDS, "whole", "--msa", self.put("msa", FILES), "--cycles", "0")
        for shard in (1, 2):
            self.write("all.fasta", RECORDS)
            subprocess.run([EXE, "esmfold2", self.path("all.fasta"), "-o", self.path("all"),
                            "--weights", WEIGHTS, "--device", "cpu", "--quiet", "--cycles", "0",
                            "--msa", self.put("msa%d" % shard, FILES), "--shard", "%d/2" % shard],
                           check=True)
        subprocess.run([EXE, "merge", self.path("all"), "--quiet"], check=True)
        for name, _ in RECORDS:
            self.assertEqual(self.data("whole", name + DRAWN + ".cif"),
                             self.data("all", name + DRAWN + ".cif"))

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
