#!/usr/bin/env python3
"""ESM-2 on the CPU: mean embeddings of 1,000 real proteins, FASTA to file, each contender in its
own process.

  esm2_cpu.py --bioinfer build/cli/bioinfer [--sizes 8M,35M] [--subset 10] [--skip torch,espcpp]

Contenders, float32 unless said otherwise, same random weights, same machine, same run:
  torch          transformers EsmModel, batches of 8 in file order, padded, as users write it
  torch-sorted   the same with the sequences sorted by length
  espcpp         esm-cpp (PyPI), one sequence a call, its only call that returns hidden states; mean
                 pooling
  espcpp-packed  esm-cpp, packed batches; that call returns logits only, so nothing is pooled or
                 written
  torch-bf16     torch-sorted with weights and activations in bfloat16
  espcpp-int8    espcpp with its W8A8: weights quantized when they are loaded, which is start-up
  espcpp-int8-packed   espcpp-packed likewise
  bioinfer       bioinfer esm2 in.fasta --include mean -o out.npz
  bioinfer-bf16x2      the same with --precision bf16x2, on a processor with AMX
A contender whose package is not installed is named and left out. esm-cpp is on PyPI; where there
is no network a wheel that was carried along does: pip install --no-deps --target DIR WHEEL, and
PYTHONPATH=DIR.
Printed: residues per second of the whole process (start-up and model loading included), the same
without start-up where the contender tells it, peak memory, bioinfer's ratio to each, and how far
mean embeddings are from those of torch: 1 - the smallest cosine, and the relative L2 of all. See
bench/README.md.
"""
import argparse
import gzip
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "tools" / "golden.py"
DATABASE = "/usr/share/doc/mmseqs2/example-data/DB.fasta.gz"
STEP = {"650M": 20}  # every 20th protein unless --subset says otherwise


# ---- the benchmark set ---------------------------------------------------------------------------

def proteins(database, step):
    """Every step-th of the 1,000 proteins (by length), in the order of the database file."""
    with gzip.open(database, "rt") as f:
        records = [(i, *r) for i, r in enumerate(parse_fasta(f.read()))]
    kept = [r for r in records if 82 <= len(r[2]) <= 6199 and
            re.fullmatch("[ACDEFGHIKLMNPQRSTVWY]+", r[2])]
    kept.sort(key=lambda r: len(r[2]))
    chosen = [kept[round(i * (len(kept) - 1) / 999)] for i in range(1000)]
    assert len(kept) == 18423 and sum(len(r[2])
                                      for r in chosen) == 475301, "not the expected database"
    return [(name, s) for _, name, s in sorted(chosen[::step])]


def parse_fasta(text):
    records = [r.partition("\n") for r in ("\n" + text).split("\n>")[1:]]
    return [(h.split()[0], s.replace("\n", "")) for h, _, s in records]


def read_fasta(path):
    return parse_fasta(pathlib.Path(path).read_text())


# ---- contenders: each runs in a process of its own and prints one line of JSON -------------------

def worker_torch(args, by_length, dtype="float32"):
    import numpy as np
    import torch
    from transformers import EsmModel, EsmTokenizer
    torch.set_num_threads(args.threads)
    tokenizer = EsmTokenizer.from_pretrained(args.model)
    model = EsmModel.from_pretrained(args.model, attn_implementation=args.attn).eval()
    model = model.to(getattr(torch, dtype))
    records, out, start = read_fasta(args.fasta), {}, time.perf_counter()
    if by_length:
        records.sort(key=lambda r: -len(r[1]))
    for i in range(0, len(records), 8):
        batch = records[i:i + 8]
        tokens = tokenizer([s for _, s in batch], return_tensors="pt", padding=True)
        with torch.no_grad():
            hidden = model(**tokens).last_hidden_state
        for (name, s), h in zip(batch, hidden.float()):
            out[name] = h[1:len(s) + 1].mean(0).numpy()
    np.savez(args.out, **out)
    return time.perf_counter() - start


