#!/usr/bin/env python3
"""test_esmfold2_apart.py BIOINFER SOURCE_ROOT - ESMFold2 as its authors first published it: their
names of tensors and settings, and ESM C in a folder of its own.

The small random weights that transformers saved are written anew in that form. Each structure has
the bytes that it has with the first form. Standard library only.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = sys.argv[1:3]
GOLDEN = os.path.join(ROOT, "tests", "golden", "esmfold2")
RECORDS = ">one\nMKXGWHRVCE\n>two\nMKWGA:WH:MKWGA\n"

# Names by transformers and by the authors (convert_esmfold2_checkpoint.py, Apache-2.0).
PAIRS = r"((?:folding_trunk|lm_encoder|confidence_head\.folding_trunk|msa_encoder)\.)layers\."
RULES = [(r"^parcae\.output_stack\.layers\.", "parcae_coda.blocks."), (PAIRS, r"\1blocks."),
         (r"(tri_mul_(?:in|out)\.)", r"\1_engine."),
         (r"(pair_transition|msa_transition)\.mlp\.gate_up_proj", r"\1.ffn.w12"),
         (r"(pair_transition|msa_transition)\.mlp\.down_proj", r"\1.ffn.w3"),
         (r"outer_product_mean\.input_proj", "outer_product_mean.W"),
         (r"outer_product_mean\.output_proj", "outer_product_mean.Wout"),
         (r"averaging\.bias_norm", "averaging.compute_bias.0"),
         (r"averaging\.bias_proj", "averaging.compute_bias.1"),
         (r"averaging\.v_proj", "averaging.Wv"),
         (r"averaging\.gate_proj", "averaging.Wgate"), (r"averaging\.o_proj", "averaging.Wout"),
         (r"^input_embedder\.atom_encoder\.", "inputs_embedder.atom_attention_encoder."),
         (r"^input_embedder\.pair_init_", "z_init_"), (r"^input_embedder\.", ""),
         (r"^language_model\.layer_weights", "language_model.base_z_combine"),
         (r"^language_model\.pair_input_norm", "language_model.base_z_linear.0"),
         (r"^language_model\.pair_proj", "language_model.base_z_linear.1"),
         (r"^language_model\.pair_output_norm", "language_model.base_z_mlp.1"),
         (r"^language_model\.single_to_pair\.", "language_model.base_z_mlp.0."),
         (r"output_fc1", "output_mlp.0"), (r"output_fc2", "output_mlp.2"),
         (r"^parcae\.log_state_decay", "parcae_log_a"), (r"^parcae\.log_delta", "parcae_log_delta"),
         (r"^parcae\.input_matrix_continuous", "parcae_b_cont"),
         (r"^parcae\.input_norm", "parcae_input_norm"), (r"^parcae\.out_proj", "parcae_readout"),
         (r"^structure_head\.coords_linear", "structure_head.atom_encoder.coords_linear"),
         (r"^structure_head\.", "structure_head.diffusion_module."),
         (r"conditioning\.pair_input_norm", "conditioning.z_input_norm"),
         (r"conditioning\.pair_proj", "conditioning.z_proj"),
         (r"conditioning\.single_input_norm", "conditioning.s_input_norm"),
         (r"conditioning\.single_proj", "conditioning.s_proj"),
         (r"conditioning\.pair_transition_(\d)\.(?:mlp\.)?", r"conditioning.z_transitions.\1."),
         (r"conditioning\.single_transition_(\d)\.(?:mlp\.)?", r"conditioning.s_transitions.\1."),
         (r"(_transitions\.\d\.)down_proj", r"\1out_proj"),
         (r"fourier\.frequencies", "fourier.w"), (r"fourier\.phases", "fourier.b"),
         (r"single_to_token", "s_to_token"), (r"single_step_norm", "s_step_norm"),
         (r"(atom_\w*encoder|atom_decoder)\.layers\.", r"\1.atom_transformer.blocks."),
         (r"(atom_transformer\.blocks\.\d\.)self_attn\.o_proj", r"\1attn.out_proj"),
         (r"(atom_transformer\.blocks\.\d\.)self_attn\.", r"\1attn."),
         (r"(atom_transformer\.blocks\.\d\.)mlp\.gate_up_proj", r"\1ffn.w_up"),
         (r"(atom_transformer\.blocks\.\d\.)mlp\.down_proj", r"\1ffn.w_down"),
         (r"adaln_linear", "adaln_modulation.1"),
         (r"token_transformer\.layers\.(\d)\.(input_layernorm|self_attn|attn_gate|pair_)",
          r"token_transformer.attn_blocks.\1.\2"),
         (r"token_transformer\.layers\.(\d)\.", r"token_transformer.transition_blocks.\1."),
         (r"(?:input_layernorm|post_attention_layernorm)\.cond_norm\.weight", "adaln.s_scale"),
         (r"(?:input_layernorm|post_attention_layernorm)\.(gate|shift)_proj", r"adaln.s_\1"),
         (r"(attn_blocks\.\d\.)self_attn\.gate_proj", r"\1g_proj"),
         (r"(attn_blocks\.\d\.)self_attn\.o_proj", r"\1out_proj"),
         (r"(attn_blocks\.\d\.)self_attn\.", r"\1"),
         (r"(attn_blocks\.\d\.)attn_gate", r"\1out_gate"),
         (r"(transition_blocks\.\d\.)mlp\.gate_up_proj", r"\1lin_swish"),
         (r"(transition_blocks\.\d\.)mlp\.down_proj", r"\1lin_out"),
         (r"(transition_blocks\.\d\.)mlp_gate", r"\1output_gate"),
         (r"confidence_head\.input_embedder\.single_inputs_norm", "confidence_head.s_inputs_norm"),
         (r"confidence_head\.input_embedder\.pair_norm", "confidence_head.z_norm"),
         (r"confidence_head\.input_embedder\.single_to_pair", "confidence_head.s_to_z"),
         (r"(confidence_head\.\w+)_layernorm", r"\1_ln")]
PACKED = [(r"(atom_transformer\.blocks\.\d\.attn\.)([qkv])_proj\.weight", "Wqkv.weight", "qkv"),
          (r"(attn_blocks\.\d\.)([kv])_proj\.weight", "kv_proj.weight", "kv")]
STEM = [(r"layers\.(\d)\.", r"transformer.blocks.\1."), ("^norm", "transformer.norm"),
        ("embed_tokens", "embed"), ("input_layernorm.", "attn.layernorm_qkv.layer_norm_"),
        ("post_attention_layernorm.", "ffn.layer_norm_"), ("self_attn.o_proj", "attn.out_proj"),
        (r"self_attn.([qk])_norm", r"attn.\1_ln"), ("self_attn.", "attn."),
        ("mlp.down_proj.weight", "ffn.fc2_weight"), ("mlp.", "ffn.")]
STEM_PACKED = [(r"(attn\.)([qkv])_proj\.weight", "layernorm_qkv.weight", "qkv"),
               (r"(ffn\.)(gate|up)_proj\.weight", "fc1_weight", ("gate", "up"))]


def read(path):
    """{name: (shape, bytes)} of a file in float32."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        head, data = json.loads(file.read(size)), file.read()
    return {name: (t["shape"], data[slice(*t["data_offsets"])]) for name, t in head.items()
            if name != "__metadata__"}


