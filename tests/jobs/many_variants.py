#!/usr/bin/env python3
"""many_variants.py BIOINFER SOURCE_ROOT N - memory over N variants, with and without a journal.

Nearly all of them have no scores, as their REF is not the genome's: that costs no computing, and
all else that a variant costs. Peak memory over N against that over N / 3: what may grow is 4 bytes
a unit of the journal. With --cluster all variants share a window: their memory is bounded, and
above that bound flat as well. Every variant must have its row, in order, in the table and in the
manifest. The full run, which exceeds the bound: `many_variants.py BIOINFER ROOT 1500000`.
"""
import os
import random
import subprocess
import sys
import tempfile

GROWTH, SLACK = 8, 6  # bytes a variant, MiB
CLUSTER = 450000        # variants of a cluster that reaches its bound
BOUND = 240             # MiB that the process then has
EVERY = 5000            # every so many variants one is computed


def write_genome(folder):
    bases = "".join(random.Random(3).choices("ACGT", k=30000))
    path = os.path.join(folder, "genome.fa")
    with open(path, "w", encoding="ascii") as f:
        f.write(f">chrA\n{bases}\n")
    with open(path + ".fai", "w", encoding="ascii") as f:
        f.write("chrA\t30000\t6\t30000\t30001\n")
    return path, bases


def write_variants(path, n, bases):
    """Positions ascend from 10,000 to 11,000, many variants at each."""
    other = str.maketrans("ACGT", "CGTA")
    with open(path, "w", encoding="ascii") as f:
        f.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n")
        for i in range(n):
            at = 10000 + 1000 * i // n
            ref = bases[at] if i % EVERY == 0 else bases[at].translate(other)
            f.write(f"chrA\t{at + 1}\tv{i}\t{ref}\t{ref.translate(other)}\n")


def peak(args):
    with subprocess.Popen(args, stderr=subprocess.PIPE) as p:
        words = p.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 1, (args, p.returncode, words[-1000:])
    return usage.ru_maxrss / 1024


def check(path, n, manifest):
    with open(path, encoding="ascii") as f:
        next(f)
        i = -1
        for i, line in enumerate(f):
            cells = line.rstrip("\n").split("\t")
            assert cells[2] == f"v{i}", line
            assert cells[5] == ("ok" if i % EVERY == 0 else "mismatch"), line
            assert bool(cells[6]) == (i % EVERY == 0), line
    assert i == n - 1, (i, n)
    if not manifest:
        return
    with open(path + ".manifest.tsv", encoding="ascii") as f:
        next(f)
        i = -1
        for i, line in enumerate(f):
            cells = line.split("\t")
            assert cells[:2] == [str(i), f"v{i}"], line
            assert cells[3] == ("ok" if i % EVERY == 0 else "mismatch"), line
    assert i == n - 1, (i, n)


def main(exe, root, count):
    count = int(count)
    with tempfile.TemporaryDirectory(prefix="bioinfer-variants-") as folder:
        genome, bases = write_genome(folder)
        inputs = []
        for n in (count // 3, count):
            inputs.append((n, os.path.join(folder, f"{n}.vcf")))
            write_variants(inputs[-1][1], n, bases)
        out = os.path.join(folder, "out.tsv")
        for how in (["--resume"], ["--resume", "--cluster", "1000"], ["--cluster", "1000"]):
            peaks = []
            for n, path in inputs:
                peaks.append(peak([os.path.abspath(exe), "enformer", path, "--genome", genome,
                                   "--weights", os.path.join(root, "tests/golden/enformer/half"),
                                   "--positions", "formula-pt", "--tracks", "1", "--threads", "1",
                                   "-o", out, "--quiet", *how]))
                check(out, n, "--resume" in how)
            print(f"{' '.join(how)}: {peaks[0]:.1f} MiB over {count // 3} variants, "
                  f"{peaks[1]:.1f} MiB over {count}", flush=True)
            if os.environ.get("BIOINFER_SANITIZED"):  # which keeps what was freed
                continue
            if "--cluster" not in how or count // 3 > CLUSTER:
                assert peaks[1] - peaks[0] < SLACK + GROWTH * count / 2**20, peaks
            assert max(peaks) < BOUND, peaks


if __name__ == "__main__":
    main(*sys.argv[1:])
