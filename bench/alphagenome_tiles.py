#!/usr/bin/env python3
"""bench/alphagenome_tiles.py BUILD [--small] [--device cuda:0] [--window 1048576] - AlphaGenome in
tiles.

A window at full width with random weights, whole and under limits of memory: tiles, seconds of the
command, its resident memory at the peak, milliseconds of its kernels, what the program has in
memory, and whether the file has the bytes of the window computed whole; exit 1 where one has
others. BUILD has been built with `ninja -C BUILD cli/bioinfer tests/engine/tiles_memory_test`,
which makes the checkpoint (1.8 GB); results take as much again. Limits are for a megabase, of
other windows their part; --window 16384 shows that the script works.

--small takes the widths of tests/golden/alphagenome/small, the CPU by default, and scores two
variants beside 12 genes, too: a minute, 100 MB of files. --variants N prints what a variant takes
instead, alone and as one of N more in its window: tracks of 128 bases of both alleles.
"""
import argparse
import filecmp
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from array import array

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'cli'))
from test_scores import OUTPUTS

SMALL = os.path.join(ROOT, 'tests', 'golden', 'alphagenome', 'small')
SCORES = ('v.vcf', '--genome', 'w.fa', '--gtf', 'g.gtf', '--targets', 't.tsv', '--scorers',
          'recommended')
CASES = (  # arguments of the command, and limits of memory in MiB (0: none)
    (('w.fa', '--outputs', 'rna_seq.1', '--tracks', '0-15'),
     (0, 12500, 8500, 6600, 5600, 4200, 1400)),
    (('w.fa', '--outputs', 'dnase.128'), (0, 1600, 1100)),
    (('w.fa', '--outputs', 'splice_junctions.1'), (0, 9000, 6300, 3000)))
SMALL_CASES = (
    (SCORES, (0, 700, 450, 350, 250, 180)),
    (('w.fa', '--outputs', 'splice_junctions'), (0, 300, 200, 120)),
    (('w.fa', '--outputs', 'splice_sites,splice_site_usage,splice_junctions'), (0, 300)))
ONES = re.compile(r'(running_var|scale|track_means|norm\w*\.weight)$')


def fill(path):
    """Gives the tensors of a checkpoint of zeros random numbers, ones where these are factors."""
    rng = random.Random(24)
    block = [rng.gauss(0, 1) for _ in range(1 << 16)]
    with open(path, 'r+b') as f:
        size = struct.unpack('<Q', f.read(8))[0]
        head = json.loads(f.read(size))
        for name, t in sorted(head.items(), key=lambda x: x[1]['data_offsets'][0]):
            fan_in = math.prod(t['shape'][1:])
            if ONES.search(name):
                some = [1.0] * len(block)
            elif fan_in > 1:
                some = [v / math.sqrt(fan_in) for v in block]
            else:
                continue
            data = array('f', some).tobytes()
            f.seek(8 + size + t['data_offsets'][0])
            left = 4 * math.prod(t['shape'])
            while left:
                left -= f.write(data[:left])


