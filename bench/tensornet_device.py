#!/usr/bin/env python3
"""bench/tensornet_device.py --bioinfer EXE --weights FILE - atoms on a GPU: right, and how fast.

For each file (XYZ, or PDB in gzip) one row: the largest differences between the device and the CPU
of energies (eV for an atom) and forces (eV/angstrom), the time of a frame within a file of frames
(the difference of two runs, text and start-up of the first not in it), how many launches a frame
is, the time of its kernels and of those of them that find edges (--profile), and the time of a step
of molecular dynamics (the difference of two runs). Below: whether steps of one submission are those
of one each, to the bit. Exit 1 where a check fails. Takes about two minutes; needs no packages.

--copper N adds a row of a periodic crystal of 2N x N x N cells of copper, 8 N^3 atoms. Steps are so
many by default that they have 400,000 atoms together (9,523 of 42 atoms), 20 at least: the time of
fewer steps of a small system is lost in that of the command's start.

    python bench/tensornet_device.py --bioinfer build/cli/bioinfer --weights matpes-pbe.state.pt \\
        --copper 8 a.xyz b.pdb.gz
"""
import argparse
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

COPPER = 3.615  # angstrom, an edge of its cubic cell
FINDS = ('atom_cells', 'edge_count', 'edge_start', 'edge_list', 'edge_reverse')


