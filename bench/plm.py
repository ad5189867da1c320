#!/usr/bin/env python3
"""ESM C, ProtBERT and ProtT5: fidelity and speed against transformers, in one run on one machine.

  plm.py --bioinfer build/cli/bioinfer --fasta proteins.fasta [--device cuda:0 | cpu] [--models
         esmc_300m,...] [--layers N] [--work FOLDER] [--few 20] [--proteins N] [--step N]
         [--cpu-time]

Weights are random, of the published shapes (tools/golden_plm.py, seed 2024), kept in --work. For
each model:
  fidelity    smallest cosine per residue of bioinfer in each precision against transformers in
              float32, over --few proteins; the gate is 0.99999, exit 1 when it is missed. On a GPU,
              theirs: of transformers in float16
  published   transformers as its authors' scripts use it: float32, batches of 8 in file order,
              padded
  sorted      the strongest practice: batches of about --batch-tokens sorted by length; float16 on a
              GPU (SDPA where the model has it), float32 on the CPU
  bioinfer    FASTA to npz with the mean of each protein, whole process less the same run over one
              residue (start, driver, weights); best of --repeat after a first run, which compiles
              kernels
--cpu-time: seconds are processor time of one thread on both sides, for machines that are busy with
other things.

Seconds of transformers count tokens to means in host memory, without loading. Needs torch and
transformers (5.17 for ESM C), numpy and safetensors; no network.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import golden
import golden_plm as plm

GATE = 0.99999
ENCODE = {"esmc": plm.esmc_encode, "protbert": plm.bert_encode, "prott5": plm.t5_encode}
PREFIX = {"esmc": 1, "protbert": 1, "prott5": 0}
PAD = {"esmc": 1, "protbert": 0, "prott5": 0}


def family(name):
    return name.split("_")[0]


def write_weights(name, folder, layers):
    mark = folder / f"layers-{layers}"
    if not mark.exists():
        command = [sys.executable, ROOT / "tools/golden_plm.py", "seeded", name, folder,
                   "--no-golden"]
        subprocess.run([str(c) for c in command + (["--layers", layers] if layers else [])],
                       check=True)
        mark.touch()


def reference(name, folder, device, half):
    """The transformers model of a folder. SDPA unless the model has none."""
    import torch
    import transformers
    from safetensors.torch import load_file
    config = json.loads((folder / "config.json").read_text())
    config.pop("model_type")
    classes = {"esmc": ("EsmcConfig", "EsmcModel", "esmc."),
               "protbert": ("BertConfig", "BertModel", "bert."),
               "prott5": ("T5Config", "T5EncoderModel", "")}
    config_class, model_class, prefix = classes[family(name)]
    try:
        made = getattr(transformers, config_class)(**config, attn_implementation="sdpa")
        model = getattr(transformers, model_class)(made)
    except ValueError:
        made = getattr(transformers, config_class)(**config, attn_implementation="eager")
        model = getattr(transformers, model_class)(made)
    state = load_file(folder / "model.safetensors")
    state = {k[len(prefix):]: v for k, v in state.items() if k.startswith(prefix)}
    missing, _ = model.load_state_dict(state, strict=False)
    assert set(missing) <= {"encoder.embed_tokens.weight"}, missing
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    model = model.to(device=device, dtype=torch.float16 if half else torch.float32).eval()
    if half and family(name) == "prott5":
        for block in model.encoder.block:  # as transformers itself keeps it (_keep_in_fp32_modules)
            block.layer[1].DenseReluDense.wo.float()
    return model


def states(model, name, ids, device):
    """Last hidden states of a padded batch, with the mask of real tokens."""
    import torch
    longest = max(map(len, ids))
    tokens = np.full((len(ids), longest), PAD[family(name)], dtype=np.int64)
    mask = np.zeros((len(ids), longest), dtype=np.int64)
    for i, row in enumerate(ids):
        tokens[i, :len(row)], mask[i, :len(row)] = row, 1
    mask = torch.from_numpy(mask).to(device)
    with torch.no_grad():
        return model(input_ids=torch.from_numpy(tokens).to(device),
                     attention_mask=mask).last_hidden_state, mask


def timed(model, name, sequences, device, batches, clock):
    """Seconds from sequences to means on the host."""
    import torch
    sync = torch.cuda.synchronize if str(device).startswith("cuda") else lambda: None
    ids = [ENCODE[family(name)](s) for s in sequences]
    sync()
    begun = clock()
    for batch in batches(ids):
        out, mask = states(model, name, [ids[i] for i in batch], device)
        rows = mask.bool()
        rows[:, :PREFIX[family(name)]] = False
        last = mask.sum(1) - 1
        rows[torch.arange(len(batch), device=rows.device), last] = False
        (out.float() * rows[..., None]).sum(1).div(rows.sum(1, keepdim=True)
                                                   .clamp(min=1)).cpu().numpy()
    sync()
    return clock() - begun


def in_file_order(ids, size=8):
    return [range(i, min(i + size, len(ids))) for i in range(0, len(ids), size)]


def by_length(ids, tokens):
    order, out = sorted(range(len(ids)), key=lambda i: -len(ids[i])), [[]]
    for i in order:
        if out[-1] and (len(out[-1]) + 1) * len(ids[out[-1][0]]) > tokens:
            out.append([])
        out[-1].append(i)
    return out


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(args, *command):
    clock = children_seconds if args.cpu_time else time.perf_counter
    begun = clock()
    done = subprocess.run([args.bioinfer, *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return clock() - begun


def residues_of(args, name, model, records):
    """{id: last hidden states of the residues}, one protein at a time."""
    out = {}
    for key, sequence in records:
        state, _ = states(model, name, [ENCODE[family(name)](sequence)], args.device_torch)
        out[key] = state[0, PREFIX[family(name)]:-1].double().cpu().numpy()
    return out


def worst_cosine(got, want):
    worst = 1.0
    for key, b in want.items():
        a = got[key].astype("f8")
        worst = min(worst, ((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))).min())
    return worst


def fidelity(args, folder, want, records, work):
    """Worst cosine per residue of each precision against what float32 transformers gave."""
    fasta, out = work / "few.fasta", {}
    golden.write_fasta(fasta, records)
    for precision in ("fp16", "fp32") if args.device != "cpu" else ("fp32",):
        run(args, "embed", fasta, "--weights", folder, "--device", args.device, "--precision",
            precision, "--include", "per-residue", "--quiet", "-o", work / "few.npz")
        with np.load(work / "few.npz") as got:
            out[precision] = worst_cosine(got, want)
    return out


def bioinfer_seconds(args, folder, fasta, one, work):
    common = ("--weights", folder, "--quiet", "--device", args.device)
    common += ("--threads", 1) if args.cpu_time else ()
    if args.device != "cpu":
        common += ("--batch-tokens", args.batch_tokens)
    full = lambda: run(args, "embed", fasta, *common, "-o", work / "all.npz")
    single = lambda: run(args, "embed", one, *common, "-o", work / "one.npz")
    full(), single()
    return min(full() for _ in range(args.repeat)), min(single() for _ in range(args.repeat))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bioinfer", required=True)
    parser.add_argument("--fasta", required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--models", default="esmc_300m,esmc_600m,protbert,prott5_xl")
    parser.add_argument("--layers", type=int, default=0, help="fewer layers than published")
    parser.add_argument("--batch-tokens", type=int, default=16384)
    parser.add_argument("--few", type=int, default=20, help="proteins whose residues are compared")
    parser.add_argument("--proteins", type=int, default=0,
                        help="the first N of the FASTA file only")
    parser.add_argument("--step", type=int, default=1,
                        help="every N-th protein of the FASTA file only")
    parser.add_argument("--cpu-time", action="store_true",
                        help="processor time of one thread, --device cpu")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2, help="of transformers, --device cpu")
    parser.add_argument("--no-published", action="store_true")
    parser.add_argument("--work", help="folder for weights and outputs (default: a temporary one)")
    args = parser.parse_args()
    import torch
    args.device_torch = "cuda" if args.device.startswith("cuda") else "cpu"
    if args.device == "cpu":
        torch.set_num_threads(1 if args.cpu_time else args.threads)
    elif args.cpu_time:
        parser.error("--cpu-time is for --device cpu")
    clock = time.process_time if args.cpu_time else time.perf_counter
    missed = False
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        records = golden.read_fasta(args.fasta)[::args.step]
        records = records[:args.proteins] if args.proteins else records
        sequences = [s for _, s in records]
        fasta, one = work / "all.fasta", work / "one.fasta"
        golden.write_fasta(fasta, records)
        golden.write_fasta(one, [("one", "M")])
        residues = sum(map(len, sequences))
        print(f"{len(records)} proteins, {residues} residues; seconds\n"
              f"{'model':12} {'1-cos fp16':>10} {'1-cos fp32':>10} {'theirs':>8} "
              f"{'published':>10} {'sorted':>8} {'bioinfer':>9} {'of it start':>11} "
              f"{'/published':>10} {'/sorted':>8}", flush=True)
        for name in args.models.split(","):
            folder = work / name
            write_weights(name, folder, args.layers)
            half = args.device != "cpu"
            model = reference(name, folder, args.device_torch, False)
            want = residues_of(args, name, model, records[:args.few])
            worst = fidelity(args, folder, want, records[:args.few], work)
            missed |= min(worst.values()) < GATE
            published = float("nan")
            if not args.no_published:
                published = timed(model, name, sequences, args.device_torch, in_file_order, clock)
            if half:
                del model
                torch.cuda.empty_cache()
                model = reference(name, folder, args.device_torch, True)
                worst["theirs"] = worst_cosine(residues_of(args, name, model, records[:args.few]),
                                               want)
            batches = lambda ids: by_length(ids, args.batch_tokens if half else 4096)
            # warm
            timed(model, name, sequences[:20 if half else 1], args.device_torch, batches, clock)
            best = timed(model, name, sequences, args.device_torch, batches, clock)
            del model
            if half:
                torch.cuda.empty_cache()
            whole, start = bioinfer_seconds(args, folder, fasta, one, work)
            ours = max(whole - start, 1e-9)
            cosines = [f"{1 - worst[p]:{n}.1e}" if p in worst else f"{'-':>{n}}"
                       for p, n in (("fp16", 10), ("fp32", 10), ("theirs", 8))]
            print(f"{name:12} {' '.join(cosines)} {published:10.2f} {best:8.2f} {whole:9.2f} "
                  f"{start:11.2f} {published / ours:9.1f}x {best / ours:7.1f}x", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
