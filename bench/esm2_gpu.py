#!/usr/bin/env python3
"""Checks and times `bioinfer esm2` on a GPU in one call: fidelity on bioinfer-tiny and on random
weights of published shapes against the CPU, then the benchmark proteins end to end, FASTA to npz,
and single calls with the weights loaded, beside transformers in the same run.

  esm2_gpu.py --bioinfer build/cli/bioinfer --calls build/bench/calls --fasta proteins.fasta
              [--device cuda:0] [--sizes 8M,150M,650M] [--reference]
  esm2_gpu.py --bioinfer build/cli/bioinfer --profile [--device cuda:0] [--sizes 650M]

--profile prints a table of its own in place of all that: milliseconds, launches and TFLOP/s of each
op in fp32 and fp16, proteins of one length at a time, as `bioinfer --profile` says in a second run.

--reference runs esm2_reference.py, which needs torch and transformers. Needs numpy, and safetensors
for the goldens of bioinfer-tiny. Random weights are written to --work. The first run of a size
compiles PTX in the driver, which its cache keeps: the second run is the one printed.
"""
import argparse
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = {"8M": (6, 320, 20), "35M": (12, 480, 20), "150M": (30, 640, 20), "650M": (33, 1280, 20),
         "3B": (36, 2560, 40)}
SHAPES = ("1x256", "32x512", "8x1024")
PROFILED = ((1, 256), (16, 256), (96, 512))  # proteins, residues of each
CONTACTS = ("1x477", "16x477")  # maps of 475 residues
OUTLIERS = 4  # residual channels whose embedding is far larger than the others'


def shapes(n_layers, width, n_heads):
    """Tensor names and shapes of the Hugging Face layout."""
    yield "esm.embeddings.word_embeddings.weight", (33, width)
    for i in range(n_layers):
        layer = f"esm.encoder.layer.{i}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value",
                     "attention.output.dense"):
            yield layer + name + ".weight", (width, width)
            yield layer + name + ".bias", (width,)
        for name, out, into in (("intermediate.dense", 4 * width, width),
                                ("output.dense", width, 4 * width)):
            yield layer + name + ".weight", (out, into)
            yield layer + name + ".bias", (out,)
        for name in ("attention.LayerNorm", "LayerNorm"):
            yield layer + name + ".weight", (width,)
            yield layer + name + ".bias", (width,)
    for name in ("esm.encoder.emb_layer_norm_after", "lm_head.layer_norm"):
        yield name + ".weight", (width,)
        yield name + ".bias", (width,)
    yield "lm_head.dense.weight", (width, width)
    yield "lm_head.dense.bias", (width,)
    yield "lm_head.bias", (33,)
    yield "esm.contact_head.regression.weight", (1, n_layers * n_heads)
    yield "esm.contact_head.regression.bias", (1,)


def write_weights(folder, n_layers, width, n_heads):
    """Seeded random weights with a few outlier channels, one tensor in memory at a time."""
    rng = np.random.default_rng(1)
    header, at = {}, 0
    for name, shape in shapes(n_layers, width, n_heads):
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes(n_layers, width, n_heads):
            x = rng.standard_normal(shape, dtype=np.float32)
            if "norm" in name.lower() and name.endswith("weight"):
                x = 1 + np.float32(0.1) * x
            elif name.endswith("bias"):
                x *= np.float32(0.02)
            elif "word_embeddings" in name:
                x[:, :OUTLIERS] *= 30
            else:
                x *= np.float32(0.7 / np.sqrt(shape[-1]))
            f.write(x.astype("<f4").tobytes())
    config = {"model_type": "esm", "hidden_size": width, "num_hidden_layers": n_layers,
              "num_attention_heads": n_heads, "intermediate_size": 4 * width, "vocab_size": 33,
              "position_embedding_type": "rotary", "token_dropout": True}
    (folder / "config.json").write_text(json.dumps(config))


