#!/usr/bin/env python3
"""test_inputs.py BIOINFER SOURCE_ROOT - several inputs, words and descriptions as JSON, and what is
said of weights that are not there."""
import gzip
import json
import os
import subprocess
import sys
import unittest

import test_cli
from test_tracks import bgzip


class Inputs(test_cli.Case):
    def test_json(self):
        self.write("b.fa", ">q\nMKTAY\n")
        found = json.loads(self.run_raw("info", "b.fa", "--json").stdout)
        self.assertEqual((found[0]["name"], found[0]["value"]), ("b.fa", "FASTA"))
        self.assertIn({"name": "residues", "value": "5"}, found[0]["items"])
        found = json.loads(self.run_raw("info", "tiny", "--json").stdout)
        self.assertIn({"name": "config.json", "value": "yes"}, found)
        tensors, = [line for line in found if line["name"] == "tensors"]
        self.assertGreater(len(tensors["items"]), 100)
        devices = json.loads(self.run_raw("devices", "--json").stdout)
        self.assertEqual((devices[0]["device"], devices[0]["usable"]), ("cpu", True))
        p = self.run_tiny("esm2", "b.fa", "-o", "b.npz", "--log-json", "--progress", "on")
        for line in p.stderr.splitlines():
            self.assertEqual(list(json.loads(line)), ["time", "level", "message"])
        p = subprocess.run([test_cli.EXE, "esm2", "none.fa", "--log-json"], capture_output=True,
                           check=False)
        self.assertEqual((p.returncode, json.loads(p.stderr)["level"]), (66, "error"))
        p = subprocess.run([test_cli.EXE, "esm2", "b.fa", "--log-json", "--profile"],
                           capture_output=True, check=False)
        self.assertEqual(p.returncode, 64)
        self.assertIn("--profile", json.loads(p.stderr)["message"])

    def test_several_inputs(self):
        """Files and folders are one input: the bytes of all records in one file."""
        os.makedirs(self.path("folder"))
        names = "a.fasta", "folder/1.fa", "folder/2.faa.gz"
        for i, name in enumerate(names):
            text = ">r%d\n%s\n>s%d\n%s\n" % (i, "MKTAY"[i:], i, "M1" if i == 1 else "AYIAK")
            with open(self.path(name), "wb") as f:
                f.write(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        self.write("folder/notes", "x")
        text = b"".join(self.text_of(name) for name in names)
        self.write("all.fasta", text)
        for command, out in ((("esm2",), "npz"),
                             (("score", "esm2", "--method", "wt-marginals"), "tsv")):
            self.run_tiny(*command, "all.fasta", "-o", "one." + out, code=1)
            for more in ((), ("--workers", "2"), ("--resume",)):
                p = self.run_tiny(*command, "a.fasta", "folder", "-o", "many." + out, *more, code=1)
                self.assertIn("1 skipped, not named as FASTA: notes", p.words)
                self.assertEqual(self.text_of("one." + out), self.text_of("many." + out))
        for code, shard in enumerate(("1/2", "2/2")):
            self.run_tiny("esm2", "a.fasta", "folder", "-o", "m.npz", "--shard", shard, code=code)
        self.run_raw("merge", "m.npz", code=1)
        self.assertEqual(self.text_of("one.npz"), self.text_of("m.npz"))
        self.check_fails(("esm2", "a.fasta", "folder"), 64, "name the output with -o")
        self.check_fails(("esm2", "a.fasta", "-", "-o", "x.npz"), 64, "one of several")
        self.check_fails(("esm2", "a.fasta", "out.npz"), 66, "an output is named by -o")
        self.check_fails(("esm2", "a.fasta", "all.fasta", "-o", "all.fasta", "--format", "npz"), 64,
                         "same file")
        self.check_fails(("esm2", "a.fasta", "a.fasta", "-o", "x.npz", "--weights",
                          test_cli.TINY), 65, "r0")
        os.makedirs(self.path("empty"))
        self.check_fails(("esm2", "empty", "-o", "x.npz"), 65, "no .fasta")

    def test_dry_run(self):
        lengths = [5 + i % 7 for i in range(150)]
        self.write("d.fa", "".join(">r%d\n%s\n" % (i, "MKTAYIAKQRLL"[:n])
                                   for i, n in enumerate(lengths)) + ">bad\nM1\n")
        before = self.files()
        for command in ("esm2",), ("score", "esm2", "--method", "pppl"):
            out = self.run_tiny(*command, "d.fa", "--dry-run").stdout.decode()
            told = dict(line.split("\t") for line in out.splitlines())
            self.assertEqual(list(told), ["records", "unusable", "residues", "longest", "model",
                                          "device", "memory", "batches", "time"])
            self.assertEqual((told["records"], told["unusable"], told["longest"]),
                             ("151", "1", "11"))
            self.assertEqual(told["residues"], str(sum(lengths)))
            self.assertRegex(told["time"], r"^about \d+(\.\d{3})? s, by ")
        self.assertEqual(self.files(), before)
        self.check_fails(("esm2", "d.fa", "--dry-run", "--workers", "2"), 64, "one device")

    def dry(self, *arguments):
        out = self.run_raw(*arguments, "--dry-run", "-q").stdout.decode()
        return dict(line.split("\t") for line in out.splitlines())

    def test_dry_runs_of_other_tasks(self):
        golden = os.path.join(test_cli.ROOT, "tests", "golden")
        self.write("p.fa", "".join(">p%d\n%s\n" % (i, "MKTAYIAKQRLL"[i % 5:]) for i in range(90)) +
                   ">bad\nM1\n")
        self.write("g.fa", ">c\n%s\n" % ("ACGTACGGTC" * 900))
        self.write("g.fa.fai", "c\t9000\t3\t9000\t9001\n")
        self.write("i.bed", "c\t4000\t4010\tone\nc\t4100\t4110\ttwo\nd\t1\t2\tnone\n")
        self.write("v.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n" +
                   "".join("c\t%d\t.\tA\tC\n" % (4001 + 10 * i) for i in range(5)))
        sys.path.insert(0, os.path.join(test_cli.ROOT, "tools"))
        import dualbind_weights
        dualbind_weights.write(self.path("dualbind.pt"), 64, 0)
        before = self.files()
        structures = [os.path.join(golden, "proteinmpnn", n + ".pdb") for n in ("5L33", "6MRR")]
        told = self.dry("proteinmpnn", *structures, "--num-seq", "2")
        self.assertEqual(list(told), ["records", "unusable", "model", "device", "memory", "batches",
                                      "time"])
        self.assertEqual(told["records"], "2")
        told = self.dry("proteinmpnn", structures[0], "p.fa")
        self.assertEqual((told["records"], told["no result"]), ("2", "1 of 2 measured"))
        run = self.run_raw("proteinmpnn", os.path.join(golden, "proteinmpnn", "4GYT.pdb"), "p.fa",
                           "--dry-run")  # measured three times, said once
        said = run.stderr.decode()
        self.assertEqual(said.count("are not seen"), 1, said)
        self.assertEqual(said.count("p.fa: no result: empty: p.fa: no ATOM record"), 1, said)
        out = self.run_raw("proteinmpnn", "p.fa", "--dry-run").stdout.decode()
        self.assertIn("no result\t1 of 1 measured\n", out)
        self.assertNotIn("time", out)
        run = self.run_raw("esm2", "p.fa", "--dry-run", "--weights", test_cli.TINY)
        self.assertIn("bad: no result: bad_residue", run.stderr.decode())
        told = self.dry("align", "p.fa", "--all-vs-all", "--matrix", "BLOSUM62")
        self.assertEqual((told["records"], told["unusable"], told["longest"]),
                         (str(91 * 90 // 2), "90", "24"))
        enformer = ["enformer", "--weights", os.path.join(golden, "enformer", "half"),
                    "--positions", "formula-pt", "--genome", "g.fa"]
        told = self.dry(*enformer, "i.bed")
        self.assertEqual((told["records"], told["model"]), ("3", "half"))
        self.assertEqual(self.dry(*enformer, "v.vcf")["records"], "5")
        told = self.dry("dualbind", os.path.join(golden, "dualbind", "6w70.pdb.gz"),
                        os.path.join(golden, "dualbind", "poses.sdf"), "--weights", "dualbind.pt")
        self.assertEqual((told["records"], told["unusable"]), ("5", "0"))
        self.assertEqual(self.files(), before)

    def test_bgzf_that_was_cut(self):
        """Records that are missing behind a whole block are told with -q, too, and exit is 1; a
        file without which nothing can be right is refused."""
        def cut(name, text):
            packed = bgzip(text.encode())[0]
            with open(self.path(name), "wb") as f:
                f.write(packed)
            with open(self.path("cut." + name), "wb") as f:
                f.write(packed[:packed.index(b"\x1f\x8b\x08\x04", len(packed) // 2)])
        cut("a.fa.gz", "".join(">r%d\nMKTAYIAKQR%s\n" % (i, "AC"[i % 2] * 3) for i in range(90)))
        lines = {}
        for name in "a.fa.gz", "cut.a.fa.gz":
            code = int(name[:3] == "cut")
            for more in (), ("--workers", "2"), ("--resume",), ("--threads", "3"):
                p = self.run_tiny("score", "esm2", name, "--method", "wt-marginals", "-o",
                                  "out.tsv", "-q", *more, code=code)
                self.assertEqual("the file was cut off, records may be missing" in p.words, code)
                text = self.text_of("out.tsv")
                self.assertEqual(lines.setdefault(name, text), text)
        self.assertTrue(lines["a.fa.gz"].startswith(lines["cut.a.fa.gz"][:-20]))
        self.assertLess(len(lines["cut.a.fa.gz"]), len(lines["a.fa.gz"]))
        genes = "".join('c\tx\tgene\t%d\t%d\t.\t+\t.\tgene_id "G%d"; gene_type "a";\n' %
                        (i + 1, i + 9, i) for i in range(40))
        cut("g.gtf.gz", genes)
        self.write("g.fa", ">c\n" + "ACGT" * 4000 + "\n")
        self.write("g.fa.fai", "c\t16000\t3\t16000\t16001\n")
        vcf = "##fileformat=VCFv4.2\n" + "c\t%d\t.\t%s\tN\n" * 60
        places = [x for i in range(60) for x in (8001 + i, "ACGT"[i % 4])]
        cut("v.vcf.gz", vcf % tuple(places))
        model = os.path.join(test_cli.ROOT, "tests", "golden", "alphagenome", "small")
        ask = ["--genome", "g.fa", "--weights", model, "-q"]
        p = self.run_raw("alphagenome", "cut.v.vcf.gz", *ask, "--outputs", "dnase.128", code=1)
        self.assertIn("cut.v.vcf.gz: BGZF without the empty block", p.stderr.decode())
        self.assertIn(p.stdout.count(b"\tok\t"), range(20, 60))
        self.write("t.tsv", "head\tname\tstrand\nrna_seq\tx\t+\nrna_seq\tx\t-\n")
        p = self.run_raw("alphagenome", "v.vcf.gz", *ask, "--scorers", "gene", "--targets", "t.tsv",
                         "--gtf", "cut.g.gtf.gz", code=65)
        self.assertIn("cut.g.gtf.gz: truncated: BGZF without", p.stderr.decode())

    def test_structures_from_standard_input(self):
        path = os.path.join(test_cli.ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
        with open(path, "rb") as file:
            text = file.read()
        named = self.run_raw("proteinmpnn", path, "-q").stdout
        for stdin in text, gzip.compress(text):
            for more in (), ("--workers", "1"):
                found = self.run_raw("proteinmpnn", "-", "-q", *more, stdin=stdin).stdout
                self.assertEqual(found, named.replace(b">5L33", b">stdin"))
        self.run_raw("proteinmpnn", "-", "-", code=64)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def env(self, **more):
        os.makedirs(self.path("tmp"), exist_ok=True)
        return super().env(TMPDIR=self.path("tmp"), **more)

    def text_of(self, name):
        with (gzip.open if name.endswith("gz") else open)(self.path(name), "rb") as f:
            return f.read()

    def test_missing_weights(self):
        p = self.check_fails(("esm2", "in.fasta", "-o", "x.npz"), 78,
                             "hf download facebook/esm2_t33")
        self.assertIn("curl -fL --create-dirs -o 'esm2_t33_650M_UR50D/#1' 'https://huggingface.co/"
                      "facebook/esm2_t33_650M_UR50D/resolve/main/"
                      "{config.json,vocab.txt,model.safetensors}'", p.words)
        p = self.check_fails(("esm2", "in.fasta", "--weights", "org/name", "-o", "x.npz"), 78,
                             "curl")
        self.assertIn("names of files may differ", p.words)


if __name__ == "__main__":
    test_cli.EXE, test_cli.ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    test_cli.TINY = os.path.join(test_cli.ROOT, "share", "bioinfer-tiny")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
