#!/usr/bin/env python3
"""Reference data of small random models: ESM-1b, ESM-1v, SaProt, Ankh, Nucleotide Transformer.

  golden_families.py tiny OUTDIR [--only esm1b,esm1v,saprot,nucleotide-transformer,ankh]

Reference: transformers' EsmForMaskedLM and T5EncoderModel for Hugging Face layouts, fair-esm's
ProteinBertModel for its own, float32 on the CPU, one sequence at a time. Models of ESM-1 are run by
both, which must agree. The second Nucleotide Transformer's code comes with its weights and is
not in transformers: the reference is EsmForMaskedLM with the feed-forward block replaced by one
written here after the published description. Tokens are those of transformers' EsmTokenizer over
the vocab.txt written here, and of the tokenizers library over tokenizer.json. Arrays are named as
golden.py and golden_plm.py say.
"""

import argparse
import collections
import itertools
import json
import pathlib
import re
import sys
import tempfile
import warnings

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy")

import numpy as np

import golden as g
import golden_plm as plm

RESIDUES, STATES = "ACDEFGHIKLMNPQRSTVWY#", "pynwrqhgdlvtmfsaeikc#"
SAPROT_VOCAB = "<cls> <pad> <eos> <unk> <mask>".split() + [
    r + s for r, s in itertools.product(RESIDUES, STATES)
]
WORDS = ["".join(w) for w in itertools.product("ATCG", repeat=6)]
NT1_VOCAB = ["<unk>", "<pad>", "<mask>", "<cls>", *WORDS, "A", "T", "C", "G", "N"]
NT2_VOCAB = [*NT1_VOCAB, "<eos>", "<bos>"]
ANKH_VOCAB = ["<pad>", "</s>", "<unk>", *"ALGVSREDTIPKFQNYMHWCXBOUZ"]
POSITIONS = 80  # rows of tables of positions; the first two are of no place


# ---- models of the ESM kind --------------------------------------------------------------------


def esm_weights(shape, seed, vocab, dtype="float16", learned=False, norm=False, gated=0, tied=True):
    """Names of EsmForMaskedLM -> arrays, with outliers as trained models have (golden.py)."""
    layers, width, heads = shape
    w = g.random_weights(layers, width, heads, seed, dtype, POSITIONS)
    rng = np.random.default_rng(seed + 1000)
    normal = lambda *size: rng.standard_normal(size).astype(dtype)
    words = "esm.embeddings.word_embeddings.weight"
    del w["esm.embeddings.position_ids"]
    if vocab != g.VOCAB:
        w[words] = (normal(len(vocab), width) * (5 / width**0.5)).astype(dtype)
        w["lm_head.bias"] = normal(len(vocab)) * np.dtype(dtype).type(0.1)
    if not tied:
        w["lm_head.decoder.weight"] = (normal(len(vocab), width) * (5 / width**0.5)).astype(dtype)
    if learned:
        w = {k: v for k, v in w.items() if "rotary" not in k}
    else:
        del w["esm.embeddings.position_embeddings.weight"]
    if norm:
        w["esm.embeddings.layer_norm.weight"] = rng.uniform(0.7, 1.3, width).astype(dtype)
        w["esm.embeddings.layer_norm.bias"] = normal(width) * np.dtype(dtype).type(0.1)
    for n in range(layers if gated else 0):  # a block without biases makes no outliers of its own
        p = f"esm.encoder.layer.{n}."
        w[p + "intermediate.dense.weight"] = (
            normal(2 * gated, width) * (1.5 / width**0.5)
        ).astype(dtype)
        w[p + "output.dense.weight"] = (normal(width, gated) * (1 / gated**0.5)).astype(dtype)
        del w[p + "intermediate.dense.bias"], w[p + "output.dense.bias"]
    for k in w if gated else ():
        if k.endswith(("LayerNorm.weight", "emb_layer_norm_after.weight")):
            w[k] = rng.uniform(0.7, 1.3, width).astype(dtype)
    return w