def write_inputs(window):
    """One window, and what scores of two variants in its middle need: genes, names of tracks."""
    rng, middle = random.Random(1), window // 2
    bases = ''.join(rng.choices('ACGT', k=window))
    with open('w.fa', 'w', encoding='ascii') as f:
        f.write('>w\n%s\n' % bases)
    with open('w.fa.fai', 'w', encoding='ascii') as f:
        f.write('w\t%d\t3\t%d\t%d\n' % (window, window, window + 1))
    with open('v.vcf', 'w', encoding='ascii') as f:
        f.write('##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n')
        for at in middle + 100, middle + 300:
            f.write('w\t%d\t.\t%s\t%s\n' % (at + 1, bases[at], 'CGTA'['ACGT'.index(bases[at])]))
    with open('g.gtf', 'w', encoding='ascii') as f:
        for i in range(12):
            start = middle + (i - 6) * (window // 128)
            about = 'gene_id "G%d"; gene_type "protein_coding"; transcript_id "T%d";' % (i, i)
            for kind, first, end in (('gene', 0, 3000), ('transcript', 0, 3000),
                                     ('exon', 0, 400), ('exon', 2500, 3000)):
                f.write('w\tT\t%s\t%d\t%d\t.\t%s\t.\t%s\n' %
                        (kind, start + first + 1, start + end, '+-'[i % 2], about))
    with open('t.tsv', 'w', encoding='ascii') as f:
        f.write('head\tname\tstrand\n')
        for output, tracks in OUTPUTS.items():
            f.writelines('human.%s\t%s\t%s\n' % (output, *track) for track in tracks)


def compute(o, what, limit, out):
    """Seconds of the command, MiB of it that were resident at the peak, and what it says."""
    command = [o.bioinfer, 'alphagenome', *what, '--weights', o.weights, '--window', str(o.window),
               '--device', o.device, '--precision', o.precision, '--profile', '--progress', 'off',
               '-o', out]
    if limit:
        command += ['--memory-limit', str(limit)]
    start = time.monotonic()
    with tempfile.TemporaryFile('w+') as said:
        with subprocess.Popen(command, stdout=said, stderr=said) as child:
            status, used = os.wait4(child.pid, 0)[1:]
            child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        said.seek(0)
        text = said.read()
    if child.returncode:
        sys.exit('%s: %s' % (' '.join(command), text))
    return seconds, used.ru_maxrss / 1024, text


def compare(o, what, limits):
    """Prints a row for each limit; how many files differ from the first."""
    failed, whole = 0, ''
    print(' '.join(what))
    for limit in limits:
        limit = limit * o.window >> 20
        name = '%d.%s' % (limit, 'tsv' if what == SCORES else 'npz')
        seconds, peak, text = compute(o, what, limit, name)
        tiles = re.findall(r'(\d+) tiles of it', text)
        kernels = re.findall(r'(?m)^\w+ +\d+ +([\d.]+) ', text)
        memory = re.search(r'weights .*activations.*', text)
        whole = whole or name
        same = filecmp.cmp(whole, name, shallow=False)
        failed += not same
        print('%10d %6s %11.1f %10.0f %12.1f  %s  %s' % (
            limit, tiles[-1] if tiles else 1, seconds, peak, sum(map(float, kernels)),
            'same' if same else 'OTHERS', memory.group(0) if memory else ''), flush=True)
        if name != whole:
            os.unlink(name)
    os.unlink(whole)
    return failed


def in_company(o):
    """Prints milliseconds of a variant alone, and of each of so many more in its window."""
    with open('w.fa', encoding='ascii') as f:
        bases = f.read().split()[1]
    took = []
    for n in 1, 1 + o.variants:
        with open('v.vcf', 'w', encoding='ascii') as f:
            f.write('##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n')
            for at in range(o.window // 2, o.window // 2 + 37 * n, 37):
                f.write('w\t%d\t.\t%s\t%s\n' % (at + 1, bases[at], 'CGTA'['ACGT'.index(bases[at])]))
        seconds, _, text = compute(o, ('v.vcf', '--genome', 'w.fa', '--outputs', 'dnase',
                                       '--resolution', '128', '--cluster', '8192'), 0, 'v.tsv')
        kernels = sum(map(float, re.findall(r'(?m)^\w+ +\d+ +([\d.]+) ', text)))
        took.append((1e3 * seconds, kernels))
        print('%d variants: command %.0f ms, kernels %.1f ms' % (n, *took[-1]), flush=True)
    print('each of %d more: command %.1f ms, kernels %.2f ms' %
          (o.variants, *((b - a) / o.variants for a, b in zip(*took))))


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('build')
    p.add_argument('--small', action='store_true')
    p.add_argument('--device', help='cuda:0, with --small cpu')
    p.add_argument('--precision', default='fp32')
    p.add_argument('--window', type=int, default=1 << 20)
    p.add_argument('--variants', type=int, default=0)
    o = p.parse_args()
    build = os.path.abspath(o.build)
    o.bioinfer = os.path.join(build, 'cli/bioinfer')
    o.device = o.device or ('cpu' if o.small else 'cuda:0')
    o.weights = SMALL if o.small else '.'
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if not o.small:
            subprocess.run([os.path.join(build, 'tests/engine/tiles_memory_test'),
                            'model.safetensors'], check=True, stdout=subprocess.DEVNULL)
            fill('model.safetensors')
        write_inputs(o.window)
        if o.variants:
            in_company(o)
        else:
            print('limit, MiB  tiles  command, s  peak, MiB  kernels, ms  bytes')
            for what, limits in SMALL_CASES if o.small else CASES:
                failed += compare(o, what, limits)
        os.chdir(build)  # away from what is removed
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
