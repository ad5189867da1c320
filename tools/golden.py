#!/usr/bin/env python3
"""Writes reference data for the tests: small models with the outputs of the published
implementations.

  golden.py tiny OUTDIR             tiny random ESM-2 models in every file layout, with reference
                                    outputs
  golden.py seeded SIZE OUTDIR      random weights of a published size (8M, 35M, 150M, 650M), with
                                    outputs
  golden.py scores OUTDIR           zero-shot scores of bioinfer-tiny (--model FOLDER)

`tiny` also runs the other implementation on the same weights and prints how far apart the two are.

Reference: transformers for Hugging Face layouts, fair-esm for its own; float32 on the CPU, one
sequence at a time, attention mask of ones, rotary frequencies as stored. tools/requirements.txt
pins the versions.

Array names in golden.safetensors are <sequence id>/<array>; S = tokens with <cls> and <eos>, n =
residues:
  input_ids [S] int64; logits [S, 33]; last_hidden_state [S, D]; mean [D] (over residues);
  hidden_states [L+2, S, D] (0: scaled embedding; 1..L: after each layer, before the final
  LayerNorm; L+1: after it); attentions [L, H, S, S]; contacts [n, n].
"""
import argparse
import collections
import json
import pathlib
import re
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy")

import numpy as np

VOCAB = ("<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - "
         "<null_1> <mask>").split()
SIZES = {"8M": (6, 320, 20), "35M": (12, 480, 20), "150M": (30, 640, 20), "650M": (33, 1280, 20)}
# name: (layout, layers, width, heads, dtype, seed). Width / heads covers every head width in use.
TINY = {
    "hf-d16": ("safetensors", 3, 48, 3, "float32", 1),
    "hf-d24-shards": ("safetensors-shards", 3, 48, 2, "float16", 2),
    "hf-d32-bin": ("bin", 2, 64, 2, "float16", 3),
    "hf-d64-bin-legacy": ("bin-legacy", 1, 128, 2, "float16", 4),
    "hf-d16-bin-shards": ("bin-shards", 2, 48, 3, "float16", 5),
    "hf-d128": ("safetensors", 1, 128, 1, "float16", 6),
    "fair-d16": ("fair", 2, 32, 2, "float32", 7),
    "fair-d32-f16": ("fair", 2, 64, 2, "float16", 8),
    "te-d16": ("te", 3, 48, 3, "float32", 1),  # the weights of hf-d16
}
DETAILED = 40  # all layers and attentions are kept for sequences of at most this many residues


# ---- sequences -----------------------------------------------------------------------------------

def random_sequence(n, seed):
    """n residues of the 20 standard letters."""
    return "".join(np.random.default_rng(seed).choice(list("LAGVSERTIDPKQNFYMHWC"), n))


def tiny_sequences():
    s37, s70 = random_sequence(37, 37), random_sequence(70, 70)
    return [("len1", "M"), ("len2", "KW"), ("rare5", "XBUZO"),
            ("mask37", s37[:17] + "<mask>" + s37[18:]), ("len70", s70[:40] + "X" + s70[41:])]


def encode(sequence):
    """Token ids with <cls> and <eos>; <mask> in the text is one token."""
    tokens = re.findall(r"<mask>|.", sequence)
    return np.array([0] + [VOCAB.index(t) for t in tokens] + [2], dtype=np.int64)


def read_fasta(path):
    records = [r.partition("\n") for r in ("\n" + pathlib.Path(path).read_text()).split("\n>")[1:]]
    return [(h.split()[0], s.replace("\n", "")) for h, _, s in records]


def write_fasta(path, records):
    pathlib.Path(path).write_text("".join(f">{i}\n{s}\n" for i, s in records))


# ---- random weights of trained-like scale --------------------------------------------------------

def inv_freq(d):
    """Rotary frequencies as checkpoints hold them: rounded to float16."""
    exact = 1.0 / 10000.0 ** (np.arange(0, d, 2, dtype=np.float64) / d)
    return exact.astype(np.float16).astype(np.float32)


