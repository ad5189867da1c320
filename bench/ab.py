#!/usr/bin/env python3
"""ab.py OLD NEW - times of two builds by turns; bench/ab.sh builds what is missing and calls it.

    bench/ab.py OLD NEW [--device cuda:0|cpu] [--seconds 300] [--limit 1.02] [--only WORD]

Rounds follow each other until the time is up, seven at least. In a round each workload runs once in
either build, in turns OLD NEW, NEW OLD, so a machine that warms up or slows down meets both. The
first round is not counted. On a GPU the figure of a run is the time that the bench program tells,
with the weights loaded, or else seconds of the clock; on the CPU it is the time of processors, as
other programs may run there.

A round gives a ratio, NEW to OLD. The table has the median of the ratios and an interval that
holds the true median with 95 % (order statistics: no assumption on how times scatter). A workload

    is slower    when its median is above the limit and its interval is above 1: it is slower for
                 certain, and by more than the limit as far as can be told
    is unclear   when its median is above the limit and its interval holds 1: more seconds tell
    is as fast   otherwise

The limit is of the median, not of the lower end of the interval, so a loss of 3 % is not let
through because times scatter by 2 %. By simulation, where ratios scatter by 2 % and there are six
rounds, chance calls one of a dozen equal workloads slower in 1 of 40 comparisons, with ten rounds
in fewer than 1 of 200; a workload that takes 5 % longer is found in 95 and 99 of 100.

Exit status: 0 all are as fast, 1 one is slower, 2 one did not run, 3 one is unclear. Standard
library only.
"""
import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from math import comb
from statistics import median

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
from judge import weights  # noqa: E402 pylint: disable=wrong-import-position

LEAST_ROUNDS = 6  # fewer have no interval of 95 %

# program: below a build folder; pattern: of the figure in what the program prints, None = seconds
Workload = namedtuple('Workload', 'name program args pattern')

CALLS, DESIGNS, FILES = 'bench/calls', 'bench/designs', 'bench/align_files'
MEDIAN = r'median_ms ([\d.]+)'
STRUCTURE = ROOT + '/tests/golden/proteinmpnn/5L33.pdb'
MPNN = ROOT + '/share/proteinmpnn/proteinmpnn_v_48_020.mpnn'
TINY = ROOT + '/share/bioinfer-tiny'
HALF = ROOT + '/tests/golden/enformer/half'
POSITIONS = '--positions formula-pt'


# ---- workloads: {d} is the device, {w} the folder of inputs ----

def on_gpu():
    def calls(name, size, shape, more=''):
        args = '--device {d} --shape %s --repeat 30 %s {w}/%s' % (shape, more, size)
        return Workload(name, CALLS, args, MEDIAN)
    full = '--weights {w}/enformer %s --device {d} -q' % POSITIONS
    pairs = '{d} 3 {w}/a.fa {w}/b.fa -q -o {w}/out'
    return [
        calls('esm2 8M, one protein', '8M', '1x130'),
        calls('esm2 8M, many', '8M', '64x256'),
        calls('esm2 150M, one protein', '150M', '1x514'),
        calls('esm2 150M, many', '150M', '32x514'),
        calls('esm2 150M, contacts', '150M', '4x514', '--include contacts'),
        calls('esm2 650M, one protein', '650M', '1x258'),
        calls('esm2 650M, many', '650M', '16x1024'),
        Workload('designs, 8 of 5L33', DESIGNS, '--device {d} %s %s' % (MPNN, STRUCTURE), MEDIAN),
        Workload('scores, 100 of 5L33', DESIGNS,
                 '--device {d} --score --copies 100 %s %s' % (MPNN, STRUCTURE), MEDIAN),
        Workload('align, scores', FILES, pairs + ' --score-only', None),
        Workload('align, CIGARs', FILES, pairs, None),
        Workload('enformer, 16 windows', 'cli/bioinfer',
                 'enformer {w}/windows.fa --tracks 1-40 -o {w}/out.npz ' + full, None),
        Workload('enformer, 60 variants', 'cli/bioinfer',
                 'enformer {w}/v.vcf --genome {w}/genome.fa -o {w}/out.tsv ' + full, None),
    ]


def on_cpu():
    def command(name, args):
        return Workload(name, 'cli/bioinfer', args + ' --device {d} --threads 1 -q', None)
    tracks = '--weights %s %s' % (HALF, POSITIONS)
    esm2 = 'esm2 {w}/%s.fa --weights %s -o {w}/out.npz '
    return [
        command('esm2 8M, one protein', esm2 % ('one', TINY)),
        command('esm2 8M, many', esm2 % ('few', TINY)),
        command('esm2 8M, contacts', esm2 % ('one', TINY) + '--include contacts'),
        command('esm2 8M, logits', esm2 % ('few', TINY) + '--include logits,per-residue'),
        command('score', 'score esm2 {w}/short.fa --weights %s -o {w}/out.tsv' % TINY),
        command('designs, 4 of 5L33', 'proteinmpnn %s --weights %s --num-seq 4 -o {w}/out.fa'
                % (STRUCTURE, MPNN)),
        command('scores of 5L33', 'proteinmpnn %s --weights %s --score-only -o {w}/out.tsv'
                % (STRUCTURE, MPNN)),
        command('align, scores', 'align {w}/a.fa {w}/b.fa --score-only -o {w}/out'),
        command('align, CIGARs', 'align {w}/a.fa {w}/b.fa -o {w}/out'),
        command('align, one long', 'align {w}/long.a.fa {w}/long.b.fa -o {w}/out'),
        command('enformer, 8 windows', 'enformer {w}/windows.fa -o {w}/out.npz ' + tracks),
        command('enformer, 20 variants',
                'enformer {w}/v.vcf --genome {w}/genome.fa -o {w}/out.tsv ' + tracks),
    ]


