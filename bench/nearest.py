#!/usr/bin/env python3
"""Times exact nearest neighbours beside NumPy's product and argpartition, in one run.

  nearest.py BIOINFER [--queries 1000] [--targets 100000] [--width 320] [-k 10] [--threads N]

Vectors are random. Each contender is a process that reads two files npz with a matrix each and
writes a table; they run in turns, and the ratio compares the fastest of --repeat runs. NumPy
computes in float32, in blocks of 8,192 targets, with as many threads as --threads says. Neighbours
are compared: NumPy's may differ where two values are nearer than float32 can tell. Needs numpy.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

MAKE = """
import sys
import numpy as np
n, width, seed = map(int, sys.argv[2:])
np.savez(sys.argv[1], ids=np.array(["r%d" % i for i in range(n)], "S"),
         embeddings=np.random.default_rng(seed).normal(0, 1, (n, width)).astype(np.float32))
"""
NUMPY = """
import sys
import numpy as np
a, b = (np.load(name) for name in sys.argv[1:3])
k, block = int(sys.argv[3]), 8192
x, y = (f["embeddings"] / np.linalg.norm(f["embeddings"], axis=1, keepdims=True) for f in (a, b))
values, places = np.full((len(x), 0), 0, np.float32), np.full((len(x), 0), 0)
for first in range(0, len(y), block):
    near = x @ y[first:first + block].T
    n = min(k, near.shape[1])
    best = np.argpartition(-near, n - 1, axis=1)[:, :n]
    values = np.concatenate([values, np.take_along_axis(near, best, 1)], 1)
    places = np.concatenate([places, best + first], 1)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    values, places = (np.take_along_axis(of, order, 1) for of in (values, places))
ids, others = a["ids"].astype("U"), b["ids"].astype("U")
with open(sys.argv[4], "w") as out:
    for i in range(len(x)):
        for rank in range(k):
            hit = others[places[i, rank]]
            out.write(f"{ids[i]}\\t{rank + 1}\\t{hit}\\t{values[i, rank]:.9g}\\n")
"""


def hits(path):
    with open(path) as file:
        return [line.split("\t")[2] for line in file if not line.startswith("query\t")]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("bioinfer")
    p.add_argument("--queries", type=int, default=1000)
    p.add_argument("--targets", type=int, default=100000)
    p.add_argument("--width", type=int, default=320)
    p.add_argument("-k", type=int, default=10)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--repeat", type=int, default=3)
    o = p.parse_args()
    threads = {name: str(o.threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                                 "MKL_NUM_THREADS")}
    with tempfile.TemporaryDirectory(prefix="nearest-") as folder:
        a, b, ours, theirs = (os.path.join(folder, name)
                              for name in ("a.npz", "b.npz", "ours.tsv", "theirs.tsv"))
        for name, n in (a, o.queries), (b, o.targets):  # peaks of children count their parent's
            subprocess.run([sys.executable, "-c", MAKE, name, *map(str, (n, o.width, n))],
                           check=True)
        commands = {
            "bioinfer": [os.path.abspath(o.bioinfer), "nearest", a, b, "-k", str(o.k), "-o", ours,
                         "--threads", str(o.threads)],
            "numpy": [sys.executable, "-c", NUMPY, a, b, str(o.k), theirs]}
        best, peak = dict.fromkeys(commands, float("inf")), {}
        for _ in range(o.repeat):
            for who, command in commands.items():
                start = time.perf_counter()
                child = subprocess.Popen(command, env=dict(os.environ, **threads))
                _, status, usage = os.wait4(child.pid, 0)
                assert not status, who
                best[who] = min(best[who], time.perf_counter() - start)
                peak[who] = usage.ru_maxrss / 1024
        pairs = list(zip(hits(ours), hits(theirs), strict=True))
    same = sum(x == y for x, y in pairs) / len(pairs)
    print("%d queries, %d targets of %d, k %d, %d threads" %
          (o.queries, o.targets, o.width, o.k, o.threads))
    for who in commands:
        print("%-9s %7.2f s  %6.1f million pairs/s  %5.0f MB  %.2fx" %
              (who, best[who], 1e-6 * o.queries * o.targets / best[who], peak[who],
               best[who] / best["bioinfer"]))
    print("equal hits: %.4f %%" % (100 * same))


if __name__ == "__main__":
    main()