def esm_config(shape, vocab, learned=False, norm=False, gated=0, dropout=True, eps=1e-5, **more):
    layers, width, heads = shape
    config = dict(
        architectures=["EsmForMaskedLM"],
        attention_probs_dropout_prob=0.0,
        emb_layer_norm_before=norm,
        esmfold_config=None,
        hidden_dropout_prob=0.0,
        hidden_size=width,
        initializer_range=0.02,
        intermediate_size=gated or 4 * width,
        is_folding_model=False,
        layer_norm_eps=eps,
        mask_token_id=vocab.index("<mask>"),
        max_position_embeddings=POSITIONS,
        model_type="esm",
        num_attention_heads=heads,
        num_hidden_layers=layers,
        pad_token_id=vocab.index("<pad>"),
        position_embedding_type="absolute" if learned else "rotary",
        token_dropout=dropout,
        torch_dtype="float32",
        transformers_version="4.25.0.dev0",
        use_cache=False,
        vocab_list=None,
        vocab_size=len(vocab),
    )
    return {**config, **more}


def gated_block(width, ffn):
    """silu of the first half of a matrix's rows times the second half, without biases."""
    import torch

    class Gated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = torch.nn.Linear(width, 2 * ffn, bias=False)

        def forward(self, x):
            gate, value = self.dense(x).chunk(2, dim=-1)
            return torch.nn.functional.silu(gate) * value

    return Gated()


def esm_model(config, weights):
    """EsmForMaskedLM in float32; rotary frequencies as stored."""
    import torch
    from transformers import EsmConfig, EsmForMaskedLM

    fields = {
        k: v
        for k, v in config.items()
        if k not in ("architectures", "torch_dtype", "transformers_version", "add_bias_fnn")
    }
    gated = config.get("add_bias_fnn") is False
    tied = config.get("tie_word_embeddings", True)
    model = EsmForMaskedLM(EsmConfig(**fields, attn_implementation="eager"))
    for layer in model.esm.encoder.layer if gated else ():
        width, ffn = config["hidden_size"], config["intermediate_size"]
        layer.intermediate = gated_block(width, ffn)
        layer.output.dense = torch.nn.Linear(ffn, width, bias=False)
    state = {k: torch.from_numpy(np.asarray(v, np.float32)) for k, v in weights.items()}
    frequencies = [v for k, v in state.items() if k.endswith("inv_freq")]
    state = {k: v for k, v in state.items() if not k.endswith("inv_freq")}
    if tied:
        state["lm_head.decoder.weight"] = state["esm.embeddings.word_embeddings.weight"]
    missing, unexpected = model.load_state_dict(state, strict=False)
    allowed = r".*inv_freq|lm_head\.decoder\.bias|esm\.contact_head.*"
    assert not unexpected and all(re.fullmatch(allowed, k) for k in missing), (missing, unexpected)
    if "lm_head.decoder.bias" in missing:
        model.lm_head.decoder.bias = model.lm_head.bias
    for m in model.modules():
        if hasattr(m, "inv_freq"):
            m.inv_freq = frequencies[0].clone()
    return model.float().eval()


def run(model, ids, detailed, contacts, suffix):
    """golden.py's outputs; the mean is over what stands between the special tokens."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of golden.py supposes <eos>
        out = g.run_hf(model, ids, detailed, contacts)
    out["mean"] = out["last_hidden_state"][1 : len(ids) - suffix].mean(0)
    return out


def write_esm(folder, weights, config, vocab):
    plm.write_json(folder / "config.json", config)
    (folder / "vocab.txt").write_text("\n".join(vocab))
    g.save({k: np.ascontiguousarray(v) for k, v in weights.items()}, folder / "model.safetensors")


def check_tokens(folder, records, encode, **more):
    """transformers' tokenizer over the vocab.txt written here makes the same ids."""
    from transformers import EsmTokenizer

    tokenizer = EsmTokenizer(str(folder / "vocab.txt"), **more)
    for _, s in records:
        theirs = tokenizer(s)["input_ids"]
        assert theirs == encode(s).tolist(), (s, theirs, encode(s).tolist())


# ---- ESM-1b and ESM-1v -------------------------------------------------------------------------


def write_fair(folder, stem, weights, shape):
    """<stem>.pt and its contact regression, named as in fair-esm's older files."""
    import torch

    layers, width, heads = shape
    state, regression = collections.OrderedDict(), {}
    names = {
        "esm.embeddings.position_embeddings.weight": "embed_positions.weight",
        "esm.embeddings.layer_norm.weight": "emb_layer_norm_before.weight",
        "esm.embeddings.layer_norm.bias": "emb_layer_norm_before.bias",
    }
    rest = {k: v for k, v in weights.items() if k not in names}
    fair = {**{names[k]: weights[k] for k in names if k in weights}, **g.fair_names(rest)}
    for name, value in g.to_torch(fair).items():
        if name.startswith("contact_head"):
            regression[name] = value.float()
        else:
            state[
                ("encoder." if name.startswith("lm_head") else "encoder.sentence_encoder.") + name
            ] = value
    state["encoder.lm_head.weight"] = state["encoder.sentence_encoder.embed_tokens.weight"]
    bag = argparse.Namespace(
        arch="roberta_large",
        encoder_layers=layers,
        encoder_embed_dim=width,
        encoder_attention_heads=heads,
        encoder_ffn_embed_dim=4 * width,
        dropout=0.0,
        max_positions=POSITIONS - 2,
        token_dropout=True,
    )
    torch.save({"args": bag, "model": state}, folder / f"{stem}.pt")
    torch.save({"model": regression}, folder / f"{stem}-contact-regression.pt")


