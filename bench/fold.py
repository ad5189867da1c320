#!/usr/bin/env python3
"""bench/fold.py --bioinfer EXE - structures of antibodies beside the published program.

Pairs of chains are four antibodies with one residue of 25 changed at random, by a fixed seed.
One run prints, as the fastest of --repeat:
  - the command from its start to its end, FASTA to one mmCIF a pair, and pairs a second;
  - the same with pLDDT as arrays alone, without mmCIF; and kernels alone, as --profile has them;
  - the package flash-abb in batches of --batch, features to coordinates, without files, where it is
    installed (PyPI, 0.0.5); and the ratio.
--fidelity prints instead how far atoms, pLDDT and aligned errors on --device are from the CPU's, in
fp32 and fp16: of FlashABB, and of the small random ESMFold and ESMFold2 of tests/golden. It needs
numpy.

    python bench/fold.py --bioinfer build/cli/bioinfer --pairs 200 --threads 2
    python bench/fold.py --bioinfer build/cli/bioinfer --device cuda:0 --pairs 5000
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
sys.dont_write_bytecode = True


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bioinfer', required=True)
    p.add_argument('--device', default='cpu', help='cpu (default), cuda:0')
    p.add_argument('--pairs', type=int, default=200)
    p.add_argument('--batch', type=int, default=50, help='pairs in a batch of flash-abb')
    p.add_argument('--threads', type=int, default=2, help='on the CPU')
    p.add_argument('--repeat', type=int, default=2)
    p.add_argument('--fidelity', action='store_true')
    return p.parse_args()


def changed(chain, draw):
    return ''.join(draw.choice('ACDEFGHIKLMNPQRSTVWY') if draw.random() < 0.04 else letter
                   for letter in chain)


def ours(o, fasta, out, *more, model='flashabb', device=None):
    """Seconds, and the text of the command."""
    shutil.rmtree(out, ignore_errors=True)
    begin = time.monotonic()
    done = subprocess.run([o.bioinfer, model, fasta, '-o', out, '--device', device or o.device,
                           '--threads', str(o.threads), *more], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit('%s\nexit %d' % (done.stdout, done.returncode))
    return seconds, done.stdout


def fidelity(o, folder, pairs, draw):
    import numpy
    proteins = [''.join(draw.choice('ACDEFGHIKLMNPQRSTVWY') for _ in range(n))
                for n in (1, 2, 3, 17, 40, 64, 100, 150, 200)] + ['M' * 50 + ':' + 'K' * 33]
    small = os.path.join(ROOT, 'tests', 'golden')
    cases = [('flashabb', pairs, [], p) for p in ('fp32', 'fp16')]
    cases += [(model, proteins, ['--weights', os.path.join(small, model, name)], p)
              for model, name in (('esmfold', 'tiny'), ('esmfold2', 'tiny'), ('esmfold2', 'msa'))
              for p in ('fp32', 'fp16')]
    for model, chains, more, precision in cases:
        fasta, outs, worst = os.path.join(folder, 'in.fasta'), [], {}
        arrays = 'plddt,coordinates' + ',pae' * (model != 'flashabb')
        write(fasta, chains)
        for device in 'cpu', o.device:
            outs.append(os.path.join(folder, device.replace(':', '')))
            own = ['--precision', precision] if device != 'cpu' else []
            ours(o, fasta, outs[-1], '--include', arrays, *more, *own, model=model, device=device)
        for i in range(len(chains)):
            sample = '_seed-0_sample-0' * (model == 'esmfold2')
            a, b = (numpy.load(os.path.join(out, 'p%d%s.npz' % (i, sample))) for out in outs)
            for kind in a.files:
                assert (numpy.isnan(a[kind]) == numpy.isnan(b[kind])).all(), kind
                gap = float(numpy.nanmax(numpy.abs(a[kind] - b[kind])))
                worst[kind] = max(worst.get(kind, 0), gap)
        print('%-8s %-5s %-5s %d records: %s' %
              (model, os.path.basename(more[-1]) if more else '', precision, len(chains),
               ', '.join('%s %.1e' % row for row in sorted(worst.items()))))


def write(path, records):
    with open(path, 'w', encoding='ascii') as file:
        for i, record in enumerate(records):
            file.write('>p%d\n%s\n' % (i, record))


def theirs(o, pairs):
    import torch
    from flash_abb import pretrained
    from flash_abb.model.flash_abb import featurize
    torch.set_num_threads(o.threads)
    device = 'cpu' if o.device == 'cpu' else 'cuda'
    model = pretrained(device=device)

    def run():
        begin = time.monotonic()
        for at in range(0, len(pairs), o.batch):
            features = featurize(['|'.join(pair) for pair in pairs[at:at + o.batch]], model.device)
            with torch.no_grad():
                out = model.flabb.model({'single': features['single']}, features['aatype'],
                                        features['res_idx'], features['mask'])
            out['positions'][-1].cpu()
        return time.monotonic() - begin
    run() if device == 'cuda' else None
    return min(run() for _ in range(o.repeat))


def main():
    o = arguments()
    import golden_flashabb_fold
    draw = random.Random(1)
    antibodies = list(golden_flashabb_fold.PAIRS.values())
    pairs = [tuple(changed(chain, draw) for chain in antibodies[i % 4]) for i in range(o.pairs)]
    with tempfile.TemporaryDirectory() as folder:
        fasta = os.path.join(folder, 'pairs.fasta')
        if o.fidelity:
            return fidelity(o, folder, [':'.join(pair) for pair in pairs], draw)
        write(fasta, map(':'.join, pairs))
        out = os.path.join(folder, 'out')
        seconds = min(ours(o, fasta, out)[0] for _ in range(o.repeat))
        print('%d pairs, %d residues, %s, %d threads' %
              (o.pairs, sum(len(a) + len(b) for a, b in pairs), o.device, o.threads))
        print('bioinfer, command     %8.2f s  %8.1f pairs/s' % (seconds, o.pairs / seconds))
        texts = min(ours(o, fasta, out, '--format', 'npz', '--include', 'plddt')[0]
                    for _ in range(o.repeat))
        print('without structures    %8.2f s  %8.1f pairs/s' % (texts, o.pairs / texts))
        profile = ours(o, fasta, out, '--profile')[1]
        print('kernels               %8.2f s' % (sum(
            float(row) for row in re.findall(r'^\w+ +\d+ +([\d.]+) ', profile, re.M)) / 1000))
        try:
            other = theirs(o, pairs)
        except ImportError as error:
            print('flash-abb: not installed (%s)' % error)
            return
        print('flash-abb, no files   %8.2f s  %8.1f pairs/s' % (other, o.pairs / other))
        print('ratio                 %8.2f' % (other / seconds))


if __name__ == '__main__':
    main()
