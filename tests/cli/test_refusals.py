#!/usr/bin/env python3
"""test_refusals.py BIOINFER SOURCE_ROOT [CASE ...] - what the command refuses, and how it behaves
towards the system: signals, limits, streams, folders.

Standard library only. The frame of a test is that of test_cli.py.
"""
import gzip
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import zipfile

import test_cli
from test_cli import Case, FASTA, SANITIZED, WIDTH, read_npz, split_safetensors, write_safetensors


# ---- what goes wrong, and how it is said ----

class Failures(Case):
    def test_usage(self):
        for args, part in (
                ((), "no model"), (("esm3", "in.fasta"), "did you mean 'esm2'"),
                (("esm2",), "INPUT is missing; usage"),
                (("esm2", "in.fasta", "--formt", "npz"), "--format"),
                (("esm2", "in.fasta", "--format", "xyz"), "npz"),
                (("esm2", "in.fasta", "--include", "maen"), "mean"),
                (("esm2", "in.fasta", "--layers", "x"), "--layers"),
                (("esm2", "in.fasta", "--threads", "0"), "--threads"),
                (("esm2", "in.fasta", "--shard", "0/2"), "I from 1 to N"),
                (("esm2", "in.fasta", "--shard", "3/2"), "I from 1 to N"),
                (("esm2", "in.fasta", "--batch-tokens"), "needs a value"),
                (("esm2", "in.fasta", "--profile=yes"), "no value"),
                (("score",), "MODEL is missing"), (("score", "esm2"), "INPUT is missing"),
                (("relax", "in.fasta"), "in.fasta is an input, and no model is named; usage"),
                (("relax", "--weights", "x"), "FRAMES is missing"),
                (("molecule", "info"), "FILE is missing"), (("align",), "A.fasta is missing"),
                (("esm2", "in.fasta", "--include", "mean,resid"), "one of mean, per-residue, "),
                (("fold", "flashabb", "in.fasta", "--include", "contact"),  # which is of embed
                 "one of plddt, coordinates, pae"),
                (("esm2", "in.fasta", "-w", "x"), "here it is --weights"),
                (("esm2", "in.fasta", "-j", "2"), "here it is --threads"),
                (("esm2", "in.fasta", "--force"), "here it is what -o does anyway"),
                (("esm2", "in.fasta", "--method", "pppl"), "--method does not belong"),
                # the wrong one of two options, in either order
                (("esm2", "in.fasta", "--method", "pppl", "--include", "mean"),
                 "--method does not belong to `bioinfer embed`"),
                (("score", "esm2", "in.fasta", "--method", "pppl", "--include", "mean"),
                 "--include does not belong to `bioinfer score`"),
                (("esm2", "in.fasta", "--include", "mean", "--method", "pppl"),
                 "--method does not belong to `bioinfer embed`"),
                (("score", "esm2", "in.fasta", "--method", "best"), "pppl"),
                (("score", "esm2", "in.fasta", "--method", "pppl", "--mutations", "x"), "FASTA"),
                (("proteinmpnn", "in.fasta", "--temperature", "1e30"), "from 0 to 1e+06"),
                (("esm2", "-"), "-o"), (("esm2", "in.fasta", "-o", "-"), "tsv"),
                (("esm2", "in.fasta", "-o", "in.fasta", "--format", "tsv"), "same file"),
                (("info", "in.fasta", "in.fasta"), "too many"), (("-x",), "-x")):
            self.check_fails(args, 64, part)

    def test_an_input_is_never_the_output(self):
        """No command replaces a file that it was told to read, under whatever name."""
        golden = os.path.join(test_cli.ROOT, "tests", "golden", "proteinmpnn")
        os.makedirs(self.path("set"))
        for name in ("x.pdb", "set/y.pdb"):
            shutil.copy(os.path.join(golden, "5L33.pdb"), self.path(name))
        os.link(self.path("x.pdb"), self.path("x.fa"))
        self.write("list.txt", "x.pdb\n")
        for name in ("q.fa", "t.fa"):
            self.write(name, ">a\nMKTAY\n")
        for name in ("w.tsv", "g.tsv", "m.csv", "v.vcf", "in.xyz", "p.tsv"):
            self.write(name, "older\n")
        before = {name: open(self.path(name), "rb").read() for name in self.files()
                  if os.path.isfile(self.path(name))}
        for args in (("proteinmpnn", "x.pdb", "-o", "x.pdb"),
                     ("proteinmpnn", "x.pdb", "-o", "x.fa"),
                     ("proteinmpnn", "set", "-o", "set/y.pdb"),
                     ("proteinmpnn", "list.txt", "-o", "x.fa"),
                     ("align", "q.fa", "t.fa", "-o", "q.fa"),
                     ("align", "q.fa", "t.fa", "-o", "t.fa"),
                     ("align", "q.fa", "t.fa", "--matrix", "p.tsv", "-o", "p.tsv"),
                     ("esm2", "q.fa", "--weights", "w.tsv", "-o", "w.tsv"),
                     ("score", "esm2", "q.fa", "--mutations", "m.csv", "-o", "m.csv"),
                     ("enformer", "v.vcf", "--genome", "q.fa", "-o", "v.vcf", "--format", "tsv"),
                     ("enformer", "v.vcf", "--genome", "g.tsv", "-o", "g.tsv"),
                     ("dualbind", "x.pdb", "q.sdf", "--weights", "q.fa,p.tsv", "-o", "p.tsv"),
                     ("tensornet", "in.xyz", "--weights", "none", "-o", "in.xyz"),
                     ("relax", "in.xyz", "--weights", "none", "-o", "in.xyz"),
                     ("md", "in.xyz", "--weights", "none", "-o", "in.xyz", "--resume")):
            words = self.run_raw(*args, code=64).words  # or what is written does not fit the name
            self.assertRegex(words, "same file|set/y.pdb: the name says pdb", args)
        for name, data in before.items():
            self.assertEqual(open(self.path(name), "rb").read(), data, name)

    def test_what_an_unknown_word_meant(self):
        for args, part in (
                (("ESM2", "in.fasta"), "did you mean 'esm2'"),
                (("ESM-2", "in.fasta"), "did you mean 'esm2'"),
                (("prot-t5", "in.fasta"), "did you mean 'prott5'"),
                (("esm2_t33_650M_UR50D", "in.fasta"),
                 "bioinfer esm2 INPUT --weights ORG/esm2_t33_650M_UR50D"),
                (("facebook/esm2_t6_8M_UR50D", "x"),
                 "bioinfer esm2 INPUT --weights facebook/esm2_t6_8M_UR50D"),
                (("tiny", "in.fasta"), "--weights tiny"),
                (("alphafold3", "in.fasta"), "here it is `bioinfer fold`"),
                (("Evo2", "in.fasta"), "Evo 2 is not in bioinfer"),
                (("vina", "in.pdb"), "`bioinfer dock`, by weights"),
                (("mmseqs", "in.fasta"), "--top N"),
                (("pull", "esm2"), "hf download"),
                (("in.fasta",), "in.fasta is a file, expected a model first"),
                (("there/is/none.fasta",), "none.fasta: no such file, and no model or command"),
                (("esm2", "in.fasta", "--wieghts", "x"), "did you mean '--weights'"),
                (("esm2", "in.fasta", "--weights", "tinny"), "nor tiny"),
                (("esm2", "in.fasta", "--repr_layers", "6"), "--layers"),
                (("esm2", "in.fasta", "--toks_per_batch", "6"), "--batch-tokens"),
                (("esm2", "in.fasta", "--include", "per_tok"), "per-residue"),
                (("esm2", "in.fasta", "--gpu"), "--device cuda:0"),
                (("esm2", "in.fasta", "--batch-size", "2"), "--batch-tokens"),
                (("esm2", "in.fasta", "--half"), "--precision fp16"),
                (("esm2", "-t", "2", "in.fasta"), "--threads"),
                (("esm2", "-i", "in.fasta"), "bioinfer MODEL INPUT"),
                (("esm2", "in.fasta", "--per-residue"), "--include per-residue"),
                (("align", "in.fasta", "in.fasta", "-gapopen", "10"),
                 "'-gapopen'; here it is --gap-open")):
            self.check_fails(args, 78 if "tinny" in args else 64, part)
        for args in (("serve",), ("foo", "in.fasta"), ("esm2", "in.fasta", "--include", "foo"),
                     ("esm2", "in.fasta", "--lag", "x")):
            self.assertNotIn("did you mean", self.run_raw(*args, code=64).words, args)

    def test_formats_and_suffixes(self):
        """One name, one format: none is taken silently for what the suffix does not say, or for
        another command's."""
        self.write("both.h5", "older")
        for args, part in (
                (("esm2", "in.fasta", "-o", "both.h5", "--format", "npz"),
                 "the name says h5, --format says npz"),
                (("merge", "both.h5", "--format", "npz"), "the name says h5, --format says npz"),
                (("esm2", "in.fasta", "-o", "x.bw"), "the name says 'bigwig', expected one of npz"),
                (("esm2", "in.fasta", "-o", "folder.d/x"), "the suffix is '', expected one of npz"),
                (("esm2", "in.fasta", "--format", "bigwig"), "'bigwig', expected one of npz"),
                (("borzoi", "x.bed", "--genome", "g.fa", "-o", "x.bw"),
                 "-o FOLDER --format bigwig"),
                (("borzoi", "x.bed", "--genome", "g.fa", "-o", "x.bedgraph"),
                 "-o FOLDER --format bedgraph"),
                (("borzoi", "x.bed", "--genome", "g.fa", "-o", "x.vcf"),
                 "jsonl, tsv, bedgraph, bigwig"),
                (("proteinmpnn", "x.pdb", "--seed", "0"), "a whole number from 1 to"),
                (("proteinmpnn", "x.pdb", "--format", "esm-pt"), "'esm-pt', expected one of npz"),
                (("proteinmpnn", "x.pdb", "-o", "x.h5", "--format", "fasta"), "the name says h5"),
                (("proteinmpnn", "x.pdb", "-o", "x.json"),
                 "the name says json, and fasta is written: name it .fasta, or ask for another"),
                (("align", "in.fasta", "in.fasta", "--format", "blast", "-o", "x.tsv"),
                 "the name says tsv, --format says blast; give the file another name, or leave"),
                (("esm2", "in.fasta", "--format", "npz", "-o", "x.csv"), "says csv, and npz is"),
                (("esm2", "in.fasta", "--format", "npz", "-o", "x.fa"), "the name says fasta, and"),
                (("report", "x.npz", "-o", "x.pdf"), "the name says pdf, and html is written"),
                (("plot", "x.npz", "-o", "x.pdf"), "name it .svg or .png, or send it"),
                (("plot", "x.npz", "-o", "x.html"), "the name says html, and svg is written"),
                (("tensornet", "x.xyz", "--format", "jsonl", "-o", "x.csv"), "the name says csv"),
                (("relax", "tensornet", "x.xyz", "-o", "x.pdb"), "says pdb, and extxyz is written"),
                (("score", "esm2", "in.fasta", "-o", "x.csv"), "the name says csv, and tsv is"),
                (("score", "esm2", "in.fasta", "-o", "x.npz"), "the name says npz, and tsv is")):
            p = self.check_fails(args, 64, part)
            if args[0] != "esm2":
                self.assertNotIn("esm-pt,", p.words)
        self.assertEqual(open(self.path("both.h5")).read(), "older")
        for sep, says, other in ((",", "csv", "tsv"), ("\t", "tsv", "csv")):  # a table as it came
            self.write("m." + says, f"mutant{sep}x\nK2R{sep}1\n")
            self.write("wt.fasta", ">wt\nMKTAY\n")
            score = ("score", "esm2", "wt.fasta", "--mutations", "m." + says, "-o")
            self.check_fails((*score, "s." + other), 64, f"says {other}, and {says} is written")
            self.run_tiny(*score, "s." + says)
        if "h5" not in self.run_raw("esm2", "x", "--format", "nothing", code=64).words:
            self.skipTest("built without HDF5")
        self.run_tiny("esm2", "in.fasta", "-o", "a.hdf5", "--format", "hdf5")
        self.run_tiny("esm2", "in.fasta", "-o", "b.h5")
        self.assertEqual(open(self.path("a.hdf5"), "rb").read(),
                         open(self.path("b.h5"), "rb").read())
        pdb = os.path.join(test_cli.ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
        self.run_raw("proteinmpnn", pdb, "--score-only", "-o", "s.hdf5")
        self.assertEqual(open(self.path("s.hdf5"), "rb").read(4), b"\x89HDF")
        p = self.run_tiny("esm2", "in.fasta", "-o", "c.h5", "--h5-names", "prottrans")
        self.assertNotIn("stored", p.words)

    def test_wrong_options_of_the_model(self):
        tiny = ("esm2", "in.fasta", "-o", "out.npz", "--weights", test_cli.TINY)
        self.check_fails(tiny + ("--layers", "7"), 64, "7")
        self.check_fails(tiny + ("--layers", "-8"), 64, "-8")
        self.check_fails(tiny + ("--no-rule", "no_such_rule"), 64, "no_such_rule")
        self.check_fails(tiny + ("--precision", "int2"), 64, "int2")
        self.check_fails(tiny + ("--cpu-mask", "mmx"), 64, "mmx")
        self.check_fails(("esm2", "in.fasta", "-o", "out.xyz", "--weights", test_cli.TINY), 64,
                         "xyz")
        for name in ("out.npy", "out.tsv"):
            self.check_fails(("esm2", "in.fasta", "-o", name, "--weights", test_cli.TINY,
                              "--include", "contacts"), 64, "contacts")

    def test_device(self):
        self.check_fails(("esm2", "in.fasta", "--weights", test_cli.TINY, "--device", "cuda:0"), 69,
                         "cuda:0")
        self.check_fails(("esm2", "in.fasta", "--weights", test_cli.TINY, "--device", "abacus"), 69,
                         "cpu")
        for name in ("cuda:", "cuda:x", "hip:-1", "cuda:100"):
            self.check_fails(("esm2", "in.fasta", "--weights", test_cli.TINY, "--device", name), 69,
                             "'%s': expected auto, cpu, cuda:N or hip:N, N from 0" % name)

    def test_input_missing(self):
        self.check_fails(("esm2", "none.fasta", "--weights", test_cli.TINY), 66, "none.fasta")
        self.check_fails(("esm2", "no/none.fasta", "--weights", test_cli.TINY), 66, "no/none.fasta")
        os.makedirs(self.path("none"))
        self.check_fails(("esm2", "none", "--weights", test_cli.TINY, "-o", "o.npz"), 65,
                         "no .fasta")
        self.check_fails(("info", "none.safetensors"), 66, "none.safetensors")

    def test_input_malformed(self):
        # a small model is enough: what is in front of the fault is computed
        small = ("--weights", os.path.join(test_cli.ROOT, "tests", "golden", "esm2", "hf-d16"),
                 "-o", "out.npz")
        full = gzip.compress(open(os.path.join(test_cli.TINY, "heldout.fasta"), "rb").read())
        for name, content in (("empty.fasta", b""), ("blank.fasta", b"\n \n\n"),
                              ("headless.fasta", b"MKTAYIAK\n>a\nMKT\n"),
                              ("truncated.fasta.gz", full[:len(full) // 2]),
                              ("damaged.fasta.gz", full[:5000] + b"\0\1\2\3" + full[5004:]),
                              ("trailing.fasta.gz", gzip.compress(b">a\nMKT\n") + b"garbage"),
                              ("empty.gz", gzip.compress(b""))):
            self.write(name, content)
            self.check_fails(("esm2", name) + small, 65, name)

    def test_bad_records_cost_themselves(self):
        self.run_tiny("esm2", "in.fasta", "--include", "per-residue", "-o", "good.npz")
        good = read_npz(self.path("good.npz"))
        records = [f">{k}\n{v}\n" for k, v in FASTA.items()]
        text = (records[0] + ">empty\n\n>digit\nMKT4A\n" + records[1] +
                ">stop\nMK*TA\n>long\n" + "ACDEFGHIKL" * 30 + "\n" + records[2])
        self.write("bad.fasta", text)
        p = self.run_tiny("esm2", "bad.fasta", "--include", "per-residue", "-o", "out.npz",
                          "--max-length", "100", code=1)
        self.assertEqual(read_npz(self.path("out.npz")), good)
        for part in ("empty", "digit", "stop", "long", "4 of 7 records", "too_long", "bad_residue"):
            self.assertIn(part, p.words)
        manifest = [r.split("\t")
                    for r in open(self.path("out.npz.manifest.tsv")).read().splitlines()]
        self.assertEqual([r[1] for r in manifest[1:]],
                         ["one", "empty", "digit", "two", "stop", "long", "three"])
        self.assertEqual([r[3] for r in manifest[1:]],
                         ["ok", "empty", "bad_residue", "ok", "bad_residue", "too_long", "ok"])
        for row in manifest[1:]:
            self.assertEqual(row[3] == "ok", row[5] == "", row)
        self.assertIn("out.npz.manifest.tsv", p.words)
        p = self.run_tiny("esm2", "bad.fasta", "--format", "jsonl", "--max-length", "100", code=1)
        rows = [json.loads(line) for line in p.stdout.splitlines()]
        self.assertEqual([r["status"] for r in rows],
                         ["ok", "empty", "bad_residue", "ok", "bad_residue", "too_long", "ok"])
        self.check_fails(("esm2", "bad.fasta", "--weights", test_cli.TINY, "--strict"), 65, "empty")
        self.run_tiny("esm2", "in.fasta", "-o", "out.npz")
        self.assertNotIn("no result", open(self.path("out.npz.manifest.tsv")).read())

    def test_every_record_fails(self):
        self.write("bad.fasta", ">a\n>b\n")
        self.run_tiny("esm2", "bad.fasta", "-o", "out.npz", code=1)
        self.assertEqual(read_npz(self.path("out.npz")), {})

    def test_duplicate_ids(self):
        self.write("dup.fasta", ">a\nMKTA\n>a\nMKTAY\n>a\nMKTAYI\n")
        for name in ("out.npz", "out.safetensors"):
            self.check_fails(("esm2", "dup.fasta", "--weights", test_cli.TINY, "-o", name), 65, "a",
                             "--dup-ids suffix")
        self.run_tiny("esm2", "dup.fasta", "--include", "per-residue", "-o", "out.npz",
                      "--dup-ids", "suffix")
        out = read_npz(self.path("out.npz"))
        self.assertEqual({k: v[0][0] for k, v in out.items()}, {"a": 4, "a_2": 5, "a_3": 6})
        p = self.run_tiny("esm2", "dup.fasta", "--format", "tsv")
        self.assertEqual(len(p.stdout.splitlines()), 4)

    def test_half_precision(self):
        """--dtype f16: the same numbers, rounded; refused where a format has none."""
        self.run_tiny("esm2", "in.fasta", "-o", "single.npz")
        self.run_tiny("esm2", "in.fasta", "-o", "half.npz", "--dtype", "f16")
        self.assertIn(b"float16", self.run_raw("info", "half.npz").stdout)
        with zipfile.ZipFile(self.path("half.npz")) as half:
            for key, (_, numbers) in read_npz(self.path("single.npz")).items():
                raw = half.read(key + ".npy")
                self.assertIn(b"{'descr': '<f2', 'fortran_order': False, 'shape': (320,), }", raw)
                self.assertEqual(raw[-2 * WIDTH:], struct.pack(f"<{WIDTH}e", *numbers))
        self.check_fails(("esm2", "in.fasta", "--format", "tsv", "--dtype", "f16"), 64,
                         "--dtype f16: tsv has no half precision")

    def test_beyond_half_precision(self):
        """A last norm whose scale is huge gives means beyond float16, which cost their records."""
        header, data = split_safetensors(os.path.join(test_cli.TINY, "model.safetensors"))
        name = next(n for n in header if n.endswith("emb_layer_norm_after.weight"))
        begin, end = header[name]["data_offsets"]
        large = struct.pack("<e", 60000) * WIDTH
        command = self.weights()
        write_safetensors(os.path.join(self.path("weights"), "model.safetensors"), header,
                          data[:begin] + large + data[end:])
        self.run_raw(*command)
        p = self.run_raw(*command, "--dtype", "f16", code=1)
        self.assertRegex(p.words, "one: no result: out_of_range: mean: value .* is beyond 65504")
        with open(self.path("out.npz.manifest.tsv")) as f:
            self.assertEqual([row.split("\t")[3] for row in f][1:], ["out_of_range"] * 3)

    def weights(self, **changes):
        """A copy of the model's folder: name -> new bytes, None = leave out."""
        folder = self.path("weights")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("config.json", "vocab.txt", "model.safetensors"):
            change = changes.get(name.split(".")[0], b"")
            if change is None:
                continue
            if change:
                self.write(f"weights/{name}", change)
            else:
                shutil.copy(os.path.join(test_cli.TINY, name), os.path.join(folder, name))
        return ("esm2", "in.fasta", "-o", "out.npz", "--weights", folder)

    def test_weights_missing(self):
        for where in ("nowhere/at-all.safetensors", "./none", "facebook/esm2_t6_8M_UR50D"):
            self.check_fails(("esm2", "in.fasta", "--weights", where), 78, where)
        p = self.check_fails(("esm2", "in.fasta"), 78)
        self.assertIn("esm2", p.words)
        os.mkdir(self.path("hollow"))
        self.check_fails(("esm2", "in.fasta", "--weights", "hollow"), 78, "hollow")

    def test_long_paths(self):
        """A path that a message names stands there whole, or, where it is too long, with both its
        ends."""
        where = "./" + "/".join(letter * 150 for letter in "abcde") + "/the-end.safetensors"
        self.check_fails(("esm2", "in.fasta", "--weights", where), 78, where)
        where = "./start/" + "/".join("é" * 100 for _ in range(15)) + "/the-end.safetensors"
        p = self.check_fails(("esm2", "in.fasta", "--weights", where), 78, "./start/é",
                             "/the-end.safetensors: ")
        self.assertNotIn("\ufffd", p.words)  # no character is cut

    def test_terminals_are_not_steered(self):
        """Escapes, C1 controls and marks of direction in names reach neither stderr nor what info
        prints."""
        bad = b"x\x1b[31m\xc2\x9b2J\x9b\x7f\r\xe2\x80\xae\xff"
        name, shown = bad + "é".encode(), r"x\x1b[31m\xc2\x9b2J\x9b\x7f\x0d\xe2\x80\xae\xffé"
        for args in ((b"esm2", b"none" + name), (b"esm2", b"in.fasta", b"--weights", b"./" + name),
                     (b"esm2", b"in.fasta", b"--layers", name), (b"info", b"none" + name),
                     (name, b"in.fasta"), (b"esm2", b"in.fasta", b"--" + name),
                     (b"esm2", b"in.fasta", b"--format", name),
                     (b"esm2", b"in.fasta", b"--device", name)):
            p = subprocess.run([test_cli.EXE.encode(), *args], cwd=self.dir, capture_output=True,
                               env=self.env())
            self.assertIn(shown, p.stderr.decode(), args)
        self.write("ids.fasta", b">a\xc2\x9b2J\n\n>b\nMKT\n")
        p = self.run_tiny("esm2", "ids.fasta", "-o", "ids.npz", code=1)
        self.assertIn(r"a\xc2\x9b2J: no result", p.words)
        shutil.copy(self.fasta.encode(), os.path.join(self.dir.encode(), name))
        p = subprocess.run([test_cli.EXE.encode(), b"info", name], cwd=self.dir,
                           capture_output=True)
        self.assertIn(shown, p.stdout.decode())

    def test_weights_broken(self):
        raw = open(os.path.join(test_cli.TINY, "model.safetensors"), "rb").read()
        config = json.load(open(os.path.join(test_cli.TINY, "config.json")))
        self.check_fails(self.weights(model=raw[:-1000]), 78, "model.safetensors")
        self.check_fails(self.weights(model=raw[:100]), 78, "model.safetensors")
        self.check_fails(self.weights(model=b"\xff" * 4096), 78, "model.safetensors")
        self.check_fails(self.weights(model=None), 78, "weights")
        self.check_fails(self.weights(config=b"{"), 78, "config.json")
        wide = dict(config, intermediate_size=1536)
        self.check_fails(self.weights(config=json.dumps(wide).encode()), 78, "1280", "1536")
        deep = dict(config, num_hidden_layers=7)
        self.check_fails(self.weights(config=json.dumps(deep).encode()), 78, "layer.6")

    def test_weights_with_a_tensor_missing(self):
        header, data = split_safetensors(os.path.join(test_cli.TINY, "model.safetensors"))
        name = "esm.encoder.layer.3.attention.self.query.weight"
        header["other"] = header.pop(name)
        args = self.weights(model=b"x")
        write_safetensors(self.path("weights/model.safetensors"), header, data)
        self.check_fails(args, 78, "weights", name)

    def test_weights_with_nan(self):
        header, data = split_safetensors(os.path.join(test_cli.TINY, "model.safetensors"))
        begin = header["esm.encoder.layer.2.intermediate.dense.weight"]["data_offsets"][0]
        data = data[:begin + 64] + b"\x00\x7e" + data[begin + 66:]
        args = self.weights(model=b"x")
        write_safetensors(self.path("weights/model.safetensors"), header, data)
        self.check_fails(args + ("--check-weights",), 78, "layer.2")
        p = self.run_raw(*args, code=1)
        self.assertIn("nan", p.words)
        self.assertEqual(read_npz(self.path("out.npz")), {})

    def test_output_not_creatable(self):
        for where in ("no/such/folder/out.npz", "/proc/out.npz"):
            self.check_fails(("esm2", "in.fasta", "--weights", test_cli.TINY, "-o", where), 73,
                             where)
        os.mkdir(self.path("dir.npz"))
        self.check_fails(("esm2", "in.fasta", "--weights", test_cli.TINY, "-o", "dir.npz"), 73,
                         "dir.npz")

    def test_older_output_survives_a_failure(self):
        self.write("out.npz", "older")
        self.write("bad.fasta", ">a\nMKT\n>a\nMKT\n")
        self.run_tiny("esm2", "bad.fasta", "-o", "out.npz", code=65)
        self.assertEqual(open(self.path("out.npz")).read(), "older")
        self.run_tiny("esm2", "in.fasta", "-o", "out.npz", "--resume=no")
        self.assertEqual(len(read_npz(self.path("out.npz"))), 3)


# ---- the system: pipes, disks, signals ----

class System(Case):
    def setUp(self):
        super().setUp()
        self.many = self.write("many.fasta", "".join(f">r{i}\nMKTAYIAKQRQISFVKSHFSRQ\n"
                                                     for i in range(300)))

    def test_closed_pipe(self):
        for args in (("esm2", "many.fasta", "--format", "tsv"),
                     ("score", "esm2", "many.fasta", "--method", "wt-marginals")):
            p = subprocess.Popen([test_cli.EXE, *args, "--weights", test_cli.TINY],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir,
                                 env=self.env())
            self.assertTrue(p.stdout.readline())
            p.stdout.close()
            words = p.stderr.read()
            p.stderr.close()
            self.assertEqual(p.wait(600), 141, words)

    def test_full_stdout(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for args in (("devices",), ("--help",),
                     ("esm2", "in.fasta", "--format", "tsv", "--weights", test_cli.TINY),
                     ("score", "esm2", "in.fasta", "--method", "wt-marginals", "--weights",
                      test_cli.TINY)):
            with open("/dev/full", "wb") as full:
                p = subprocess.run([test_cli.EXE, *args], stdout=full, stderr=subprocess.PIPE,
                                   cwd=self.dir, env=self.env(), timeout=600)
            self.assertEqual(p.returncode, 74, (args, p.stderr))

    def full_disk(self, folder, **more):
        for name in ("out.npz", "out.safetensors", "out.jsonl", "out.npy", "out.tsv"):
            p = subprocess.run([test_cli.EXE, "esm2", self.many, "--weights", test_cli.TINY,
                                "--include", "mean" if name[4:] in ("npy", "tsv")
                                else "per-residue", "-o", os.path.join(folder, name)],
                               capture_output=True, env=self.env(), timeout=600, **more)
            self.assertEqual(p.returncode, 74, (name, p.stderr))
            self.assertIn(name, p.stderr.decode())
            self.assertNotIn(name, os.listdir(folder))
            shutil.rmtree(os.path.join(folder, name + ".part"), ignore_errors=True)
            self.assertEqual(os.listdir(folder), [], name)

    def test_file_size_limit(self):
        os.mkdir(self.path("small"))
        self.full_disk(self.path("small"), preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (64 << 10, 64 << 10)))

    def test_full_disk(self):
        os.mkdir(self.path("disk"))
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", self.path("disk")],
                              capture_output=True) if shutil.which("mount") else None
        if not done or done.returncode:
            self.skipTest("cannot mount a small disk")
        self.addCleanup(subprocess.run, ["umount", self.path("disk")], capture_output=True)
        self.full_disk(self.path("disk"))

    def run_limited(self, args, limit):
        """Status and words under a limit: all results, the output complete, or a documented
        refusal."""
        p = subprocess.run([test_cli.EXE, *args], capture_output=True, cwd=self.dir, timeout=600,
                           env=self.env(), preexec_fn=limit)
        words = p.stderr.decode(errors="replace")
        self.assertIn(p.returncode, (0, 71), (args, words))
        self.assertIn("bioinfer: ", words)
        return p.returncode

    def threads_few(self, limit, n_threads="32"):
        """How many of these kinds of work were done to the end."""
        backbone = os.path.join(test_cli.ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
        runs = (("esm2", self.many, "--weights", test_cli.TINY, "--include", "per-residue,contacts",
                 "--format", "npz"),
                ("score", "esm2", self.fasta, "--weights", test_cli.TINY, "--method", "pppl"),
                ("proteinmpnn", backbone, "--num-seq", "2"),
                ("align", self.fasta, self.many, "--matrix", "BLOSUM62", "--all-vs-all", "--format",
                 "sam"))
        done = 0
        for args in runs:
            args = (*args, "--threads", n_threads, "-o")
            self.run_raw(*args, "all.out")
            if not self.run_limited((*args, "few.out"), limit):
                self.assertEqual(open(self.path("few.out"), "rb").read(),
                                 open(self.path("all.out"), "rb").read())
                done += 1
            for name in os.listdir(self.dir):
                if name.startswith(("few.out", "all.out")):
                    path = self.path(name)
                    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        return done

    @unittest.skipIf(SANITIZED, "sanitizers take address space of their own")
    def test_memory_of_a_long_record(self):
        """A record that no session takes is not gathered, however small it is as gzip: 96 MB of
        residues here, in 120 MiB."""
        self.write("long.fa.gz",
                   gzip.compress(b">a\nMKTAY\n>long\n" + b"A" * (96 << 20) + b"\n>b\nGW\n", 1))
        weights = os.path.join(test_cli.ROOT, "tests", "golden", "esm2", "hf-d16")
        for command, name in (("esm2",), "x.npz"), (("score", "esm2", "--method", "pppl"), "x.tsv"):
            p = self.run_raw(*command, "long.fa.gz", "--weights", weights, "--threads", "1", "-o",
                             name, code=1,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                   (120 << 20, 120 << 20)))
            self.assertIn("more than 1048576 residues", p.words)
        self.assertEqual(list(read_npz(self.path("x.npz"))), ["a", "b"])

    def test_few_processes(self):
        """A limit of processes, as containers have it: it binds those that are not root."""
        os.chmod(self.dir, 0o777)

        def limit(n):
            resource.setrlimit(resource.RLIMIT_NPROC, (n, n))
            os.setgid(65534)
            os.setuid(54321)
        if os.getuid():
            self.skipTest("not root")
        try:  # one that is not root cannot enter /root, where the build may lie
            subprocess.run([test_cli.EXE, "--version"], capture_output=True, check=True,
                           preexec_fn=lambda: limit(1))
        except (PermissionError, subprocess.CalledProcessError) as e:
            self.skipTest(f"others than root cannot run the build: {e}")
        self.assertGreaterEqual(self.threads_few(lambda: limit(1)), 3)
        self.assertEqual(self.threads_few(lambda: limit(4)), 4)

    def test_few_open_files(self):
        """A run with few file descriptors ends well, or with 71 and the system's words: it is not
        the weights or the input that are at fault."""
        codes = set()
        for n in range(4, 16):
            for i, args in enumerate((("esm2", self.fasta), ("esm2", self.fasta, "--resume=no"),
                                      ("align", self.fasta, self.fasta),
                                      ("score", "esm2", self.fasta, "--method", "pppl"))):
                weights = () if args[0] == "align" else ("--weights", test_cli.TINY)
                p = subprocess.run(
                    [test_cli.EXE, *args, *weights, "--threads", "1", "-o", f"files{n}.{i}.tsv"],
                    capture_output=True, cwd=self.dir, env=self.env(),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
                if p.returncode == 127:  # the loader of programs, for a shared library
                    continue
                words = p.stderr.decode()
                self.assertIn(p.returncode, (0, 71), (n, args, words))
                self.assertEqual("Too many open files" in words, p.returncode == 71, words)
                self.assertNotIn("out of memory", words)
                codes.add(p.returncode)
        self.assertEqual(codes, {0, 71})

    @unittest.skipIf(SANITIZED, "sanitizers take more address space")
    def test_little_address_space(self):
        for mib, n_threads in (400, "32"), (200, "64"):
            limit = (mib << 20,) * 2
            self.assertEqual(self.threads_few(lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
                                              n_threads), 4)

    def start_long(self, *more):
        text = open(os.path.join(test_cli.TINY, "heldout.fasta")).read()
        with open(self.path("long.fasta"), "w") as f:
            for i in range(40):
                f.write(text.replace(">", f">{i}_"))
        p = subprocess.Popen([test_cli.EXE, "esm2", "long.fasta", "--weights", test_cli.TINY, "-o",
                              "out.npz", "--include", "per-residue", *more],
                             cwd=self.dir, stderr=subprocess.PIPE, env=self.env())
        self.addCleanup(p.stderr.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        deadline = time.monotonic() + 60
        journal = self.path("out.npz.part/journal")
        while not (os.path.exists(journal) and
                   os.path.getsize(journal)) and time.monotonic() < deadline:
            self.assertIsNone(p.poll(), "ended too early")
            time.sleep(0.02)
        return p

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            p = self.start_long()
            p.send_signal(number)
            start = time.monotonic()
            self.assertEqual(p.wait(120), 128 + number)
            self.assertLess(time.monotonic() - start, 60 if SANITIZED else 10)
            words = p.stderr.read().decode()
            self.assertIn("stopped", words)
            self.assertRegex(words, r"out\.npz\.part keeps \d+ records; --resume")
            self.assertNotIn("out.npz", self.files())
            shutil.rmtree(self.path("out.npz.part"))

    def test_progress_on_a_terminal(self):
        try:
            master, slave = pty.openpty()
        except OSError as e:  # a bare root without /dev/pts
            self.skipTest(f"no pseudo-terminals: {e}")
        p = subprocess.Popen([test_cli.EXE, "esm2",
                              os.path.join(test_cli.TINY, "golden", "sequences.fasta"), "-o",
                              "out.npz", "--weights", test_cli.TINY, "--batch-tokens", "256"],
                             cwd=self.dir, stderr=slave, env=self.env())
        os.close(slave)
        words = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not more:
                break
            words += more
        os.close(master)
        self.assertEqual(p.wait(600), 0, words)
        self.assertRegex(words, rb"\r\x1b\[K\d+ records, \d+ residues/s, \d+ %, \d:\d\d:\d\d left")
        self.assertRegex(words, rb"\r\x1b\[Kbioinfer: 12 records")
        told = [(int(n), int(share))
                for n, share in re.findall(rb"(\d+) records, .*?, (\d+) %", words)]
        self.assertTrue(all(share < 100 for n, share in told if n < 12), told)
        self.assertEqual(told, sorted(told))

    def test_second_signal(self):
        p = self.start_long()
        for _ in range(100):
            if p.poll() is not None:
                break
            p.send_signal(signal.SIGINT)
            time.sleep(0.01)
        self.assertEqual(p.wait(5), 130)
        self.assertNotIn("out.npz", self.files())

    def test_closed_streams(self):
        for args, closed, code in (("esm2 in.fasta -o out.npz", "<&- 2>&-", 0),
                                   ("esm2 in.fasta -o out.npz", "<&- >&- 2>&-", 0),
                                   ("esm2 in.fasta --format tsv", ">&-", 74)):
            p = subprocess.run(f'exec "{test_cli.EXE}" {args} --weights "{test_cli.TINY}" {closed}',
                               shell=True, cwd=self.dir, env=self.env(), timeout=600,
                               stderr=subprocess.PIPE)
            self.assertEqual(p.returncode, code, (args, closed, p.stderr))
            if not code:
                self.assertEqual(len(read_npz(self.path("out.npz"))), 3)

    def test_output_to_null(self):
        self.run_tiny("score", "esm2", "in.fasta", "--method", "pppl", "-o", "/dev/null")
        self.assertTrue(os.path.exists("/dev/null"))


if __name__ == "__main__":
    test_cli.EXE, test_cli.ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    test_cli.TINY = os.path.join(test_cli.ROOT, "share", "bioinfer-tiny")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, warnings="ignore")
