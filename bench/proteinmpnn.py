#!/usr/bin/env python3
"""bench/proteinmpnn.py BIOINFER REFERENCE WEIGHTS.pt FILE.pdb... - designs beside the reference.

REFERENCE is a checkout of dauparas/ProteinMPNN, run by this Python (torch) as its script runs it,
with --weights as its model. Whole processes are timed, start-up included, the best of --repeat; and
once more per sequence: the time of --num-seq sequences less that of one. Options: --device cpu
(cuda:0), --num-seq 8, --repeat 3, --score (score instead of sampling), --skip-reference.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time


def timed(command, repeat, **more):
    best = 1e9
    for _ in range(repeat):
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       **more)
        best = min(best, time.monotonic() - start)
    return best


def ours(o, file, n):
    more = ['--score-only'] if o.score else []
    return timed([o.bioinfer, 'proteinmpnn', file, '--weights', o.weights, '--device', o.device,
                  '--num-seq', str(n), '-q', *more], o.repeat)


def theirs(o, folder, file, n):
    more = ['--score_only', '1'] if o.score else []
    return timed([sys.executable, os.path.join(o.reference, 'protein_mpnn_run.py'), '--pdb_path',
                  os.path.abspath(file), '--path_to_model_weights', folder, '--model_name', 'model',
                  '--out_folder', folder, '--num_seq_per_target', str(n), '--seed', '37', *more],
                 o.repeat, cwd=o.reference)


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
    o = p.parse_args()
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
