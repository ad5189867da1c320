#!/usr/bin/env python3
"""Measures what rounding to float16 costs ESM C, place by place: 1 - cosine of the last hidden
states against float32.

  esmc_rounding.py [--model esmc_600m] [--length 150]

The seeded weights of golden_plm.py, one random protein, everything in float32 but the named place,
whose values are rounded to float16: weights, the norms' results, queries and keys before and after
their norm and their rotation, values, attention weights, what attention and the gates give. Then
all of them in one layer alone, in all layers, and what the kernels of a GPU round (models/esmc.c):
norms of queries and keys only when rotated, nothing in front of the first layer's rotation, no
feed-forward operand of the first layers. Needs torch.
"""
import argparse

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "torch", "numpy")

import torch
import torch.nn.functional as F

import golden
import golden_plm as plm

PLACES = ("weights", "norm 1", "queries, keys", "their norms", "rotation", "values", "softmax",
          "attention", "norm 2", "gates")
TABLE = ("norm 1", "queries, keys", "weights of q_proj", "weights of k_proj", "weights of v_proj")
FEED = ("norm 2", "gates", "weights of gate_proj", "weights of up_proj", "weights of down_proj")
HEAD, EXACT_LAYERS = 64, 2


def kernels(layer, place):
    return not (place == "their norms" or layer == 0 and place in TABLE or layer < EXACT_LAYERS and
                place in FEED)


def rotate(x, cosine, sine):
    low, high = x[..., :HEAD // 2], x[..., HEAD // 2:]
    return torch.cat([low * cosine - high * sine, high * cosine + low * sine], -1)


def forward(w, shape, ids, rounded):
    """rounded(layer, place) says whether a place is; those of weights are called "weights of
    q_proj" and so on."""
    width, heads, layers, _ = shape
    n = 0

    def at(place, x):
        return x.half().float() if rounded(n, place) else x

    def product(x, name):
        return x @ at(f"weights of {name.split('.')[-1]}", w[name + ".weight"]).T

    def norm(x, name, bias=True):
        return F.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"] if bias else None,
                            1e-5)

    angles = torch.arange(len(ids))[:, None] * 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    cosine, sine = angles.cos()[:, None], angles.sin()[:, None]
    scale, x = (36 / layers) ** 0.5, w["esmc.embed_tokens.weight"][ids]
    for n in range(layers):
        p = f"esmc.layers.{n}."
        h = at("norm 1", norm(x, p + "input_layernorm"))
        q, k = (at("rotation", rotate(at("their norms", norm(
            at("queries, keys", product(h, f"{p}self_attn.{c}_proj")), f"{p}self_attn.{c}_norm",
            False)).view(-1, heads, HEAD), cosine, sine)).transpose(0, 1) for c in "qk")
        v = at("values", product(h, p + "self_attn.v_proj")).view(-1, heads, HEAD).transpose(0, 1)
        logits = q @ k.transpose(1, 2) / HEAD ** 0.5
        e = (logits - logits.amax(-1, keepdim=True)).exp()
        o = at("attention",
               at("softmax", e) @ v / e.sum(-1, keepdim=True)).transpose(0, 1).reshape(-1, width)
        x = x + scale * product(o, p + "self_attn.o_proj")
        h = at("norm 2", norm(x, p + "post_attention_layernorm"))
        h = at("gates", F.silu(product(h, p + "mlp.gate_proj")) * product(h, p + "mlp.up_proj"))
        x = x + scale * product(h, p + "mlp.down_proj")
    return norm(x, "esmc.norm", False).double()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="esmc_600m", choices=list(plm.ESMC))
    parser.add_argument("--length", type=int, default=150)
    args = parser.parse_args()
    shape = plm.ESMC[args.model]
    w = {k: torch.from_numpy(v) for k, v in plm.esmc_weights(*shape, 2024).items()}
    ids = torch.tensor(plm.esmc_encode(golden.random_sequence(args.length, 1)))
    exact = forward(w, shape, ids, lambda layer, place: False)
    print(f"{'rounded':16}  worst residue    median")
    rows = [(p, lambda layer, place, p=p: place.startswith(p)) for p in PLACES]
    rows += [(f"all in layer {n}", lambda layer, place, n=n: layer == n)
             for n in (0, 1, 2, 4, 8, 16) if n < shape[2]]
    for name, rounded in [*rows, ("all", lambda layer, place: True), ("by the kernels", kernels)]:
        off = 1 - F.cosine_similarity(forward(w, shape, ids, rounded), exact, dim=-1)
        print(f"{name:16} {off.max():14.1e} {off.median():9.1e}", flush=True)


if __name__ == "__main__":
    main()
