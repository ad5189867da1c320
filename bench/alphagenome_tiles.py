#!/usr/bin/env python3
"""bench/alphagenome_tiles.py BUILD [--device cuda:0] [--window 1048576] - AlphaGenome in tiles.

A window at full width with random weights, whole and under limits of memory: tiles, seconds of the
command, milliseconds of its kernels, what the program has in memory, and whether the file has the
bytes of the window computed whole; exit 1 where one has others. BUILD has been built with `ninja -C
BUILD cli/bioinfer tests/engine/tiles_memory_test`, which makes the checkpoint (1.8 GB); results
take as much again. Limits are for a megabase; --window 16384 shows that the script works.
"""
import argparse
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

CASES = (  # outputs, and limits of memory in MiB (0: none)
    (('rna_seq.1', '--tracks', '0-15'), (0, 12500, 8500, 6600, 5600)),
    (('dnase.128',), (0, 1600, 1100)),
    (('splice_junctions.1',), (0, 9000, 6300)))
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


def compute(o, bioinfer, outputs, limit, out):
    """Seconds of the command, and what it says."""
    command = [bioinfer, 'alphagenome', 'w.fa', '--weights', '.', '--outputs', *outputs, '--window',
               str(o.window), '--device', o.device, '--precision', o.precision, '--profile',
               '--progress', 'off', '-o', out]
    if limit:
        command += ['--memory-limit', str(limit)]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit('%s: %s' % (' '.join(command), done.stdout))
    return time.monotonic() - start, done.stdout


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('build')
    p.add_argument('--device', default='cuda:0')
    p.add_argument('--precision', default='fp32')
    p.add_argument('--window', type=int, default=1 << 20)
    o = p.parse_args()
    build = os.path.abspath(o.build)
    bioinfer = os.path.join(build, 'cli/bioinfer')
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([os.path.join(build, 'tests/engine/tiles_memory_test'), 'model.safetensors'],
                       check=True, stdout=subprocess.DEVNULL)
        fill('model.safetensors')
        with open('w.fa', 'w', encoding='ascii') as f:
            f.write('>w\n%s\n' % ''.join(random.Random(1).choices('ACGT', k=o.window)))
        print('limit, MiB  tiles  command, s  kernels, ms  bytes')
        for outputs, limits in CASES:
            print(' '.join(outputs))
            for limit in limits:
                name = 'tiled.npz' if limit else 'whole.npz'
                seconds, text = compute(o, bioinfer, outputs, limit, name)
                tiles = re.findall(r'(\d+) tiles of it', text)
                kernels = re.findall(r'(?m)^\w+ +\d+ +([\d.]+) ', text)
                memory = re.search(r'weights .*activations.*', text)
                same = True
                if limit:
                    with open('whole.npz', 'rb') as a, open(name, 'rb') as b:
                        same = a.read() == b.read()
                    os.unlink(name)
                failed += not same
                print('%10d %6s %11.1f %12.1f  %s  %s' % (
                    limit, tiles[-1] if tiles else 1, seconds, sum(map(float, kernels)),
                    'same' if same else 'OTHERS', memory.group(0) if memory else ''), flush=True)
            os.unlink('whole.npz')
        os.chdir(build)  # away from what is removed
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
