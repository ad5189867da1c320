#!/usr/bin/env python3
"""test_weights.py BIOINFER SOURCE_ROOT - what the command makes of weights as their users have
them.

Standard library only.
"""
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

EXE = ROOT = None


def read_safetensors(path):
    """(header, bytes behind it)."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        return header, f.read()


def drop(path, part):
    """Takes the tensors whose name has `part` out of a safetensors file."""
    header, data = read_safetensors(path)
    out, kept = {}, b""
    for name, entry in header.items():
        if name == "__metadata__":
            out[name] = entry
        elif part not in name:
            begin, end = entry["data_offsets"]
            out[name] = {**entry, "data_offsets": [len(kept), len(kept) + end - begin]}
            kept += data[begin:end]
    assert len(out) < len(header), f"{path}: no tensor has {part} in its name"
    text = json.dumps(out).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + kept)


def golden_means(path):
    header, data = read_safetensors(path)
    out = {}
    for name, entry in header.items():
        if name.endswith("/mean"):
            begin, end = entry["data_offsets"]
            out[name[:-5]] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return out


def apart(a, b):
    """Largest relative L2 of two {id: values}, which have the same ids."""
    worst = 0.0
    assert a and a.keys() == b.keys(), (sorted(a), sorted(b))
    for key, x in a.items():
        difference = math.sqrt(sum((p - q) ** 2 for p, q in zip(x, b[key], strict=True)))
        worst = max(worst, difference / math.sqrt(sum(q * q for q in b[key])))
    return worst


class Weights(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-weights-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.saved = os.path.join(ROOT, "tests", "golden", "saved")
        self.fasta = os.path.join(self.saved, "sequences.fasta")

    def copy(self, name):
        path = os.path.join(self.dir, name.replace("/", "-"))
        return shutil.copytree(os.path.join(self.saved, name), path)

    def run_command(self, *args, code=0):
        p = subprocess.run([EXE, *args], capture_output=True, check=False,
                           env=dict(os.environ, OMP_WAIT_POLICY="passive"))
        words = p.stderr.decode()
        self.assertEqual(p.returncode, code, f"{args}\n{words}")
        return p.stdout.decode(), words

    def means(self, model, *more, fasta=None):
        text, _ = self.run_command("embed", fasta or self.fasta, "--weights", model, "--format",
                                   "jsonl", "--json-floats", *more)
        rows = [json.loads(line) for line in text.splitlines()]
        return {r["id"]: r["arrays"][0]["data"] for r in rows}

    def frequencies(self, model):
        """Returns what `info` says of rotary frequencies."""
        lines = self.run_command("info", model)[0].splitlines()
        return next(line for line in lines if line.startswith("rotary frequencies: "))

    def test_stored_frequencies_are_used(self):
        """transformers 5 stores one list for all layers, transformers 4 one for each."""
        for version in "v4", "v5":
            model = self.copy(version + "/esm2-lm")
            want = golden_means(os.path.join(model, "golden.safetensors"))
            self.assertEqual(self.frequencies(model), "rotary frequencies: as the file stores them")
            self.assertEqual(self.means(model), self.means(model, "--rope-frequencies", "file"))
            self.assertLess(apart(self.means(model), want), 5e-6)
            self.assertLess(apart(self.means(model, "--rope-frequencies", "exact"), want), 5e-6)
            self.assertGreater(apart(self.means(model, "--rope-frequencies", "rounded"), want),
                               5e-6)

    def test_frequencies_that_are_not_stored(self):
        """Frequencies are as in the program that wrote the file: exact in transformers 5, rounded
        in training."""
        model = self.copy("v5/esm2-lm")
        want = golden_means(os.path.join(model, "golden.safetensors"))
        drop(os.path.join(model, "model.safetensors"), "inv_freq")
        self.assertEqual(self.frequencies(model), "rotary frequencies: exact, in float32")
        self.assertLess(apart(self.means(model), want), 5e-6)
        self.assertIn("stores no rotary frequencies",
                      self.run_command("embed", self.fasta, "--weights", model,
                                       "--rope-frequencies", "file", "--format", "jsonl",
                                       code=78)[1])
        config = os.path.join(model, "config.json")
        with open(config, encoding="utf-8") as f:
            fields = json.load(f)
        for version in ("4.57.6", None):
            fields["transformers_version"] = version
            with open(config, "w", encoding="utf-8") as f:
                json.dump(fields, f)
            self.assertEqual(self.frequencies(model), "rotary frequencies: rounded to float16")
            self.assertGreater(apart(self.means(model), want), 5e-6)
            self.assertEqual(self.means(model), self.means(model, "--rope-frequencies", "rounded"))
        self.assertLess(apart(self.means(model, "--rope-frequencies", "exact"), want), 5e-6)

    def test_frequencies_of_transformer_engine(self):
        """Rounded, as in training, whatever version of transformers wrote config.json."""
        model = shutil.copytree(os.path.join(ROOT, "tests", "golden", "esm2", "te-d16"),
                                os.path.join(self.dir, "te"))
        config = os.path.join(model, "config.json")
        with open(config, encoding="utf-8") as f:
            fields = json.load(f)
        with open(config, "w", encoding="utf-8") as f:
            json.dump({**fields, "transformers_version": "5.17.0"}, f)
        self.assertEqual(self.frequencies(model), "rotary frequencies: rounded to float16")

    def test_frequencies_are_part_of_the_fingerprint(self):
        model = self.copy("v5/esm2-lm")
        out = os.path.join(self.dir, "out.jsonl")
        args = ("embed", self.fasta, "--weights", model, "-o", out, "--shard", "1/2")
        self.run_command(*args)
        words = self.run_command(*args, "--resume", "--rope-frequencies", "rounded", code=73)[1]
        self.assertIn("fingerprint", words)
        self.run_command(*args, "--resume")

    def test_frequencies_of_another_family(self):
        words = self.run_command("embed", self.fasta, "--weights", self.copy("v5/protbert-lm"),
                                 "--format", "jsonl", "--rope-frequencies", "exact", code=78)[1]
        self.assertIn("cannot be chosen for protbert", words)

    def test_head_of_a_task(self):
        """The base of a model with a head is computed; a run and info say once what is not
        used."""
        embed = ("embed", self.fasta, "--format", "jsonl", "--weights")
        for name, last in (("esm2-tokens", "classifier.weight"),
                           ("esm2-sequences", "classifier.out_proj.weight"),
                           ("protbert-tokens", "classifier.weight"),
                           ("prott5-tokens", "classifier.weight"),
                           ("esmc-tokens", "score.weight")):
            model = self.copy("v5/" + name)
            words = self.run_command(*embed, model)[1]
            self.assertEqual(words.count("have a classifier"), 1, words)
            self.assertNotIn("not used", words)
            drop(os.path.join(model, "model.safetensors"), last)
            words = self.run_command(*embed, model)[1]
            first = "score.bias" if name == "esmc-tokens" else "classifier."
            self.assertEqual(words.count("not used: " + first), 1, words)
            self.assertIn("not used: " + first, self.run_command("info", model)[0])
        words = self.run_command("embed", self.fasta, "--weights", model, "--format", "jsonl",
                                 "--workers", "3")[1]
        self.assertEqual(words.count("not used: " + first), 1, words)
        words = self.run_command("embed", self.fasta, "--weights", self.copy("v5/esm2-lm"),
                                 "--format", "jsonl")[1]
        self.assertNotIn("not used", words)

    def test_half_precision_on_the_cpu(self):
        for more in ((), ("--workers", "1")):
            words = self.run_command("embed", self.fasta, "--weights", self.copy("v5/esm2-lm"),
                                     "--precision", "fp16", "--device", "cpu", "--format", "jsonl",
                                     *more, code=64)[1]
            self.assertIn("the CPU computes in fp32", words)
            shutil.rmtree(os.path.join(self.dir, "v5-esm2-lm"))

    def test_products_of_terms(self):
        """Two bfloat16 terms give nearly the numbers of three, and are a precision of their own."""
        model, mask = self.copy("v5/esm2-lm"), ("--cpu-mask", "amx-emulated")
        if "amx-emulated" not in self.run_command("devices", *mask)[0]:
            self.skipTest("no AVX2, on which the emulation stands")
        embed = ("embed", self.fasta, "--weights", model, "--format", "jsonl", "--device", "cpu")
        words = self.run_command(*embed, "--precision", "bf16x2", "--cpu-mask", "generic",
                                 code=78)[1]
        self.assertIn("the generic kernels of this machine compute in fp32", words)
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            has_tiles = "amx_tile" in f.read()
        if not has_tiles:  # the emulation is for tests: it is never taken unasked
            words = self.run_command(*embed, "--precision", "bf16x2", code=78)[1]
            self.assertIn("kernels of this machine compute in fp32", words)
        three = self.means(model, *mask)
        two = self.means(model, *mask, "--precision", "bf16x2")
        self.assertEqual(three, self.means(model, *mask, "--precision", "fp32", "--threads", "1"))
        self.assertLess(apart(three, golden_means(os.path.join(model, "golden.safetensors"))), 2e-6)
        self.assertTrue(1e-7 < apart(two, three) < 2e-5, apart(two, three))
        args = (*embed, "-o", os.path.join(self.dir, "out.jsonl"), "--shard", "1/2", *mask)
        self.run_command(*args)
        words = self.run_command(*args, "--resume", "--precision", "bf16x2", code=73)[1]
        self.assertIn("fingerprint", words)

    def test_link_out_of_the_folder(self):
        """It is refused, since a folder from elsewhere may have any link; the words name three ways
        round."""
        elsewhere, model = self.copy("v4/esm2-lm"), self.copy("v5/esm2-lm")
        file = os.path.join(model, "model.safetensors")
        os.remove(file)
        os.symlink(os.path.join(elsewhere, "model.safetensors"), file)
        words = self.run_command("embed", self.fasta, "--weights", model, "--format", "jsonl",
                                 code=78)[1]
        self.assertIn("leads out of its folder", words)
        self.assertIn("give that file itself, copy it here, or link the whole folder", words)
        link = os.path.join(self.dir, "link")
        os.symlink(elsewhere, link)
        self.means(link)
        self.means(os.path.join(elsewhere, "model.safetensors"))

    def test_vocabulary_without_x(self):
        """As AntiBERTy's: the tokenizer makes [UNK] of letters that it does not know."""
        model = self.copy("v4/protbert-lm")
        vocab = os.path.join(model, "vocab.txt")
        with open(vocab, encoding="ascii") as f:
            lines = f.read().split("\n")
        unknown = ("X", "U", "B", "Z", "O")
        with open(vocab, "w", encoding="ascii") as f:
            f.write("\n".join(f"[unused{i}]" if line in unknown else line
                              for i, line in enumerate(lines)))
        fasta = os.path.join(self.dir, "x.fasta")
        with open(fasta, "w", encoding="ascii") as f:
            f.write(">a\nMKXW\n>b\nMKJUBZOW\n")
        means = self.means(model, fasta=fasta)
        self.assertEqual(sorted(means), ["a", "b"])
        self.assertEqual(means, self.means(model, "--raw-residues", fasta=fasta))


if __name__ == "__main__":
    EXE, ROOT = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
