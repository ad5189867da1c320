#!/usr/bin/env python3
"""test_protenix.py BIOINFER SOURCE_ROOT - Protenix by the command, with small random weights.

Programs are compared with the network in NumPy by the tests "protenix base", "v2" and "mini". Needs
NumPy, which makes the weights by the formula of tools/golden_protenix.py.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = sys.argv[1:3]
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True
try:
    import golden_protenix
except ImportError:
    print("no NumPy")
    sys.exit(77)

PROTEIN = {"proteinChain": {"sequence": "MKWGARV", "count": 2}}
JOBS = [{"name": "mixed", "modelSeeds": [3, 4],
         "sequences": [PROTEIN, {"dnaSequence": {"sequence": "GAT", "count": 1}},
                       {"ligand": {"ligand": "CCD_ATP", "count": 1}},
                       {"ion": {"ion": "MG", "count": 1}}]},
        {"name": "smiles", "sequences": [{"ligand": {"ligand": "CCO", "count": 1}}]},
        {"name": "unknown", "sequences": [{"ligand": {"ligand": "CCD_ZZZZZ", "count": 1}}]},
        {"name": "key", "sequences": [{"proteinChain": {"sequence": "MK", "count": 1, "no": 1}}]},
        {"name": "small", "sequences": [{"proteinChain": {"sequence": "GASP", "count": 1}}]}]


class Protenix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weights = tempfile.TemporaryDirectory()
        names = sorted(golden_protenix.tensors(golden_protenix.CASES["base"]))
        golden_protenix.save(os.path.join(cls.weights.name, "base.safetensors"), {
            "module." + name: golden_protenix.weight(name, shape, p)
            for p, (name, shape) in enumerate(names)})

    @classmethod
    def tearDownClass(cls):
        cls.weights.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def fold(self, jobs, out, *args, code=0):
        name = self.path("in.fasta" if isinstance(jobs, str) else "in.json")
        with open(name, "w", encoding="ascii") as file:
            file.write(jobs if isinstance(jobs, str) else json.dumps(jobs))
        p = subprocess.run([EXE, "protenix", name, "-o", self.path(out), "--weights",
                            os.path.join(self.weights.name, "base.safetensors"), "--device", "cpu",
                            "--samples", "2", "--steps", "3", "--cycles", "1", *args],
                           capture_output=True)
        self.assertEqual(p.returncode, code, p.stderr[-1500:])
        return p.stderr.decode()

    def files(self, out):
        found = {}
        for name in sorted(os.listdir(self.path(out))):
            with open(os.path.join(self.path(out), name), "rb") as file:
                found[name] = file.read()
        return found

    def test_jobs(self):
        """Each bad job is named with its reason; workers and shards give the same bytes."""
        said = self.fold(JOBS, "all", "--include", "pae", code=1)
        for words in ("smiles: no structure: unsupported", "unknown: no structure: not_found",
                      "key: no structure: bad_format"):
            self.assertIn(words, said)
        whole = self.files("all")
        self.assertEqual(len(whole), 1 + 3 * 2 * 3)
        self.fold(JOBS, "workers", "--include", "pae", "--workers", "2", code=1)
        self.assertEqual(self.files("workers"), whole)
        for shard in ("2/2", "1/2"):
            self.fold(JOBS[::4], "shards", "--include", "pae", "--shard", shard)
        subprocess.run([EXE, "merge", self.path("shards"), "-q"], check=True)
        self.assertEqual(self.files("shards"), whole)
        self.fold(JOBS[4:], "alone", "--include", "pae", "--threads", "1")
        for name, data in self.files("alone").items():
            if name != "scores.tsv":
                self.assertEqual(data, whole[name])

    def test_files(self):
        """All kinds of chains, and scores by the published keys."""
        self.fold(JOBS[:1], "x", "--seeds", "7")
        files = self.files("x")
        self.assertEqual(sorted(files), ["mixed_seed-7_sample-%d.%s" % (k, end) for k in (0, 1)
                                         for end in ("cif", "json")] + ["scores.tsv"])
        text = files["mixed_seed-7_sample-0.cif"].decode()
        rows = [line.split() for line in text.splitlines() if line[:4] in ("ATOM", "HETA")]
        self.assertEqual(sorted({row[6] for row in rows}), list("ABCDE"))
        self.assertEqual({row[5] for row in rows if row[0] == "HETATM"}, {"ATP", "MG"})
        self.assertIn("polydeoxyribonucleotide", text)
        score = json.loads(files["mixed_seed-7_sample-0.json"])
        self.assertEqual(len(score["chain_pair_iptm"]), 5)
        self.assertAlmostEqual(score["ranking_score"], 0.8 * score["iptm"] + 0.2 * score["ptm"] -
                               100 * score["has_clash"], places=6)
        self.assertAlmostEqual(score["plddt"], sum(float(row[14]) for row in rows) / len(rows),
                               delta=0.01)

    def test_letters(self):
        """Chains of letters are the job of the same proteins."""
        self.fold(">small\nGASP\n", "letters")
        self.fold(JOBS[4:], "job")
        self.assertEqual(self.files("letters"), self.files("job"))
        self.assertIn("looks like DNA", self.fold(">x\n%s\n" % ("ACGT" * 5), "no", code=1))

    def test_memory(self):
        said = self.fold(">large\n%s\n" % ("GASP" * 150), "no", "--memory-limit", "40", code=1)
        self.assertRegex(said, r"record 'large': 600 tokens need [0-9.]+ MiB beside the weights")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