def tiny_esm1(out, stem, norm, seed):
    records = g.tiny_sequences()
    g.write_fasta(out / "sequences.fasta", records)
    for name, shape, dtype in ("hf", (2, 48, 3), "float32"), ("fair", (2, 32, 2), "float16"):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        weights = esm_weights(shape, seed, g.VOCAB, dtype, learned=True, norm=norm)
        config = esm_config(shape, g.VOCAB, learned=True, norm=norm)
        seed += 1
        # fair-esm sets the row of <mask> to zero, and its conversions hold that
        zeroed = dict(weights)
        words = "esm.embeddings.word_embeddings.weight"
        zeroed[words] = weights[words].copy()
        zeroed[words][g.VOCAB.index("<mask>")] = 0
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            if name == "hf":
                weights = zeroed
                write_esm(folder, weights, config, g.VOCAB)
                check_tokens(folder, records, g.encode)
                write_fair(
                    scratch, stem, {k: v.astype(np.float32) for k, v in weights.items()}, shape
                )
                model, run_one, other, run_other = (
                    esm_model(config, weights),
                    g.run_hf,
                    g.fair_model(scratch / f"{stem}.pt"),
                    g.run_fair,
                )
            else:
                write_fair(folder, stem, weights, shape)
                model, run_one, other, run_other = (
                    g.fair_model(folder / f"{stem}.pt"),
                    g.run_fair,
                    esm_model(config, zeroed),
                    g.run_hf,
                )
            outputs, apart = {}, 0.0
            for key, sequence in records:
                ids = g.encode(sequence)
                outputs[key] = run_one(model, ids, len(sequence) <= g.DETAILED, contacts=True)
                apart = max(apart, g.worst(run_other(other, ids, True), outputs[key]))
            assert apart < 1e-5, apart
        g.write_golden(folder / "golden.safetensors", outputs)
        g.stats(f"{stem} {name}", outputs, f"fair-esm against transformers {apart:.1e}")
        if name == "hf" and stem.startswith("esm1v"):
            scores(out / "scores", model)


