#!/usr/bin/env python3
"""bench/proteinmpnn.py BIOINFER REFERENCE WEIGHTS.pt FILE.pdb... - designs beside the reference.

REFERENCE is a checkout of dauparas/ProteinMPNN, run by this Python (torch) as its script runs it,
with --weights as its model. Whole processes are timed, start-up included, the best of --repeat; and
once more per sequence: the time of --num-seq sequences less that of one. Options: --device cpu
(cuda:0), --num-seq 8, --repeat 3, --score (score instead of sampling), --skip-reference,
--cpu-time (one thread each, its processor time instead of the clock's: on a machine that others
use).

--flat 100,1000,8000: instead, bioinfer alone on structures of so many residues, made of copies of
the first file 200 angstrom apart, each a chain; microseconds per residue of a score and of one
sequence.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def timed(command, o, **more):
    best = 1e9
    for _ in range(o.repeat):
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       **more)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = min(best, cpu if o.cpu_time else time.monotonic() - start)
    return best


def ours(o, file, n):
    more = ['--score-only'] if o.score else []
    return timed([o.bioinfer, 'proteinmpnn', file, '--weights', o.weights, '--device', o.device,
                  '--num-seq', str(n), '-q', *more, *(['--threads', '1'] if o.cpu_time else [])],
                 o)


def theirs(o, folder, file, n):
    more = ['--score_only', '1'] if o.score else []
    return timed([sys.executable, os.path.join(o.reference, 'protein_mpnn_run.py'), '--pdb_path',
                  os.path.abspath(file), '--path_to_model_weights', folder, '--model_name', 'model',
                  '--out_folder', folder, '--num_seq_per_target', str(n), '--seed', '37', *more],
                 o, cwd=o.reference,
                 env={**os.environ, 'OMP_NUM_THREADS': '1'} if o.cpu_time else None)


CHAINS = [chr(c) for c in [*range(65, 91), *range(97, 123), *range(48, 58)]]


def grown(file, residues, out):
    """Copies of the first chain of `file`, and a part of one, as other chains."""
    with open(file) as f:
        lines = [line for line in f if line.startswith('ATOM')]
    first = lines[0][21]
    lines = [line for line in lines if line[21] == first]
    names = list(dict.fromkeys(line[22:27] for line in lines))
    per_chain = -(-residues // len(CHAINS)) // len(names) + 1  # copies one behind the other
    left, made = residues, 0
    with open(out, 'w') as f:
        for chain in CHAINS:
            for copy in range(per_chain):
                keep = dict.fromkeys(names[:max(0, left)])
                for line in lines:
                    if line[22:27] in keep:
                        x, y, z = (float(line[30 + 8 * i:38 + 8 * i]) for i in range(3))
                        f.write('%s%s%4d %s%8.3f%8.3f%8.3f%s' % (
                            line[:21], chain, names.index(line[22:27]) + 1 + copy * len(names),
                            '   ', x + 200 * (made % 8), y + 200 * (made // 8 % 8),
                            z + 200 * (made // 64), line[54:]))
                left -= len(keep)
                made += 1


def flat(o):
    with tempfile.TemporaryDirectory() as folder:
        for residues in [int(n) for n in o.flat.split(',')]:
            file = os.path.join(folder, 'n%d.pdb' % residues)
            grown(o.files[0], residues, file)
            times = []
            for o.score in (True, False):
                times.append(ours(o, file, 1))
            print('%d residues: score %.0f us per residue, native score and one sequence %.0f us' %
                  (residues, 1e6 * times[0] / residues, 1e6 * times[1] / residues), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('bioinfer', 'reference', 'weights'):
        p.add_argument(name)
    p.add_argument('files', nargs='+')
    p.add_argument('--device', default='cpu')
    p.add_argument('--num-seq', type=int, default=8)
    p.add_argument('--repeat', type=int, default=3)
    p.add_argument('--score', action='store_true')
    p.add_argument('--skip-reference', action='store_true')
    p.add_argument('--flat')
    p.add_argument('--cpu-time', action='store_true')
    o = p.parse_args()
    if o.flat:
        flat(o)
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(o.weights, os.path.join(folder, 'model.pt'))
        for file in o.files:
            mine = [ours(o, file, n) for n in (1, o.num_seq)]
            print('%s: ours %.3f s for %d, %.1f ms for each more' % (
                os.path.basename(file), mine[1], o.num_seq,
                1e3 * (mine[1] - mine[0]) / max(1, o.num_seq - 1)), flush=True)
            if o.skip_reference:
                continue
            ref = [theirs(o, folder, file, n) for n in (1, o.num_seq)]
            more = (ref[1] - ref[0]) / (mine[1] - mine[0]) if mine[1] > mine[0] else float('nan')
            print('    reference %.3f s, %.1f ms for each more; ratio %.1f, of each more %.1f' % (
                ref[1], 1e3 * (ref[1] - ref[0]) / max(1, o.num_seq - 1), ref[1] / mine[1], more),
                flush=True)


main()
