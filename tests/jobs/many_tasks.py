#!/usr/bin/env python3
"""many_tasks.py BIOINFER SOURCE_ROOT N [TASK ...] - memory of tasks over N records and over N / 4.

Scores, designs, alignments, tracks, energies of atoms and affinities as jobs (many.py has
embeddings, many_variants.py variants). What may grow is 4 bytes a record of the journal, and what
GROWTH says; every record must be in the output and in the manifest, in order. Records of scores
take milliseconds: they are N / 5; designs are N / 1.25, as their memory is flat only from some
thousands on; pairs are 20 N. One window of tracks in 100 is computed, all others are off their
contig. A database has 140 N records that few queries meet, for the best of each; it is read in
passes. Runs have one thread, or as many as THREADS says. The full run, 10^6 records each:
`many_tasks.py BIOINFER ROOT 1000000 tracks energy affinity`, 5000000 score, 1250000 design, and
50000 align.
"""
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import tasks
from common import ACIDS

# MiB: buffers, batches and plans that few records do not fill; designs are flat from 8,000 on, and
# alignments read 16 MiB of each file ahead, flat from 200,000 pairs on (78 MiB, also of 4 million)
SLACK = {"score": 8, "align": 56, "design": 48, "database": 56, "tracks": 8, "energy": 8,
         "affinity": 8, "matrix": 8}
# bytes a record; a design has a path of a file, a record of a matrix its column of 256 rows
GROWTH = {"score": 8, "align": 8, "design": 400, "database": 0, "tracks": 8, "energy": 8,
          "affinity": 8, "matrix": 2400}
FEWER = {"score": 5, "align": 0.05, "design": 1.25, "database": 0.007, "tracks": 1, "energy": 1,
         "affinity": 1, "matrix": 3}
ENDS = {"tracks": ".jsonl", "design": ".fa"}


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


def matrix(folder, n):
    """Scores of all pairs of n records, of which a row of tiles is in memory."""
    return ["align", write_fasta(os.path.join(folder, f"{n}.fasta"), n, 1), "--values", "score",
            "--matrix", "BLOSUM62"]


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


def tracks(folder, n):
    """Windows that all read the same bases, but for those that lie off their contig."""
    genome, bed = os.path.join(folder, "genome.fa"), os.path.join(folder, f"{n}.bed")
    with open(genome, "w", encoding="ascii") as f:
        f.write(f">chrA\n{tasks.random_bases(random.Random(1), 8000)}\n")
    with open(genome + ".fai", "w", encoding="ascii") as f:
        f.write("chrA\t8000\t6\t8000\t8001\n")
    with open(bed, "w", encoding="ascii") as f:
        for i in range(n):
            at = 9000 if is_off_contig(i) else 4000
            f.write(f"chrA\t{at}\t{at + 2}\tr{i}\n")
    return ["enformer", bed, "--genome", genome, "--weights",
            os.path.join(tasks.ROOT, "tests", "golden", "enformer", "half"), "--positions",
            "formula-pt", "--tracks", "1"]


def is_off_contig(i):
    return i % 100 != 0


def energy(folder, n):
    """Frames of two and five atoms."""
    maker = tasks.Energies(folder, False)
    path = os.path.join(folder, f"{n}.xyz")
    with open(path, "w", encoding="ascii") as f:
        f.writelines(maker.frame(6 * i, 2 + i % 2) for i in range(n))
    return ["tensornet", path, "--weights", maker.weights]


def affinity(folder, n):
    """Two atoms beside a protein of few residues, again and again: more take milliseconds."""
    maker = tasks.Screen(folder, False)
    protein, path = (os.path.join(folder, name) for name in ("few.pdb", f"{n}.sdf"))
    with open(maker.receptor, encoding="ascii") as f:
        lines = f.readlines()[:30]
    with open(protein, "w", encoding="ascii") as f:
        f.writelines(lines)
    x, y, z = (float(lines[1][k:k + 8]) for k in (30, 38, 46))
    atoms = [f"{x + 3 + 1.5 * k:10.4f}{y:10.4f}{z:10.4f} C   0  0" for k in (0, 1)]
    text = "\n".join(["", "", "  2  1  0  0  0  0  0  0  0  0999 V2000", *atoms, "  1  2  1  0",
                      "M  END", "$$$$\n"])
    with open(path, "w", encoding="ascii") as f:
        f.writelines(f"r{i}\n{text}" for i in range(n))
    return ["dualbind", protein, path, "--weights", maker.weights]