def run(args, *command):
    """Wall seconds of one bioinfer command; its words on failure."""
    begun = time.perf_counter()
    done = subprocess.run([args.bioinfer, *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return time.perf_counter() - begun


def worst_cosine(a, b):
    """Smallest cosine over all rows of all arrays of two npz files."""
    worst = 1.0
    with np.load(a) as x, np.load(b) as y:
        for key in x.files:
            u, v = x[key].astype("f8"), y[key].astype("f8")
            dot = (u * v).sum(-1) / np.sqrt((u * u).sum(-1) * (v * v).sum(-1))
            worst = min(worst, float(dot.min()))
    return worst


def worst_difference(a, b):
    """Largest difference of two numbers of all arrays of two npz files."""
    with np.load(a) as x, np.load(b) as y:
        return max(float(np.abs(x[key].astype("f8") - y[key]).max()) for key in x.files)


def tiny(args, work):
    """bioinfer-tiny against its goldens, by tools/compare.py."""
    folder = ROOT / "share" / "bioinfer-tiny"
    for precision, gate in (("fp16", "16bit"), ("fp32", "fp32")):
        out = work / f"tiny-{precision}.npz"
        run(args, "esm2", folder / "golden/sequences.fasta", "--weights", folder, "--device",
            args.device, "--precision", precision, "--include", "per-residue,mean,logits",
            "--quiet", "-o", out)
        done = subprocess.run([sys.executable, ROOT / "tools/compare.py", out,
                               folder / "golden/golden.safetensors", "--gate", gate],
                              capture_output=True, text=True)
        print(f"bioinfer-tiny {precision}: {done.stdout.strip().splitlines()[-1]}")
        if done.returncode:
            sys.exit("the gate is missed")


def size_row(args, work, size):
    n_layers, width, n_heads = SIZES[size]
    weights = work / size
    write_weights(weights, n_layers, width, n_heads)
    few = work / "few.fasta"
    few.write_text("".join(">" + r for r in pathlib.Path(args.fasta).read_text()
                           .split(">")[1:args.few + 1]))
    common = ("--weights", weights, "--quiet", "--include", "per-residue")
    run(args, "esm2", few, *common, "--device", "cpu", "-o", work / "cpu.npz")
    cosines, maps = [], []
    for precision in ("cpu", "fp16", "fp32"):
        how = ("--device", "cpu") if precision == "cpu" else ("--device", args.device,
                                                              "--precision", precision)
        run(args, "esm2", few, "--weights", weights, "--quiet", "--include", "contacts", *how, "-o",
            work / f"contacts-{precision}.npz")
        if precision != "cpu":
            maps.append(worst_difference(work / f"contacts-{precision}.npz",
                                         work / "contacts-cpu.npz"))
    for precision in ("fp16", "fp32"):
        run(args, "esm2", few, *common, "--device", args.device, "--precision", precision, "-o",
            work / "gpu.npz")
        cosines.append(worst_cosine(work / "gpu.npz", work / "cpu.npz"))
    alone = work / "one.fasta"
    alone.write_text(">" + pathlib.Path(args.fasta).read_text().split(">")[1])
    full = ("esm2", args.fasta, "--weights", weights, "--quiet", "--device", args.device,
            "--batch-tokens", args.batch_tokens, "-o", work / "all.npz")
    first = run(args, *full)
    seconds = min(run(args, *full) for _ in range(args.repeat))
    one = min(run(args, "esm2", alone, "--weights", weights, "--quiet", "--device", args.device,
                  "-o", work / "one.npz") for _ in range(args.repeat))
    residues = sum(len(r.split("\n", 1)[1].replace("\n", "")) for r in
                   pathlib.Path(args.fasta).read_text().split(">")[1:])
    print(f"{size:>5} {1 - cosines[0]:10.1e} {1 - cosines[1]:10.1e} {first:9.2f} {seconds:9.2f} "
          f"{one:9.2f} {seconds - one:9.2f} {residues / (seconds - one):12.0f} {maps[0]:10.1e} "
          f"{maps[1]:10.1e}")


def profile(args, work, size):
    """Prints the time of each op in both precisions."""
    write_weights(work / size, *SIZES[size])
    rng = random.Random(1)
    for n, length in PROFILED:
        fasta = work / "profiled.fasta"
        fasta.write_text("".join(f">{i}\n{''.join(rng.choices('ACDEFGHIKLMNPQRSTVWY', k=length))}\n"
                                 for i in range(n)))
        for precision in ("fp32", "fp16"):
            command = [args.bioinfer, "esm2", str(fasta), "--weights", str(work / size), "--device",
                       args.device, "--precision", precision, "-o", str(work / "profiled.npz"),
                       "--profile"]
            for _ in range(2):  # kernels are compiled or read by the first
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
            rows = re.findall(r"^(\w+) +(\d+) +([\d.]+) +([\d.]+) ", done.stdout + done.stderr,
                              re.M)
            if not rows:
                sys.exit(f"{' '.join(command)}: no table of ops in what it says")
            for op, launches, ms, rate in rows:
                print(f"{size:>5} {n:3d} x {length:4d} {precision} {op:22} {float(ms):9.2f} ms "
                      f"{launches:>5} launches {float(rate) / 1000:8.2f} TFLOP/s", flush=True)


def calls(args, weights, out, size):
    """{shape: (median ms, TFLOP/s)}, seconds FASTA to npz with the weights loaded, seconds to the
    first result."""
    shapes = SHAPES if size in ("650M", "3B") else SHAPES[:2]
    command = [args.calls, "--device", args.device, "--fasta", args.fasta, "-o", out,
               "--batch-tokens", args.batch_tokens, *(x for s in shapes for x in ("--shape", s)),
               weights]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"calls: exit {done.returncode}\n{done.stderr}")
    lines = [line.split() for line in done.stdout.splitlines()]
    row = {f[1]: (float(f[3]), float(f[7])) for f in lines if f[0] == "shape"}
    command = [args.calls, "--device", args.device, "--include", "contacts",
               *(x for s in CONTACTS for x in ("--shape", s)), weights]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"calls: exit {done.returncode}\n{done.stderr}")
    row |= {"contacts " + f[1]: (float(f[3]), "")
            for f in map(str.split, done.stdout.splitlines()) if f[0] == "shape"}
    row["fasta_s"] = next(float(f[-1]) for f in lines if f[0] == "fasta")
    row["first_s"] = next(float(f[-1]) for f in lines if f[0] == "start")
    return row


