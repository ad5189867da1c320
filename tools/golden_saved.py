#!/usr/bin/env python3
"""Writes small models as an installed version of transformers saves them, with what that version
computes.

  golden_saved.py OUTDIR

makes OUTDIR/v4 or OUTDIR/v5, by the version. Run once under each of transformers 4.57.6 and 5.17.0:

  python3 tools/golden_saved.py tests/golden/saved

Folders: models of every family that this version has, whole and sharded, as safetensors and
(version 4) as .bin, and models with a head for classification, whose base is what bioinfer
computes. golden.safetensors holds, for each of the two sequences, input_ids, last_hidden_state and
mean (over residues) of the base of the model, read again from the files, in float32, one sequence
at a time; logits where the model is one for masked residues.
"""
import json
import os
import pathlib
import shutil
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy", "torch", "transformers", "safetensors")

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

import golden as g
import golden_plm as p

SEQUENCES = [("len9", g.random_sequence(9, 9)), ("len40", g.random_sequence(40, 40))]
WIDTH, HEADS, LAYERS, FFN = 32, 2, 2, 64


def fill(model, seed):
    """Weights of the scale that trained ones have."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, w in model.named_parameters():
            x = torch.randn(w.shape, generator=generator)
            if w.dim() > 1:
                w.copy_(x / w.shape[-1] ** 0.5)
            elif name.endswith("weight"):
                w.copy_(1 + 0.1 * x)
            else:
                w.copy_(0.1 * x)
    return model.eval()


def esm(kind):
    config = transformers.EsmConfig(vocab_size=33, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                    num_attention_heads=HEADS, intermediate_size=FFN,
                                    max_position_embeddings=64, position_embedding_type="rotary",
                                    token_dropout=True, emb_layer_norm_before=False,
                                    mask_token_id=32, pad_token_id=1, layer_norm_eps=1e-5,
                                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return getattr(transformers, kind)(config)


def bert(kind):
    return getattr(transformers, kind)(transformers.BertConfig(
        vocab_size=30, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=FFN, max_position_embeddings=64, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0))


def t5(kind):
    return getattr(transformers, kind)(
        transformers.T5Config(vocab_size=len(p.T5_VOCAB), d_model=WIDTH, d_kv=16, d_ff=FFN,
                              num_layers=LAYERS, num_heads=HEADS, dropout_rate=0.0))


def esmc(kind):
    return getattr(transformers, kind)(transformers.EsmcConfig(
        hidden_size=64, num_attention_heads=1,  # heads are 64 wide
        num_hidden_layers=LAYERS, intermediate_size=48))


# folder: (makes a model, class, class of the base, tokens, in front of the residues, what
# save_pretrained is told)
WHOLE, SHARDS = {}, {"max_shard_size": "40KB"}
BIN, BIN_SHARDS = {"safe_serialization": False}, {"safe_serialization": False,
                                                  "max_shard_size": "40KB"}
MODELS = {
    "esm2-lm": (esm, "EsmForMaskedLM", "EsmForMaskedLM", g.encode, 1, WHOLE),
    "esm2-shards": (esm, "EsmModel", "EsmModel", g.encode, 1, SHARDS),
    "esm2-tokens": (esm, "EsmForTokenClassification", "EsmModel", g.encode, 1, WHOLE),
    "esm2-sequences": (esm, "EsmForSequenceClassification", "EsmModel", g.encode, 1, WHOLE),
    "protbert-lm": (bert, "BertForMaskedLM", "BertForMaskedLM", p.bert_encode, 1, WHOLE),
    "protbert-shards": (bert, "BertModel", "BertModel", p.bert_encode, 1, SHARDS),
    "protbert-tokens": (bert, "BertForTokenClassification", "BertModel", p.bert_encode, 1, WHOLE),
    "prott5-encoder": (t5, "T5EncoderModel", "T5EncoderModel", p.t5_encode, 0, WHOLE),
    "prott5-shards": (t5, "T5ForConditionalGeneration", "T5EncoderModel", p.t5_encode, 0, SHARDS),
    "prott5-tokens": (t5, "T5ForTokenClassification", "T5EncoderModel", p.t5_encode, 0, WHOLE),
}
ONLY_4 = {
    "esm2-bin": (esm, "EsmForMaskedLM", "EsmForMaskedLM", g.encode, 1, BIN),
    "esm2-bin-shards": (esm, "EsmModel", "EsmModel", g.encode, 1, BIN_SHARDS),
    "protbert-bin": (bert, "BertModel", "BertModel", p.bert_encode, 1, BIN),
    "prott5-bin-shards": (t5, "T5Model", "T5EncoderModel", p.t5_encode, 0, BIN_SHARDS),
}
ONLY_5 = {
    "esmc-lm": (esmc, "EsmcForMaskedLM", "EsmcForMaskedLM", p.esmc_encode, 1, WHOLE),
    "esmc-shards": (esmc, "EsmcModel", "EsmcModel", p.esmc_encode, 1, SHARDS),
    "esmc-tokens": (esmc, "EsmcForTokenClassification", "EsmcModel", p.esmc_encode, 1, WHOLE),
}


def write_vocabulary(folder, make):
    if make is esm:
        (folder / "vocab.txt").write_text("\n".join(g.VOCAB))
    elif make is bert:
        (folder / "vocab.txt").write_text("\n".join(p.BERT_VOCAB))
    elif make is t5:
        vocab = [[piece, -i / 8] for i, piece in enumerate(p.T5_VOCAB)]
        p.write_json(folder / "tokenizer.json",
                     {"version": "1.0", "added_tokens": [],
                      "model": {"type": "Unigram", "unk_id": 2, "vocab": vocab}})


def base_of(saved, model, make, base):
    """The base of a saved model; transformers does not find an encoder under the name it has beside
    a T5 head."""
    if make is t5 and saved == "T5ForTokenClassification":
        whole = transformers.T5ForTokenClassification.from_pretrained(model, dtype=torch.float32)
        encoder = transformers.T5EncoderModel(whole.config)
        encoder.load_state_dict(whole.transformer.state_dict())
        return encoder
    return getattr(transformers, base).from_pretrained(model, dtype=torch.float32)


def outputs_of(model, ids, prefix):
    tokens = torch.from_numpy(ids)[None]
    with torch.no_grad():
        r = model(input_ids=tokens, attention_mask=torch.ones_like(tokens),
                  output_hidden_states=True)
    last = (r.hidden_states[-1] if getattr(r, "last_hidden_state", None) is None
            else r.last_hidden_state)
    out = {"input_ids": ids, "last_hidden_state": last[0].numpy()}
    out["mean"] = out["last_hidden_state"][prefix:len(ids) - 1].mean(0)
    if getattr(r, "logits", None) is not None:
        out["logits"] = r.logits[0].numpy()
    return out


def main():
    transformers.logging.set_verbosity_error()
    major = transformers.__version__.split(".")[0]
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    g.write_fasta(out / "sequences.fasta", SEQUENCES)
    models = {**MODELS, **(ONLY_4 if major == "4" else ONLY_5)}
    for seed, (name, (make, saved, base, encode, prefix, how)) in enumerate(models.items(), 100):
        folder = out / f"v{major}" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fill(make(saved), seed).save_pretrained(folder, **how)
        (folder / "generation_config.json").unlink(missing_ok=True)
        write_vocabulary(folder, make)
        model = base_of(saved, folder, make, base).eval()
        g.write_golden(folder / "golden.safetensors",
                       {k: outputs_of(model, encode(s), prefix) for k, s in SEQUENCES})
        for f in folder.iterdir():
            f.chmod(0o644)
        size = sum(f.stat().st_size for f in folder.iterdir())
        wrote = json.loads((folder / "config.json").read_text())["transformers_version"]
        print(f"{folder}: {size / 1024:.0f} KiB, transformers {wrote}, "
              f"{', '.join(sorted(f.name for f in folder.iterdir()))}")


if __name__ == "__main__":
    main()
