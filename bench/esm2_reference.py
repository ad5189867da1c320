#!/usr/bin/env python3
"""The reference beside esm2_gpu.py: ESM-2 of transformers with random weights on the same GPU.

  esm2_reference.py --fasta proteins.fasta --sizes 8M,650M

One line of JSON for each size and way: "fp32" as published (eager for single calls, SDPA for the
proteins, which eager attention does not hold; batches of 32 in file order), "fp16" (SDPA, sorted by
length, padded batches of at most 16,384 tokens), "fp16 compiled" (torch.compile, CUDA graphs;
single calls of the smaller sizes), "fp16 packed" (the same weights without padding, 65,536 tokens a
batch, attention by torch.nn.attention.varlen) and "fp16 packed, compiled" (its layers by
torch.compile). Times are medians in milliseconds, of ids on the device to mean embeddings on the
host, or to contacts, one protein after another; the proteins, tokenisation included, in seconds.
"""
import argparse
import json
import time

import torch
from torch.nn.attention.varlen import varlen_attn
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


def turned(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def packed_layer(layer, h, cos, sin, starts, longest):
    """One layer over the tokens of all sequences, [tokens, width]."""
    own, heads = layer.attention.self, layer.attention.self.num_attention_heads
    x = layer.attention.LayerNorm(h)
    q, k, v = (f(x).view(len(x), heads, -1) for f in (own.query, own.key, own.value))
    x = varlen_attn(turned(q, cos, sin), turned(k, cos, sin), v, starts, starts, longest, longest)
    h = h + layer.attention.output.dense(x.flatten(1))
    x = layer.intermediate.dense(layer.LayerNorm(h))
    return h + layer.output.dense(torch.nn.functional.gelu(x))


def packed_means(model, batch, layer_of):
    """Means of sequences without padding, as means() has them; layer_of: packed_layer, compiled."""
    lengths = [len(s) + 2 for s in batch]
    ids = [i for s in batch for i in (0, *(IDS.get(c, 24) for c in s), 2)]
    starts = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).cuda()
    ids, size = torch.tensor(ids).cuda(), torch.tensor(lengths).cuda()
    owner = torch.repeat_interleave(torch.arange(len(batch), device="cuda"), size)
    place = torch.arange(len(ids), device="cuda") - starts[owner]
    width = model.config.hidden_size // model.config.num_attention_heads
    rate = 10000 ** (-torch.arange(0, width, 2, device="cuda") / width)
    angle = (place[:, None] * rate).repeat(1, 2)[:, None]
    # tokens that no mask stands for count 0.88 (token_dropout)
    h = model.embeddings.word_embeddings(ids) * (1 - 0.15 * 0.8)
    cos, sin = angle.cos().to(h.dtype), angle.sin().to(h.dtype)
    for layer in model.encoder.layer:
        h = layer_of(layer, h, cos, sin, starts, max(lengths))
    h = model.encoder.emb_layer_norm_after(h).float()
    return (h.new_zeros(len(batch), h.shape[1]).index_add_(0, owner, h) / size[:, None]).cpu()


def packed_s(model, sequences, layer_of):
    """Seconds, and the largest 1 - cosine of a mean to what means() gives."""
    ordered, some = sorted(sequences, key=len, reverse=True), []
    def run():
        begun, batch, n = time.perf_counter(), [], 0
        for s in ordered + [None]:
            if s is None or n + len(s) + 2 > 65536:
                some.append(packed_means(model, batch, layer_of))
                batch, n = [], 0
            if s is not None:
                batch.append(s)
                n += len(s) + 2
        return time.perf_counter() - begun
    run()
    some.clear()
    seconds = run()
    want = torch.cat([means(model, encode(batch).cuda()) for batch in batches(ordered)])
    off = 1 - torch.cosine_similarity(torch.cat(some).double(), want.double())
    return seconds, float(off.max())


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
            for how, layer_of in (("fp16 packed", packed_layer),
                                  ("fp16 packed, compiled",
                                   torch.compile(packed_layer, dynamic=True))):
                seconds, off = packed_s(model, sequences, layer_of)
                print(json.dumps({"size": size, "how": how, "fasta_s": seconds,
                                  "1 - cosine to padded": off}), flush=True)
            del model
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
