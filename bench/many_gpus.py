#!/usr/bin/env python3
"""many_gpus.py BUILD PROTEINS.fasta - one table of scaling; bench/many_gpus.sh calls it.

    bench/many_gpus.py BUILD PROTEINS.fasta [--device cuda|cpu] [--counts 1,2,4,8] [--only WORD]

Each workload is one command, first on one device, then on more of them. A row has

    rate        units (residues, designs, ...) of the whole command, from its start to its end
    inside      the same from the last worker's readiness to the end: without start and weights
    efficiency  the rate inside, divided by the number of devices and by the rate inside of one
    host        processor time of the command process, workers not counted, in percent of the time
                from its start to its end; above 100 where several of its threads work
    first       seconds from the start of the first worker to the first result of the last one
    least       records of the worker with fewest, in percent of an equal share
    bytes       whether the output has the same MD5 as on one device

The last row of a workload kills one worker by SIGKILL in the middle of a run on most devices; the
command has to end with status 0 and the same bytes. --device cpu runs small inputs through worker
processes of one thread each and shows that the script works; its rates mean nothing. Weights are
random (ESM-2, AlphaGenome, DualBind) or come with bioinfer (ProteinMPNN, FlashABB).
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, 'tools'), os.path.join(ROOT, 'bench')]
import alphagenome_tiles  # noqa: E402 pylint: disable=wrong-import-position
import dualbind  # noqa: E402 pylint: disable=wrong-import-position
import dualbind_weights  # noqa: E402 pylint: disable=wrong-import-position
from judge import weights  # noqa: E402 pylint: disable=wrong-import-position

MPNN = ROOT + '/share/proteinmpnn/proteinmpnn_v_48_020.mpnn'
FLASHABB = ROOT + '/share/flashabb/flashabb.safetensors'
TINY = ROOT + '/share/bioinfer-tiny'
RECEPTOR = ROOT + '/tests/golden/dualbind/6w70.pdb.gz'

# units: how many of them the input holds; prepare() writes it into the current folder
Workload = namedtuple('Workload', 'name unit units args out prepare')
Run = namedtuple('Run', 'seconds ready first least host md5 n_kills')


# ---- inputs ----

def proteins(path, residues):
    """Writes p.fa: sequences of the file, turned by a residue each time they come again, so that no
    two are equal. Gives the number of residues."""
    with open(path, encoding='ascii') as f:
        some = [''.join(r.split('\n')[1:]) for r in f.read().split('>')[1:]]
    n = turn = 0
    with open('p.fa', 'w', encoding='ascii') as f:
        while n < residues:
            for i, s in enumerate(some):
                f.write('>%d_%d\n%s\n' % (turn, i, s[turn % len(s):] + s[:turn % len(s)]))
                n += len(s)
                if n >= residues:
                    break
            turn += 1
    return n


def backbones(n):
    """A folder of copies of 5L33, each with its atoms moved by up to 0.05 angstrom."""
    rng = random.Random(5)
    with open(ROOT + '/tests/golden/proteinmpnn/5L33.pdb', encoding='ascii') as f:
        lines = [line for line in f if line.startswith('ATOM')]
    os.mkdir('backbones')
    for i in range(n):
        with open('backbones/b%04d.pdb' % i, 'w', encoding='ascii') as f:
            for line in lines:
                at = [float(line[k:k + 8]) + rng.uniform(-0.05, 0.05) for k in (30, 38, 46)]
                f.write(line[:30] + '%8.3f%8.3f%8.3f' % tuple(at) + line[54:])
            f.write('END\n')


def antibodies(n):
    """Pairs of trastuzumab's variable domains with up to four changed residues each."""
    rng = random.Random(6)
    with open(ROOT + '/tests/golden/flashabb/trastuzumab.txt', encoding='ascii') as f:
        pair = ':'.join(f.readline().split())
    with open('ab.fa', 'w', encoding='ascii') as f:
        for i in range(n):
            s = list(pair)
            for at in rng.sample(range(len(s)), 4):
                s[at] = s[at] if s[at] in ':C' else rng.choice('ADEFGHIKLNQRSTV')
            f.write('>ab%d\n%s\n' % (i, ''.join(s)))


