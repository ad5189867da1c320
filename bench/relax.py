#!/usr/bin/env python3
"""bench/relax.py --bioinfer EXE --weights FILE - steps of relaxations on a device.

For each file (XYZ, or PDB in gzip), and with --copper N for a crystal of 8 N^3 atoms without and
with --cell, one row: the time of a step of `bioinfer relax`, which is the difference of two runs of
which neither converges; with --before EXE also that of another build, in turns, and whether both
write the same bytes; and how far atoms are from where the CPU puts them after 12 steps. Exit 1
where that is more than 1e-3 angstrom. Needs no packages.

    python bench/relax.py --bioinfer build/cli/bioinfer --before old/cli/bioinfer \\
        --weights matpes-pbe.state.pt --copper 8 a.xyz b.pdb.gz
"""
import os
import re
import subprocess
import sys
import tempfile
import time

from tensornet_device import arguments, crystal, read, write

CHECKED = 12  # steps that are compared with the CPU
MOST_CHECKED = 5000  # atoms that the CPU is asked for


def relax(o, exe, steps, more, device=None):
    """Seconds of a run that makes so many steps, and what it writes."""
    start = time.monotonic()
    done = subprocess.run([exe, 'relax', 'in.xyz', '--weights', o.weights, '--device',
                           device or o.device, '--steps', str(steps), '--fmax', '1e-9', '-o',
                           'out.extxyz', *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    seconds = time.monotonic() - start
    if done.returncode != 1 or not re.search(r'\tno\t%d\t' % steps, done.stdout):
        sys.exit('relax %s: %s' % (' '.join(more), done.stdout))
    with open('out.extxyz') as file:
        return seconds, file.read()


def step(o, steps, more):
    """Milliseconds of a step by each build, and the ends."""
    builds = [exe for exe in (o.before, o.bioinfer) if exe]
    few, many, ends = {}, {}, {}
    for _ in range(o.repeat):
        for exe in builds:
            few[exe] = min(few.get(exe, 1e9), relax(o, exe, 1, more)[0])
            seconds, ends[exe] = relax(o, exe, steps + 1, more)
            many[exe] = min(many.get(exe, 1e9), seconds)
    return [1e3 * (many[exe] - few[exe]) / steps for exe in builds], [ends[exe] for exe in builds]


def places(text):
    return [list(map(float, line.split()[1:4])) for line in text.splitlines()[2:]]


def apart(o, more):
    """How far the device is from the CPU."""
    a, b = (places(relax(o, o.bioinfer, CHECKED, more, device)[1]) for device in (None, 'cpu'))
    return max(abs(x - y) for p, q in zip(a, b) for x, y in zip(p, q))


def main():
    o = arguments(__doc__, '(default: 40,000 atoms, 20 to 400)', lambda p: p.add_argument(
        '--before', help='the command of another build'))
    o.bioinfer, o.weights = os.path.abspath(o.bioinfer), os.path.abspath(o.weights)
    o.before = o.before and os.path.abspath(o.before)
    systems = [(os.path.basename(path), read(path), '', ()) for path in o.files]
    if o.copper:
        systems += [('copper', *crystal(o.copper), more) for more in ((), ('--cell',))]
    failed = 0
    print('%-22s %6s %6s %10s %10s %11s %10s' % (
        'file', 'atoms', 'steps', 'before ms', 'step ms', 'same bytes', 'from CPU'))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, atoms, line, more in systems:
            steps = o.steps or min(400, max(20, 40000 // len(atoms)))
            write('in.xyz', atoms, 1, line)
            times, ends = step(o, steps, more)
            far = apart(o, more) if len(atoms) <= MOST_CHECKED else 0
            failed |= far > 1e-3
            print('%-22s %6d %6d %10s %10.3f %11s %10.1e' % (
                ' '.join((name, *more)), len(atoms), steps,
                '%.3f' % times[0] if o.before else '', times[-1],
                ('no', 'yes')[ends[0] == ends[-1]] if o.before else '', far), flush=True)
    print('FAILED: the device and the CPU differ' if failed else 'as the CPU')
    return failed


if __name__ == '__main__':
    sys.exit(main())
