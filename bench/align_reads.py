#!/usr/bin/env python3
"""bench/align_reads.py --build FOLDER - pairs of short reads that differ little, on all threads.

Makes pairs of 150 random bases that differ by 1 % (7 of 10 differences are substitutions, the rest
single bases more or less) and aligns them by WFA2, by bioinfer on as many threads of the CPU and on
the device; mismatches cost 4 and a gap of k bases 6 + 2 k. Seconds of the wall clock, and behind
each the ratio of WFA2's call to it: above 1 is faster than WFA2.

  call     from letters in memory to scores or CIGARs in memory (bench/align_wfa2)
  files    from FASTA to TSV with the device open (bench/align_files); WFA2 reads and writes nothing
  command  the same with start and end of the process and of the driver

Sums of scores are compared with WFA2's, tables of the device with the CPU's, byte by byte; exit 1
where they differ. Takes about three minutes with the default of a million pairs; needs no packages.

FOLDER: a meson build folder in which `ninja bench/align_wfa2 bench/align_files cli/bioinfer` has
run, with Debian's libwfa2-dev installed. --device none leaves the device out.

    python3 bench/align_reads.py --build build --device cuda:0 --threads 16
    python3 bench/align_reads.py --build build --device none --pairs 20000
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

LENGTH, SHARE = 150, 0.01
SCORES, OPEN, EXTEND = ("0", "-4"), "8", "2"  # the first base of a gap costs OPEN
COMMANDS = 3  # runs of the whole command, of which the fastest counts


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=pathlib.Path)
    p.add_argument("--device", default="cuda:0", help="beside the CPU; none or cpu: the CPU alone")
    p.add_argument("--threads", type=int, default=os.cpu_count(), help="of WFA2 and of the CPU")
    p.add_argument("--pairs", type=int, default=1000000)
    p.add_argument("--repeat", type=int, default=5, help="the fastest of so many calls and files")
    return p.parse_args()


def write_reads(folder, pairs):
    """Two FASTA files: random bases, and the same with some of them changed."""
    rng = random.Random(LENGTH)
    files = folder / "reads.a.fasta", folder / "reads.b.fasta"
    with open(files[0], "w", encoding="ascii") as a, open(files[1], "w", encoding="ascii") as b:
        for i in range(pairs):
            query = "".join(rng.choices("ACGT", k=LENGTH))
            target, done = [], 0
            while True:
                at = done + int(rng.expovariate(SHARE))  # the next base that differs
                if at >= LENGTH:
                    break
                dice = rng.random()
                other = "ACGT"["ACGT".index(query[at]) - rng.randint(1, 3)]
                target += [query[done:at],
                           other if dice < .7 else "" if dice < .85 else query[at] * 2]
                done = at + 1
            a.write(f">q{i}\n{query}\n")
            b.write(f">t{i}\n{''.join(target)}{query[done:]}\n")
    return files


def call(o, who, files, device):
    """Seconds of a library call, and the sum of its scores."""
    done = subprocess.run([o.build / "bench/align_wfa2", who, *files, ",".join(SCORES), OPEN,
                           EXTEND, str(o.repeat), device, str(o.threads)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"align_wfa2 {who} on {device}: exit {done.returncode}\n{done.stderr}")
    fields = done.stdout.split("\t")
    return float(fields[3]), int(fields[4])


def from_files(o, files, device, what, out):
    """Seconds from FASTA to TSV with the device open, and of the whole command."""
    options = [*files, "--match=" + SCORES[0], "--mismatch=" + SCORES[1], "--gap-open", OPEN,
               "--gap-extend", EXTEND, "--threads", str(o.threads), "-q", "-o", out,
               *["--score-only"] * (what == "scores")]
    opened = subprocess.run([o.build / "bench/align_files", device, str(o.repeat), *options],
                            check=True, stdout=subprocess.PIPE, text=True)
    seconds = []
    for _ in range(COMMANDS):
        begun = time.perf_counter()
        subprocess.run([o.build / "cli/bioinfer", "align", *options, "--device", device],
                       check=True)
        seconds.append(time.perf_counter() - begun)
    return min(map(float, opened.stdout.split())), min(seconds)


def main():
    o = arguments()
    devices = ["cpu"] + [o.device] * (o.device not in ("none", "cpu"))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        files = write_reads(folder, o.pairs)
        print(f"{o.pairs} pairs of {LENGTH} bases at {100 * SHARE:g} %, {o.threads} threads; "
              "seconds, and how often they fit into WFA2's call")
        print(f"{'':7} {'':10} {'call':>16} {'files':>16} {'command':>16}")
        for what, suffix in ("scores", ""), ("CIGARs", "-cigar"):
            wfa2, total = call(o, "wfa2" + suffix, files, "cpu")
            print(f"{what:7} {'WFA2':10} {wfa2:8.4f}", flush=True)
            tables = []
            for device in devices:
                seconds, ours = call(o, "bioinfer" + suffix, files, device)
                row = seconds, *from_files(o, files, device, what, folder / "reads.tsv")
                tables.append((folder / "reads.tsv").read_bytes())
                print(f"{what:7} {device:10}", *(f"{s:8.4f} {wfa2 / s:6.2f}x" for s in row),
                      flush=True)
                if ours != total:
                    failed = 1
                    print(f"{what} of {device}: their sum is {ours}, WFA2's {total}")
            if len(set(tables)) > 1:
                failed = 1
                print(f"{what}: the table of {o.device} differs from the CPU's")
    print("FAILED" if failed else "sums of scores are WFA2's" +
          (", tables of both devices the same bytes" if len(devices) > 1 else ""))
    return failed


if __name__ == "__main__":
    sys.exit(main())