def variants(o, window, n):
    """A genome of two windows, n changes of single bases far enough from its ends, and weights."""
    rng = random.Random(7)
    bases = ''.join(rng.choices('ACGT', k=2 * window))
    with open('g.fa', 'w', encoding='ascii') as f:
        f.write('>w\n%s\n' % bases)
    with open('g.fa.fai', 'w', encoding='ascii') as f:
        f.write('w\t%d\t3\t%d\t%d\n' % (len(bases), len(bases), len(bases) + 1))
    with open('v.vcf', 'w', encoding='ascii') as f:
        f.write('##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n')
        for i in range(n):
            at = window // 2 + i * (window // n)
            f.write('w\t%d\tv%d\t%s\t%s\n' % (at + 1, i, bases[at],
                                              'CGTA'['ACGT'.index(bases[at])]))
    if o.device == 'cuda':
        subprocess.run([os.path.join(o.build, 'tests/engine/tiles_memory_test'),
                        'model.safetensors'], check=True, stdout=subprocess.DEVNULL)
        alphagenome_tiles.fill('model.safetensors')


def workloads(o):
    gpu = o.device == 'cuda'
    residues = 5000000 if gpu else 6000
    n_backbones, n_pairs, n_ligands = (2000, 20000, 80000) if gpu else (4, 6, 40)
    n_variants, window = (800, 131072) if gpu else (4, 16384)
    agents = '.' if gpu else alphagenome_tiles.SMALL

    def esm2(size):
        def prepare():
            return gpu and weights.esm2(size, size, values=True)
        return Workload('esm2 ' + size, 'residues', residues,
                        'esm2 p.fa --weights %s' % (size if gpu else TINY), 'o.npz', prepare)
    return [
        esm2('650M'),
        esm2('8M'),
        Workload('proteinmpnn', 'designs', 8 * n_backbones,
                 'proteinmpnn backbones --num-seq 8 --weights ' + MPNN, 'o.fa',
                 lambda: backbones(n_backbones)),
        Workload('alphagenome', 'variants', n_variants,
                 'alphagenome v.vcf --genome g.fa --outputs dnase.128 --window %d --weights %s' % (
                     window, agents), 'o.tsv', lambda: variants(o, window, n_variants)),
        Workload('flashabb', 'folds', n_pairs, 'flashabb ab.fa --weights ' + FLASHABB, 'o',
                 lambda: antibodies(n_pairs)),
        Workload('dualbind', 'ligands', n_ligands,
                 'dualbind %s l.sdf --weights w.safetensors' % RECEPTOR, 'o.tsv',
                 lambda: (dualbind.make_ligands('l.sdf', n_ligands),
                          dualbind_weights.write('w.safetensors'))),
    ]


# ---- measuring ----

def digest(path):
    """MD5 of a file, or of a folder's structures by name; a table of seconds is no part of it."""
    md5 = hashlib.md5()
    names = [path]
    if os.path.isdir(path):
        names = sorted(os.path.join(path, n) for n in os.listdir(path) if n.endswith('.cif'))
    for name in names:
        with open(name, 'rb') as f:
            while piece := f.read(1 << 22):
                md5.update(piece)
    return md5.hexdigest()


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as f:
        return [int(word) for word in f.read().split()]


def kill_one(pid, after, kills):
    """Kills a worker of the command `pid` `after` seconds after now."""
    time.sleep(after)
    try:
        os.kill(children(pid)[-1], signal.SIGKILL)
        kills.append(1)
    except (OSError, IndexError):
        pass


