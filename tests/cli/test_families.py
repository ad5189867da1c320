#!/usr/bin/env python3
"""test_families.py BIOINFER SOURCE_ROOT - letters and refusals of families (docs/models.md).

Their numbers are tested against the references in tests/golden. Standard library only.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_tuned import edit_json
from test_weights import drop

EXE = ROOT = None


class Family(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-families-")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def golden(self, name):
        return os.path.join(ROOT, "tests", "golden", name)

    def copy(self, name):
        return shutil.copytree(self.golden(name), self.path("w"), dirs_exist_ok=True)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write(text)

    def run_command(self, *args, code=0):
        done = subprocess.run(
            [EXE, *args], capture_output=True, text=True, check=False, cwd=self.dir
        )
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def rows(self, command, weights, fasta, *more, code=0):
        """({id: row of JSON Lines}, standard error)."""
        self.write("in.fasta", fasta)
        text, words = self.run_command(
            command,
            "in.fasta",
            "--weights",
            weights,
            "--format",
            "jsonl",
            "--json-floats",
            "--include",
            "per-residue",
            *more,
            code=code,
        )
        return {r["id"]: r for r in map(json.loads, text.splitlines())}, words

    def values(self, rows, key):
        return rows[key]["arrays"][0]["data"]

    def refused(self, text, command="embed", code=78):
        """The folder w is refused, and the message has `text`."""
        self.write("in.fasta", ">a\nMKV\n")
        words = self.run_command(
            command, "in.fasta", "--weights", "w", "--format", "jsonl", code=code
        )[1]
        self.assertIn(text, words)


class Settings(Family):
    """config.json: settings that change the meaning are obeyed, refused, or are the weights' own
    (docs/formats.md)."""

    def words(self, name, **change):
        """Standard error of a run with these settings; "" = it is the run without them."""
        folder = self.copy("saved/v5/" + name)
        self.write("in.fasta", ">a\nMKTAYIAKQR\n")
        family = {"esm2": "esm2", "prot": "protbert", "esmc": "esmc"}.get(name[:4])
        family = "prott5" if name.startswith("prott5") else family
        command = [EXE, family, "in.fasta", "--weights", folder, "--format", "jsonl", "--include",
                   "mean,logits" if name.endswith("-lm") else "mean", "--json-floats", "-q"]
        plain = subprocess.run(command, capture_output=True, text=True, check=True, cwd=self.dir)
        edit_json(os.path.join(folder, "config.json"), **change)
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.dir)
        if not done.returncode:
            self.assertEqual(done.stdout == plain.stdout, not done.stderr, (name, change))
            return done.stderr or "same"
        self.assertEqual(done.returncode, 78, (name, change, done.stderr))
        return done.stderr

    def test_what_is_refused(self):
        for name in "esm2-lm", "protbert-lm", "prott5-encoder", "esmc-lm":
            for change in ({"is_decoder": True}, {"add_cross_attention": True},
                           {"attention_bias": True}, {"mlp_bias": True},
                           {"pruned_heads": {"0": [1]}}, {"quantization_config": {"bits": 4}},
                           {"sliding_window": 16}, {"rope_scaling": {"factor": 2.0}},
                           {"rope_theta": 20000.0}, {"rope_theta": "10000"},
                           {"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
                           {"rope_parameters": {"rope_theta": 1e4, "rope_type": "yarn"}}):
                self.assertIn("which is not computed", self.words(name, **change), (name, change))
        for name in "esm2-lm", "protbert-lm", "esmc-lm":
            self.assertIn("num_key_value_heads is 7",
                          self.words(name, num_attention_heads=1, num_key_value_heads=7)
                          if name == "esmc-lm" else self.words(name, num_key_value_heads=7))
            self.assertIn("mask_token_id is 7, the vocabulary's is",
                          self.words(name, mask_token_id=7))
        for name, change in (("esm2-lm", {"hidden_act": "relu"}),
                             ("protbert-lm", {"hidden_act": "relu"}),
                             ("esmc-lm", {"hidden_act": "gelu"}),
                             ("prott5-encoder", {"feed_forward_proj": "gated-silu"}),
                             ("esm2-lm", {"position_embedding_type": "relative_key"}),
                             ("protbert-lm", {"position_embedding_type": "relative_key"}),
                             ("esm2-lm", {"emb_layer_norm_before": True}),
                             ("esm2-lm", {"num_hidden_layers": 3}),
                             ("protbert-lm", {"num_hidden_layers": 3}),
                             ("prott5-encoder", {"relative_attention_num_buckets": 16}),
                             ("esm2-lm", {"vocab_size": 30}), ("esm2-lm", {"hidden_size": 48})):
            self.assertNotEqual(self.words(name, **change), "same", (name, change))

    def test_what_changes_nothing(self):
        for name in "esm2-lm", "protbert-lm", "prott5-encoder", "esmc-lm":
            for change in ({"is_decoder": False, "rope_scaling": None, "pruned_heads": {}},
                           {"hidden_dropout_prob": 0.5, "dropout_rate": 0.5, "use_cache": False},
                           {"initializer_range": 9.0, "dtype": "bfloat16", "torch_dtype": "half"},
                           {"rope_theta": 10000}):
                self.assertEqual(self.words(name, **change), "same", (name, change))


class LearnedPositions(Family):
    """ESM-1b and ESM-1v."""

    def test_places_end(self):
        for family in "esm1b", "esm1v":
            rows, words = self.rows(
                family,
                self.golden(family + "/hf"),
                f">fits\n{'MK' * 38}\n>long\n{'MK' * 38}M\n",
                code=1,
            )
            self.assertIn("the model has places for 76", words)
            self.assertEqual(rows["fits"]["status"], "ok")
            self.assertEqual(rows["long"]["status"], "too_long")

    def test_padding_is_no_residue(self):
        rows, _ = self.rows(
            "esm1b",
            self.golden("esm1b/hf"),
            ">a\nMK<mask>V\n>b\nMK<pad>V\n",
            "--raw-residues",
            code=1,
        )
        self.assertEqual([rows[k]["status"] for k in "ab"], ["ok", "bad_residue"])

    def test_scores(self):
        """`score` prints what the reference computes."""
        scores = self.golden("esm1v/scores")
        with open(os.path.join(scores, "scores.json"), encoding="ascii") as f:
            want = json.load(f)
        for key, facts in want.items():
            self.write("wt.fasta", f">{key}\n{facts['sequence']}\n")
            self.write(
                "mutants.csv", "mutant\n" + "".join(m["mutant"] + "\n" for m in facts["mutants"])
            )
            for method in "masked-marginals", "wt-marginals":
                text, _ = self.run_command(
                    "score",
                    "esm1v",
                    "wt.fasta",
                    "--weights",
                    self.golden("esm1v/hf"),
                    "--mutations",
                    "mutants.csv",
                    "--method",
                    method,
                )
                table = list(csv.reader(text.splitlines()))
                self.assertEqual(len(table), 1 + len(facts["mutants"]))
                for row, m in zip(table[1:], facts["mutants"]):
                    self.assertEqual(row[0], m["mutant"])
                    self.assertAlmostEqual(float(row[-1]), m[method.replace("-", "_")], delta=1e-4)

    def test_windows(self):
        """Scores of long proteins are those of ProteinGym's program (tools/golden_windows.py)."""
        with open(self.golden("windows.json"), encoding="ascii") as f:
            cases = json.load(f)
        self.assertEqual(len(cases), 10)
        for case in cases:
            self.write("wt.fasta", f">wt\n{case['sequence']}\n")
            self.write("m.csv", "mutant\n" + "".join(m + "\n" for m in case["scores"]))
            command = ("score", case["family"], "wt.fasta", "--weights",
                       self.golden(case["weights"]), "--mutations", "m.csv", "--method",
                       case["method"])
            text, words = self.run_command(*command, "--window", str(case["window"]))
            table = list(csv.reader(text.splitlines()))[1:]
            self.assertEqual([row[0] for row in table], list(case["scores"]))
            for row in table:
                self.assertAlmostEqual(float(row[1]), case["scores"][row[0]], delta=2e-5,
                                       msg=(case["method"], case["window"], row))
            long = len(case["sequence"]) > case["window"]
            self.assertEqual("by ProteinGym's rule" in words, long)
            if case["family"] == "esm1v" and long:  # the table is refused whole without windows
                _, words = self.run_command(*command, code=65)
                self.assertIn("places for 76: --window 76 scores it in windows", words)
            if len(case["sequence"]) > 1022:
                _, words = self.run_command(*command)
                self.assertIn("1 of more than 1022 residues", words)
                self.assertIn("in one pass", words)
        for window, method, least in (
            ("1", "masked-marginals", 2),
            ("7", "wt-marginals", 8),
            ("1048577", "wt-marginals", 8),
        ):
            _, words = self.run_command(
                *command[:-1], method, "--window", window, code=64
            )
            self.assertIn(f"windows of {window} residues, expected {least} to 1048576", words)

    def test_windows_of_a_family(self):
        """Advice of windows names the places that the weights have, or the family's training, and
        is given where it helps."""
        def score(family, weights, n, *more, code=0):
            self.write("wt.fasta", f">wt\n{'MKTAYIAKQR' * (n // 10)}\n")
            return self.run_command("score", family, "wt.fasta", "--weights", self.golden(weights),
                                    "--method", "wt-marginals", *more, code=code)[1]

        for more in (), ("--workers", "1", "-o", self.path("x.tsv")):
            words = score("esm1v", "esm1v/hf", 90, *more, code=1)
            self.assertIn("--window 76 scores longer records in windows", words)
            words = score("esm1v", "esm1v/hf", 90, "--max-length", "80", *more, code=1)
            self.assertNotIn("windows", words)
            words = score("esmc", "esmc/split", 2040, *more)
            self.assertNotIn("--window", words)
            words = score("esmc", "esmc/split", 2050, *more)
            self.assertIn("1 of more than 2046 residues: in one pass (--window 2046:", words)
            words = score("protbert", "protbert/pretraining", 1030, *more, code=1)
            self.assertIn("--window 94 scores longer", words)
        words = score("esm1v", "esm1v/hf", 90, "--window", "77", code=64)
        self.assertIn("windows of 77 residues, the model has places for 76", words)

    def test_rows_of_windows(self):
        """Windows without a position that is asked for are not computed, and change nothing."""
        with open(self.golden("windows.json"), encoding="ascii") as f:
            case = [c for c in json.load(f) if c["window"] == 38][0]
        self.write("wt.fasta", f">wt\n{case['sequence']}\n")
        for mutant, score in case["scores"].items():
            self.write("m.csv", f"mutant\n{mutant}\n")
            text, words = self.run_command(
                "score", "esm2", "wt.fasta", "--weights", self.golden(case["weights"]),
                "--mutations", "m.csv", "--method", "wt-marginals", "--window", "38", "--profile")
            self.assertAlmostEqual(float(text.split(",")[-1]), score, delta=2e-5, msg=mutant)
            n = mutant.count(":") + 1
            tokens = int(re.search(f"1 records, {n} residues, (\\d+) tokens", words)[1])
            self.assertIn(tokens, [40 * i for i in range(1, 3 * n + 1)], msg=mutant)
        _, words = self.run_command(
            "score", "esm2", "wt.fasta", "--weights", self.golden(case["weights"]), "--method",
            "wt-marginals", "--window", "38", "--profile")
        self.assertIn(f"1 records, {len(case['sequence'])} residues, ", words)

    def test_members_are_averaged(self):
        """docs/models.md: a column for each member, and their mean."""
        self.write("wt.fasta", ">a\nMKVLAW\n")
        self.write("scores.csv", "mutant\nM1A\nK2R:L4A\n")
        columns = []
        for member in "esm1v/hf", "esm1b/hf":
            self.write(
                "one.csv",
                self.run_command(
                    "score",
                    "esm1v",
                    "wt.fasta",
                    "--weights",
                    self.golden(member),
                    "--mutations",
                    "scores.csv",
                    "--method",
                    "masked-marginals",
                )[0],
            )
            shutil.move(self.path("one.csv"), self.path("scores.csv"))
            with open(self.path("scores.csv"), encoding="ascii") as f:
                columns.append([row[-1] for row in csv.reader(f)][1:])
        with open(self.path("scores.csv"), encoding="ascii") as f:
            rows = list(csv.reader(f))[1:]
        self.assertEqual([row[-2:] for row in rows], [list(pair) for pair in zip(*columns)])
        self.assertNotEqual(*columns)

    def test_refusals(self):
        folder = self.copy("esm1b/hf")
        drop(os.path.join(folder, "model.safetensors"), "embeddings.position_embeddings.weight")
        self.refused("esm.embeddings.position_embeddings.weight: missing, or not")
        folder = self.copy("esm1b/hf")
        drop(os.path.join(folder, "model.safetensors"), "embeddings.layer_norm.bias")
        self.refused("tensor esm.embeddings.layer_norm.bias is missing")
        drop(os.path.join(folder, "model.safetensors"), "embeddings.layer_norm.weight")
        self.refused("emb_layer_norm_before is true, the file has no embeddings.layer_norm.weight")
        folder = self.copy("esm1b/hf")
        config = os.path.join(folder, "config.json")
        edit_json(config, emb_layer_norm_before=False)
        self.refused("emb_layer_norm_before is false, the file has embeddings.layer_norm.weight")
        edit_json(config, emb_layer_norm_before=True, max_position_embeddings=1026)
        self.refused(
            "max_position_embeddings is 1026, esm.embeddings.position_embeddings.weight has 80 rows"
        )
        edit_json(config, max_position_embeddings=80, vocab_size=34)
        self.refused("vocab_size is 34, expected 33")
        edit_json(config, vocab_size=33)
        self.refused("these are no esm2 weights", "esm2")
        self.copy("esm2/hf-d16")
        self.refused("these are no esm1b weights", "esm1b")

    def test_found_by_content(self):
        self.write("in.fasta", ">a\nMKV\n")
        for weights in self.golden("esm1b/hf"), self.golden("esm1v/fair/esm1v_t2_tiny.pt"):
            self.run_command("embed", "in.fasta", "--weights", weights, "--format", "jsonl")


