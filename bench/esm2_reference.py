#!/usr/bin/env python3
"""The reference beside esm2_gpu.py: ESM-2 of transformers with random weights on the same GPU.

  esm2_reference.py --fasta proteins.fasta --sizes 8M,650M

One line of JSON for each size and way: "fp32" as published (eager for single calls, SDPA for the
proteins, which eager attention does not hold; batches of 32 in file order), "fp16" (SDPA, sorted by
length, padded batches of at most 16,384 tokens), "fp16 compiled" (torch.compile, CUDA graphs;
single calls of the smaller sizes). Times are medians in milliseconds, of ids on the device to mean
embeddings on the host, or to contacts, one protein after another; the proteins, tokenisation
included, in seconds.
"""
import argparse
import json
import time

import torch
from transformers import EsmConfig, EsmModel

SIZES = {"8M": (6, 320, 20), "150M": (30, 640, 20), "650M": (33, 1280, 20), "3B": (36, 2560, 40)}
IDS = {letter: i + 4 for i, letter in enumerate("LAGVSERTIDPKQNFYMHWCXBUZO.-")}
BUDGET, PAD = 16384, 1
COMPILED = ("8M", "35M", "150M")  # where launches are what a single call waits for


def read_fasta(path):
    with open(path, encoding="utf-8") as f:
        return ["".join(r.split("\n")[1:]) for r in f.read().split(">")[1:]]


def batches(sequences, count=None):
    """Batches of `count` sequences, or, longest first, of at most BUDGET padded tokens."""
    out, batch = [], []
    for s in sequences:
        full = (len(batch) == count if count
                else (len(batch) + 1) * (len((batch or [s])[0]) + 2) > BUDGET)
        if batch and full:
            out.append(batch)
            batch = []
        batch.append(s)
    return out + [batch]


def encode(batch):
    ids = torch.full((len(batch), max(map(len, batch)) + 2), PAD)
    for i, s in enumerate(batch):
        ids[i, :len(s) + 2] = torch.tensor([0, *(IDS.get(c, 24) for c in s), 2])
    return ids


def means(model, ids):
    mask = ids != PAD
    hidden = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
    return ((hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]).cpu()


def call_ms(model, count, tokens, repeat=10):
    ids = torch.randint(4, 24, (count, tokens), device="cuda")
    times = []
    for i in range(repeat + 2):
        begun = time.perf_counter()
        means(model, ids)
        times.append(1e3 * (time.perf_counter() - begun))
    return sorted(times[2:])[repeat // 2]


def contacts_ms(model, tokens, repeat=5):
    """Milliseconds of one protein: maps of all layers are stored, as transformers does."""
    ids = torch.randint(4, 24, (1, tokens), device="cuda")
    mask = torch.ones_like(ids)
    times = []
    for _ in range(repeat + 2):
        begun = time.perf_counter()
        model.predict_contacts(ids, mask).cpu()
        times.append(1e3 * (time.perf_counter() - begun))
    return sorted(times[2:])[repeat // 2]


def build(size, dtype, attention):
    layers, width, heads = SIZES[size]
    config = EsmConfig(vocab_size=33, hidden_size=width, num_hidden_layers=layers,
                       num_attention_heads=heads, intermediate_size=4 * width,
                       position_embedding_type="rotary", token_dropout=True, mask_token_id=32,
                       pad_token_id=PAD, max_position_embeddings=4096,
                       attn_implementation=attention)
    torch.manual_seed(0)
    with torch.device("cuda"):
        return EsmModel(config, add_pooling_layer=False).eval().to(dtype)


def proteins_s(model, sequences, count=None):
    begun = time.perf_counter()
    for batch in batches(sequences if count else sorted(sequences, key=len, reverse=True), count):
        means(model, encode(batch).cuda())
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fasta", required=True)
    parser.add_argument("--sizes", default="8M,150M,650M")
    args = parser.parse_args()
    sequences = read_fasta(args.fasta)
    with torch.no_grad():
        for size in args.sizes.split(","):
            large = size == "3B"
            model = build(size, torch.float32, "eager")
            row = {"size": size, "how": "fp32", "1x256": call_ms(model, 1, 256),
                   "32x512": call_ms(model, 32, 512, 3)}
            row["contacts 1x477"] = contacts_ms(model, 477)
            row["contacts 16x477"] = 16 * row["contacts 1x477"]
            del model
            if not large:
                row["fasta_s"] = proteins_s(build(size, torch.float32, "sdpa"), sequences, 32)
            print(json.dumps(row), flush=True)
            model = build(size, torch.float16, "sdpa")
            row = {"size": size, "how": "fp16", "1x256": call_ms(model, 1, 256),
                   "32x512": call_ms(model, 32, 512), "8x1024": call_ms(model, 8, 1024)}
            if not large:
                proteins_s(model, sequences)
                row["fasta_s"] = proteins_s(model, sequences)
            eager = build(size, torch.float16, "eager")
            row["contacts 1x477"] = contacts_ms(eager, 477)
            row["contacts 16x477"] = 16 * row["contacts 1x477"]
            del eager
            print(json.dumps(row), flush=True)
            if size in COMPILED:
                compiled = torch.compile(model, mode="reduce-overhead")
                print(json.dumps({"size": size, "how": "fp16 compiled",
                                  "1x256": call_ms(compiled, 1, 256)}), flush=True)
            del model
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