MAKERS = {"score": score, "align": align, "design": design, "database": database,
          "tracks": tracks, "energy": energy, "affinity": affinity, "matrix": matrix}


def ids_of(task, n):
    if task == "database":
        return ("0-1", "2-3", "4-5")
    if task == "matrix":
        ends = [(i, min(n, i + 256) - 1) for i in range(0, n, 256)]
        return ("%d-%d,%d-%d" % (*a, *b) for k, a in enumerate(ends) for b in ends[k:])
    if task == "align":
        return (f"{i}-{min(n, i + 4096) - 1}" for i in range(0, n, 4096))
    if task == "energy":
        return (f"{n}:{i + 1}" for i in range(n))
    return (f"r{i:07}" if task == "design" else f"r{i}" for i in range(n))


# lines of the output for each record; scores have some for each residue
LINES = {"align": 1, "design": 4, "database": 3, "tracks": 1, "energy": 1, "affinity": 1,
         "matrix": 1}


def written_ids(task, n):
    """Ids that the output has: a block of alignments has those of its pairs, and tiles of a matrix
    make its rows."""
    if task == "database":
        return (f"r{i}" for i in range(6))
    return (f"r{i}" for i in range(n)) if task in ("align", "matrix") else ids_of(task, n)


def id_of(task, line):
    if task == "tracks":
        return re.search('"id":"([^"]*)"', line).group(1)
    return re.split("[,\t]", line.lstrip(">"))[0]


def check_output(task, out, n):
    """The ids of the output, one for each run of lines that have it, are all that were asked for,
    in order."""
    ids = written_ids(task, n)
    with open(out, encoding="ascii") as f:
        if out.endswith(".tsv"):
            next(f)
        lines = f
        if task == "design":  # a line of the structure, its sequence, and those of a sample
            lines = itertools.islice(f, None, None, LINES[task])
        for name, of in itertools.groupby(id_of(task, line) for line in lines):
            assert name == next(ids), (task, name)
            count = len(list(of)) * (LINES[task] if task == "design" else 1)
            assert count == LINES.get(task, count), (task, name, count)
    assert next(ids, None) is None, task


def check(task, out, n):
    """Line by line: what this process has in memory, its children begin with."""
    ids = iter(ids_of(task, n))
    with open(out + ".manifest.tsv", encoding="ascii") as f:
        next(f)
        for i, line in enumerate(f):
            row = line.split("\t")[:4]
            off = task == "tracks" and is_off_contig(i)
            assert row[1] == next(ids), (task, row)
            assert row[3] == ("invalid_argument" if off else "ok"), (task, row)
    assert next(ids, None) is None, task
    check_output(task, out, n)


def peak(exe, args, code):
    command = [exe, *args, "--threads", os.environ.get("THREADS", "1"), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as p:
        words = p.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == code, (args, p.returncode, words[-1000:])
    return usage.ru_maxrss / 1024


def main(exe, root, count, *names):
    tasks.ROOT = os.path.abspath(root)
    for task in names or GROWTH:
        n = int(int(count) / FEWER[task])
        with tempfile.TemporaryDirectory(prefix="bioinfer-many-") as folder:
            peaks = []
            for k in (n // 4, n):
                out = os.path.join(folder, "out" + ENDS.get(task, ".tsv"))
                args = MAKERS[task](folder, k)
                begun = time.monotonic()
                peaks.append(peak(os.path.abspath(exe), [*args, "-o", out, "--resume"],
                                  task == "tracks"))
                seconds = time.monotonic() - begun
                check(task, out, k)
            print(f"{task}: {peaks[0]:.1f} MiB over {n // 4} records, {peaks[1]:.1f} MiB over {n}, "
                  f"{seconds:.1f} s", flush=True)
            if not os.environ.get("BIOINFER_SANITIZED"):  # which keeps what was freed
                most = SLACK[task] + GROWTH[task] * (n - n // 4) / 2**20
                assert peaks[1] - peaks[0] < most, peaks


if __name__ == "__main__":
    main(*sys.argv[1:])