class Pairs(Family):
    """SaProt."""

    def test_case_counts(self):
        fasta = ">a\nMdEv#p\n>b\nMdEvA\n>c\nMdEVAp\n>d\nMEVA\n>e\nM#E#V#\n"
        by_name, _ = self.rows("saprot", self.golden("saprot/af2"), fasta, code=1)
        raw, _ = self.rows("embed", self.golden("saprot/af2"), fasta, "--raw-residues", code=1)
        self.assertEqual(by_name, raw)
        self.assertEqual(
            [by_name[k]["status"] for k in "abcde"],
            ["ok", "bad_residue", "bad_residue", "bad_residue", "ok"],
        )
        self.assertEqual([by_name[k]["length"] for k in "ae"], [3, 3])
        self.assertEqual(by_name["a"]["arrays"][0]["shape"], [3, 48])
        self.assertIn("'EV' at character 3: expected an amino acid", by_name["c"]["message"])
        rows, _ = self.rows("embed", self.golden("saprot/af2"), ">a\nMdEv\n", code=1)  # upper-cased
        self.assertIn("read with raw residues", rows["a"]["message"])

    def test_others_know_no_hash(self):
        rows, _ = self.rows(
            "esm2", self.golden("esm2/hf-d16"), ">a\nMK#V\n", "--raw-residues", code=1
        )
        self.assertEqual(rows["a"]["status"], "bad_residue")
        rows, _ = self.rows("esm2", self.golden("esm2/hf-d16"), ">a\nMK#V\n", code=1)
        self.assertIn("character '#' (0x23) is not a residue", rows["a"]["message"])

    def test_refusals(self):
        folder = self.copy("saprot/af2")
        drop(os.path.join(folder, "model.safetensors"), "layer.1.intermediate.dense.weight")
        self.refused("tensor esm.encoder.layer.1.intermediate.dense.weight is missing")
        folder = self.copy("saprot/af2")
        with open(os.path.join(folder, "vocab.txt"), encoding="ascii") as f:
            vocab = f.read().replace("Ap", "aP", 1)
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="ascii") as f:
            f.write(vocab)
        self.refused("vocab.txt: token 5 is 'aP', expected 'Ap'")