def prepare(folder, gpu):
    """Writes the inputs of all workloads: random sequences, and on a GPU weights of full size."""
    rng = random.Random(3)

    def put(name, records):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as f:
            for i, record in enumerate(records):
                f.write('>s%d\n%s\n' % (i, record))

    def letters(alphabet, n):
        return ''.join(rng.choices(alphabet, k=n))
    acids = 'ACDEFGHIKLMNPQRSTVWY'
    put('short.fa', [letters(acids, 60)])
    put('one.fa', [letters(acids, 500)])
    put('few.fa', [letters(acids, rng.randint(50, 400)) for _ in range(16)])
    pairs = 20000 if gpu else 1500
    for name in 'ab':
        put(name + '.fa', [letters(acids, rng.randint(80, 400)) for _ in range(pairs)])
        put('long.%s.fa' % name, [letters('ACGT', 12000)])
    window, n_windows, n_variants = (196608, 16, 60) if gpu else (5120, 8, 20)
    put('windows.fa', [letters('ACGT', window) for _ in range(n_windows)])
    genome = letters('ACGT', 2 * window)
    put('genome.fa', [genome])
    with open(os.path.join(folder, 'genome.fa.fai'), 'w', encoding='ascii') as f:
        f.write('s0\t%d\t4\t%d\t%d\n' % (len(genome), len(genome), len(genome) + 1))
    with open(os.path.join(folder, 'v.vcf'), 'w', encoding='ascii') as f:
        f.write('##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n')
        for i in range(n_variants):
            at = window + 7 * i
            ref = genome[at - 1]
            f.write('s0\t%d\tv%d\t%s\t%s\t.\t.\t.\n' % (at, i, ref, 'A' if ref != 'A' else 'C'))
    if gpu:
        for size in weights.ESM2:
            weights.esm2(os.path.join(folder, size), size, values=True)
        weights.enformer(os.path.join(folder, 'enformer'), values=True)


# ---- measuring ----

def run(build, work, device, folder, by_processor):
    """The figure of one run: less is faster."""
    args = work.args.replace('{d}', device).replace('{w}', folder).split()
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [os.path.join(build, work.program), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError('%s: %s: %s' % (build, work.name, done.stderr.strip()[-300:]))
    if by_processor:
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if work.program == FILES:
        return min(map(float, done.stdout.split()))
    if work.pattern is None:
        return seconds
    return float(re.search(work.pattern, done.stdout)[1])


def interval(ratios):
    """The ends of an interval that holds the median with 95 %, by order statistics; None of few."""
    n, out = len(ratios), None
    for k in range(n // 2):
        if 1 - 2 * sum(comb(n, i) for i in range(k + 1)) / 2 ** n >= 0.95:
            out = k
    ratios = sorted(ratios)
    return None if out is None else (ratios[out], ratios[n - 1 - out])


def verdict(ratios, limit):
    """fast, slower or unclear."""
    ends = interval(ratios)
    if median(ratios) <= limit:
        return 'fast'
    return 'slower' if ends and ends[0] > 1 else 'unclear'


def measure(args, workloads, folder):
    """Name -> ratios of the rounds that count."""
    ratios = {w.name: [] for w in workloads}
    builds = {'old': args.old, 'new': args.new}
    begun, number = time.monotonic(), 0
    while number <= LEAST_ROUNDS or time.monotonic() - begun < args.seconds:
        for i, work in enumerate(workloads):
            took = {}
            for which in ('old', 'new') if (number + i) % 2 else ('new', 'old'):
                took[which] = run(builds[which], work, args.device, folder, args.device == 'cpu')
            if number:
                ratios[work.name].append(took['new'] / took['old'])
        number += 1
    return ratios


def report(ratios, limit):
    """Prints the table. Returns the exit status."""
    outcomes = []
    print('%-26s %7s   %-15s %6s' % ('workload', 'new/old', '95 %', 'rounds'))
    for name, values in ratios.items():
        ends, outcome = interval(values), verdict(values, limit)
        outcomes.append(outcome)
        print('%-26s %7.3f   %.3f to %.3f %6d   %s' % (
            name, median(values), *(ends or (min(values), max(values))), len(values),
            '' if outcome == 'fast' else outcome.upper()))
    return 1 if 'slower' in outcomes else 3 if 'unclear' in outcomes else 0


def main():
    parser = argparse.ArgumentParser(prog='ab.py', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--device', default='cuda:0')
    parser.add_argument('--seconds', type=float, default=300)
    parser.add_argument('--limit', type=float, default=1.02)
    parser.add_argument('--only', default='', help='workloads with this in their names')
    args = parser.parse_args()
    args.old, args.new = os.path.abspath(args.old), os.path.abspath(args.new)
    gpu = args.device != 'cpu'
    workloads = [w for w in (on_gpu() if gpu else on_cpu()) if args.only in w.name]
    if not workloads:
        sys.exit('ab.py: no workload has %s in its name' % args.only)
    if args.old == args.new:
        print('OLD and NEW are one build: what is seen is chance')
    folder = tempfile.mkdtemp(prefix='bioinfer-ab-')
    try:
        prepare(folder, gpu)
        return report(measure(args, workloads, folder), args.limit)
    except (RuntimeError, OSError) as e:
        print('ab.py: %s' % e, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
