#!/usr/bin/env python3
"""Writes a head file for `bioinfer ... --head` (docs/heads.md) from a PyTorch state dict.

  convert_head.py prostt5-3di CHECKPOINT OUT.safetensors     ProstT5's CNN: classifier.0,
                                                             classifier.3 -> 20 3Di states
  convert_head.py secstruct CHECKPOINT OUT-PREFIX            bio_embeddings' SecStructCNN:
                                                             OUT-PREFIX-{dssp3,dssp8,diso}
  convert_head.py layers CHECKPOINT OUT.safetensors --layers conv1:relu,conv2 --classes H,E,C
                  [--activation softmax] [--input per-residue]   any stack of linear or convolution
                                                                 layers

CHECKPOINT is read by torch.load(weights_only=True), or as safetensors; state dicts below
"state_dict" are entered.
"""
import argparse
import json
import pathlib
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy")

import numpy as np

THREE_DI = list("ACDEFGHIKLMNPQRSTVWY")
SECSTRUCT = {"dssp3": ("dssp3_classifier.0", list("HEC")),
             "dssp8": ("dssp8_classifier.0", list("GHIBESTC")),
             "diso": ("diso_classifier.0", list("-X"))}


def load(path):
    if str(path).endswith(".safetensors"):
        from safetensors.numpy import load_file
        return load_file(path)
    import torch
    state = torch.load(path, map_location="cpu", weights_only=True)
    state = state.get("state_dict", state)
    return {k: v.float().numpy() for k, v in state.items()}


def write(path, state, layers, classes, activation="softmax", where="per-residue"):
    """layers: (name, act) in order; tensors name.weight and, when there, name.bias."""
    from safetensors.numpy import save_file
    tensors, described = {}, []
    for name, act in layers:
        entry = {"weight": name + ".weight", "act": act}
        tensors[entry["weight"]] = np.ascontiguousarray(state[entry["weight"]], dtype=np.float32)
        if name + ".bias" in state:
            entry["bias"] = name + ".bias"
            tensors[entry["bias"]] = np.ascontiguousarray(state[entry["bias"]], dtype=np.float32)
        described.append(entry)
    head = {"input": where, "width": int(tensors[described[0]["weight"]].shape[1]),
            "layers": described, "activation": activation, "classes": classes}
    save_file(tensors, path, metadata={"bioinfer.head": json.dumps(head)})
    pathlib.Path(path).chmod(0o644)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["prostt5-3di", "secstruct", "layers"])
    parser.add_argument("checkpoint")
    parser.add_argument("out")
    parser.add_argument("--layers", default="")
    parser.add_argument("--classes", default="")
    parser.add_argument("--activation", default="softmax", choices=["softmax", "sigmoid", "none"])
    parser.add_argument("--input", default="per-residue", choices=["per-residue", "mean"])
    args = parser.parse_args()
    state = load(args.checkpoint)
    if args.kind == "prostt5-3di":
        write(args.out, state, [("classifier.0", "relu"), ("classifier.3", "none")], THREE_DI)
    elif args.kind == "secstruct":
        for name, (last, classes) in SECSTRUCT.items():
            write(f"{args.out}-{name}.safetensors", state,
                  [("elmo_feature_extractor.0", "relu"), (last, "none")], classes)
    else:
        layers = [(x.partition(":")[0], x.partition(":")[2] or "none")
                  for x in args.layers.split(",")]
        write(args.out, state, layers, args.classes.split(","), args.activation, args.input)


if __name__ == "__main__":
    sys.exit(main())