class Words(Family):
    """Nucleotide Transformer."""

    def test_tokens(self):
        fasta = (
            ">a\nACGTAC\n>b\nacgtacgt\n>c\nACGNTTACGT\n>d\nACGRTTACGT\n>e\nACGUTT\n"
            + f">f\n{'ACGT' * 30}\n"
        )
        for command in "nt", "embed":
            rows, words = self.rows(
                command, self.golden("nucleotide-transformer/v2"), fasta, code=1
            )
            self.assertEqual([rows[k]["length"] for k in "abcdf"], [1, 3, 5, 5, 20])
            self.assertEqual(self.values(rows, "c"), self.values(rows, "d"))
            self.assertEqual(rows["e"]["status"], "bad_residue")
            self.assertIn("1 letters were read as X (N of bases)", words)
            self.assertNotIn("amino acids", words)

    def test_words_are_not_scored(self):
        self.write("in.fasta", ">a\nACGTACGT\n")
        _, words = self.run_command(
            "score",
            "nt",
            "in.fasta",
            "--method",
            "pppl",
            "--weights",
            self.golden("nucleotide-transformer/v2"),
            code=1,
        )
        self.assertIn("scoring takes plain residues only", words)

    def test_refusals(self):
        folder = self.copy("nucleotide-transformer/v2")
        config = os.path.join(folder, "config.json")
        edit_json(config, add_bias_fnn=True)
        self.refused("add_bias_fnn is true, expected false", code=78)
        edit_json(config, add_bias_fnn=False, intermediate_size=25)
        self.refused("esm.encoder.layer.0.output.dense.weight: shape [32, 24], expected [32, 25]")
        edit_json(config, intermediate_size=24)
        drop(os.path.join(folder, "model.safetensors"), "lm_head.decoder.weight")
        self.refused("tensor lm_head.decoder.weight is missing")
        folder = self.copy("nucleotide-transformer/v2")
        with open(os.path.join(folder, "vocab.txt"), encoding="ascii") as f:
            vocab = f.read()
        for change, text in (
            (vocab.replace("AAAAAA", "AAAAA"), "vocab.txt lacks a word of six bases"),
            (vocab.replace("<mask>", "[MASK]"), "vocab.txt lacks <mask>"),
            (vocab.replace("\nN\n", "\nn\n"), "vocab.txt lacks one of A, C, G, T, N"),
            (vocab.replace("<bos>", "<bos>\n<x>"), "more than 4107 symbols"),
        ):
            with open(os.path.join(folder, "vocab.txt"), "w", encoding="ascii") as f:
                f.write(change)
            self.refused(text)