def arguments(text, steps, more=lambda parser: None):
    """Options of the command line: text describes the script, `steps` the option of this name, and
    more() adds options of the script's own."""
    p = argparse.ArgumentParser(description=text,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('files', nargs='*')
    p.add_argument('--bioinfer', required=True)
    p.add_argument('--weights', required=True)
    p.add_argument('--device', default='cuda:0')
    p.add_argument('--copper', type=int, metavar='N', help='a crystal of 8 N^3 atoms, too')
    p.add_argument('--steps', type=int, default=0, help=steps)
    p.add_argument('--repeat', type=int, default=2, help='the fastest of so many runs')
    more(p)
    o = p.parse_args()
    if o.copper is not None and o.copper < 1:
        p.error('--copper %d: expected 1 or more' % o.copper)
    if not o.files and not o.copper:
        p.error('neither files nor --copper')
    return o


def read(path):
    """Symbols and places: of the first model of a PDB, of the first frame of an XYZ."""
    if '.pdb' not in path:
        with open(path) as file:
            lines = file.read().splitlines()
        atoms = [line.split() for line in lines[2:2 + int(lines[0])]]
        return [(a[0], *map(float, a[1:4])) for a in atoms]
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as file:
        lines = file.read().split('ENDMDL')[0].splitlines()
    return [(symbol(line), float(line[30:38]), float(line[38:46]), float(line[46:54]))
            for line in lines if line.startswith(('ATOM', 'HETATM'))]


def symbol(line):
    """The element of an atom of a PDB; some files have other words in its columns."""
    word = line[76:78].strip()
    return word if word in ('C', 'H', 'N', 'O', 'P', 'S') else line[12:16].strip(' 0123456789')[0]


def crystal(n):
    """Atoms of 2n x n x n cells, each moved by up to 0.05 angstrom, and the line of their box."""
    sites = [(i + x, j + y, k + z) for i in range(2 * n) for j in range(n) for k in range(n)
             for x, y, z in ((0, 0, 0), (.5, .5, 0), (.5, 0, .5), (0, .5, .5))]
    atoms = [('Cu', *(COPPER * at + 0.05 * math.sin(7 * i + 3 * axis)
                      for axis, at in enumerate(site))) for i, site in enumerate(sites)]
    return atoms, 'Lattice="%g 0 0 0 %g 0 0 0 %g" pbc="T T T" Properties=species:S:1:pos:R:3' % (
        2 * n * COPPER, n * COPPER, n * COPPER)


def write(path, atoms, n, line=''):
    with open(path, 'w') as file:
        for i in range(n):
            file.write('%d\n%s\n' % (len(atoms), line))
            for s, x, y, z in atoms:
                file.write('%s %.6f %.6f %.6f\n' % (s, x + 0.01 * (i % 100), y, z))


def run(o, *args):
    """Seconds, and what is said."""
    start = time.monotonic()
    done = subprocess.run([o.bioinfer, *map(str, args), '--weights', o.weights],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit('%s: %s' % (' '.join(map(str, args)), done.stdout))
    return time.monotonic() - start, done.stdout


def frames(o, atoms, line):
    """The largest differences for an atom and of forces, and seconds of a frame."""
    told = []
    for device in o.device, 'cpu':
        write('in.xyz', atoms, 1, line)
        run(o, 'tensornet', 'in.xyz', '--device', device, '--forces', '-o', device[:3] + '.jsonl')
        with open(device[:3] + '.jsonl') as file:
            told.append(json.loads(file.readline()))
    energy = abs(told[0]['energy'] - told[1]['energy']) / len(atoms)
    force = max(abs(a - b) for f, g in zip(told[0]['forces'], told[1]['forces'])
                for a, b in zip(f, g))
    n, seconds = max(2, 100000 // len(atoms)), []
    for count in 1, n + 1:
        write('in.xyz', atoms, count, line)
        seconds.append(min(run(o, 'tensornet', 'in.xyz', '--device', o.device, '-o',
                               'out.extxyz')[0] for _ in range(o.repeat)))
    return energy, force, (seconds[1] - seconds[0]) / n


def kernels(o, atoms, line):
    """Launches of a frame, milliseconds of all kernels and of those that find edges."""
    write('in.xyz', atoms, 1, line)
    text = run(o, 'tensornet', 'in.xyz', '--device', o.device, '-o', 'out.extxyz', '--profile')[1]
    rows = re.findall(r'^(\w+) +(\d+) +([\d.]+) ', text, re.M)
    return (sum(int(row[1]) for row in rows), sum(float(row[2]) for row in rows),
            sum(float(row[2]) for row in rows if row[0] in FINDS))


def moved(o, steps, every):
    """Seconds of a run of dynamics, and its last frame."""
    if os.path.exists('md.extxyz'):
        os.remove('md.extxyz')
    seconds = run(o, 'md', 'in.xyz', '--device', o.device, '--steps', steps, '--every', every,
                  '--dt', 0.25, '--temperature', 100, '-o', 'md.extxyz')[0]
    with open('md.extxyz') as file:
        last = file.read().split(' step=%d ' % steps)[-1]
    return seconds, re.sub(r' every=\d+', '', last)


def main():
    o = arguments(__doc__, 'of dynamics (default: 400,000 atoms)')
    o.bioinfer, o.weights = os.path.abspath(o.bioinfer), os.path.abspath(o.weights)
    systems = [(os.path.basename(path), read(path), '') for path in o.files]
    if o.copper:
        systems.append(('copper', *crystal(o.copper)))
    failed = 0
    print('%-22s %6s %9s %9s %10s %9s %11s %10s %10s' % (
        'file', 'atoms', 'dE/atom', 'dF', 'frame ms', 'launches', 'kernels ms', 'edges ms',
        'step ms'))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, atoms, line in systems:
            energy, force, seconds = frames(o, atoms, line)
            launches, all_ms, edge_ms = kernels(o, atoms, line)
            steps = o.steps or max(20, 400000 // len(atoms))
            write('in.xyz', atoms, 1, line)
            few = min(moved(o, 1, 1)[0] for _ in range(o.repeat))
            step = (moved(o, steps + 1, steps + 1)[0] - few) / steps
            print('%-22s %6d %9.1e %9.1e %10.3f %9d %11.3f %10.3f %10.3f' % (
                name, len(atoms), energy, force, 1e3 * seconds, launches, all_ms,
                edge_ms, 1e3 * step), flush=True)
            same = moved(o, 12, 1)[1] == moved(o, 12, 12)[1]
            if not same or energy > 2e-5 or force > 5e-3:
                failed = 1
                print('%s: %s' % (name, 'differs from the CPU' if same else 'steps differ'))
    print('FAILED' if failed else 'steps of one submission are those of one each')
    return failed


if __name__ == '__main__':
    sys.exit(main())
