#!/usr/bin/env python3
"""Several GPUs of one host at once: every output is that of one GPU, whatever ends on the way; and
what they gain.

  several_gpus.py BIOINFER BIOINFER_FAULTS PROTEINS.fasta[.gz] [--times 8] [--kills 2] [--small]
                  [--parts ...]

Needs at least two devices that `bioinfer devices` lists as cuda. Outputs are compared byte for
byte, manifests too:
  equal       mean and per-residue embeddings of bioinfer-tiny by cuda:0, by each other GPU, by
              --device all, by shards on different GPUs and merged; jsonl in order on a pipe
  together    cuda:0, cuda:1 and cpu over one queue: each record is what one of them makes of it
  faults      a lost device, an illegal access on the device (BIOINFER_FAULTS: tests/jobs/fault.c)
  kills       workers killed by SIGKILL; supervisors: the command killed, then resumed
  throughput  the proteins so many times over, each time rotated by one more residue, on random
              weights of the shape of ESM-2 650M: one GPU beside all of them, the same bytes;
              seconds without those of a single protein
--small: the shape of 8M, for a try."""
import argparse
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/jobs"), str(ROOT / "bench")]
import esm2_gpu
import workers
from common import contents


def read(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as f:
        records = [r.partition("\n") for r in ("\n" + f.read()).split("\n>")[1:]]
    return [(h.split()[0], s.replace("\n", "")) for h, _, s in records]


def write(path, records):
    pathlib.Path(path).write_text("".join(f">{i}\n{s}\n" for i, s in records))
    return path


def gpus(exe):
    rows = subprocess.run([exe, "devices"], capture_output=True, text=True,
                          check=True).stdout.splitlines()
    return [r.split("\t")[0] for r in rows if r.startswith("cuda:") and r.split("\t")[1] == "yes"]


def embed(exe, fasta, weights, out, *more):
    """Seconds of one command."""
    begun = time.monotonic()
    done = subprocess.run([exe, "esm2", fasta, "--weights", weights, "--quiet", "-o", out,
                           *map(str, more)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (more, done.returncode, done.stderr[-2000:])
    return time.monotonic() - begun


def equal(exe, fasta, names, folder):
    tiny = ROOT / "share/bioinfer-tiny"
    for include in ("mean", "mean,per-residue"):
        common = ("--include", include)
        embed(exe, fasta, tiny, f"{folder}/one.npz", "--device", names[0], *common)
        want = contents(f"{folder}/one.npz")
        for i, device in enumerate([*names[1:], "all", ",".join(names)]):
            out = f"{folder}/more{i}.npz"
            embed(exe, fasta, tiny, out, "--device", device, *common)
            assert contents(out) == want, f"{device} is not {names[0]}"
        for i, device in enumerate(names[:2]):
            embed(exe, fasta, tiny, f"{folder}/cut.npz", "--device", device, "--shard",
                  f"{i + 1}/2", *common)
        subprocess.run([exe, "merge", f"{folder}/cut.npz", "--quiet"], check=True)
        assert contents(f"{folder}/cut.npz") == want, "merged shards are not the whole"
        for i in (1, 2):
            shutil.rmtree(f"{folder}/cut.npz.part-{i}-of-2")
        print(f"{include}: {len(want['.manifest.tsv'].splitlines()) - 1} rows of each of "
              f"{', '.join(names)}, all, their list and merged "
              f"shards are equal, {sum(map(len, want.values()))} bytes", flush=True)
    lines = [subprocess.run([exe, "esm2", fasta, "--weights", tiny, "--quiet", "--format", "jsonl",
                             "--device", d],
                            capture_output=True, check=True).stdout for d in (names[0], "all")]
    assert lines[0] == lines[1] and len(lines[0]) > 1000
    print("jsonl on a pipe: equal, in order", flush=True)


def throughput(exe, fasta, names, times, size, folder):
    weights = pathlib.Path(folder) / size
    esm2_gpu.write_weights(weights, *{"650M": (33, 1280, 20), "8M": (6, 320, 20)}[size])
    records = read(fasta)
    one = write(f"{folder}/one.fasta", records[:1])
    many = write(f"{folder}/many.fasta",
                 [(f"{name}_{k}", s[k:] + s[:k]) for k in range(times) for name, s in records])
    residues = times * sum(len(s) for _, s in records)
    devices = (names[0], "all")
    for device in names:  # the driver compiles kernels in the first run
        embed(exe, fasta, weights, f"{folder}/warm.npz", "--device", device, "--resume=no")
        for left in ("", ".manifest.tsv"):
            os.remove(f"{folder}/warm.npz{left}")
    seconds, outputs = [], []
    for device in devices:
        start = min(embed(exe, one, weights, f"{folder}/start{k}-{device.replace(':', '')}.npz",
                          "--device", device) for k in range(2))
        out = f"{folder}/many-{device.replace(':', '')}.npz"
        whole = embed(exe, many, weights, out, "--device", device)
        seconds.append((whole, start))
        outputs.append(contents(out))
        print(f"{size}, {times * len(records)} proteins, {residues} residues on {device}: "
              f"{whole:.2f} s, start {start:.2f} s, {residues / (whole - start):,.0f} residues/s",
              flush=True)
    assert outputs[0] == outputs[1], "all GPUs gave other bytes than one"
    ratio = (seconds[0][0] - seconds[0][1]) / (seconds[1][0] - seconds[1][1])
    print(f"{len(names)} GPUs: {ratio:.2f} times one, start left out; "
          f"{seconds[0][0] / seconds[1][0]:.2f} with it; equal bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bioinfer")
    parser.add_argument("faults")
    parser.add_argument("fasta")
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--parts", default="equal,throughput,together,faults,kills,supervisors")
    args = parser.parse_args()
    parts = args.parts.split(",")
    exe = os.path.abspath(args.bioinfer)
    names = gpus(exe)
    print("GPUs:", *names, flush=True)
    if len(names) < 2:
        sys.exit("this needs two GPUs")
    with tempfile.TemporaryDirectory(prefix="bioinfer-gpus-") as folder:
        fasta = write(f"{folder}/in.fasta", read(args.fasta))
        if "equal" in parts:
            equal(exe, fasta, names, folder)
        if "throughput" in parts:
            throughput(exe, fasta, names, args.times, "8M" if args.small else "650M", folder)
        os.mkdir(f"{folder}/workers")
        run = workers.Run(exe, args.faults, ROOT, f"{folder}/workers", 1, ",".join(names))
        for part, counts in (("together", ()), ("faults", ("lost", "illegal")),
                             ("kills", (args.kills,)), ("supervisors", (1,))):
            if part in parts:
                getattr(run, part)(*counts)
    print("all equal")


if __name__ == "__main__":
    main()
