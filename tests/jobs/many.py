#!/usr/bin/env python3
"""many.py BIOINFER SOURCE_ROOT N - memory stays flat over N tiny records.

Peak memory of a job over N records against one over N / 3: what is allowed to grow is 4 bytes
a record and the table of sequences, and for npz its names and index. Every record must be in
the manifest and the output, in order."""
import os
import random
import sys
import tempfile

from common import ACIDS, Command


def write(path, n):
    rng = random.Random(5)
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            f.write(f">r{i}\n{''.join(rng.choices(ACIDS, k=rng.randint(1, 6)))}\n")


def peak(command, *args):
    p = command.start(*args)
    p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, (args, status)
    p.returncode = 0
    return usage.ru_maxrss / 1024


def main(exe, root, count):
    command = Command(exe, root)
    with tempfile.TemporaryDirectory(prefix="bioinfer-many-") as folder:
        few, many = (os.path.join(folder, name) for name in ("few.fasta", "many.fasta"))
        write(few, count // 3)
        write(many, count)
        for name, per_record in (("tsv", 100), ("npz", 400)):
            out = os.path.join(folder, "out." + name)
            sizes = [peak(command, path, "-o", out) for path in (few, many)]
            print(f"{name}: {sizes[0]:.1f} MiB over {count // 3} records, {sizes[1]:.1f} MiB over {count}")
            assert sizes[1] - sizes[0] < 8 + per_record * count / 2**20, sizes
            with open(out + ".manifest.tsv", encoding="ascii") as f:
                next(f)
                n = 0
                for n, line in enumerate(f, 1):
                    assert line.startswith(f"{n - 1}\tr{n - 1}\t"), line
            assert n == count, n


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
