#!/usr/bin/env python3
"""test_esmfold2.py BIOINFER SOURCE_ROOT - ESMFold2 by the command, with small random weights.

What it computes is compared with the published program by the test "esmfold2 tiny". Standard
library only.
"""
import json
import math
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = sys.argv[1:3]
WEIGHTS = os.path.join(ROOT, "tests", "golden", "esmfold2", "tiny")
RECORDS = (("one", "MKXGWHRVCE"), ("two", "MKWGA:WH:MKWGA"), ("single", "G"),
           ("letters", "ACDEFGHIKLMNPQRSTVWYBZ"))

ONE = "_seed-0_sample-0"  # in names of files; the weights ask for one structure


class ESMFold2(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def fold(self, records, out, *args, code=0, weights=WEIGHTS, limit=None):
        if "--resume" not in args:
            with open(self.path(out + ".fasta"), "w", encoding="ascii") as file:
                file.writelines(">%s\n%s\n" % record for record in records)
        p = subprocess.run([EXE, "esmfold2", self.path(out + ".fasta"), "-o", self.path(out),
                            "--weights", weights, "--device", "cpu", *args], capture_output=True,
                           preexec_fn=limit)
        if code is not None:
            self.assertEqual(p.returncode, code, p.stderr[-1500:])
        return p.stderr.decode()

    def data(self, out, name):
        with open(os.path.join(self.path(out), name), "rb") as file:
            return file.read()

    def scores(self, out):
        lines = [line.split("\t") for line in self.data(out, "scores.tsv").decode().splitlines()]
        return {line[0]: dict(zip(lines[0], line)) for line in reversed(lines[1:])}

    def rows(self, out):
        lines = [line.split("\t") for line in self.data(out, "scores.tsv").decode().splitlines()]
        return [dict(zip(lines[0], line)) for line in lines[1:]]

    def files(self, out):
        return {name: self.data(out, name) for name in sorted(os.listdir(self.path(out)))}

    def changed(self, name, change, tensors="model.safetensors"):
        """A copy of the weights, with another config.json."""
        os.mkdir(self.path(name))
        shutil.copy(os.path.join(WEIGHTS, tensors), self.path(name))
        with open(os.path.join(WEIGHTS, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        change(config)
        with open(os.path.join(self.path(name), "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.path(name)

    def test_same_alone_and_in_company(self):
        self.fold(RECORDS, "all", "--include", "plddt,pae", "--threads", "2")
        for record in RECORDS:
            self.fold([record], record[0], "--include", "plddt,pae", "--threads", "1")
            for end in (ONE + ".cif", ONE + ".npz"):
                self.assertEqual(self.data("all", record[0] + end),
                                 self.data(record[0], record[0] + end))

    def test_atoms(self):
        self.fold(RECORDS[:1], "x")
        atoms = [line.split() for line in self.data("x", "one" + ONE + ".cif").decode().splitlines()
                 if line.startswith("ATOM")]
        self.assertEqual(len(atoms), 82)
        self.assertEqual([a[3] for a in atoms if "UNK" in a], ["N", "CA", "C", "O"])

    def test_samples(self):
        """As many as the weights ask for, or the option; files and rows of all, the best first."""
        def ask(config):
            config["structure_head"]["num_diffusion_samples"] = 5
        self.fold(RECORDS, "asked", weights=self.changed("ask", ask))
        said = self.fold(RECORDS, "five", "--samples", "5", "--include", "plddt,pae")
        self.assertIn("20 structures in", said)
        self.assertEqual(self.data("asked", "scores.tsv"), self.data("five", "scores.tsv"))
        rows = self.rows("five")
        self.assertEqual([row["id"] for row in rows],
                         [record[0] for record in RECORDS for _ in range(5)])
        for name, text in RECORDS:
            of = [row for row in rows if row["id"] == name]
            self.assertEqual(sorted(row["sample"] for row in of), list("01234"))
            ptm = [float(row["ptm"]) for row in of]
            self.assertEqual(ptm, sorted(ptm, reverse=True))
            self.assertTrue(ptm[0] > ptm[-1] or len(text) == 1)
            self.assertEqual({row["seed"] for row in of}, {"0"})
            self.assertEqual([bool(row["iptm"]) for row in of], [":" in text] * 5)
        parts = ["_seed-0_sample-%d" % k for k in range(5)]
        self.assertEqual(sorted(self.files("five")), sorted(
            [record[0] + part + end for record in RECORDS for part in parts
             for end in (".cif", ".npz")] + ["scores.tsv"]))
        self.assertEqual(len({self.data("five", "two%s.cif" % part) for part in parts}), 5)
        self.assertEqual(len({self.data("five", "two%s.npz" % part) for part in parts}), 5)
        with open(self.path("five.manifest.tsv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1 + len(RECORDS))

    def test_draws(self):
        """A sample is the same whatever else is asked for: other samples, seeds or records."""
        self.fold(RECORDS, "all", "--samples", "4", "--seeds", "0,7,9000000000000000000")
        every = self.files("all")
        self.assertEqual(len(every), 1 + 4 * 3 * len(RECORDS))
        self.fold(RECORDS[1:2], "few", "--samples", "2", "--seed", "7", "--threads", "1")
        few = self.files("few")
        self.assertEqual(len(few), 3)
        for name, data in few.items():
            if name != "scores.tsv":
                self.assertEqual(data, every[name])
        self.assertLess({tuple(row.items()) for row in self.rows("few")},
                        {tuple(row.items()) for row in self.rows("all")})
        self.assertNotEqual(every["one_seed-0_sample-0.cif"], every["one_seed-7_sample-0.cif"])
        ptm = [float(row["ptm"]) for row in self.rows("all")[:12]]
        self.assertEqual(ptm, sorted(ptm, reverse=True))

    def test_jobs(self):
        """Workers, shards and their merge, and a run that is gone on with give the same bytes."""
        options = ("--samples", "3", "--seeds", "1,2", "--include", "plddt,pae,coordinates")
        self.fold(RECORDS, "whole", *options)
        whole = self.files("whole")
        self.assertEqual(len(whole), 1 + 2 * 6 * len(RECORDS))
        self.fold(RECORDS, "workers", *options, "--workers", "2")
        self.assertEqual(self.files("workers"), whole)
        for shard in ("2/2", "1/2"):
            self.fold(RECORDS, "shards", *options, "--shard", shard)
        subprocess.run([EXE, "merge", self.path("shards"), "-q"], check=True)
        self.assertEqual(self.files("shards"), whole)
        self.assertEqual(self.data(".", "shards.manifest.tsv"),
                         self.data(".", "whole.manifest.tsv"))
        self.fold(RECORDS, "cut", *options, "--shard", "1/1")
        journal = os.path.join(self.path("cut.part-1-of-1"), "journal")
        done = []
        for share in (0.2, 0.5, 0.95):  # a crash, also between samples of a record
            with open(journal, "r+b") as file:
                file.truncate(int(share * os.path.getsize(journal)))
            said = self.fold(RECORDS, "cut", *options, "--shard", "1/1", "--resume")
            done.append(int(said.split(" structures in")[0].split()[-1]))
        self.assertEqual(done, sorted(done, reverse=True))
        self.assertTrue(24 >= done[0] > done[-1] > 0)
        subprocess.run([EXE, "merge", self.path("cut"), "-q"], check=True)
        self.assertEqual(self.files("cut"), whole)

    def test_steps(self):
        self.fold(RECORDS[:1], "usual")
        for steps, same in ((14, True), (15, False), (1, False)):
            self.fold(RECORDS[:1], "s%d" % steps, "--steps", str(steps))
            self.assertEqual(self.data("usual", "scores.tsv") ==
                             self.data("s%d" % steps, "scores.tsv"), same)

    def test_aliases(self):
        self.fold(RECORDS[:1], "plain", "--cycles", "2", "--seeds", "3")
        for i, name in enumerate(("--loops", "--recycles")):
            self.fold(RECORDS[:1], "a%d" % i, name, "2", "--seed", "3")
            self.assertEqual(self.files("plain"), self.files("a%d" % i))

    def test_numbers(self):
        for args, words in ((("--samples", "0"), "from 1 to"), (("--samples", "x"), "--samples"),
                            (("--steps", "0"), "from 1 to 1000"), (("--steps", "1001"), "--steps"),
                            (("--seeds", "-1"), "--seeds"), (("--seed", "1,"), "--seed"),
                            (("--seeds", "4,4"), "seed 4 is given twice"),
                            (("--samples", "4096", "--seeds", "1,2"), "4096 structures"),
                            (("--loops", "1001"), "--loops")):
            self.assertIn(words, self.fold(RECORDS[:1], "no", *args, code=64), args)

    def test_passes(self):
        self.fold(RECORDS[:1], "usual")
        for cycles, same in ((1, True), (0, False), (2, False)):
            self.fold(RECORDS[:1], "c%d" % cycles, "--cycles", str(cycles))
            name = "one" + ONE + ".cif"
            self.assertEqual(self.data("usual", name) == self.data("c%d" % cycles, name), same)

    def test_bad_records(self):
        """Each bad record is named with its reason, and costs the others nothing."""
        bad = {"none": ("", "empty", "no residues"),
               "two_colons": ("MKW::WH", "empty", "chain 2 has no residues"),
               "colons": ("::", "empty", "chain 1 has no residues"),
               "last": ("MKW:", "empty", "chain 2 has no residues"),
               "stop": ("MKW*", "bad_residue", "chain 1, residue 4 is '*'"),
               "digit": ("MKW:M7", "bad_residue", "character '7'"),
               "dna": ("ACGT" * 5, "bad_residue", "looks like DNA or RNA"),
               "rna": ("MKW:" + "acgu" * 6, "bad_residue", "chain 2, of 24 letters, looks like"),
               "pairs": ("M" * 46341, "too_long", "more pairs than are counted")}
        good = [("single", "G"), ("upper", "MKWUBZOJX"), ("lower", "mkwubzojx"),
                ("unknown", "MKWXXXXXX"), ("short_bases", "ACGTACGT")]
        said = self.fold([(name, text) for name, (text, _, _) in bad.items()] + good, "bad",
                         "--format", "pdb", code=1)
        self.assertEqual(sorted(self.files("bad")),
                         sorted([name + ONE + ".pdb" for name, _ in good] + ["scores.tsv"]))
        lines = self.data(".", "bad.manifest.tsv").decode().splitlines()
        found = {line.split("\t")[1]: line.split("\t") for line in lines[1:]}
        for name, (_, status, words) in bad.items():
            self.assertEqual(found[name][3], status, name)
            self.assertIn(words, found[name][5])
            self.assertIn(name + ": no structure: ", said)
        atoms = {name: [line for line in self.data("bad", name + ONE + ".pdb").decode().splitlines()
                        if line.startswith("ATOM")] for name, _ in good}
        self.assertEqual(atoms["upper"], atoms["lower"])
        self.assertEqual([a[12:26] for a in atoms["upper"]], [a[12:26] for a in atoms["unknown"]])
        self.assertEqual(len([a for a in atoms["upper"] if a[17:20] == "UNK"]), 6 * 4)
        self.assertEqual([a[12:16].strip() for a in atoms["single"]], ["N", "CA", "C", "O"])

    def test_chains_of_files(self):
        """PDB names 62 chains, and mmCIF any number."""
        most, more = ":".join(["GG"] * 62), ":".join(["G"] * 63)
        said = self.fold([("most", most), ("more", more)], "pdb", "--format", "pdb", code=1)
        self.assertIn("more: no structure: limit: ", said)
        self.assertIn("63 chains", said)
        self.assertEqual(list(self.files("pdb")), ["most" + ONE + ".pdb", "scores.tsv"])
        atoms = [line for line in self.data("pdb", "most" + ONE + ".pdb").decode().splitlines()
                 if line.startswith("ATOM")]
        self.assertEqual(len({line[21] for line in atoms}), 62)
        self.fold([("more", more)], "cif")
        self.assertEqual(len(self.rows("cif")[0]["chains"].split(",")), 63)

    def test_atoms_of_files(self):
        """PDB numbers 99,999 atoms and residues up to 9999; nothing is computed beyond."""
        for name, text, words in (("atoms", ":".join(["W" * 3000] * 3), "126000 atoms"),
                                  ("residues", "S" * 10000, "10000 residues")):
            said = self.fold([(name, text), ("good", "G")], name, "--format", "pdb", code=1)
            self.assertIn(name + ": no structure: limit: ", said)
            self.assertIn(words, said)
            self.assertEqual(list(self.files(name)), ["good" + ONE + ".pdb", "scores.tsv"])

    def test_long_record(self):
        """One that memory does not hold is told how much it needs."""
        said = self.fold([("long", "M" * 5000), ("good", "G")], "long", "--memory-limit", "64",
                         code=1)
        self.assertRegex(said, r"long: no structure: .* MiB beside the weights, 64.0 MiB are")
        self.assertEqual(list(self.files("long")), ["good" + ONE + ".cif", "scores.tsv"])

    @unittest.skipIf(os.environ.get("BIOINFER_SANITIZED") == "1", "sanitizers take address space")
    def test_memory_of_samples(self):
        """A record whose structures have no place costs itself alone."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        said = self.fold([("many", "M" * 5000), ("good", "GW")], "many", "--samples", "100",
                         "--threads", "1", code=1, limit=limit)
        self.assertIn("many: no structure: oom: ", said)
        self.assertIn("no memory for structures, 100 of them", said)
        self.assertEqual(len(self.rows("many")), 100)

    def test_equal_ids(self):
        said = self.fold([("a", "MKW"), ("a", "WH")], "twice", code=65)
        self.assertIn("'a'", said)
        self.assertFalse(os.path.exists(self.path("twice")))
        self.fold([("a", "MKW"), ("a", "WH")], "both", "--dup-ids", "suffix", "--samples", "2")
        self.assertEqual(list(self.files("both")), ["a_2_seed-0_sample-0.cif",
                                                    "a_2_seed-0_sample-1.cif",
                                                    "a_seed-0_sample-0.cif",
                                                    "a_seed-0_sample-1.cif", "scores.tsv"])

    def test_in_parts(self):
        """Where memory does not hold all pairs at once, parts of them give the same bytes."""
        record = [("x", "MKWGARVCEDHHILWSTQNP" * 6)]
        options = ("--steps", "2", "--cycles", "1", "--include", "plddt,pae", "--profile")
        whole = self.fold(record, "whole", *options)
        self.assertNotIn("put_rows", whole)
        limit = "1"
        for _ in range(4): # A refusal tells how much it needs.
            shutil.rmtree(self.path("parts"), ignore_errors=True)
            said = self.fold(record, "parts", *options, "--memory-limit", limit, code=None)
            refused = re.search(r"need ([0-9]+)[.0-9]* MiB", said)
            limit = str(int(refused.group(1)) + 1) if refused else limit
        self.assertFalse(refused)
        self.assertIn("put_rows", said)
        self.assertEqual(self.files("whole"), self.files("parts"))

    def test_other_weights(self):
        other = os.path.join(ROOT, "tests", "golden", "esmfold", "tiny")
        self.assertIn("no esmfold2 weights", self.fold(RECORDS, "other", code=78, weights=other))
        with open(self.path("x.fasta"), "w", encoding="ascii") as file:
            file.write(">x\nMKW\n")
        for family in ("esmfold", "esmc", "flashabb"):
            p = subprocess.run([EXE, family, self.path("x.fasta"), "-o", self.path("x.npz")
                                if family == "esmc" else self.path("x"), "--weights", WEIGHTS],
                               capture_output=True)
            self.assertEqual(p.returncode, 78, p.stderr)
            self.assertIn("no %s weights" % family, p.stderr.decode())

    def test_nan(self):
        """A number that is not finite costs the record, and is found where it is looked for."""
        for i, (tensor, words) in enumerate((
                ("structure_head.atom_decoder.output_linear.weight", "not finite"),
                ("confidence_head.plddt_layernorm.bias", "not finite"),
                ("confidence_head.pae_head.weight", "not finite"))):
            weights = self.changed("nan%d" % i, lambda config: None)
            path = os.path.join(weights, "model.safetensors")
            with open(path, "r+b") as file:
                size, = struct.unpack("<Q", file.read(8))
                at = json.loads(file.read(size))[tensor]["data_offsets"][0]
                file.seek(8 + size + at)
                file.write(struct.pack("<f", math.nan))
            said = self.fold(RECORDS[:1], "n%d" % i, weights=weights, code=1)
            self.assertIn("one: no structure: nan: sample 1: ", said)
            self.assertIn(words, said)
            self.assertEqual(list(self.files("n%d" % i)), ["scores.tsv"])
            said = self.fold(RECORDS[:1], "c%d" % i, "--check-weights", weights=weights, code=78)
            self.assertIn(tensor, said)

    def test_refusals(self):
        def put(*path):
            def change(config):
                for key in path[:-2]:
                    config = config[key]
                config[path[-2]] = path[-1]
            return change
        for i, (code, change, words) in enumerate((
                (78, put("type", "experimental"), "type is 'experimental'"),
                (78, put("lm_mask_pct", 0.1), "lm_mask_pct is 0.1, expected 0"),
                (78, put("folding_trunk_num_hidden_layers", 3), "the trunk has 2 layers"),
                (78, put("lm_encoder", "per_loop_lm_dropout", False),
                 "per_loop_lm_dropout is 0"),
                (78, put("esmc_config", "num_hidden_layers", 3), "3 layers, the file has 2"),
                (78, put("pairwise_hidden_size", 32), "expected [32"),
                (78, put("structure_head", "inference_num_steps", 1), "expected 2 to 1000"))):
            said = self.fold(RECORDS[:1], "r%d" % i, weights=self.changed("w%d" % i, change),
                             code=code)
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
