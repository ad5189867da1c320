#!/usr/bin/env python3
"""Mean embeddings of a FASTA file in a Parquet data set, by Ray Data and the library.

    examples/ray/parquet.py libbioinfer.so WEIGHTS proteins.fasta out/ [--actors 8] [--gpus 1]

The library runs in the actors of map_batches (../bioinfer_ctypes.py, through ctypes): each opens
the model once and takes batches of records; rows have id, embedding (null where there is none) and
message, which says why. Library, weights and this folder lie where all machines see them. Ray
computes lost batches again; a run of many hours is better done in shards (shards.py), which keep
what is done when the cluster goes.
"""
import argparse
import os
import sys

import pyarrow
import ray

EXAMPLES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read_fasta(path):
    """One {"id", "sequence"} after the other."""
    name, lines = None, []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith(">"):
                if name is not None:
                    yield {"id": name, "sequence": "".join(lines)}
                name, lines = (line[1:].split() or [""])[0], []
            else:
                lines.append(line.strip().upper())
    if name is not None:
        yield {"id": name, "sequence": "".join(lines)}


class Embedder:
    def __init__(self, examples, library, weights):
        sys.path.insert(0, examples)
        from bioinfer_ctypes import Bioinfer
        self.engine = Bioinfer(library, weights)

    def __call__(self, batch):
        ids = batch.column("id").to_pylist()
        results = self.engine.embed_sequences(zip(ids, batch.column("sequence").to_pylist()))
        rows = [arrays["mean"][1] if "mean" in arrays else None for _, arrays, _ in results]
        return pyarrow.table({
            "id": ids,
            "embedding": pyarrow.array(rows, pyarrow.list_(pyarrow.float32())),
            "message": [message for _, _, message in results]})


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("library")
    p.add_argument("weights")
    p.add_argument("input")
    p.add_argument("output")
    p.add_argument("--actors", type=int, default=1)
    p.add_argument("--gpus", type=int, default=0, help="of an actor")
    p.add_argument("--batch", type=int, default=4096, help="records")
    o = p.parse_args()
    weights = os.path.abspath(o.weights) if os.path.exists(o.weights) else o.weights
    ray.init()  # joins the cluster of RAY_ADDRESS, or starts one here
    data = ray.data.from_items(list(read_fasta(o.input)))
    data.map_batches(Embedder, batch_format="pyarrow", batch_size=o.batch,
                     compute=ray.data.ActorPoolStrategy(size=o.actors), num_gpus=o.gpus,
                     fn_constructor_args=(EXAMPLES, os.path.abspath(o.library), weights),
                     ).write_parquet(os.path.abspath(o.output))


if __name__ == "__main__":
    main()
