#!/usr/bin/env python3
"""test_tuned.py BIOINFER SOURCE_ROOT - classifiers and adapters of fine-tuned models.

Their numbers are tested against transformers and PEFT in tests/golden. Standard library only.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

EXE = ROOT = None


NULL = object()


def edit_json(path, **change):
    """Sets keys of a JSON file, NULL to null; None takes one out."""
    with open(path, encoding="utf-8") as f:
        facts = json.load(f)
    facts.update(change)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(
            {k: None if v is NULL else v for k, v in facts.items() if v is not None}, f
        )


def edit_names(path, old, new):
    """Replaces a part of names of tensors by one of the same length."""
    assert len(old) == len(new)
    with open(path, "rb") as f:
        data = f.read()
    assert data.count(old.encode()) > 0
    with open(path, "wb") as f:
        f.write(data.replace(old.encode(), new.encode()))


def read_tensors(path):
    """The header of a safetensors file, and the bytes after it."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        return header, f.read()


def write_tensors(path, header, data):
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


class Tuned(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-tuned-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.fasta = os.path.join(ROOT, "tests/golden/saved/sequences.fasta")

    def copy(self, name, to=None):
        path = os.path.join(self.dir, to or os.path.basename(name))
        shutil.copytree(os.path.join(ROOT, "tests/golden", name), path)
        return path

    def run_command(self, *args, code=0):
        done = subprocess.run(
            [EXE, *args],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.dir,
            env={**os.environ, "HF_HUB_CACHE": self.dir},
        )
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def embed(self, weights, *more, code=0, include="class-logits", form="tsv"):
        return self.run_command(
            "embed",
            self.fasta,
            "--weights",
            weights,
            "--include",
            include,
            "--format",
            form,
            *more,
            code=code,
        )

    def rows(self, weights, *more):
        return [line.split("\t") for line in self.embed(weights, *more)[0].splitlines()]

    def test_names_of_wrappers(self):
        """Names that torch.compile, DDP, FSDP and Lightning have wrapped change no number."""
        model = self.copy("saved/v5/esm2-lm", "plain")
        plain = self.embed(model, include="mean", form="jsonl")[0]
        path = os.path.join(model, "model.safetensors")
        with open(path, "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            data = f.read()
        for rename in (
            lambda name: "module." + name,
            lambda name: "_orig_mod." + name,
            lambda name: "model." + name,
            lambda name: "model._orig_mod.module." + name,
            lambda name: "module.model." + name,
            lambda name: name.replace("encoder.", "encoder._orig_mod.", 1),
            lambda name: "_fsdp_wrapped_module." + name.replace(
                "layer.", "_fsdp_wrapped_module.layer.", 1),
        ):
            # a training loop's own tensors have no such prefix
            names = {name if name == "__metadata__" else rename(name): value
                     for name, value in header.items()}
            names["loss.weight"] = {"dtype": "F32", "shape": [0], "data_offsets": [len(data)] * 2}
            text = json.dumps(names).encode()
            with open(path, "wb") as f:
                f.write(struct.pack("<Q", len(text)) + text + data)
            self.assertEqual(self.embed(model, include="mean", form="jsonl")[0], plain)
        for number, (prefix, words) in enumerate((
            ("net.", "of no known family"),
            ("model.", "without 'model.' two tensors are called"),
        )):
            names = {k if k == "__metadata__" else prefix + k: v for k, v in header.items()}
            if number:
                del names["model.esm.encoder.emb_layer_norm_after.bias"]
                names["esm.encoder.emb_layer_norm_after.weight"] = header[
                    "esm.encoder.emb_layer_norm_after.bias"]
            text = json.dumps(names).encode()
            with open(path, "wb") as f:
                f.write(struct.pack("<Q", len(text)) + text + data)
            self.assertIn(words, self.embed(model, code=78, include="mean")[1])

    def test_labels(self):
        """One class, any of several, a number: what the table shows."""
        model = self.copy("saved/v5/esm2-sequences")
        config = os.path.join(model, "config.json")
        self.assertEqual(
            self.rows(model),
            [
                ["id", "length", "status", "message", "labels"],
                ["len9", "9", "ok", "", "LABEL_1"],
                ["len40", "40", "ok", "", "LABEL_1"],
            ],
        )
        edit_json(config, id2label={"0": "soluble", "1": "not\tsoluble at all"})
        self.assertEqual(self.rows(model)[1][4], "not_soluble_at_all")
        edit_json(config, problem_type="regression")
        rows = self.rows(model)
        self.assertEqual(rows[0][4:], ["d0", "d1"])
        values = [float(x) for x in rows[1][4:]]
        edit_json(config, problem_type="multi_label_classification")
        classes = ["soluble", "not_soluble_at_all"]
        self.assertEqual(
            self.rows(model)[1][4], ",".join(c for c, x in zip(classes, values) if x > 0) or "-"
        )
        rows = self.rows(self.copy("classes/esm2-regression"))  # one number, and no problem_type
        self.assertEqual(rows[0][4:], ["d0"])
        float(rows[1][4])

    def test_labels_of_residues(self):
        model = self.copy("saved/v5/esm2-tokens")
        edit_json(os.path.join(model, "config.json"), id2label={"0": "H", "1": "E"})
        labels = self.rows(model)[1][4]
        self.assertEqual(len(labels), 9)
        self.assertLessEqual(set(labels), set("HE"))
        result = json.loads(
            self.embed(model, "--json-floats", include="mean,class-logits", form="jsonl")[
                0
            ].split("\n")[0]
        )
        self.assertEqual(
            [(a["kind"], a["shape"]) for a in result["arrays"]],
            [("mean", [32]), ("class-logits", [9, 2])],
        )
        logits = result["arrays"][1]["data"]
        self.assertEqual(labels, "".join("HE"[e > h] for h, e in logits))

    def test_labels_that_do_not_fit(self):
        model = self.copy("saved/v5/esm2-sequences")
        config = os.path.join(model, "config.json")
        edit_json(config, id2label={"0": "a", "1": "b", "2": "c"})
        self.assertIn("id2label has 3 classes, the classifier 2", self.embed(model, code=78)[1])
        edit_json(config, id2label={"0": "a", "7": "b"})
        self.assertIn("id2label has no name for 1", self.embed(model, code=78)[1])
        edit_json(config, id2label=None, problem_type="ranking")
        self.assertIn("problem_type is 'ranking'", self.embed(model, code=78)[1])

    def test_weights_without_a_classifier(self):
        words = self.embed(self.copy("saved/v5/esm2-lm"), code=64)[1]
        self.assertIn("no head for class-logits", words)
        model = self.copy("saved/v5/prott5-tokens")
        edit_json(
            os.path.join(model, "config.json"), architectures=["T5ForSequenceClassification"]
        )
        self.assertIn("no head for class-logits", self.embed(model, code=64)[1])

    def test_a_decoder_reads_each_sequence_alone(self):
        """T5ForSequenceClassification: the same bytes in company, and in batches of other sizes."""
        model = self.copy("classes/t5-sequences")
        self.assertIn(
            "one class of 3: soluble membrane_bound other", self.run_command("info", model)[0]
        )
        whole = self.embed(model, form="jsonl")[0]
        self.assertEqual(self.embed(model, "--batch-tokens", "1", form="jsonl")[0], whole)
        whole = [json.loads(line) for line in whole.splitlines()]
        self.assertEqual([r["labels"] for r in whole], ["soluble", "other"])
        with open(self.fasta) as file:
            second = ">" + file.read().split(">")[2]
        self.fasta = os.path.join(self.dir, "second.fasta")
        with open(self.fasta, "w") as file:
            file.write(second)
        alone = json.loads(self.embed(model, form="jsonl")[0])
        self.assertEqual(alone["arrays"], whole[1]["arrays"])

    def test_adapter_by_its_folder(self):
        """--weights ADAPTER is --weights BASE --adapter ADAPTER, and resumes as a model apart."""
        base, adapter = self.copy("saved/v5/esm2-lm", "base"), self.copy("classes/lora-sequences")
        by_option = self.embed(base, "--adapter", adapter)[0]
        self.assertEqual(self.embed(adapter)[0], by_option)
        out = os.path.join(self.dir, "out.jsonl")
        job = ("embed", self.fasta, "-o", out, "--shard", "1/2")
        self.run_command(*job, "--weights", base)
        self.assertIn(
            "of another job", self.run_command(*job, "--weights", adapter, "--resume", code=73)[1]
        )
        shutil.rmtree(base)
        self.assertIn("an adapter of base", self.embed(adapter, code=78)[1])
        edit_json(os.path.join(adapter, "adapter_config.json"), base_model_name_or_path=None)
        self.assertIn("does not name the model", self.embed(adapter, code=78)[1])
        self.assertIn(
            "LoRA adapter of: a model that it does not name", self.run_command("info", adapter)[0]
        )

    def test_scale_by_pattern(self):
        """A name with the trunk fits too, and of several the first counts, as in PEFT."""
        base = self.copy("saved/v5/esm2-lm", "base")
        outputs = []
        for number, pattern in enumerate(
            (
                {},
                {"esm.encoder.layer.0.attention.self.query": 64},
                {"layer.0.attention.self.query": 64, "query": 8},
                {"query": 8, "layer.0.attention.self.query": 64},
            )
        ):
            adapter = self.copy("classes/lora-sequences", f"scaled-{number}")
            edit_json(os.path.join(adapter, "adapter_config.json"), alpha_pattern=pattern)
            more = ("--adapter", adapter, "--json-floats")
            outputs.append(self.embed(base, *more, form="jsonl")[0])
        self.assertNotEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[1], outputs[2])
        self.assertEqual(outputs[0], outputs[3])

    def test_adapters_that_are_refused(self):
        base = self.copy("saved/v5/esm2-lm", "base")
        cases = [
            ("adapter_config.json", {"peft_type": "IA3"}, "of kind IA3"),
            ("adapter_config.json", {"use_dora": True}, "use_dora is set"),
            ("adapter_config.json", {"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
            ("adapter_config.json", {"alpha_pattern": {".*query": 3}}, "is a pattern"),
            ("adapter_config.json", {"alpha_pattern": {"query": "3"}}, "with a number for"),
            ("adapter_config.json", {"lora_alpha": "3"}, "lora_alpha: expected a number"),
            *(
                ("adapter_config.json", {"lora_alpha": value}, "lora_alpha: expected a number")
                for value in ("", NULL, [], False, True)
            ),
            *(
                ("adapter_config.json", {"r": value}, "r: expected a number above 0")
                for value in ("", NULL, 0, -4, False, 4.5)
            ),
            ("adapter_config.json", {"r": 8}, "self.query is 8, its matrices have rank 4"),
            ("adapter_config.json", {"r": None}, "self.query is 8, its matrices have rank 4"),
            ("adapter_config.json", {"rank_pattern": {"value": 2}}, "self.value is 2, its"),
            ("adapter_config.json", {"rank_pattern": {"v.*": 2}}, "rank_pattern 'v.*' is a pat"),
            ("adapter_config.json", {"rank_pattern": NULL}, "rank_pattern: expected an object"),
            *(
                ("adapter_config.json", {"alpha_pattern": value}, "alpha_pattern: expected an obj")
                for value in ("query", NULL, [], {"query": ""}, {"key": False})
            ),
            ("adapter_config.json", {"modules_to_save": "classifier"}, "expected a list of mod"),
            (
                "adapter_config.json",
                {"ensure_weight_tying": True},
                "ensure_weight_tying is set with modules_to_save",
            ),
            ("adapter_config.json", {"use_rslora": "yes"}, "use_rslora: expected true or false"),
            ("adapter_config.json", {"fan_in_fan_out": True}, "fan_in_fan_out is set"),
            ("adapter_config.json", {"lora_bias": True}, "lora_bias is set"),
            ("adapter_config.json", {"use_qalora": True}, "use_qalora is set"),
            ("adapter_config.json", {"use_bdlora": {"n": 2}}, "use_bdlora is set"),
            ("adapter_config.json", {"kasa_config": {"a": 1}}, "kasa_config is set"),
            ("adapter_config.json", {"monteclora_config": {"a": 1}}, "monteclora_config is set"),
            ("adapter_config.json", {"arrow_config": {"a": 1}}, "arrow_config is set"),
            ("adapter_config.json", {"alora_invocation_tokens": [3]}, "alora_invocation_tokens is"),
            ("adapter_config.json", {"layer_replication": [[0, 2]]}, "layer_replication is set"),
            ("adapter_config.json", {"target_parameters": ["x"]}, "target_parameters is set"),
            ("adapter_config.json", {"trainable_token_indices": [1]}, "trainable_token_indices is"),
            ("lora_A", "lora_C", "without its other half"),
            (
                "layer.1.attention.self.query.lora_B",
                "layer.1.attention.self.value.lora_B",
                "name appears twice",
            ),
            ("layer.0.attention.self.query", "layer.7.attention.self.query", "changes a tensor"),
            ("base_model.model.esm", "some_model.model.esm", "expected a name that begins with"),
            ("self.query.lora_A", "self.quern.lora_A", "without its other half"),
        ]
        for number, (what, change, words) in enumerate(cases):
            adapter = self.copy("classes/lora-sequences", f"adapter-{number}")
            if isinstance(change, dict):
                edit_json(os.path.join(adapter, what), **change)
            else:
                edit_names(os.path.join(adapter, "adapter_model.safetensors"), what, change)
            done = self.run_any(base, adapter)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(words, done.stderr)
        self.assertIn("adapter_config.json", self.run_any(base, base).stderr)
        another = self.run_any(
            self.copy("saved/v5/protbert-lm"),
            os.path.join(ROOT, "tests/golden/classes/lora-sequences"),
        )
        self.assertNotEqual(another.returncode, 0)

    def test_what_is_named(self):
        """Keys that are not known, another base, heads that nothing is computed of: one word each,
        and the same numbers. Keys that are for training alone are no word."""
        base, adapter = self.copy("saved/v5/esm2-lm", "base"), self.copy("classes/lora-trunk")
        plain = self.run_any(base, adapter)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertIn("pooler.dense.lora_A.weight is of a part that is not computed", plain.stderr)
        self.assertNotIn("made for", plain.stderr)
        config = os.path.join(adapter, "adapter_config.json")
        edit_json(config, use_next_lora=True, lora_dropout=0.5, layers_to_transform=[0, 1],
                  base_model_name_or_path="facebook/esm2_t6_8M_UR50D", use_other_lora=False)
        named = self.run_any(base, adapter)
        self.assertEqual(named.stdout, plain.stdout)
        self.assertEqual(named.stderr.count("use_next_lora is not known, and passed over"), 1)
        self.assertIn(
            "the adapter was made for 'facebook/esm2_t6_8M_UR50D', the weights are", named.stderr)
        for word in ("use_other_lora", "lora_dropout", "layers_to_transform"):
            self.assertNotIn(word, named.stderr)

    def test_updates_of_modules_that_are_no_targets(self):
        """PEFT makes no update for a module that the list does not name, and drops its matrices."""
        base, adapter = self.copy("saved/v5/esm2-lm", "base"), self.copy("classes/lora-sequences")
        whole = self.run_any(base, adapter)
        self.assertNotIn("target_modules", whole.stderr)
        config = os.path.join(adapter, "adapter_config.json")
        edit_json(config, target_modules=["self.query"])
        query = self.run_any(base, adapter)
        said = "self.value.lora_A.weight is of a module that target_modules does not name"
        self.assertEqual(query.stderr.count(said), 1, query.stderr)
        self.assertIn("passed over as by PEFT (2 updates)", query.stderr)
        self.assertNotEqual(query.stdout, whole.stdout)
        edit_json(config, target_modules=["q_proj"])
        none = self.run_any(base, adapter)
        self.assertEqual(none.returncode, 78, none.stderr)
        self.assertIn("target_modules names no module that the file has an update for", none.stderr)
        edit_json(config, target_modules=["esm._orig_mod.encoder.layer.0.attention.self.query",
                                          "module.esm.encoder.layer.1.attention.self.query"])
        self.assertEqual(self.run_any(base, adapter).stdout, query.stdout)
        # the same as an adapter whose updates of values are 0
        path = os.path.join(adapter, "adapter_model.safetensors")
        header, data = read_tensors(path)
        data = bytearray(data)
        for name, tensor in header.items():
            if ".value.lora_B" in name:
                begin, end = tensor["data_offsets"]
                data[begin:end] = bytes(end - begin)
        write_tensors(path, header, data)
        for targets in (["query", "value"], "query|value"):
            edit_json(config, target_modules=targets)
            zeros = self.run_any(base, adapter)
            self.assertEqual((zeros.stdout, zeros.returncode), (query.stdout, 0), zeros.stderr)
            self.assertNotIn("target_modules", zeros.stderr)

    def test_adapters_of_wrapped_models(self):
        """Names that torch.compile and DDP have wrapped give the same numbers."""
        base, adapter = self.copy("saved/v5/esm2-lm", "base"), self.copy("classes/lora-trunk")
        plain = self.run_any(base, adapter).stdout
        path = os.path.join(adapter, "adapter_model.safetensors")
        header, data = read_tensors(path)
        for rename in (
            lambda name: "_orig_mod." + name,
            lambda name: "module._orig_mod." + name,
            lambda name: name.replace("base_model.model.", "base_model.model._orig_mod."),
        ):
            names = {
                name if name == "__metadata__" else rename(name): value
                for name, value in header.items()
            }
            write_tensors(path, names, data)
            self.assertEqual(self.run_any(base, adapter).stdout, plain)

    def test_tables_that_peft_does_not_read(self):
        """A copy of T5's shared table is read by neither stack, and named; plain, it is read."""
        base = self.copy("classes/t5-sequences", "base")
        adapter = self.copy("classes/lora-words-t5")
        plain = self.run_any(base, adapter)
        self.assertIn("transformer.shared.weight is of a part that is not computed", plain.stderr)
        edit_names(os.path.join(adapter, "adapter_model.safetensors"),
                   "encoder.embed_tokens", "decoder.embed_tokens")
        self.assertNotEqual(self.run_any(base, adapter).stdout, plain.stdout)
        config = os.path.join(adapter, "adapter_config.json")
        edit_json(config, modules_to_save=["embed_tokens"])
        self.assertNotIn("is not computed", self.run_any(base, adapter).stderr)

    def test_two_values_of_one_tensor(self):
        """PEFT stores a classifier's bias under two names: the same values, or none is taken."""
        base, adapter = self.copy("saved/v5/esm2-lm", "base"), self.copy("classes/lora-linear")
        self.assertEqual(self.run_any(base, adapter).returncode, 0)
        path = os.path.join(adapter, "adapter_model.safetensors")
        with open(path, "rb") as f:
            data = bytearray(f.read())
        n = struct.unpack("<Q", data[:8])[0]
        name = "base_model.model.classifier.modules_to_save.default.out_proj.bias"
        data[8 + n + json.loads(data[8:8 + n])[name]["data_offsets"][0] + 3] ^= 1
        with open(path, "wb") as f:
            f.write(data)
        done = self.run_any(base, adapter)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("are of the same tensor", done.stderr)

    def test_shapes_that_do_not_fit(self):
        """A damaged adapter of other widths is named with what was expected."""
        base, adapter = self.copy("saved/v5/esm2-lm", "base"), self.copy("classes/lora-sequences")
        path = os.path.join(adapter, "adapter_model.safetensors")
        with open(path, "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            data = f.read()
        name = next(n for n in header if n.endswith("query.lora_A.weight"))
        self.assertEqual(header[name]["shape"], [4, 32])
        for shape, words in (([8, 16], "expected equal ones"), ([128], "expected a matrix")):
            header[name]["shape"] = shape
            text = json.dumps(header).encode()
            with open(path, "wb") as f:
                f.write(struct.pack("<Q", len(text)) + text + data)
            self.assertIn(words, self.run_any(base, adapter).stderr)

    def run_any(self, base, adapter):
        return subprocess.run(
            [
                EXE,
                "embed",
                self.fasta,
                "--weights",
                base,
                "--adapter",
                adapter,
                "--include",
                "mean",
                "--format",
                "jsonl",
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.dir,
        )


if __name__ == "__main__":
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