def own_seconds(pid):
    """Processor seconds of a process that has ended and waits to be told of, without its
    children."""
    with open('/proc/%d/stat' % pid, encoding='ascii') as f:
        words = f.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def compute(o, work, n, kill_after=None):
    """One run on n devices."""
    remove(work.out)
    where = ['--device', 'cpu', '--threads', '1', '--workers', str(n)]
    if o.device == 'cuda':
        where = ['--device', ','.join('cuda:%d' % i for i in range(n))]
    command = [os.path.join(o.build, 'cli/bioinfer'), *work.args.split(), *where, '-o', work.out,
               '--profile', '--progress', 'off']
    kills = []
    with tempfile.TemporaryFile('w+') as said:
        begun = time.monotonic()
        with subprocess.Popen(command, stdout=said, stderr=said) as child:
            if kill_after:
                threading.Thread(target=kill_one, args=(child.pid, kill_after, kills)).start()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            seconds, host = time.monotonic() - begun, own_seconds(child.pid)
        said.seek(0)
        text = said.read()
    if child.returncode:
        raise RuntimeError('%s: status %d: %s' % (' '.join(command), child.returncode,
                                                  text.strip()[-500:]))
    rows = re.findall(r': ready after ([\d.]+) s, first result after ([\d.]+) s, (\d+) records',
                      text)
    if len(rows) != n:
        raise RuntimeError('%d of %d workers told of themselves: %s' % (len(rows), n, text[-500:]))
    counts = [int(row[2]) for row in rows]
    return Run(seconds, max(float(row[0]) for row in rows), max(float(row[1]) for row in rows),
               min(counts) * n / max(1, sum(counts)), host / seconds, digest(work.out),
               len(kills))


def measure(o, work):
    """Prints the rows of one workload; the number of outputs with other bytes."""
    others, one, run = 0, None, None
    if o.device == 'cuda':  # the first run on a machine has the driver compile kernels
        compute(o, work, o.counts[0])
    for n in o.counts:
        run = compute(o, work, n)
        one = one or run
        inside = work.units / (run.seconds - run.ready)
        base = work.units / (one.seconds - one.ready) / o.counts[0]
        same = run.md5 == one.md5
        others += not same
        print('%-12s %3d %12.1f %12.1f %-9s %6.2f %5.0f %% %7.2f %5.0f %%  %s' % (
            work.name, n, work.units / run.seconds, inside, work.unit, inside / n / base,
            100 * run.host, run.first, 100 * run.least, run.md5 if same else 'OTHERS'), flush=True)
    killed = compute(o, work, o.counts[-1], (run.ready + run.seconds) / 2)
    same = killed.md5 == one.md5
    others += not same
    print('%-12s %3d one worker %s: %.2f s (%.2f without), bytes %s' % (
        work.name, o.counts[-1], 'killed' if killed.n_kills else 'NOT KILLED, it had ended',
        killed.seconds, run.seconds, 'as before' if same else 'OTHERS'), flush=True)
    return others


def main():
    p = argparse.ArgumentParser(prog='many_gpus.py', description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('build')
    p.add_argument('proteins')
    p.add_argument('--device', default='cuda', choices=('cuda', 'cpu'))
    p.add_argument('--counts', default='1,2,4,8',
                   help='of devices; those that the machine has not are left out and named')
    p.add_argument('--only', default='', help='workloads with this in their names')
    o = p.parse_args()
    o.build, o.proteins = os.path.abspath(o.build), os.path.abspath(o.proteins)
    o.counts = [int(n) for n in o.counts.split(',')]
    if o.device == 'cuda':
        said = subprocess.run([os.path.join(o.build, 'cli/bioinfer'), 'devices'], check=True,
                              capture_output=True, text=True).stdout
        n = len(set(re.findall(r'cuda:\d+', said)))
        print(said.strip())
        print(*('not measured: %d devices, of which there are %d' % (k, n) for k in o.counts
                if k > n), sep='\n')
        o.counts = [k for k in o.counts if k <= n]
    if not o.counts:
        sys.exit('many_gpus.py: no device')
    folder, others = tempfile.mkdtemp(prefix='bioinfer-many-'), 0
    os.chdir(folder)
    try:
        print('%-12s %3s %12s %12s %-9s %6s %7s %7s %7s  %s' % (
            'workload', 'n', 'rate/s', 'inside/s', 'of', 'effic.', 'host', 'first', 'least',
            'bytes'))
        proteins(o.proteins, 5000000 if o.device == 'cuda' else 6000)
        for work in workloads(o):
            if o.only in work.name:
                work.prepare()
                others += measure(o, work)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as e:
        print('many_gpus.py: %s' % e, file=sys.stderr)
        return 2
    finally:
        os.chdir(ROOT)
        shutil.rmtree(folder, ignore_errors=True)
    return others > 0


if __name__ == '__main__':
    sys.exit(main())
