#!/usr/bin/env python3
"""many_tasks.py BIOINFER SOURCE_ROOT N [TASK ...] - memory of tasks over N records and over N / 4.

Scores, designs and alignments as jobs (many.py has embeddings, many_variants.py variants). What may
grow is 4 bytes a record of the journal, and what GROWTH says; every record must be in the output
and in the manifest, in order. Records of scores take milliseconds: they are N / 5; those of designs
N / 1.25, as their memory is flat only from some thousands on; pairs are 20 N. A database has 140 N
records that few queries meet, for the best of each; it is read in passes. The full run, 10^6
records each: `many_tasks.py BIOINFER ROOT 5000000 score`, 1250000 design, and 50000 align.
"""
import os
import random
import subprocess
import sys
import tempfile
import time

import tasks
from common import ACIDS

# MiB: buffers, batches and plans that few records do not fill; designs are flat from 8,000 on, and
# alignments read 16 MiB of each file ahead, flat from 200,000 pairs on (78 MiB, also of 4 million)
SLACK = {"score": 8, "align": 56, "design": 48, "database": 56}
# bytes a record; a design has a path of a file
GROWTH = {"score": 8, "align": 8, "design": 400, "database": 0}
FEWER = {"score": 5, "align": 0.05, "design": 1.25, "database": 0.007}


def write_fasta(path, n, seed):
    rng = random.Random(seed)
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            f.write(f">r{i}\n{''.join(rng.choices(ACIDS, k=rng.randint(1, 6)))}\n")
    return path


def score(folder, n):
    model = os.path.join(tasks.ROOT, tasks.MODEL)
    fasta = write_fasta(os.path.join(folder, f"{n}.fasta"), n, 1)
    return ["score", "esm2", fasta, "--weights", model]


def align(folder, n):
    return ["align", *(write_fasta(os.path.join(folder, f"{n}-{k}.fasta"), n, k) for k in (1, 2)),
            "--block-pairs", "4096"]


def database(folder, n):
    """Six queries in three groups, so three passes over more than stays in memory."""
    return ["align", write_fasta(os.path.join(folder, "six.fasta"), 6, 1),
            write_fasta(os.path.join(folder, f"{n}-2.fasta"), n, 2), "--all-vs-all", "--top", "3",
            "--db-memory", "1", "--block-pairs", "2", "--matrix", "BLOSUM62", "--score-only"]


def design(folder, n):
    """Backbones of four residues, under names that are one file each."""
    path = os.path.join(folder, f"backbones-{n}")
    os.mkdir(path)
    for i in range(n):
        if i % 50000 == 0:  # a file has 65,000 names at most
            one = os.path.join(folder, f"one-{n}-{i}.pdb")
            tasks.cut_structure("5L33.pdb", one, 3, 4)
        os.link(one, os.path.join(path, f"r{i:07}.pdb"))
    return ["proteinmpnn", path, "--num-seq", "1", "--seed", "5",
            "--batch-tokens", "512"]


def ids_of(task, n):
    if task == "database":
        return ("0-1", "2-3", "4-5")
    if task == "align":
        return (f"{i}-{min(n, i + 4096) - 1}" for i in range(0, n, 4096))
    return (f"r{i:07}" if task == "design" else f"r{i}" for i in range(n))


def check(task, out, n):
    """Line by line: what this process has in memory, its children begin with."""
    ids = iter(ids_of(task, n))
    rows = 19 if task == "database" else n
    with open(out + ".manifest.tsv", encoding="ascii") as f:
        next(f)
        for line in f:
            row = line.split("\t")[:4]
            assert row[1] == next(ids) and row[3] == "ok", (task, row)
    assert next(ids, None) is None, task
    with open(out, encoding="ascii") as f:
        lines = sum(1 for _ in f)
    assert lines >= rows, (task, lines, n)  # a header line, or two lines of FASTA


def peak(exe, args):
    with subprocess.Popen([exe, *args, "--threads", "1", "--quiet"], stderr=subprocess.PIPE) as p:
        words = p.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, (args, p.returncode, words[-1000:])
    return usage.ru_maxrss / 1024


def main(exe, root, count, *names):
    tasks.ROOT = os.path.abspath(root)
    for task in names or GROWTH:
        n = int(int(count) / FEWER[task])
        with tempfile.TemporaryDirectory(prefix="bioinfer-many-") as folder:
            peaks = []
            for k in (n // 4, n):
                out = os.path.join(folder, "out.fa" if task == "design" else "out.tsv")
                begun = time.monotonic()
                args = {"score": score, "align": align, "design": design,
                        "database": database}[task](folder, k)
                peaks.append(peak(os.path.abspath(exe), [*args, "-o", out, "--resume"]))
                check(task, out, k)
            print(f"{task}: {peaks[0]:.1f} MiB over {n // 4} records, {peaks[1]:.1f} MiB over {n}, "
                  f"{time.monotonic() - begun:.1f} s", flush=True)
            if not os.environ.get("BIOINFER_SANITIZED"):  # which keeps what was freed
                most = SLACK[task] + GROWTH[task] * (n - n // 4) / 2**20
                assert peaks[1] - peaks[0] < most, peaks


if __name__ == "__main__":
    main(*sys.argv[1:])