def random_weights(layers, width, heads, seed, dtype="float32", positions=1026):
    """Hugging Face names -> arrays. A few channels of the residual stream are 50 to 100 times
    larger than the others, as in trained ESM-2; the LayerNorms that read it have large weights, and
    small ones on those channels."""
    rng = np.random.default_rng(seed)
    w = {}

    def put(name, value):
        w[name] = np.ascontiguousarray(value, dtype=dtype)

    def normal(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    def linear(name, n_out, n_in, gain):
        put(name + ".weight", normal(n_out, n_in) * np.float32(gain / n_in ** 0.5))
        put(name + ".bias", 0.1 * normal(n_out))

    outliers = rng.choice(width, 2 if width < 256 else 4, replace=False)
    height = rng.uniform(50, 100, len(outliers)) * rng.choice([-1, 1], len(outliers))

    def norm(name, stream):
        """A LayerNorm. stream: typical size of an ordinary channel, or None when no outliers reach
        it."""
        scale = 1.0 if stream is None else (1 + (height ** 2).sum() / width / stream ** 2) ** 0.5
        weight = scale * rng.uniform(0.7, 1.3, width)
        if stream is not None:
            weight[outliers] *= 0.02
        put(name + ".weight", weight)
        put(name + ".bias", 0.1 * normal(width))

    put("esm.embeddings.word_embeddings.weight", normal(33, width) * np.float32(5 / width ** 0.5))
    put("esm.embeddings.position_embeddings.weight", normal(positions, width))
    w["esm.embeddings.position_ids"] = np.arange(positions, dtype=np.int64)[None]
    for n in range(layers):
        p = f"esm.encoder.layer.{n}."
        stream = None if n == 0 else (1 + n) ** 0.5  # the outliers enter by fc2 of layer 0
        norm(p + "attention.LayerNorm", stream)
        for part, gain in ("query", 1.2), ("key", 1.2), ("value", 1.0):
            linear(p + "attention.self." + part, width, width, gain)
        put(p + "attention.self.rotary_embeddings.inv_freq", inv_freq(width // heads))
        linear(p + "attention.output.dense", width, width, 0.7)
        norm(p + "LayerNorm", stream)
        linear(p + "intermediate.dense", 4 * width, width, 1.0)
        linear(p + "output.dense", width, 4 * width, 1.0)
        if n == 0:
            w[p + "output.dense.bias"][outliers] = height
        w[p + "output.dense.weight"][outliers] *= 5
    norm("esm.encoder.emb_layer_norm_after", layers ** 0.5)
    put("esm.contact_head.regression.weight",
        min(5, 12 / (layers * heads) ** 0.5) * normal(1, layers * heads))
    put("esm.contact_head.regression.bias", np.array([-1.5]))
    linear("lm_head.dense", width, width, 1.5)
    norm("lm_head.layer_norm", None)
    bias = 0.1 * normal(33)
    bias[[0, 1, 2, 3, 29, 30, 31, 32]] -= 10
    put("lm_head.bias", bias)
    return w


# ---- file layouts --------------------------------------------------------------------------------

def write_config(folder, layers, width, heads, dtype, positions):
    config = dict(
        architectures=["EsmForMaskedLM"], attention_probs_dropout_prob=0.0, classifier_dropout=None,
        emb_layer_norm_before=False, esmfold_config=None, hidden_act="gelu",
        hidden_dropout_prob=0.0,
        hidden_size=width, initializer_range=0.02, intermediate_size=4 * width,
        is_folding_model=False,
        layer_norm_eps=1e-05, mask_token_id=32, max_position_embeddings=positions, model_type="esm",
        num_attention_heads=heads, num_hidden_layers=layers, pad_token_id=1,
        position_embedding_type="rotary", token_dropout=True, torch_dtype=dtype,
        transformers_version="4.25.0.dev0", use_cache=True, vocab_list=None, vocab_size=33)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.txt").write_text("\n".join(VOCAB))


def split(weights, n_shards):
    """Deals the tensors out, in order, into shards of about equal bytes."""
    total, shards, seen = sum(a.nbytes for a in weights.values()), [{} for _ in range(n_shards)], 0
    for name, a in weights.items():
        shards[min(n_shards - 1, seen * n_shards // total)][name] = a
        seen += a.nbytes
    return shards, total


def write_shards(folder, stem, suffix, shards, total, save):
    weight_map = {}
    for i, shard in enumerate(shards, 1):
        name = f"{stem}-{i:05}-of-{len(shards):05}.{suffix}"
        save(shard, folder / name)
        weight_map.update(dict.fromkeys(shard, name))
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps(index, indent=2) + "\n")


def to_torch(weights):
    import torch
    return collections.OrderedDict((k, torch.from_numpy(v.copy())) for k, v in weights.items())


def tied_state(weights):
    """A state dict as torch saves it: module metadata, and an output matrix that shares the
    embedding's storage."""
    state = to_torch(weights)
    state["lm_head.decoder.weight"] = state["esm.embeddings.word_embeddings.weight"]
    state._metadata = collections.OrderedDict({"": {"version": 1}, "esm": {"version": 1}})
    return state


def fair_names(weights):
    """Hugging Face names -> fair-esm names without the checkpoint's prefix (esm2.md 4.2)."""
    rules = [
        (r"esm\.embeddings\.word_embeddings", "embed_tokens"),
        (r"esm\.encoder\.layer\.(\d+)\.attention\.LayerNorm", r"layers.\1.self_attn_layer_norm"),
        (r"esm\.encoder\.layer\.(\d+)\.attention\.self\.(query|key|value)",
         lambda m: f"layers.{m[1]}.self_attn.{m[2][0]}_proj"),
        (r"esm\.encoder\.layer\.(\d+)\.attention\.self\.rotary_embeddings",
         r"layers.\1.self_attn.rot_emb"),
        (r"esm\.encoder\.layer\.(\d+)\.attention\.output\.dense", r"layers.\1.self_attn.out_proj"),
        (r"esm\.encoder\.layer\.(\d+)\.LayerNorm", r"layers.\1.final_layer_norm"),
        (r"esm\.encoder\.layer\.(\d+)\.intermediate\.dense", r"layers.\1.fc1"),
        (r"esm\.encoder\.layer\.(\d+)\.output\.dense", r"layers.\1.fc2"),
        (r"esm\.encoder\.emb_layer_norm_after", "emb_layer_norm_after"),
        (r"esm\.contact_head", "contact_head")]
    out = {}
    for name, value in weights.items():
        if "position_" in name:
            continue
        for pattern, replacement in rules:
            name = re.sub("^" + pattern, replacement, name)
        out[name] = value
    return out


def write_fair(folder, weights, layers, width, heads):
    """<stem>.pt and <stem>-contact-regression.pt, as published by fair-esm."""
    import torch
    state, regression = collections.OrderedDict(), {}
    for name, value in to_torch(fair_names(weights)).items():
        if name.startswith("contact_head"):
            regression[name] = value.float()
        else:
            prefix = "encoder." if name.startswith("lm_head") else "encoder.sentence_encoder."
            state[prefix + name] = value
    state["encoder.lm_head.weight"] = state["encoder.sentence_encoder.embed_tokens.weight"]
    bag = argparse.Namespace(encoder_layers=layers, encoder_embed_dim=width,
                             encoder_attention_heads=heads, encoder_ffn_embed_dim=4 * width,
                             token_dropout=True, arch="esm2_tiny", dropout=0.0)
    stem = f"esm2_t{layers}_tiny"
    torch.save({"cfg": {"model": bag}, "model": state}, folder / f"{stem}.pt")
    torch.save({"model": regression}, folder / f"{stem}-contact-regression.pt")


def te_names(weights, layers, heads):
    """TransformerEngine layout (esm2.md 4.3): q, k, v interleaved per head, vocabulary padded to
    64."""
    width = weights["lm_head.dense.weight"].shape[0]
    out = {}

    def padded(a, fill):
        return np.concatenate([a, np.full((64 - 33,) + a.shape[1:], fill, a.dtype)])

    embedding = padded(weights["esm.embeddings.word_embeddings.weight"], 0)
    out["model.embeddings.word_embeddings.weight"] = embedding
    for n in range(layers):
        source, target = f"esm.encoder.layer.{n}.", f"model.encoder.layers.{n}."
        for kind in "weight", "bias":
            get = lambda name: weights[source + name + "." + kind]
            parts = [get("attention.self." + p) for p in ("query", "key", "value")]
            parts = [p.reshape(heads, 1, width // heads, -1) for p in parts]
            stacked = np.concatenate(parts, axis=1).reshape(3 * width, -1)
            out[target + "self_attention.layernorm_qkv." +
                kind] = stacked if kind == "weight" else stacked[:, 0]
            out[target + "self_attention.layernorm_qkv.layer_norm_" +
                kind] = get("attention.LayerNorm")
            out[target + "self_attention.proj." + kind] = get("attention.output.dense")
            out[target + "layernorm_mlp.layer_norm_" + kind] = get("LayerNorm")
            out[target + "layernorm_mlp.fc1_" + kind] = get("intermediate.dense")
            out[target + "layernorm_mlp.fc2_" + kind] = get("output.dense")
    for kind in "weight", "bias":
        out["model.encoder.emb_layer_norm_after." +
            kind] = weights["esm.encoder.emb_layer_norm_after." + kind]
        out["lm_head.dense." + kind] = weights["lm_head.dense." + kind]
        out["lm_head.decoder.layer_norm_" + kind] = weights["lm_head.layer_norm." + kind]
    out["lm_head.decoder.weight"] = embedding
    out["lm_head.decoder.bias"] = padded(weights["lm_head.bias"], np.finfo(np.float32).min)
    # copies: safetensors refuses shared memory
    return {k: np.array(v, order="C") for k, v in out.items()}


def write_model(folder, layout, weights, layers, width, heads, dtype):
    if layout == "fair":
        return write_fair(folder, weights, layers, width, heads)
    write_config(folder, layers, width, heads, dtype,
                 weights["esm.embeddings.position_ids"].shape[1])
    if layout == "safetensors":
        save(weights, folder / "model.safetensors")
    elif layout == "safetensors-shards":
        write_shards(folder, "model", "safetensors", *split(weights, 3), save)
    elif layout == "te":
        config = json.loads((folder / "config.json").read_text())
        config.update(model_type="nv_esm", architectures=["NVEsmForMaskedLM"], padded_vocab_size=64)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        save(te_names(weights, layers, heads), folder / "model.safetensors")
    else:
        import torch
        if layout == "bin-shards":
            shards, total = split(weights, 2)
            write_shards(folder, "pytorch_model", "bin", shards, total, lambda s,
                         p: torch.save(to_torch(s), p))
        else:
            torch.save(tied_state(weights), folder / "pytorch_model.bin",
                       _use_new_zipfile_serialization=layout != "bin-legacy")


# ---- references ----------------------------------------------------------------------------------

def hf_model(folder, frequencies):
    """EsmForMaskedLM in float32 from a folder; rotary frequencies forced to the stored ones."""
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    model = transformers.EsmForMaskedLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    for m in model.modules():
        if hasattr(m, "inv_freq"):  # transformers 5 recomputes them
            m.inv_freq = torch.from_numpy(frequencies.copy())
    return model


def fair_model(path):
    """fair-esm's ESM2 in float32 from a .pt file with its contact regression beside it."""
    import torch
    from esm.pretrained import load_model_and_alphabet_core
    data = torch.load(path, map_location="cpu", weights_only=False)
    regression = torch.load(path.with_name(path.stem + "-contact-regression.pt"),
                            weights_only=False)
    return load_model_and_alphabet_core(path.stem, data, regression)[0].float().eval()


def run_hf(model, ids, detailed, contacts=True):
    """Outputs of one sequence by transformers."""
    import torch
    tokens, kept = torch.from_numpy(ids)[None], []
    first = lambda o: o[0] if isinstance(o, tuple) else o
    encoder = model.esm.encoder
    modules = [model.esm.embeddings, *encoder.layer, encoder.emb_layer_norm_after]
    hooks = [m.register_forward_hook(lambda m, a, o: kept.append(first(o)[0].clone()))
             for m in modules]
    with torch.no_grad():
        r = model(tokens, attention_mask=torch.ones_like(tokens), output_attentions=detailed)
        for h in hooks:
            h.remove()
        out = {"logits": r.logits[0], "hidden_states": torch.stack(kept)}
        if detailed:
            out["attentions"] = torch.stack([a[0] for a in r.attentions])
        if contacts:
            out["contacts"] = model.esm.predict_contacts(tokens, torch.ones_like(tokens))[0]
    return finish(ids, out, detailed)


def run_fair(model, ids, detailed, contacts=True):
    """Outputs of one sequence by fair-esm."""
    import torch
    tokens, last, n_layers = torch.from_numpy(ids)[None], [], model.num_layers
    hook = model.layers[-1].register_forward_hook(lambda m, a, o: last.append(o[0][:, 0].clone()))
    with torch.no_grad():
        r = model(tokens, repr_layers=range(n_layers + 1), return_contacts=contacts)
    hook.remove()
    states = [r["representations"][i][0]
              for i in range(n_layers)] + [last[0], r["representations"][n_layers][0]]
    out = {"logits": r["logits"][0], "hidden_states": torch.stack(states)}
    if contacts:
        out["contacts"] = r["contacts"][0]
        if detailed:
            out["attentions"] = r["attentions"][0]
    return finish(ids, out, detailed)


def finish(ids, out, detailed):
    out = {k: v.to("cpu").numpy() for k, v in out.items()}
    out["last_hidden_state"] = out["hidden_states"][-1].copy()
    out["mean"] = out["last_hidden_state"][1:-1].mean(0)
    out["input_ids"] = ids
    if not detailed:
        del out["hidden_states"]
    return out


def relative_l2(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


def worst(ours, theirs):
    """Largest relative L2 over the arrays of two output dicts."""
    return max(relative_l2(ours[k], theirs[k]) for k in theirs if k in ours and k != "input_ids")


def write_golden(path, outputs):
    save({f"{i}/{k}": np.ascontiguousarray(v) for i, out in outputs.items()
          for k, v in out.items()}, path)


def save(arrays, path):
    """A safetensors file, complete or absent."""
    from safetensors.numpy import save_file
    part = pathlib.Path(str(path) + ".part")
    save_file(arrays, part, metadata={"format": "pt"})
    part.chmod(0o644)
    part.replace(path)


# ---- commands ------------------------------------------------------------------------------------

def other_reference(weights, layers, width, heads, use_fair, scratch):
    """The other implementation, on the same weights in float32."""
    as_float = {k: v.astype(np.float32) if v.dtype.kind == "f" else v for k, v in weights.items()}
    write_model(scratch, "fair" if use_fair else "safetensors", as_float, layers, width, heads,
                "float32")
    if use_fair:
        return fair_model(scratch / f"esm2_t{layers}_tiny.pt"), run_fair
    return hf_model(scratch, inv_freq(width // heads)), run_hf


def tiny(args):
    """One folder per configuration; every output is checked against the other implementation."""
    import tempfile
    out_dir = pathlib.Path(args.outdir)
    out_dir.mkdir(parents=True, exist_ok=True)
    write_fasta(out_dir / "sequences.fasta", tiny_sequences())
    for name, (layout, layers, width, heads, dtype, seed) in TINY.items():
        if args.only and name not in args.only.split(","):
            continue
        folder = out_dir / name
        folder.mkdir(exist_ok=True)
        weights = random_weights(layers, width, heads, seed, dtype, positions=24)
        write_model(folder, layout, weights, layers, width, heads, dtype)
        with tempfile.TemporaryDirectory() as scratch:
            other, run_other = other_reference(weights, layers, width, heads, layout != "fair",
                                               pathlib.Path(scratch))
            # no public CPU reference reads it: the same weights in the layout it came from
            if layout == "te":
                write_model(pathlib.Path(scratch), "safetensors", weights, layers, width, heads,
                            dtype)
                model, run = hf_model(scratch, inv_freq(width // heads)), run_hf
            elif layout == "fair":
                model, run = fair_model(folder / f"esm2_t{layers}_tiny.pt"), run_fair
            else:
                model, run = hf_model(folder, inv_freq(width // heads)), run_hf
            outputs, apart = {}, 0.0
            for key, sequence in tiny_sequences():
                ids = encode(sequence)
                outputs[key] = run(model, ids, len(ids) - 2 <= DETAILED, contacts=True)
                apart = max(apart, worst(run_other(other, ids, True), outputs[key]))
                if layout == "te":  # no contact head; layers and attentions are those of hf-d16
                    for kind in {"contacts", "attentions", "hidden_states"} & set(outputs[key]):
                        del outputs[key][kind]
        write_golden(folder / "golden.safetensors", outputs)
        size = sum(f.stat().st_size for f in folder.iterdir())
        stats(name, outputs, f"{size / 1024:.0f} KiB, fair-esm against transformers {apart:.1e}")


def stats(name, outputs, note):
    """Prints what matters for the gates: smallest top-1 gap, and how far the outliers stand out."""
    gap, ratio = np.inf, float("nan")
    for out in outputs.values():
        top = np.sort(out["logits"][1:-1], -1)
        gap = min(gap, (top[:, -1] - top[:, -2]).min())
        if "hidden_states" in out:
            x = np.abs(out["hidden_states"][-2])
            ratio = np.fmax(ratio, x.max() / np.median(x))
    print(f"{name}: {note}; smallest top-1 gap {gap:.1e}; largest / median channel {ratio:.0f}",
          flush=True)


def seeded(args):
    """Random weights of a published size in the Hugging Face layout, with reference outputs."""
    layers, width, heads = SIZES[args.size]
    folder = pathlib.Path(args.outdir)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "model.safetensors").exists():
        weights = random_weights(layers, width, heads, args.seed)
        write_model(folder, "safetensors", weights, layers, width, heads, "float32")
        del weights
    if args.no_golden:
        return
    lengths = [int(n) for n in args.lengths.split(",")]
    records = [(f"len{n}", random_sequence(n, n)) for n in lengths]
    write_fasta(folder / "sequences.fasta", records)
    model, outputs = hf_model(folder, inv_freq(width // heads)), {}
    for key, sequence in records:
        detailed = len(sequence) <= args.detailed
        outputs[key] = run_hf(model, encode(sequence), detailed,
                              contacts=len(sequence) <= args.detailed)
    write_golden(folder / "golden.safetensors", outputs)
    note = "float32"
    if args.noise:  # how far float32 itself is from float64
        model = model.double()
        shortest = records[:args.noise]
        apart = max(worst(run_hf(model, encode(s), True), outputs[k]) for k, s in shortest)
        note = f"float32 against float64 {apart:.1e}"
    stats(args.size, outputs, note)


def masked_tables(model, ids):
    """(masked-marginals, wt-marginals): log-probabilities [n, 33] in float64."""
    import torch
    tokens = torch.from_numpy(ids)[None]
    ones = torch.ones_like(tokens)
    with torch.no_grad():
        plain = model(tokens, attention_mask=ones).logits[0, 1:-1].double().log_softmax(-1)
        rows = []
        for i in range(1, len(ids) - 1):
            masked = tokens.clone()
            masked[0, i] = VOCAB.index("<mask>")
            rows.append(model(masked, attention_mask=ones).logits[0, i].double().log_softmax(-1))
    return torch.stack(rows).numpy(), plain.numpy()


def mutation_score(table, sequence, mutant):
    """Sum over the point mutations (A1G:K5R, counted from 1) of log p(mutant) - log p(wild
    type)."""
    total = 0.0
    for one in mutant.split(":"):
        wt, i, mt = one[0], int(one[1:-1]) - 1, one[-1]
        assert sequence[i] == wt, (mutant, sequence[i])
        total += table[i, VOCAB.index(mt)] - table[i, VOCAB.index(wt)]
    return float(total)


def scores(args):
    """Zero-shot scores of the two shortest sequences of bioinfer-tiny's golden set (esm2.md section
    11)."""
    from safetensors.numpy import load_file
    out_dir, model_dir = pathlib.Path(args.outdir), pathlib.Path(args.model)
    out_dir.mkdir(parents=True, exist_ok=True)
    stored = load_file(model_dir / "model.safetensors")
    frequencies = (stored["esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq"]
                   .astype(np.float32))
    model, tables, summary = hf_model(model_dir, frequencies), {}, {}
    records = sorted(read_fasta(model_dir / "golden" / "sequences.fasta"),
                     key=lambda r: len(r[1]))[:2]
    write_fasta(out_dir / "sequences.fasta", records)
    for key, sequence in records:
        assert len(sequence) <= 60, len(sequence)
        ids = encode(sequence)
        masked, plain = masked_tables(model, ids)
        tables[key + "/masked_marginals"] = masked.astype(np.float32)
        tables[key + "/wt_marginals"] = plain.astype(np.float32)
        own = masked[np.arange(len(sequence)), ids[1:-1]]
        n, letters = len(sequence), "LAGVSERTIDPKQNFYMHWC"
        points = [f"{sequence[i]}{i + 1}{letters[(letters.index(sequence[i]) + 7) % 20]}"
                  for i in (0, 1, 4, n // 2, n - 1)]
        mutants = points + [points[0] + ":" + points[2], ":".join(points[1:])]
        summary[key] = {
            "sequence": sequence, "pll": float(own.sum()),
            "pseudo_perplexity": float(np.exp(-own.mean())),
            "wt_pll": float(plain[np.arange(n), ids[1:-1]].sum()),
            "mutants": [{"mutant": m, "masked_marginals": mutation_score(masked, sequence, m),
                         "wt_marginals": mutation_score(plain, sequence, m),
                         "mutant_pll": mutant_pll(model, sequence, m)} for m in mutants]}
        print(key, n, "PPPL", summary[key]["pseudo_perplexity"], flush=True)
    save(tables, out_dir / "scores.safetensors")
    (out_dir / "scores.json").write_text(json.dumps(summary, indent=1) + "\n")


def mutant_pll(model, sequence, mutant):
    """Pseudo-log-likelihood of the mutated sequence: n masked passes over it."""
    letters = list(sequence)
    for one in mutant.split(":"):
        letters[int(one[1:-1]) - 1] = one[-1]
    ids = encode("".join(letters))
    masked, _ = masked_tables(model, ids)
    return float(masked[np.arange(len(letters)), ids[1:-1]].sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("tiny", help="tiny models in every layout, with goldens")
    p.add_argument("outdir")
    p.add_argument("--only", help="comma-separated names instead of all")
    p.set_defaults(run=tiny)
    p = commands.add_parser("seeded", help="random weights of a published size, with goldens")
    p.add_argument("size", choices=SIZES)
    p.add_argument("outdir")
    p.add_argument("--seed", type=int, default=2024)
    p.add_argument("--lengths", default="1,33,128,300,700")
    p.add_argument("--detailed", type=int, default=128,
                   help="longest sequence with all layers, attentions, contacts")
    p.add_argument("--noise", type=int, default=0, metavar="N",
                   help="also run the first N sequences in float64")
    p.add_argument("--no-golden", action="store_true", help="weights only")
    p.set_defaults(run=seeded)
    p = commands.add_parser("scores", help="zero-shot scores of bioinfer-tiny")
    p.add_argument("outdir")
    p.add_argument("--model", required=True, help="folder of bioinfer-tiny")
    p.set_defaults(run=scores)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
