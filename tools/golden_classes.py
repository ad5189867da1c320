#!/usr/bin/env python3
"""Writes fine-tuned models and adapters with what transformers and PEFT compute of them.

  golden_classes.py SAVED OUTDIR

SAVED is tests/golden/saved, whose models with a classifier are read: OUTDIR/NAME.safetensors holds
what they give. OUTDIR/NAME/ are further models with a classifier, and adapters of SAVED/v5 made by
PEFT, each with a golden.safetensors. Made with transformers 5.23.0 and peft 0.21.2, those of all
linear layers (lora-linear*), of saved heads and tables (lora-saved-*, lora-words-*) and lora-trunk
with 5.24.0:

  python3 tools/golden_classes.py tests/golden/saved tests/golden/classes

Arrays of a golden file: <sequence id>/input_ids, last_hidden_state, mean (as golden_saved.py has
them), class-logits, [classes] or [residues, classes], or logits of a head for masked residues, and
contacts of ESM-2, in float32, one sequence at a time.
"""

import json
import pathlib
import shutil
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy", "torch", "transformers", "safetensors", "peft")

import peft
import torch
import transformers

import golden as g
import golden_plm as p
import golden_saved as s

def t5(kind, feed_forward, n_decoder):
    """A model whose decoder is shallower than the encoder, with few buckets: all are met."""
    return getattr(transformers, kind)(
        transformers.T5Config(
            vocab_size=len(p.T5_VOCAB),
            d_model=s.WIDTH,
            d_kv=12,
            d_ff=s.FFN,
            num_layers=s.LAYERS,
            num_decoder_layers=n_decoder,
            num_heads=s.HEADS,
            relative_attention_num_buckets=8,
            relative_attention_max_distance=20,
            feed_forward_proj=feed_forward,
            dropout_rate=0.0,
            decoder_start_token_id=0,
        )
    )


# a model of SAVED/v5: class, encoding, tokens in front of the residues
SAVED = {
    "esm2-tokens": ("EsmForTokenClassification", g.encode, 1),
    "esm2-sequences": ("EsmForSequenceClassification", g.encode, 1),
    "protbert-tokens": ("BertForTokenClassification", p.bert_encode, 1),
    "prott5-tokens": ("T5ForTokenClassification", p.t5_encode, 0),
    "esmc-tokens": ("EsmcForTokenClassification", p.esmc_encode, 1),
}
# further models: makes one, class, encoding, tokens in front, what config.json says
MADE = {
    "bert-any": (
        s.bert,
        "BertForSequenceClassification",
        p.bert_encode,
        1,
        {
            "problem_type": "multi_label_classification",
            "id2label": {0: "cell wall", 1: "membrane", 2: "cytosol"},
        },
    ),
    "esm2-regression": (s.esm, "EsmForSequenceClassification", g.encode, 1, {"num_labels": 1}),
    "esmc-sequences": (
        s.esmc,
        "EsmcForSequenceClassification",
        p.esmc_encode,
        1,
        {"num_labels": 4},
    ),
    "t5-sequences": (
        lambda kind: t5(kind, "gated-gelu", 3),
        "T5ForSequenceClassification",
        p.t5_encode,
        0,
        {"num_labels": 3, "id2label": {0: "soluble", 1: "membrane bound", 2: "other"}},
    ),
    "t5-plain": (
        lambda kind: t5(kind, "relu", 2),
        "T5ForSequenceClassification",
        p.t5_encode,
        0,
        {"num_labels": 4},
    ),
}
# adapters: base in SAVED/v5, its class, encoding, tokens in front, labels, LoraConfig
ADAPTERS = {
    "lora-sequences": (
        "esm2-lm",
        "EsmForSequenceClassification",
        g.encode,
        1,
        3,
        {"task_type": "SEQ_CLS", "r": 4, "lora_alpha": 8, "target_modules": ["query", "value"]},
    ),
    "lora-base": (
        "esm2-lm",
        "EsmModel",
        g.encode,
        1,
        None,
        {
            "r": 2,
            "lora_alpha": 3,
            "use_rslora": True,
            "bias": "lora_only",
            "target_modules": [
                "query",
                "key",
                "value",
                "attention.output.dense",
                "intermediate.dense",
            ],
            "rank_pattern": {"key": 5},
            "alpha_pattern": {"key": 7, "intermediate.dense": 1},
        },
    ),
    "lora-t5": (
        "prott5-encoder",
        "T5EncoderModel",
        p.t5_encode,
        0,
        None,
        {"r": 4, "lora_alpha": 1, "target_modules": ["q", "k", "v", "o", "wi", "wo"]},
    ),
    "lora-tokens": (
        "protbert-lm",
        "BertForTokenClassification",
        p.bert_encode,
        1,
        5,
        {
            "task_type": "TOKEN_CLS",
            "r": 8,
            "lora_alpha": 16,
            "target_modules": ["query", "value", "dense"],
        },
    ),
    "lora-linear": (
        "esm2-lm",
        "EsmForSequenceClassification",
        g.encode,
        1,
        3,
        {
            "task_type": "SEQ_CLS",
            "r": 2,
            "lora_alpha": 3,
            "target_modules": "all-linear",
            "bias": "all",
        },
    ),
    "lora-linear-lm": (
        "esm2-lm",
        "EsmForMaskedLM",
        g.encode,
        1,
        None,
        {"r": 2, "lora_alpha": 3, "target_modules": "all-linear", "bias": "all"},
    ),
    "lora-saved-lm": (
        "esm2-lm",
        "EsmForMaskedLM",
        g.encode,
        1,
        None,
        {
            "r": 2,
            "lora_alpha": 2,
            "target_modules": ["query", "value"],
            "bias": "lora_only",
            "modules_to_save": ["lm_head"],
        },
    ),
    "lora-trunk": (
        "esm2-lm",
        "EsmModel",
        g.encode,
        1,
        None,
        {"r": 2, "lora_alpha": 3, "target_modules": "all-linear"},
    ),
    "lora-linear-bert": (
        "protbert-lm",
        "BertForMaskedLM",
        p.bert_encode,
        1,
        None,
        {"r": 2, "lora_alpha": 3, "target_modules": "all-linear", "bias": "all"},
    ),
    "lora-saved-bert": (
        "protbert-lm",
        "BertForMaskedLM",
        p.bert_encode,
        1,
        None,
        {"r": 2, "lora_alpha": 2, "target_modules": ["query"], "modules_to_save": ["cls"]},
    ),
    "lora-linear-esmc": (
        "esmc-lm",
        "EsmcForMaskedLM",
        p.esmc_encode,
        1,
        None,
        {"r": 2, "lora_alpha": 3, "target_modules": "all-linear", "bias": "all"},
    ),
    "lora-words-lm": (
        "esm2-lm",
        "EsmForMaskedLM",
        g.encode,
        1,
        None,
        {
            "r": 2,
            "lora_alpha": 3,
            "target_modules": ["query"],
            "modules_to_save": ["word_embeddings"],
        },
    ),
    "lora-words-bert": (
        "protbert-lm",
        "BertForMaskedLM",
        p.bert_encode,
        1,
        None,
        {
            "r": 2,
            "lora_alpha": 3,
            "target_modules": ["query"],
            "modules_to_save": ["word_embeddings"],
        },
    ),
    "lora-words-t5": (
        "../../classes/t5-sequences",
        "T5ForSequenceClassification",
        p.t5_encode,
        0,
        3,
        {
            "r": 2,
            "lora_alpha": 1,
            "target_modules": ["q"],
            "modules_to_save": ["shared", "encoder.embed_tokens"],
        },
    ),
}