def scores(out, model):
    """Zero-shot scores as golden.py's, of two short proteins."""
    out.mkdir(parents=True, exist_ok=True)
    tables, summary = {}, {}
    records = [("a", g.random_sequence(19, 19)), ("b", g.random_sequence(33, 33))]
    g.write_fasta(out / "sequences.fasta", records)
    for key, sequence in records:
        ids = g.encode(sequence)
        masked, plain = g.masked_tables(model, ids)
        tables[key + "/masked_marginals"] = masked.astype(np.float32)
        tables[key + "/wt_marginals"] = plain.astype(np.float32)
        n, letters = len(sequence), "LAGVSERTIDPKQNFYMHWC"
        own = masked[np.arange(n), ids[1:-1]]
        points = [
            f"{sequence[i]}{i + 1}{letters[(letters.index(sequence[i]) + 7) % 20]}"
            for i in (0, 1, 4, n // 2, n - 1)
        ]
        mutants = points + [points[0] + ":" + points[2], ":".join(points[1:])]
        summary[key] = {
            "sequence": sequence,
            "pll": float(own.sum()),
            "pseudo_perplexity": float(np.exp(-own.mean())),
            "wt_pll": float(plain[np.arange(n), ids[1:-1]].sum()),
            "mutants": [
                {
                    "mutant": m,
                    "masked_marginals": g.mutation_score(masked, sequence, m),
                    "wt_marginals": g.mutation_score(plain, sequence, m),
                    "mutant_pll": g.mutant_pll(model, sequence, m),
                }
                for m in mutants
            ],
        }
    g.save(tables, out / "scores.safetensors")
    (out / "scores.json").write_text(json.dumps(summary, indent=1) + "\n")


# ---- SaProt ------------------------------------------------------------------------------------


def saprot_encode(text):
    tokens = re.findall(r"<mask>|..", text)
    return np.array([0] + [SAPROT_VOCAB.index(t) for t in tokens] + [2], dtype=np.int64)


def tiny_saprot(out):
    rng = np.random.default_rng(61)

    def pairs(n, unknown):
        return "".join(
            RESIDUES[rng.integers(20)]
            + ("#" if rng.random() < unknown else STATES[rng.integers(20)])
            for _ in range(n)
        )

    s37 = pairs(37, 0.2)
    records = [
        ("len1", "Md"),
        ("len2", "K#Wp"),
        ("masked5", "#dAc##Yv#k"),
        ("plain9", pairs(9, 1)),
        ("mask37", s37[:34] + "<mask>" + s37[36:]),
        ("len70", pairs(70, 0.3)),
    ]
    g.write_fasta(out / "sequences.fasta", records)
    for name, shape, contacts, seed in ("af2", (2, 48, 3), True, 62), (
        "pdb",
        (1, 64, 2),
        False,
        63,
    ):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        weights = esm_weights(shape, seed, SAPROT_VOCAB)
        if not contacts:
            weights = {k: v for k, v in weights.items() if "contact_head" not in k}
        config = esm_config(shape, SAPROT_VOCAB, hidden_act="gelu")
        write_esm(folder, weights, config, SAPROT_VOCAB)
        check_tokens(folder, records, saprot_encode)
        model = esm_model(config, weights)
        outputs = {k: run(model, saprot_encode(s), len(s) <= 80, contacts, 1) for k, s in records}
        for key in outputs:
            if key == "len70":
                del outputs[key]["logits"]  # they are large
        g.write_golden(folder / "golden.safetensors", outputs)
        g.stats(f"saprot {name}", {k: o for k, o in outputs.items() if "logits" in o}, "float32")


# ---- Nucleotide Transformer --------------------------------------------------------------------


def nt_encode(text):
    """Six letters where all are bases, else one; N ends a run of words, and so does <mask>."""
    tokens = re.findall(r"<mask>|[ACGT]{6}|[ACGTN]", text)
    return np.array([3] + [NT2_VOCAB.index(t) for t in tokens], dtype=np.int64)


def tiny_nt(out):
    rng = np.random.default_rng(71)
    bases = lambda n: "".join(rng.choice(list("ACGT"), n))
    a, b = bases(29), bases(200)
    records = [
        ("one", "G"),
        ("five", "ACGTA"),
        ("word", "TTGACA"),
        ("n", a[:9] + "N" + a[9:20] + "NN" + a[20:]),
        ("mask", a[:12] + "<mask>" + a[12:17]),
        ("long", b[:100] + "N" + b[100:]),
    ]
    g.write_fasta(out / "sequences.fasta", records)
    for name, shape, vocab, more, seed in (
        ("v2", (2, 32, 2), NT2_VOCAB, dict(gated=24), 72),
        ("v2-deep", (3, 32, 1), NT2_VOCAB, dict(gated=40), 73),
        ("v1", (2, 16, 1), NT1_VOCAB, dict(learned=True), 74),
    ):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        weights = esm_weights(shape, seed, vocab, tied=False, **more)
        weights = {k: v for k, v in weights.items() if "contact_head" not in k}
        exact = 1.0 / 10000.0 ** (
            np.arange(0, shape[1] // shape[2], 2, dtype=np.float32) / (shape[1] // shape[2])
        )
        for k in weights:
            if k.endswith("inv_freq"):
                weights[k] = exact.astype(np.float32)
        extra = {"tie_word_embeddings": False}
        if "gated" in more:
            extra["add_bias_fnn"] = False
        config = esm_config(shape, vocab, dropout=False, eps=1e-12, **more, **extra)
        write_esm(folder, weights, config, vocab)
        if name == "v2-deep":  # the order of the package, and frequencies that the file lacks
            (folder / "vocab.txt").unlink()
            g.save(
                {k: v for k, v in weights.items() if "inv_freq" not in k and "lm_head" not in k},
                folder / "model.safetensors",
            )
        else:
            check_tokens(folder, records, nt_encode, eos_token=None)
        model = esm_model(config, weights)
        outputs = {k: run(model, nt_encode(s), len(s) <= 40, False, 0) for k, s in records}
        for key in outputs:
            if key == "long" or name == "v2-deep" or name == "v1" and key in ("n", "five"):
                del outputs[key]["logits"]  # they are large
        g.write_golden(folder / "golden.safetensors", outputs)
        some = {k: o for k, o in outputs.items() if "logits" in o and len(o["logits"]) > 2}
        g.stats(f"nucleotide-transformer {name}", some, "float32")


# ---- Ankh --------------------------------------------------------------------------------------


def ankh_encode(sequence):
    return np.array([ANKH_VOCAB.index(t) for t in sequence] + [1], dtype=np.int64)


def tiny_ankh(out):
    from transformers import T5Config, T5EncoderModel

    records = plm.sequences(None, 200)  # longer than the largest distance that has a bucket
    g.write_fasta(out / "sequences.fasta", records)
    for name, shape, seed, dtype in ("base", (32, 4, 3, 48), 81, "float32"), (
        "large",
        (48, 3, 2, 40),
        82,
        "float16",
    ):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        width, heads, layers, ffn = shape
        weights = plm.t5_weights(*shape, seed, dtype, head_dim=16, gated=True, vocab=144)
        weights.normal(
            "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            64,
            heads,
            gain=2,
        )
        config = T5Config(
            d_model=width,
            num_heads=heads,
            num_layers=layers,
            d_ff=ffn,
            d_kv=16,
            vocab_size=144,
            feed_forward_proj="gated-gelu",
            dropout_rate=0.0,
            relative_attention_num_buckets=64,
            relative_attention_max_distance=128,
            attn_implementation="eager",
        )
        model = plm.load(T5EncoderModel(config), weights)
        fields = json.loads(config.to_json_string())
        keys = (
            "d_ff d_kv d_model dense_act_fn dropout_rate eos_token_id feed_forward_proj "
            "is_encoder_decoder "
            "is_gated_act layer_norm_epsilon model_type num_heads num_layers pad_token_id "
            "relative_attention_max_distance relative_attention_num_buckets vocab_size"
        ).split()
        plm.write_json(folder / "config.json", {k: fields[k] for k in keys if k in fields})
        pieces = [[p, -i / 8] for i, p in enumerate(ANKH_VOCAB)]
        pieces += [[f"<extra_id_{i}>", 0.0] for i in range(144 - len(pieces))]
        plm.write_json(
            folder / "tokenizer.json",
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "normalizer": None,
                "pre_tokenizer": None,
                "decoder": None,
                "added_tokens": [
                    {
                        "id": i,
                        "content": pieces[i][0],
                        "single_word": False,
                        "lstrip": False,
                        "rstrip": False,
                        "normalized": False,
                        "special": True,
                    }
                    for i in [0, 1, 2, *range(len(ANKH_VOCAB), 144)]
                ],
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [
                        {"Sequence": {"id": "A", "type_id": 0}},
                        {"SpecialToken": {"id": "</s>", "type_id": 0}},
                    ],
                    "pair": [
                        {"Sequence": {"id": "A", "type_id": 0}},
                        {"Sequence": {"id": "B", "type_id": 0}},
                    ],
                    "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}},
                },
                "model": {"type": "Unigram", "unk_id": 2, "vocab": pieces},
            },
        )
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        for _, s in records:
            assert tokenizer.encode(list(s), is_pretokenized=True).ids == ankh_encode(s).tolist(), s
        if name == "base":  # a decoder that is of no use here
            extra = plm.Weights(seed + 1)
            extra.linear("decoder.block.0.layer.0.SelfAttention.q", 64, 32, 1, bias=False)
            extra.normal("lm_head.weight", 144, 32, gain=1)
            weights = {**weights, **extra}
        g.save(dict(weights), folder / "model.safetensors")
        plm.golden_file(folder, model, records, ankh_encode, 37, prefix=0)


def tiny(args):
    makers = {
        "esm1b": lambda out: tiny_esm1(out, "esm1b_t2_tiny", True, 51),
        "esm1v": lambda out: tiny_esm1(out, "esm1v_t2_tiny", False, 55),
        "saprot": tiny_saprot,
        "nucleotide-transformer": tiny_nt,
        "ankh": tiny_ankh,
    }
    for name in args.only.split(",") if args.only else makers:
        folder = pathlib.Path(args.outdir) / name
        folder.mkdir(parents=True, exist_ok=True)
        makers[name](folder)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("tiny", help="tiny models in every layout, with goldens")
    p.add_argument("outdir")
    p.add_argument("--only", help="comma-separated families instead of all")
    p.set_defaults(run=tiny)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