def write(path, tensors):
    head, at = {}, 0
    for name, (shape, data) in tensors.items():
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(t for _, t in tensors.values()))


def pack(tensors, rules):
    """Puts matrices of some names into one, row below row."""
    out = {}
    for name, (shape, data) in tensors.items():
        for pattern, to, order in rules:
            found = re.search(pattern, name)
            if not found:
                continue
            parts = [tensors[name[:found.start(2)] + part + name[found.end(2):]] for part in order]
            out[name[:found.end(1)] + to] = ([sum(s[0] for s, _ in parts)] + shape[1:],
                                             b"".join(d for _, d in parts))
            break
        else:
            out[name] = (shape, data)
    return out


def renamed(name, rules):
    for pattern, to in rules:
        name = re.sub(pattern, to, name)
    return name


def authors(tensors):
    """The fold's tensors as the authors have them, and ESM C's."""
    fold, stem = {}, {}
    for name, (shape, data) in tensors.items():
        if name.startswith("esmc."):
            stem[renamed(name[5:], STEM)] = (shape, data)
            continue
        name = renamed(name, RULES)
        if re.search(r"_transitions\.\d\.gate_up_proj", name): # two matrices here
            half = len(data) // 2
            for k, part in enumerate("ab"):
                fold[name.replace("gate_up", part)] = ([shape[0] // 2] + shape[1:],
                                                       data[k * half:(k + 1) * half])
        else:
            fold[name] = (shape, data)
    return pack(fold, PACKED), pack(stem, STEM_PACKED)


def settings(config):
    """config.json by the authors' keys, of the sizes that this test's weights have."""
    atoms, head = config["atom_encoder"], config["structure_head"]
    inner, sure = head["diffusion_module"], config["confidence_head"]
    msa = config["msa_encoder"]
    of_atoms = {"d_atom": atoms["hidden_size"], "n_blocks": atoms["num_hidden_layers"],
                "n_heads": atoms["num_attention_heads"],
                "swa_window_size": config["sliding_window"],
                "n_spatial_rope_pairs_per_axis": atoms["num_spatial_rope_pairs_per_axis"],
                "n_uid_rope_pairs": atoms["num_uid_rope_pairs"]}
    rest = {"atom_encoder": {"head_dim": atoms["head_dim"], "output_dim": atoms["output_dim"],
                             "intermediate_size": atoms["intermediate_size"]},
            "pair_transition_intermediate_size": config["pair_transition_intermediate_size"]}
    return dict(rest, d_single=config["hidden_size"], d_pair=config["pairwise_hidden_size"],
                inputs={"d_inputs": config["single_inputs_size"], "atom_encoder": of_atoms},
                n_relative_residx_bins=config["num_relative_residx_bins"],
                n_relative_chain_bins=config["num_relative_chain_bins"],
                num_loops=config["num_loops"],
                folding_trunk={"n_layers": config["folding_trunk_num_hidden_layers"]},
                parcae={"enabled": True, "coda_n_layers": config["parcae_num_coda_layers"]},
                lm_encoder={"enabled": True, "n_layers": config["lm_encoder"]["num_hidden_layers"],
                            "lm_dropout": config["lm_encoder"]["lm_dropout"],
                            "per_loop_lm_dropout": True},
                msa_encoder={"enabled": msa["enabled"], "d_msa": msa["hidden_size"],
                             "d_hidden": msa["outer_hidden_size"],
                             "n_layers": msa["num_hidden_layers"],
                             "n_heads_msa": msa["num_attention_heads"],
                             "msa_head_width": msa["head_dim"],
                             "intermediate_size": msa["intermediate_size"], "overwrite": True},
                num_diffusion_samples=head["num_diffusion_samples"],
                confidence_head={"num_plddt_bins": sure["num_plddt_bins"],
                                 "num_pae_bins": sure["num_pae_bins"],
                                 "num_pde_bins": sure["num_pde_bins"],
                                 "distogram_bins": sure["distogram_bins"],
                                 "folding_trunk": {"n_layers": sure["num_hidden_layers"]}},
                structure_head={
                    "distogram_bins": head["num_distogram_bins"], "gamma_0": head["gamma_0"],
                    "gamma_min": head["gamma_min"], "noise_scale": head["noise_scale"],
                    "step_scale": head["step_scale"], "inference_s_max":
                    head["inference_sigma_max_ratio"], "inference_s_min":
                    head["inference_sigma_min_ratio"], "inference_p": head["inference_exponent"],
                    "inference_num_steps": head["inference_num_steps"],
                    "inference_sigma_cap": head["inference_sigma_cap"],
                    "diffusion_module": {
                        "sigma_data": inner["sigma_data"], "c_token": inner["hidden_size"],
                        "fourier_dim": inner["fourier_dim"], "intermediate_size":
                        inner["intermediate_size"], "pair_intermediate_size":
                        inner["pair_intermediate_size"],
                        "token_num_blocks": inner["num_hidden_layers"],
                        "token_num_heads": inner["num_attention_heads"]}})


class Apart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(self.path("x.fasta"), "w", encoding="ascii") as file:
            file.write(RECORDS)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def put(self, name, tensors, config):
        os.makedirs(self.path(name), exist_ok=True)
        write(self.path(name, "model.safetensors"), tensors)
        with open(self.path(name, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.path(name)

    def fold(self, weights, code=0, env=None):
        """The files of a run, or its words where it fails."""
        shutil.rmtree(self.path("out"), ignore_errors=True)
        p = subprocess.run([EXE, "esmfold2", self.path("x.fasta"), "-o", self.path("out"),
                            "--weights", weights, "--device", "cpu", "--quiet"],
                           capture_output=True, env=dict(os.environ, **(env or {})))
        self.assertEqual(p.returncode, code, p.stderr[-1500:])
        if code:
            return p.stderr.decode()
        found = {}
        for name in os.listdir(self.path("out")):
            with open(self.path("out", name), "rb") as file:
                found[name] = file.read()
        return found

    def given(self, name):
        with open(os.path.join(GOLDEN, name, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        return config, read(os.path.join(GOLDEN, name, "model.safetensors"))

    def test_authors_files(self):
        for name in ("tiny", "msa"):
            config, tensors = self.given(name)
            fold, stem = authors(tensors)
            self.put("ESMC-6B", {"esmc." + key: t for key, t in stem.items()},
                     {"model_type": "esmc", "d_model": 64, "n_heads": 1, "n_layers": 2})
            weights = self.put(name, fold, dict(settings(config), esmc_id="biohub/ESMC-6B"))
            self.assertEqual(self.fold(weights), self.fold(os.path.join(GOLDEN, name)))

    def split(self):
        """The fold and ESM C, each by transformers' names, and their settings."""
        config, tensors = self.given("tiny")
        stem = {name[5:]: t for name, t in tensors.items() if name.startswith("esmc.")}
        fold = {name: t for name, t in tensors.items() if not name.startswith("esmc.")}
        return fold, stem, config, dict(config.pop("esmc_config"))

    def test_where_it_lies(self):
        want = self.fold(os.path.join(GOLDEN, "tiny"))
        fold, stem, config, of_stem = self.split()
        head = {"lm_head.dense.bias": ([64], bytes(256))} # a model with its head
        lies = self.put("stems", dict(stem, **head), of_stem)
        for esmc_id, place in (("a/b", ("fold", "a", "b")), ("org/name", ("name",)),
                               ("org/name", ("hub", "models--org--name", "snapshots", "main"))):
            weights = self.put("fold", fold, dict(config, esmc_id=esmc_id))
            shutil.copytree(lies, self.path(*place))
            self.assertEqual(self.fold(weights, env={"HF_HUB_CACHE": self.path("hub")}), want)
            shutil.rmtree(self.path(*place))

    def test_refusals(self):
        fold, stem, config, of_stem = self.split()
        none = {"HF_HUB_CACHE": self.path("hub")}
        weights = self.put("fold", fold, config)
        self.assertIn("no tensors of ESM C (esmc.*), and config.json has no esmc_id",
                      self.fold(weights, 78))
        weights = self.put("fold", fold, dict(config, esmc_id="org/name"))
        said = self.fold(weights, 78, env=none)
        for word in (weights, "esmc_id of config.json, 'org/name'", "fold/../name", "hub"):
            self.assertIn(word, said)
        self.put("name", fold, config)
        said = self.fold(weights, 78)
        self.assertIn("name: no ESM C, which config.json of %s names it for" % weights, said)
        one = {name: t for name, t in stem.items() if "layers.1" not in name}
        self.put("name", one, dict(of_stem, num_hidden_layers=1))
        said = self.fold(weights, 78)
        for word in (weights, "layer_weights has 3 numbers, expected 2", "fold/../name",
                     "has 1 layers"):
            self.assertIn(word, said)
        short = {name: t for name, t in stem.items() if name != "layers.1.self_attn.k_proj.weight"}
        self.put("name", short, of_stem)
        said = self.fold(weights, 78)
        for word in ("layers.1.self_attn.k_proj.weight", "(ESM C for %s)" % weights):
            self.assertIn(word, said)
        self.put("name", stem, dict(of_stem, num_attention_heads=2))
        said = self.fold(weights, 78)
        for word in ("fold/../name: config.json", "1 of 2 heads", "(ESM C for %s)" % weights):
            self.assertIn(word, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