def outputs_of(model, ids, prefix):
    """Computes what the model gives for one sequence; residues alone of logits of tokens."""
    tokens = torch.from_numpy(ids)[None]
    with torch.no_grad():
        r = model(
            input_ids=tokens, attention_mask=torch.ones_like(tokens), output_hidden_states=True
        )
    last = getattr(r, "last_hidden_state", None)
    if last is None:
        last = getattr(r, "encoder_last_hidden_state", None)
    out = {
        "input_ids": ids,
        "last_hidden_state": (r.hidden_states[-1] if last is None else last)[0].numpy(),
    }
    out["mean"] = out["last_hidden_state"][prefix : len(ids) - 1].mean(0)
    logits = getattr(r, "logits", None)
    if type(model).__name__.endswith("ForMaskedLM"):
        out["logits"] = logits[0].numpy()
    elif logits is not None:
        out["class-logits"] = (
            logits[0, prefix : len(ids) - 1] if logits.dim() == 3 else logits[0]
        ).numpy()
    trunk = getattr(model, "esm", model)
    if hasattr(trunk, "predict_contacts"):
        model.set_attn_implementation("eager")  # which alone gives maps
        with torch.no_grad():
            out["contacts"] = trunk.predict_contacts(tokens, torch.ones_like(tokens))[0].numpy()
    return out


def write(path, model, encode, prefix):
    model = model.float().eval()
    g.write_golden(path, {k: outputs_of(model, encode(q), prefix) for k, q in s.SEQUENCES})
    path.chmod(0o644)


def shrink(folder):
    """Keeps of a folder what is read."""
    for f in folder.iterdir():
        if (
            f.suffix not in (".json", ".safetensors", ".txt")
            or f.name == "generation_config.json"
        ):
            f.unlink()
        else:
            f.chmod(0o644)


def main():
    transformers.logging.set_verbosity_error()
    saved, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for name, (kind, encode, prefix) in SAVED.items():
        model = getattr(transformers, kind).from_pretrained(
            saved / "v5" / name, dtype=torch.float32
        )
        write(out / (name + ".safetensors"), model, encode, prefix)
    for seed, (name, (make, kind, encode, prefix, config)) in enumerate(MADE.items(), 300):
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        model = make(kind)
        whole = type(model.config).from_dict({**model.config.to_dict(), **config})
        s.fill(type(model)(whole), seed).save_pretrained(folder)
        s.write_vocabulary(folder, s.t5 if kind.startswith("T5") else make)
        shrink(folder)
        model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32)
        write(folder / "golden.safetensors", model, encode, prefix)
    for seed, (name, (base, kind, encode, prefix, n_labels, config)) in enumerate(
        ADAPTERS.items(), 400
    ):
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        more = {} if n_labels is None else {"num_labels": n_labels}
        torch.manual_seed(seed)
        model = getattr(transformers, kind).from_pretrained(
            saved / "v5" / base, dtype=torch.float32, **more
        )
        tuned = peft.get_peft_model(model, peft.LoraConfig(**config))
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():  # B begins as zeros
            for key, w in tuned.named_parameters():
                if w.requires_grad:
                    w.copy_(
                        torch.randn(w.shape, generator=generator) / max(w.shape[-1], 4) ** 0.5
                    )
        tuned.save_pretrained(folder)
        shrink(folder)
        path = folder / "adapter_config.json"
        facts = json.loads(path.read_text())
        facts["base_model_name_or_path"] = "base"  # the tests put it beside
        path.write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")
        write(folder / "golden.safetensors", tuned.merge_and_unload(), encode, prefix)
        print(name, sorted(f.name for f in folder.iterdir()))


if __name__ == "__main__":
    main()
