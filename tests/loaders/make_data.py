"""Writes tests/loaders/data: small checkpoints made by PyTorch and safetensors themselves.

Run by hand (torch 2.11, safetensors 0.8), never by the tests: python make_data.py data
The values are checked one by one in test_data.c.
"""
import argparse
import os
import sys
from collections import OrderedDict

import torch
from safetensors.torch import save_file

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
LEGACY = {"_use_new_zipfile_serialization": False}


def save(name, obj, **options):
    torch.save(obj, os.path.join(out, name), **options)


a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
w = torch.tensor([[1.0, 2], [3, 4]])

linear = torch.nn.Linear(3, 2)
with torch.no_grad():
    linear.weight.copy_(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    linear.bias.copy_(torch.tensor([-1.0, 0.5]))
save("zip.pt", linear.state_dict())
save("legacy.pt", linear.state_dict(), **LEGACY)

dtypes = OrderedDict()
for name, dtype in [("f32", torch.float32), ("f64", torch.float64), ("f16", torch.float16),
                    ("bf16", torch.bfloat16), ("i64", torch.int64), ("i32", torch.int32),
                    ("i16", torch.int16), ("i8", torch.int8), ("u8", torch.uint8),
                    ("bool", torch.bool), ("c64", torch.complex64)]:
    dtypes[name] = torch.tensor([0, 1, 2], dtype=torch.float32).to(dtype)
dtypes["scalar"] = torch.tensor(7.5)
dtypes["empty"] = torch.zeros(0, 3)
save("dtypes.pt", dtypes)
save("dtypes_legacy.pt", dtypes, **LEGACY)

big = torch.arange(24, dtype=torch.float32)
views = OrderedDict(transposed=a.t(), column=a[:, 1], step=a[::2, ::2], tail=big[20:],
                    permuted=big.reshape(2, 3, 4).permute(2, 0, 1),
                    expanded=big[5:6].expand(3), whole=big)
save("views.pt", views)
save("views_legacy.pt", views, **LEGACY)
save("tied.pt", {"embed.weight": w, "head.weight": w})

cfg = argparse.Namespace(encoder_layers=6, encoder_embed_dim=320, encoder_attention_heads=20,
                         token_dropout=True, dropout=0.1, arch="esm2", nothing=None)
save("esm2.pt", {"cfg": {"model": cfg, "version": 2},
                 "model": {"encoder.sentence_encoder.embed_tokens.weight": w,
                           "encoder.lm_head.bias": torch.tensor([5.0, 6])},
                 "extra_state": {"metrics": [1, 2]}})
save("esm2-contact-regression.pt",
     {"model": {"contact_head.regression.weight": torch.tensor([[0.25, 0.5]]),
                "contact_head.regression.bias": torch.tensor([-3.0])}})
save("lightning.ckpt",
     {"epoch": 3, "global_step": 17, "pytorch-lightning_version": "2.0",
      "state_dict": OrderedDict(net=a), "loops": {},
      "hyper_parameters": {"lr": 1e-3, "device": torch.device("cpu"), "dtype": torch.bfloat16}})
save("whole_module.pt", torch.nn.Linear(2, 1))
save("parameter.pt", {"p": torch.nn.Parameter(torch.tensor([9.0, 8])),
                      "buf": torch.nn.Buffer(torch.tensor([7.0]))})
save("protocol5.pt", {"x": a, "name": "p5", "set": {1, 2}, "bytes": b"abc", "big": 1 << 70},
     pickle_protocol=5)
save("bare.pt", torch.tensor([1.0, 2, 3]))
torch.jit.save(torch.jit.script(torch.nn.ReLU()), os.path.join(out, "torchscript.pt"))
save_file({"a": a, "b": torch.tensor([1, 2], dtype=torch.int64),
           "h": torch.tensor([1.5], dtype=torch.bfloat16), "s": torch.tensor(4.0),
           "e": torch.zeros(0, 2)}, os.path.join(out, "small.safetensors"),
          metadata={"format": "pt", "note": "hi"})
