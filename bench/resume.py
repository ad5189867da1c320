#!/usr/bin/env python3
"""resume.py BIOINFER SOURCE_ROOT [N] [OTHER ...] - what a run costs before it goes on.

A run over N tiny records (default 10^6) is killed when nine tenths are in its journal. Each
program, BIOINFER and OTHER, resumes a copy of it until the journal grows again; printed are the
seconds of a core that it has used by then, and the bytes that it has read. That is opening the
model, reading and comparing what is done, and the quarter of a second until the first commit.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
RECORD = 64  # bytes of the journal


def size_of(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def run_until(args, journal, grown):
    """Kills the run when the journal has `grown` bytes; gives what /proc then said of it."""
    with subprocess.Popen(args) as p:
        while p.poll() is None and size_of(journal) < grown:
            time.sleep(0.002)
        assert p.poll() is None, f"ended before it was killed: {args}"
        with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
            words = f.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{p.pid}/io", encoding="ascii") as f:
            read = int(f.readline().split()[1])
        p.kill()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"), read


def main(exe, root, count="1000000", *others):
    count, rng = int(count), random.Random(5)
    with tempfile.TemporaryDirectory(prefix="bioinfer-resume-") as folder:
        fasta, out = os.path.join(folder, "in.fasta"), os.path.join(folder, "out.npy")
        with open(fasta, "w", encoding="ascii") as f:
            for i in range(count):
                f.write(f">r{i}\n{''.join(rng.choices(LETTERS, k=rng.randint(1, 6)))}\n")
        part, kept = out + ".part", os.path.join(folder, "kept")
        weights = os.path.join(root, "tests/golden/esm2/hf-d16")
        more = ["esm2", fasta, "-o", out, "--weights", weights,
                "--threads", "1", "--resume", "--quiet"]
        run_until([exe, *more], part + "/journal", RECORD * (9 * count // 10))
        shutil.copytree(part, kept)
        for program in (exe, *others):
            shutil.rmtree(part)
            shutil.copytree(kept, part)
            before = size_of(part + "/journal")
            seconds, read = run_until([program, *more], part + "/journal", before + 1)
            print(f"{program}: {before // RECORD} records are done: {seconds:.2f} s of a core, "
                  f"{read / 1e6:.0f} MB read", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