def compare_calls(args, ours, reference):
    print("\nWith the weights loaded, ms a call (mean embeddings on the host), seconds for all "
          "proteins; in brackets\nhow often ours fits into the reference's time.")
    print(f"{'size':>5} {'what':>15} {'bioinfer':>10} {'TFLOP/s':>8}   fp32 as published   fp16 "
          "sorted      fp16 compiled        fp16 packed          packed, compiled")
    for size, row in ours.items():
        print(f"{size:>5} start to first result {row['first_s']:.2f} s")
        for what in (*SHAPES, *("contacts " + s for s in CONTACTS), "fasta_s"):
            if what not in row:
                continue
            mine, rate = (row[what], 0) if what == "fasta_s" else row[what]
            line = f"{size:>5} {what:>15} {mine:10.3f} {rate or '':>8}"
            for how in ("fp32", "fp16", "fp16 compiled", "fp16 packed", "fp16 packed, compiled"):
                theirs = reference.get((size, how), {}).get(what)
                line += f"   {theirs:9.3f} ({theirs / mine:5.1f}x)" if theirs else " " * 21
            print(line.rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bioinfer", required=True)
    parser.add_argument("--fasta")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sizes", help="default: 8M,150M,650M; of --profile 650M")
    parser.add_argument("--profile", action="store_true",
                        help="milliseconds of each op in fp32 and fp16, and nothing else")
    parser.add_argument("--batch-tokens", default="16384")
    parser.add_argument("--few", type=int, default=20, help="proteins compared with the CPU")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--calls",
                        help="bench/calls of the same build: times with the weights loaded")
    parser.add_argument("--reference", action="store_true", help="also run transformers")
    parser.add_argument("--work", help="folder for weights and outputs (default: a temporary one)")
    args = parser.parse_args()
    if not args.fasta and not args.profile:
        parser.error("--fasta is missing")
    args.sizes = args.sizes or ("650M" if args.profile else "8M,150M,650M")
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        if args.profile:
            for size in args.sizes.split(","):
                profile(args, work, size)
            return
        tiny(args, work)
        print("1 - cosine: worst residue against the CPU in fp32.  all: FASTA to npz, whole "
              "process, first and best\nof the later runs.  one: the same for one protein: start, "
              "driver, weights.  maps: largest difference of\n"
              "a contact's probability from the CPU's.")
        print(" size  fp16 1-cos fp32 1-cos   first s     all s     one s all - one   residues/s  "
              "fp16 maps  fp32 maps")
        ours, reference = {}, {}
        for size in args.sizes.split(","):
            size_row(args, work, size)
            if args.calls:
                ours[size] = calls(args, work / size, work / "calls.npz", size)
        if args.reference:
            with subprocess.Popen([sys.executable, ROOT / "bench/esm2_reference.py", "--fasta",
                                   args.fasta, "--sizes", args.sizes],
                                  stdout=subprocess.PIPE, text=True) as process:
                for line in process.stdout:  # as they come: a run cut short still shows them
                    print(line, end="", flush=True)
                    if line.startswith("{"):
                        row = json.loads(line)
                        reference[row["size"], row["how"]] = row
            if process.returncode:
                print("the reference stopped early:", len(reference), "rows")
        if ours:
            compare_calls(args, ours, reference)


if __name__ == "__main__":
    main()