def worker_espcpp(args, packed, quantized=False):
    import numpy as np
    import esm_cpp
    model = esm_cpp.Model.load_from_safetensors(str(pathlib.Path(args.model) / "model.safetensors"))
    assert model.num_threads == args.threads, model.num_threads  # set by ESM_NUM_THREADS
    if quantized:
        model.quantize_weights()
    tokenizer = esm_cpp.Tokenizer()
    records, start = read_fasta(args.fasta), time.perf_counter()
    ids = [np.asarray(tokenizer.encode(s, truncate=False), dtype=np.int32) for _, s in records]
    if packed:
        results = model.forward_scheduled(ids, max_batch_size=args.pack)
        assert all(r.shape == (len(s) + 2, 33) for r, (_, s) in zip(results, records))
    else:
        out = {n: model.forward_with_hidden_states(i)[1][-1][1:-1].mean(0)
               for (n, _), i in zip(records, ids)}
        np.savez(args.out, **out)
    return time.perf_counter() - start


WORKERS = {"torch": lambda a: worker_torch(a, False),
           "torch-sorted": lambda a: worker_torch(a, True),
           "torch-bf16": lambda a: worker_torch(a, True, "bfloat16"),
           "espcpp": lambda a: worker_espcpp(a, False),
           "espcpp-packed": lambda a: worker_espcpp(a, True),
           "espcpp-int8": lambda a: worker_espcpp(a, False, True),
           "espcpp-int8-packed": lambda a: worker_espcpp(a, True, True)}
OURS = {"bioinfer": (), "bioinfer-bf16x2": ("--precision", "bf16x2")}
PACKAGES = {"torch": "transformers", "espcpp": "esm_cpp"}


def why_not(name, args):
    """Words that say why a contender cannot run here; None: it can."""
    if name == "bioinfer-bf16x2" and "amx_bf16" not in pathlib.Path("/proc/cpuinfo").read_text():
        return "no AMX"
    if name in OURS:
        return None if args.bioinfer else "--bioinfer is not given"
    package = PACKAGES[name.split("-")[0]]
    found = importlib.util.find_spec(package)
    return None if found else f"the Python package {package} is not installed"


