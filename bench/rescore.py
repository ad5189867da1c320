#!/usr/bin/env python3
"""bench/rescore.py --bioinfer EXE [--poses N] - poses minimised on one core, beside AutoDock Vina.

For each pocket of tests/golden/rescore one row: milliseconds a pose of `bioinfer rescore` without
and with --minimize, and of vina's score() and optimize(), which is its --local_only. The command is
timed as a whole on N poses and on one, and the difference is divided: reading, checks and writing
count, the start does not. Vina is timed in its calls alone, without PDBQT, maps and start. The
times are CPU times, so that a busy machine does as well. Wants vina 1.2.7, meeko 0.8.0 and RDKit.

    python bench/rescore.py --bioinfer build/cli/bioinfer --poses 400
"""
import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, '..', 'tests', 'golden', 'rescore')
POCKETS = ('1a46', '6ahs', '6moa', '6o5u', '6w70')


def seconds(exe, receptor, poses, more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([exe, 'rescore', receptor, poses, '--threads', '1', '--quiet', '-o', os.devnull,
                    *more], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(o, name, texts, folder, more):
    """Milliseconds a pose; the least of three runs."""
    receptor = os.path.join(GOLDEN, name + '.pdb.gz')
    files = []
    for n in (1, o.poses):
        files.append(os.path.join(folder, '%d.sdf' % n))
        with open(files[-1], 'w', encoding='ascii') as out:
            out.write(''.join(texts[k % len(texts)] for k in range(n)))
    one, all_ = (min(seconds(o.bioinfer, receptor, f, more) for _ in range(3)) for f in files)
    return 1000 * (all_ - one) / (o.poses - 1)


def theirs(name, folder):
    """Milliseconds of score() and optimize(), the mean over the poses."""
    sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
    import golden_vina
    from meeko import MoleculePreparation, PDBQTWriterLegacy
    from rdkit import Chem
    receptor = os.path.join(folder, name + '.pdbqt')
    with open(receptor, 'w', encoding='ascii') as out:
        out.write(golden_vina.pdbqt_of(golden_vina.read_pdb(
            os.path.join(GOLDEN, name + '.pdb.gz'))))
    spent, n = [0, 0], 0
    for pose in Chem.ForwardSDMolSupplier(gzip.open(os.path.join(GOLDEN, name + '.sdf.gz'))):
        whole = Chem.AddHs(pose, addCoords=True)
        text = PDBQTWriterLegacy.write_string(MoleculePreparation().prepare(whole)[0])[0]
        centre = whole.GetConformer().GetPositions().mean(0)
        v = golden_vina.engine(receptor, text, None, 0, centre)._vina
        for k, call in enumerate((v.score, lambda: v.optimize(0))):
            start = time.process_time()
            call()
            spent[k] += time.process_time() - start
        n += 1
    return [1000 * s / n for s in spent]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bioinfer', required=True)
    parser.add_argument('--poses', type=int, default=400)
    o = parser.parse_args()
    print('pocket\tscore ms\tminimise ms\tvina score ms\tvina optimize ms')
    with tempfile.TemporaryDirectory() as folder:
        for name in POCKETS:
            with gzip.open(os.path.join(GOLDEN, name + '.sdf.gz'), 'rt') as file:
                texts = [text + '$$$$\n' for text in file.read().split('$$$$\n')[:-1]]
            mine = [ours(o, name, texts, folder, more) for more in ((), ('--minimize',))]
            print('%s\t%.3f\t%.3f\t%.3f\t%.3f' % (name, *mine, *theirs(name, folder)), flush=True)


if __name__ == '__main__':
    main()
