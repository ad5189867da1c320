#!/usr/bin/env python3
"""test_esmfold.py BIOINFER SOURCE_ROOT - ESMFold by the command, against the published program.

The weights are small and random; tests/golden/esmfold/tiny/complexes.txt is what transformers
computes with them (tools/golden_esmfold.py, which tells the format). Standard library only.
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
import zipfile

EXE = ROOT = ""


def setUpModule():
    global FOLDER, WEIGHTS
    FOLDER = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(FOLDER.cleanup)
    WEIGHTS = os.path.join(ROOT, "tests", "golden", "esmfold", "tiny")


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, *records):
    with open(path(name), "w", encoding="utf-8") as file:
        for record in records:
            file.write(">%s\n%s\n" % record)
    return path(name)


def run(*args, code=0):
    p = subprocess.run([EXE, *args], capture_output=True)
    assert code == p.returncode, (args, p.returncode, p.stdout[-500:], p.stderr[-1500:])
    return p.stderr.decode()


def fold(source, out, *args, code=0, weights=None, model="esmfold"):
    return run(model, source, "-o", path(out), "--weights", weights or WEIGHTS, "--device", "cpu",
               "--threads", "1", *args, code=code)


def array(data):
    """The float32 numbers of a .npy."""
    size = struct.unpack("<H", data[8:10])[0]
    assert b"'descr': '<f4'" in data[:10 + size], data[:10 + size]
    return [x[0] for x in struct.iter_unpack("<f", data[10 + size:])]


def arrays(out, name):
    with zipfile.ZipFile(os.path.join(path(out), name + ".npz")) as file:
        return {m.rsplit(".", 1)[0].rsplit("/", 1)[-1]: array(file.read(m))
                for m in file.namelist() if m.endswith(".npy")}


def scores(out):
    with open(os.path.join(path(out), "scores.tsv"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return {line[0]: dict(zip(lines[0], line)) for line in lines[1:]}


def goldens():
    """[(chains, passes, {name: numbers})]"""
    found = []
    with open(os.path.join(WEIGHTS, "complexes.txt"), encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[0] == "complex":
                found.append((words[1], int(words[2]), {}))
            else:
                assert len(words) == 2 + int(words[1])
                found[-1][2][words[0]] = [float(w) for w in words[2:]]
    return found


class Numbers(unittest.TestCase):
    def compare(self, got, want, off):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertTrue(abs(a - b) <= off or (math.isnan(a) and math.isnan(b)), (a, b))

    def check(self, passes, *options):
        chosen = [g for g in goldens() if g[1] == passes]
        self.assertGreaterEqual(len(chosen), 2)
        out = "out%d%s" % (passes, "".join(options))
        source = write(out + ".fasta", *(("r%d" % i, g[0]) for i, g in enumerate(chosen)))
        fold(source, out, "--format", "npz", "--include", "plddt,coordinates,pae", *options)
        table = scores(out)
        for i, (chains, _, want) in enumerate(chosen):
            got = arrays(out, "r%d" % i)
            self.compare(got["coordinates"], want["atoms"], 1e-3)
            self.compare(got["plddt"], want["plddt"], 1e-3)
            self.compare(got["pae"], want["pae"], 1e-3)
            self.compare([float(table["r%d" % i]["ptm"])], want["ptm"], 1e-3)
            self.assertEqual(table["r%d" % i]["chain_lengths"],
                             ",".join(str(len(c)) for c in chains.split(":")))

    def test_passes_of_the_weights(self):
        self.check(4)

    def test_named_cycles(self):
        self.check(4, "--cycles", "3")

    def test_one_pass(self):
        self.check(1, "--cycles", "0")

    def test_other_letters(self):
        """B, J, O, U and Z are X, and have no atoms; names of antibodies join nothing."""
        fold(write("letters.fasta", ("a_H", "ACBDjOF"), ("a_L", "ACXDXXF"), ("c", "AUZXC")),
             "letters", "--format", "npz", "--include", "coordinates,pae,plddt")
        known, unknown = arrays("letters", "a_H"), arrays("letters", "a_L")
        self.compare(known["coordinates"], unknown["coordinates"], 0)
        self.compare(known["pae"], unknown["pae"], 0)
        self.compare(known["plddt"], unknown["plddt"], 0)
        atoms = arrays("letters", "c")["coordinates"]
        self.assertEqual([math.isnan(atoms[3 * 37 * i]) for i in range(5)],
                         [False, True, True, True, False])

    def test_batches(self):
        records = [("a%d" % i, "ACDEFGHIKLMNPQRSTVWY"[i % 5:i % 5 + 3 + 2 * i]) for i in range(9)]
        for name, size in (("together", "4096"), ("alone", "1")):
            fold(write("many.fasta", *records), name, "--batch-tokens", size)
        for file in os.listdir(path("together")):
            with open(os.path.join(path("together"), file), "rb") as one, \
                    open(os.path.join(path("alone"), file), "rb") as other:
                self.assertEqual(one.read(), other.read(), file)


def spoil(folder, tensor, first, n, value, form="<f"):
    """The weights with another value in some places of a tensor."""
    shutil.copytree(WEIGHTS, path(folder))
    with open(os.path.join(path(folder), "model.safetensors"), "r+b") as file:
        size, = struct.unpack("<Q", file.read(8))
        at = json.loads(file.read(size))[tensor]["data_offsets"][0]
        file.seek(8 + size + at + 4 * first)
        file.write(struct.pack(form, value) * n)
    return path(folder)


class Spoiled(unittest.TestCase):
    def test_numbers_that_no_file_has(self):
        """A pLDDT of one atom, an aligned error or a place that is no number costs the record."""
        source = write("spoiled.fasta", ("x", "ACDEF"))
        for name, tensor, first, n, value, why in (
                ("level", "lddt_head.3.bias", 0, 50, math.nan, "a pLDDT is not finite"),
                ("error", "ptm_head.bias", 0, 1, math.nan, "aligned error is not finite"),
                ("far", "trunk.structure_module.bb_update.linear.bias", 3, 3, 1e22,
                 "an atom is not finite, or farther off than 1e+09 angstrom")):
            weights = spoil("weights_" + name, tensor, first, n, value)
            said = fold(source, "out_" + name, "--cycles", "0", weights=weights, code=1)
            self.assertIn("x: no structure: nan: ", said)
            self.assertIn(why, said)
            self.assertEqual(os.listdir(path("out_" + name)), ["scores.tsv"])


class Refused(unittest.TestCase):
    def test_options(self):
        source = write("one.fasta", ("x", "ACDEF"))
        for word in ("x", "-1", "1001", "3.5", ""):
            self.assertIn("cycles", fold(source, "no", "--cycles", word, code=64))
        flashabb = os.path.join(ROOT, "share", "flashabb", "flashabb.safetensors")
        said = fold(source, "no", "--cycles", "2", code=64, weights=flashabb, model="flashabb")
        self.assertIn("one pass", said)
        said = fold(source, "no", "--include", "pae", code=64, weights=flashabb, model="flashabb")
        self.assertIn("gives no aligned errors", said)

    def test_other_family(self):
        source = write("one.fasta", ("x", "ACDEF"))
        said = run("esm2", source, "-o", path("no.npz"), "--weights", WEIGHTS, code=78)
        self.assertIn("no esm2 weights", said)

    def changed(self, change_tensors=None, change_config=None):
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        for name in ("config.json", "model.safetensors"):
            shutil.copy(os.path.join(WEIGHTS, name), folder)
        if change_config:
            with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
                config = json.load(file)
            change_config(config)
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump(config, file)
        if change_tensors:
            with open(os.path.join(folder, "model.safetensors"), "rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                header, data = json.loads(file.read(size)), file.read()
            change_tensors(header)
            text = json.dumps(header).encode()
            with open(os.path.join(folder, "model.safetensors"), "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text + data)
        return folder

    def damaged(self, change_tensors=None, change_config=None, code=78):
        folder = self.changed(change_tensors, change_config)
        return fold(write("one.fasta", ("x", "ACDEF")), "no", weights=folder, code=code)

    def test_tensors(self):
        old = "trunk.blocks.1.tri_mul_in.linear_g.bias"
        new = old.replace("linear_g", "linear_h")
        self.assertIn(old, self.damaged(lambda h: h.update({new: h.pop(old)})))
        extra = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        self.assertIn("trunk.blocks.2.more", self.damaged(
            lambda h: h.update({"trunk.blocks.2.more": extra})))
        self.assertIn("recycle_disto", self.damaged(
            lambda h: h["trunk.recycle_disto.weight"].update(shape=[16, 15])))
        self.assertIn("esm_s_combine", self.damaged(
            lambda h: h["esm_s_combine"].update(shape=[1, 3])))

    def test_config(self):
        trunk = ("esmfold_config", "trunk")

        def set_to(*keys, value):
            def change(config):
                for key in keys[:-1]:
                    config = config[key]
                config[keys[-1]] = value
            return change

        for keys, value, word in (
                ((*trunk, "num_blocks"), 3, "trunk.blocks.2.layernorm_1.weight is missing"),
                ((*trunk, "num_blocks"), 0, "num_blocks is '0', expected 1 to 256"),
                ((*trunk, "pairwise_head_width"), 5, "pairwise_head_width 5"),
                ((*trunk, "position_bins"), "4", "position_bins is '4'"),
                ((*trunk, "structure_module", "trans_scale_factor"), 1,
                 "trans_scale_factor is 1, expected 10"),
                ((*trunk, "structure_module", "num_angles"), 6, "num_angles is 6, expected 7"),
                ((*trunk, "structure_module", "num_heads_ipa"), 4, "head_weights"),
                (("esmfold_config", "use_esm_attn_map"), True, "use_esm_attn_map is 1"),
                (("esmfold_config", "bypass_lm"), True, "bypass_lm is 1"),
                (("vocab_list",), ["<cls>"], "vocab_list has 1 words, not 33"),
                (("vocab_list", 5), "L", "vocab_list: word 5 is 'L', expected 'A'"),
                (("rope_theta",), 20000.0, "rope_theta is '20000.0', which is not computed"),
                (("rope_parameters",), {"rope_type": "yarn"}, "rope_type is 'yarn'"),
                (("is_decoder",), True, "is_decoder is 'set'"),
                (("hidden_act",), "relu", "hidden_act is 'relu'"),
                (("position_embedding_type",), "absolute", "position_embedding_type"),
                (("num_hidden_layers",), 3, "encoder.layer.2")):
            self.assertIn(word, self.damaged(change_config=set_to(*keys, value=value)))

    def test_tokens_of_the_stem(self):
        """The stem's ids that the file stores are what the letters have."""
        for at, value, words in ((1, 6, "number 1 is 6, expected 5"), (21, 3, "expected 24")):
            weights = spoil("ids_%d" % at, "af2_to_esm", 2 * at, 1, value, "<I")
            said = fold(write("one.fasta", ("x", "ACDEF")), "no", weights=weights, code=78)
            self.assertIn("af2_to_esm: number %d is %g" % (at, value), said)
            self.assertIn(words, said)

    def test_learned_positions(self):
        """Without a word on positions, a table of them is what the published program reads."""
        rotary = "esm.encoder.layer.*.attention.self.rotary_embeddings.inv_freq"

        def rename(header):
            header["esm.embeddings.position_embeddings.weight"] = header.pop(rotary)
        said = self.damaged(rename, lambda config: config.pop("position_embedding_type"))
        self.assertIn("learned positions", said)

    def test_what_changes_nothing(self):
        """Settings of training, of memory, and of the precision that a program is run in."""
        source = write("one.fasta", ("x", "ACDEF"))
        fold(source, "as_it_is")

        def change(config):
            config.update(hidden_dropout_prob=0.5, pad_token_id=2, use_cache=False)
            folding = config["esmfold_config"]
            folding.update(fp16_esm=True, esm_type="esm2_3B", esm_input_dropout=0.5)
            folding["trunk"].update(chunk_size=4, dropout=0.5, layer_drop=0.5)
            folding["trunk"]["structure_module"].update(inf=1e9, dropout_rate=0.5)
        folder = self.changed(change_config=change)
        fold(source, "changed", weights=folder)
        for file in "x.cif", "scores.tsv":
            with open(os.path.join(path("as_it_is"), file), "rb") as one, \
                    open(os.path.join(path("changed"), file), "rb") as other:
                self.assertEqual(one.read(), other.read(), file)


if __name__ == "__main__":
    EXE, ROOT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