def run_child(command, threads):
    """Runs a command; (wall seconds, peak bytes of the child, its stdout)."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads),
               ESM_NUM_THREADS=str(threads), TRANSFORMERS_OFFLINE="1",
               TRANSFORMERS_VERBOSITY="error")
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as words:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=words, env=env)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), words.seek(0)
        if child.returncode:
            lines = words.read().strip().split("\n")
            raise RuntimeError(f"exit {child.returncode}: {lines[-1]}")
        return wall, usage.ru_maxrss * 1024, out.read()


# ---- the table -----------------------------------------------------------------------------------

def weights(cache, size):
    folder = cache / size
    if not (folder / "model.safetensors").exists():
        subprocess.run([sys.executable, GOLDEN, "seeded", size, folder, "--no-golden"], check=True)
    return folder


def measure(name, args, model, fasta, out):
    """{'wall': s, 'work': s without start-up or None, 'rss': bytes}, best wall of --repeat runs."""
    best = None
    for _ in range(args.repeat):
        if name in OURS:
            command = [args.bioinfer, "esm2", fasta, "--weights", model, "--device", "cpu",
                       *OURS[name], "--threads", str(args.threads), "--include", "mean", "-o", out]
        else:
            command = [sys.executable, __file__, "--worker", name, "--model", model, "--fasta",
                       fasta, "--out", out, "--threads", str(args.threads), "--attn", args.attn,
                       "--pack", str(args.pack)]
        pathlib.Path(out).unlink(missing_ok=True)
        wall, rss, text = run_child([str(c) for c in command], args.threads)
        work = None if name in OURS else json.loads(text.strip().split("\n")[-1])["work"]
        if best is None or wall < best["wall"]:
            best = {"wall": wall, "work": work, "rss": rss}
    return best


def apart(a, b):
    """1 - the smallest cosine between the means in two npz files, and their relative L2."""
    import numpy as np
    a, b = np.load(a), np.load(b)
    x, y = (np.stack([f[key].astype(np.float64).ravel() for key in b.files]) for f in (a, b))
    cosines = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return 1 - cosines.min(), np.sqrt(((x - y) ** 2).sum() / (y * y).sum())


def bench_size(size, args, cache, skip):
    step = args.subset or STEP.get(size, 1)
    given = args.proteins
    records = read_fasta(given)[::step] if given else proteins(args.database, step)
    residues = sum(len(s) for _, s in records)
    model, stored = weights(cache, size), cache / f"baseline-{size}-{step}-{args.threads}.json"
    results = json.loads(stored.read_text()) if args.reuse and stored.exists() else {}
    reused = set(results)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        fasta, one = scratch / "in.fasta", scratch / "one.fasta"
        fasta.write_text("".join(f">{n}\n{s}\n" for n, s in records))
        one.write_text(">one\n" + "MKTVRQERLK" * 10 + "\n")
        for name in *WORKERS, *OURS:
            if name.split("-")[0] in skip or (name in results and name not in OURS):
                continue
            if reason := why_not(name, args):
                print(f"{size} {name}: left out, {reason}")
                continue
            try:
                results[name] = measure(name, args, model, fasta, scratch / f"{name}.npz")
            except RuntimeError as e:
                print(f"{size} {name}: failed: {e}", file=sys.stderr)
        print(f"\nESM-2 {size}: {len(records)} proteins, {residues} residues, {args.threads} "
              "threads")
        print(f"{'':20}{'wall s':>9}{'residues/s':>12}{'without start-up':>18}"
              f"{'peak MB':>9}"
              f"{'bioinfer is faster by':>24}{'1 - cosine':>12}{'L2':>9}")
        ours, first = results.get("bioinfer"), scratch / "torch.npz"
        for name, r in results.items():
            work = f"{residues / r['work']:.0f}" if r["work"] else "-"
            ratio = far = ""
            if ours and name != "bioinfer":
                ratio = f"{r['wall'] / ours['wall']:.2f}x"
                ratio += f" ({r['work'] / ours['wall']:.2f}x)" if r["work"] else ""
            if name != "torch" and first.exists() and (scratch / f"{name}.npz").exists():
                cosine, l2 = apart(scratch / f"{name}.npz", first)
                far = f"{cosine:12.1e}{l2:9.1e}"
            print(f"{name + '*' * (name in reused):20}{r['wall']:9.2f}{residues / r['wall']:12.0f}"
                  f"{work:>18}{r['rss'] / 1e6:9.0f}{ratio:>24}{far}", flush=True)
        if reused:
            print("* stored by an earlier run")
        if ours:
            first = min(run_child([args.bioinfer, "esm2", str(one), "--weights", str(model),
                                   "--device", "cpu", "--threads", str(args.threads), "--include",
                                   "mean", "-o", str(scratch / "one.npz")], args.threads)[0]
                        for _ in range(3))
            print("bioinfer, one protein of 100 residues, process start to finished file: "
                  f"{first:.3f} s")
    cache.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps({k: v for k, v in results.items() if k not in OURS}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="8M,35M,150M,650M")
    parser.add_argument("--subset", type=int, help="every Nth protein (default 1; 20 for 650M)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--skip", default="", help="comma-separated: torch, espcpp, bioinfer")
    parser.add_argument("--bioinfer", help="path of the bioinfer command")
    parser.add_argument("--cache", default="bench-cache",
                        help="folder for weights and stored baselines")
    parser.add_argument("--reuse", action="store_true",
                        help="take stored baselines instead of measuring again")
    parser.add_argument("--repeat", type=int, default=1,
                        help="runs of each contender; the fastest counts")
    parser.add_argument("--attn", default="sdpa", choices=["sdpa", "eager"],
                        help="attention of transformers")
    parser.add_argument("--pack", type=int, default=256,
                        help="most sequences in one packed batch of esm-cpp")
    parser.add_argument("--database", default=DATABASE)
    parser.add_argument("--proteins", help="FASTA: these instead of the 1,000")
    for hidden in "--worker", "--model", "--fasta", "--out":
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps({"work": WORKERS[args.worker](args)}))
        return
    cache = pathlib.Path(args.cache).resolve()
    for size in args.sizes.split(","):
        bench_size(size, args, cache, set(args.skip.split(",")))


if __name__ == "__main__":
    main()