class Letters(Family):
    """Ankh."""

    def test_rare_letters(self):
        fasta = ">u\nMUZOBK\n>x\nMXXXXK\n>j\nMJK\n>k\nMXK\n"
        rows, words = self.rows("ankh", self.golden("ankh/base"), fasta)
        self.assertNotEqual(self.values(rows, "u"), self.values(rows, "x"))
        self.assertEqual(self.values(rows, "j"), self.values(rows, "k"))
        self.assertIn("1 letters were read as X", words)
        raw, _ = self.rows("embed", self.golden("ankh/base"), fasta, "--raw-residues")
        self.assertNotEqual(self.values(raw, "j"), self.values(raw, "k"))

    def test_letters_that_begin_words(self):
        """A vocabulary with the mark of SentencePiece in front of letters gives the same."""
        folder = self.copy("ankh/base")
        want = self.rows("ankh", self.golden("ankh/base"), ">a\nMKVLAW\n")[0]
        path = os.path.join(folder, "tokenizer.json")
        with open(path, encoding="utf-8") as f:
            tokenizer = json.load(f)
        for piece in tokenizer["model"]["vocab"]:
            piece[0] = "\u2581" + piece[0] if len(piece[0]) == 1 else piece[0]
        with open(path, "w", encoding="utf-8") as f:
            json.dump(tokenizer, f)
        self.assertEqual(self.rows("ankh", folder, ">a\nMKVLAW\n")[0], want)

    def test_refusals(self):
        folder = self.copy("ankh/base")
        os.remove(os.path.join(folder, "tokenizer.json"))
        self.refused("neither spiece.model nor tokenizer.json", "ankh")
        folder = self.copy("ankh/base")
        drop(
            os.path.join(folder, "model.safetensors"), "block.1.layer.1.DenseReluDense.wi_1.weight"
        )
        self.refused("tensor encoder.block.1.layer.1.DenseReluDense.wi_1.weight is missing")
        edit_json(os.path.join(folder, "config.json"), relative_attention_num_buckets=32)
        self.refused("relative_attention_num_buckets is 32, the weights have 64")


if __name__ == "__main__":
    EXE, ROOT = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
