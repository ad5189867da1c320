#!/usr/bin/env python3
"""mutate.py BIOINFER SOURCE_ROOT RUNS [SEED [KIND]] - the command on damaged files.

Real files of every kind that the command reads are changed at random (one seed, so every run
tries the same) and given to it, RUNS times over the kinds in turn. Whatever they hold, the
command ends with a documented status and not by a signal, names a file where it refuses one,
and takes no more memory and time than a small input deserves. Files of a run that does not
are kept, and the last line of its report says where. Standard library only.
"""
import gzip
import io
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

DOCUMENTED = {0, 1, 64, 65, 66, 69, 73, 74, 78}  # 70 is a fault of bioinfer, 71 no memory
SANITIZED = bool(os.environ.get('BIOINFER_SANITIZED'))
SECONDS = 200 if SANITIZED else 60
MEMORY = 2 << 30
NUMBERS = ['0', '-1', '1', '255', '256', '65536', '2147483647', '2147483648', '-2147483649',
           '4294967296', '9223372036854775807', '9223372036854775808', '18446744073709551616',
           '1e9', '1e308', '1e999', '-0.0', 'nan', 'inf', '0x10', '']
NUMBER = re.compile(rb'-?[0-9]+(?:\.[0-9]+)?')


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)


# ---- changes: bytes to bytes ----

def change_bits(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def change_byte(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice(b'\0\n\r\t \x80\xff">[{,:;/*-0')]) + data[at + 1:]


def change_integer(rng, data):
    n = rng.choice((2, 4, 8))
    at = rng.randrange(len(data))
    value = rng.choice((0, 1, -1, 1 << (8 * n - 1), (1 << (8 * n - 1)) - 1, len(data),
                        1 << (4 * n)))
    return data[:at] + (value & ((1 << 8 * n) - 1)).to_bytes(n, 'little') + data[at + n:]


def change_number(rng, data):
    found = list(NUMBER.finditer(data[:1 << 20]))
    if not found:
        return change_byte(rng, data)
    which = rng.choice(found)
    return data[:which.start()] + rng.choice(NUMBERS).encode() + data[which.end():]


def cut(rng, data):
    return data[:rng.randrange(len(data))]


def drop(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 2, 7, 64, 1000)):]


def double(rng, data):
    at = rng.randrange(len(data))
    n = rng.choice((1, 8, 80, 2000))
    return data[:at] + data[at:at + n] * rng.choice((2, 3, 50)) + data[at + n:]


def swap_lines(rng, data):
    lines = data.split(b'\n')
    i, k = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[k] = lines[k], lines[i]
    return b'\n'.join(lines)


def swap_words(rng, data):
    words = re.split(rb'([\s,:]+)', data)
    i, k = rng.randrange(len(words)), rng.randrange(len(words))
    words[i], words[k] = words[k], words[i]
    return b''.join(words)


def insert(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice((1, 4, 300))) + data[at:]


CHANGES = (change_bits, change_byte, change_integer, change_number, change_number, cut, drop,
           double, swap_lines, swap_words, insert)


def changed(rng, data):
    """One to three changes; half of those of large files are near the start, where headers are."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not data:
            return rng.randbytes(rng.randrange(40))
        if len(data) > 5000 and rng.random() < 0.5:
            data = rng.choice(CHANGES)(rng, data[:3000]) + data[3000:]
        else:
            data = rng.choice(CHANGES)(rng, data)
    return data


# ---- kinds of input ----

class Kind:
    """Files by name, those that are changed (None: any), and the arguments; {} is the folder."""

    def __init__(self, name, files, which, *args):
        self.name, self.files, self.args = name, files, args
        self.which = [n for n in files if which is None or n in which]
        assert self.which, name


def folder(prefix, path):
    return {prefix + '/' + name: read(os.path.join(path, name)) for name in os.listdir(path)
            if not name.startswith('golden') and os.path.isfile(os.path.join(path, name))}


def bgzip(data, step=300):
    out = b''
    for at in list(range(0, len(data), step)) + [len(data)]:
        x = data[at:at + step]
        c = zlib.compressobj(6, zlib.DEFLATED, -15)
        p = c.compress(x) + c.flush()
        out += b'\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0' + struct.pack('<H', len(p) + 25)
        out += p + struct.pack('<II', zlib.crc32(x), len(x))
    return out


OUT = ('-o', '{}/out.npz')


class Kinds:
    """Kinds of files, each with a command that reads it: `all_of` in the order of the methods."""

    def __init__(self, exe, root):
        self.exe, self.root = exe, root
        self.golden = os.path.join(root, 'tests', 'golden')
        self.esm2 = os.path.join(self.golden, 'esm2', 'hf-d16')
        self.mpnn = os.path.join(self.golden, 'proteinmpnn')
        heldout = read(os.path.join(root, 'share', 'bioinfer-tiny', 'heldout.fasta'))
        self.proteins = b'>' + b'>'.join(heldout.split(b'>')[1:5])
        self.one = b'>one words\nMKTAYIAKQRQISFVKSHFSRQ\n'
        self.dna = b'>d1\nACGTNACGTTTGACA\n>d2\nACGTTTACCA\n'
        self.all_of = []

    def add(self, name, files, which, *args):
        self.all_of.append(Kind(name, files, which, *args))

    def embed(self, name, model, weights, files, *args):
        self.add(name, {**files, 'in.fa': self.one}, files, model, '{}/in.fa', '--weights',
                 '{}/' + weights, *OUT, *args)

    def sequences(self):
        """FASTA, plain and packed, and matrices for alignments."""
        for name, data in (('plain.fa', self.proteins),
                           ('gzip.fa.gz', gzip.compress(self.proteins, mtime=0)),
                           ('bgzf.fa.gz', bgzip(self.proteins))):
            self.add(name, {name: data}, None, 'esm2', '{}/' + name, '--weights', self.esm2, *OUT,
                     '--dup-ids', 'suffix')
        self.add('jsonl', {'in.fa': self.proteins}, None, 'esm2', '{}/in.fa', '--weights',
                 self.esm2, '--format', 'jsonl')
        self.add('align', {'a.fa': self.proteins, 'b.fa': self.one}, None, 'align', '{}/a.fa',
                 '{}/b.fa', '--one-vs-all')
        self.add('needle', {'d.fa': self.dna}, None, 'align', '{}/d.fa', '--all-vs-all', '--format',
                 'needle', '--mode', 'ends-free')
        matrix = (b'# a matrix\n   A  C  G  T  *\nA  5 -4 -4 -4 -9\n'
                  b'C -4  5 -4 -4 -9\nG -4 -4  5 -4 -9\nT -4 -4 -4  5 -9\n* -9 -9 -9 -9  1\n')
        self.add('matrix', {'m.mat': matrix, 'd.fa': self.dna}, ['m.mat'], 'align', '{}/d.fa',
                 '--all-vs-all', '--matrix', '{}/m.mat', '--format', 'sam')

    def weights(self):
        """Weights of every layout, their tokenizers, heads."""
        loaders = os.path.join(self.root, 'tests', 'loaders', 'data')
        self.embed('esm2', 'esm2', 'w', folder('w', self.esm2))
        for name in 'hf-d24-shards', 'hf-d16-bin-shards', 'hf-d64-bin-legacy', 'te-d16':
            self.embed(name, 'esm2', 'w', folder('w', os.path.join(self.golden, 'esm2', name)))
        fair = folder('w', os.path.join(self.golden, 'esm2', 'fair-d16'))
        self.embed('fair', 'esm2', 'w/esm2_t2_tiny.pt', fair, '--include', 'mean,contacts')
        self.embed('esmc', 'esmc', 'w', folder('w', os.path.join(self.golden, 'esmc', 'split')))
        self.embed('protbert', 'protbert', 'w',
                   folder('w', os.path.join(self.golden, 'protbert', 'trunk')))
        for name in 'prostt5', 'gated', 'half-enc':
            files = folder('w', os.path.join(self.golden, 'prott5', name))
            files.pop('w/sequences.fasta', None)
            self.embed('prott5 ' + name, 'prott5', 'w', files)
        for name in sorted(os.listdir(loaders)):
            self.add('info ' + name, {name: read(os.path.join(loaders, name))}, None, 'info',
                     '{}/' + name)
        heads = os.path.join(self.golden, 'prott5', 'heads')
        head = read(os.path.join(heads, 'esmc-dssp3.safetensors'))
        self.add('head', {'head.safetensors': head, 'in.fa': self.one}, ['head.safetensors'],
                 'esmc', '{}/in.fa', '--weights', os.path.join(self.golden, 'esmc', 'split'),
                 '--head', '{}/head.safetensors', '--format', 'tsv')

    def scores(self):
        """Tables of mutants."""
        table = b'mutant,DMS_score\nM1A,0.5\nK2R:T3S,-1.25\n"A4V",2\n'
        self.add('mutants', {'m.csv': table, 'in.fa': self.one}, None, 'score', 'esm2', '{}/in.fa',
                 '--weights', self.esm2, '--mutations', '{}/m.csv')

    def structures(self):
        """PDB, mmCIF, lists of them, ligands and weights of designs."""
        pdb, cif = self.one_structure()
        designs = ('-o', '{}/out.fa', '--num-seq', '1')
        for name, data in (('x.pdb', pdb), ('x.cif', cif + b'#\n')):
            self.add(name, {name: data}, None, 'proteinmpnn', '{}/' + name, *designs)
        self.add('list', {'s/x.pdb': pdb, 'l.txt': b'# of structures\ns/x.pdb\n\n'}, ['l.txt'],
                 'proteinmpnn', '{}/l.txt', *designs)
        ligand = [line for line in read(os.path.join(self.mpnn, '1BC8.pdb')).splitlines(True)
                  if line[:6] in (b'ATOM  ', b'HETATM')]
        self.add('ligand', {'x.pdb': b''.join(ligand[:150] + ligand[-250:])}, None, 'info',
                 '{}/x.pdb')
        weights = read(os.path.join(self.root, 'share', 'proteinmpnn', 'proteinmpnn_v_48_020.mpnn'))
        self.add('mpnn', {'w.mpnn': weights, 'x.pdb': pdb}, ['w.mpnn'], 'proteinmpnn', '{}/x.pdb',
                 '--weights', '{}/w.mpnn', *designs)

    def one_structure(self):
        """The first atoms of a protein, as PDB and as mmCIF."""
        atoms = [line for line in read(os.path.join(self.mpnn, '5L33.pdb')).splitlines(True)
                 if line[:6] in (b'ATOM  ', b'HEADER', b'MODEL ', b'TER   ')][:240]
        pdb = b''.join(atoms) + b'TER\nEND\n'
        fields = ('group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id '
                  'label_seq_id pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy auth_asym_id '
                  'auth_seq_id pdbx_PDB_model_num').split()
        cif = b'data_5L33\nloop_\n' + b''.join(b'_atom_site.%s\n' % f.encode() for f in fields)
        for i, a in enumerate(line.decode() for line in atoms if line.startswith(b'ATOM')):
            cif += ('ATOM %d %s %s . %s %s %s ? %s %s %s %s %s %s 1\n' % (
                i + 1, a[12:16].strip()[0], a[12:16].strip(), a[17:20].strip(), a[21],
                a[22:26].strip(), a[30:38].strip(), a[38:46].strip(), a[46:54].strip(),
                a[54:60].strip(), a[21], a[22:26].strip())).encode()
        return pdb, cif

    def side_files(self):
        """Files that say what of a structure is designed."""
        designs = ('-o', '{}/out.fa', '--num-seq', '1')
        for option, name, structure in (('--chains-file', 'example4.assigned.jsonl', '3HTN'),
                                        ('--fixed', 'example4.fixed.jsonl', '3HTN'),
                                        ('--bias', 'example8.bias.jsonl', '5L33'),
                                        ('--omit', 'script.omit.jsonl', '6MRR'),
                                        ('--bias-residue', 'script.bias.jsonl', '6MRR'),
                                        ('--pssm', 'script.pssm.jsonl', '6MRR'),
                                        ('--tied', 'script.tied.jsonl', '4GYT')):
            more = ['--pssm-multi', '0.4', '--pssm-bias',
                    '--pssm-log-odds'] if option == '--pssm' else []
            path = os.path.join(self.mpnn, structure + '.pdb')
            if structure in ('3HTN', '4GYT'):  # many residues: the chains that the file is about
                more.append('--score-only')
            self.add(name, {name: read(os.path.join(self.mpnn, name))}, None, 'proteinmpnn', path,
                     option, '{}/' + name, *designs, *more)
        native = b'>a\n' + b'G' * 68 + b'\n'
        self.add('sequences', {'q.fa': native}, None, 'proteinmpnn',
                 os.path.join(self.mpnn, '6MRR.pdb'), '--score-only', '--sequences', '{}/q.fa',
                 '-o', '{}/out.tsv')

    def windows(self):
        """Genomes, intervals and variants, names of tracks."""
        tracks = os.path.join(self.golden, 'enformer', 'half')
        self.rng = random.Random(5)
        bases = ''.join(self.rng.choice('ACGT') for _ in range(9000))
        text = '>chrA words\n' + ''.join(bases[i:i + 61] + '\n' for i in range(0, 9000, 61))
        self.genome = {'g.fa': text.encode(), 'g.fa.fai': b'chrA\t9000\t12\t61\t62\n'}
        self.places = {'i.bed': b'track name=x\n'
                                b'chrA\t4000\t4010\tmid\t0\t+\nchrA\t100\t100\tedge\n'}
        variants = {'v.vcf': b'##fileformat=VCFv4.2\n'
                             b'#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n' +
                    ''.join('chrA\t%d\trs%d\t%s\tA\t.\t.\t.\n' % (p, p, bases[p - 1])
                            for p in (3000, 4000)).encode()}
        self.enformer = ('--weights', tracks, '--positions', 'formula-pt')
        self.add('bed', {**self.genome, **self.places}, None, 'enformer', '{}/i.bed', '--genome',
                 '{}/g.fa', *self.enformer, *OUT)
        self.add('vcf', {**self.genome, **variants}, ['v.vcf'], 'enformer', '{}/v.vcf', '--genome',
                 '{}/g.fa', *self.enformer, '-o', '{}/out.tsv')
        self.add('targets',
                 {**self.genome, **self.places,
                  't.txt': b'index\tidentifier\tstrand_pair\tdescription\n' +
                  b''.join(b'%d\tENC%d\t%d\tDNASE:cell %d\n' % (i, i, i ^ 1, i) for i in range(8))},
                 ['t.txt'], 'enformer', '{}/i.bed', '--genome', '{}/g.fa', *self.enformer,
                 '--targets', '{}/t.txt', '--tracks', 'ENC2,*cell 7', '--format', 'bedgraph', '-o',
                 '{}/bg', '--rc')
        window = b'>w\n' + (bases[:5120]).encode() + b'\n'
        for name, path in (('enformer', tracks),
                           ('borzoi', os.path.join(self.golden, 'borzoi', 'final'))):
            files = folder('w', path)
            for key in [k for k in files if k.endswith(('.npy', '.fa'))]:
                del files[key]
            if name == 'borzoi':
                window = read(os.path.join(path, 'window.fa'))
            more = ['--positions', 'formula-pt'] if name == 'enformer' else []
            self.add(name, {**files, 'w.fa': window}, files, name, '{}/w.fa', '--weights', '{}/w',
                     *OUT, *more)

    def reports(self):
        """Outputs that a report reads by code of its own."""
        with tempfile.TemporaryDirectory() as where:
            for name, data in {**self.genome, **self.places, 'd.fa': self.dna}.items():
                write(os.path.join(where, name), data)
            for run in (('align', 'd.fa', '--all-vs-all', '--format', 'needle', '-o', 'd.needle'),
                        ('enformer', 'i.bed', '--genome', 'g.fa', *self.enformer, '--tracks', '0',
                         '--format', 'bigwig', '-o', 'wig')):
                subprocess.run([self.exe, *run, '-q'], cwd=where, check=False,
                               stderr=subprocess.DEVNULL)
            self.add('report needle', {'d.needle': read(os.path.join(where, 'd.needle'))}, None,
                     'report', '{}/d.needle', '-o', '{}/r.html')
            for wig in os.listdir(os.path.join(where, 'wig')):
                self.add('report bigwig', {'w.bw': read(os.path.join(where, 'wig', wig))}, None,
                         'report', '{}/w.bw', '-o', '{}/r.html')
        packed = io.BytesIO()
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 8), }".ljust(69) + '\n'
        with zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as archive:
            for name in 'ab':
                values = struct.pack('<64f', *(self.rng.random() for _ in range(64)))
                archive.writestr(name + '.npy', b'\x93NUMPY\x01\0\x46\0' + head.encode() + values)
        self.add('report packed', {'p.npz': packed.getvalue()}, None, 'report', '{}/p.npz', '-o',
                 '{}/r.html')

    def journals(self):
        """Journals: those of a shard, and of a run that was stopped."""
        with tempfile.TemporaryDirectory() as where:
            write(os.path.join(where, 'in.fa'), self.proteins)
            run = [self.exe, 'esm2', 'in.fa', '--weights', self.esm2, '-o', 'out.tsv', '-q',
                   '--threads', '1', '--shard', '1/1']
            subprocess.run(run, cwd=where, check=True, stdout=subprocess.DEVNULL)
            part = folder('out.tsv.part-1-of-1', os.path.join(where, 'out.tsv.part-1-of-1'))
        self.add('merge', part, None, 'merge', '{}/out.tsv')
        self.add('resume', {**part, 'in.fa': self.proteins}, part, 'esm2', 'in.fa', '--weights',
                 self.esm2, '-o', 'out.tsv', '--shard', '1/1', '--resume')


def kinds(exe, root):
    """Every kind, in an order that stays: random changes follow from it."""
    every = Kinds(exe, root)
    every.sequences()
    every.weights()
    every.scores()
    every.structures()
    every.side_files()
    every.windows()
    every.reports()
    every.journals()
    return every.all_of


# ---- runs ----

def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:  # a sanitizer maps terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def judge(kind, names, where, status, said):
    """Says what is wrong with the end of a run; None when nothing is."""
    if status < 0:
        return 'ended by signal %d' % -status
    if re.search('runtime error|Sanitizer', said):
        return 'a sanitizer speaks'
    if status not in DOCUMENTED:
        return 'status %d' % status
    if status > 1 and 'no result: ' not in said:  # that line names a record, and what it lacks
        known = [os.path.basename(n) for n in kind.files] + [os.path.dirname(n) for n in kind.files]
        known += [os.path.basename(a) for a in kind.args if '/' in a]
        if not any(name and name in said for name in known):
            return 'status %d, and no file is named' % status
    return None


def main():
    exe, root, runs = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else '1'
    listed = [k for k in kinds(exe, root) if len(sys.argv) < 6 or k.name == sys.argv[5]]
    env = dict(os.environ, OMP_WAIT_POLICY='passive')
    for name in 'ASAN_OPTIONS', 'UBSAN_OPTIONS':
        env[name] = (env[name] + ':' if env.get(name) else '') + 'exitcode=99:halt_on_error=1'
    failed, statuses = 0, {}
    with tempfile.TemporaryDirectory() as base:
        where = os.path.join(base, 'work')
        for i in range(runs):
            kind = listed[i % len(listed)]
            rng = random.Random('%s/%s/%d' % (seed, kind.name, i))
            shutil.rmtree(where, ignore_errors=True)
            names = [rng.choice(kind.which)]
            for name, data in kind.files.items():
                write(os.path.join(where, name), changed(rng, data) if name in names else data)
            args = [exe] + [a.replace('{}', where) for a in kind.args] + ['--threads', '1']
            if kind.args[0] in ('info', 'merge', 'report'):
                args = args[:-2]
            try:
                p = subprocess.run(args, cwd=where, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   timeout=SECONDS, check=False, preexec_fn=limits)
                said = p.stderr.decode('utf-8', 'replace')
                wrong = judge(kind, names, where, p.returncode, said)
                statuses[p.returncode] = statuses.get(p.returncode, 0) + 1
            except subprocess.TimeoutExpired:
                wrong, said = 'still running after %d s' % SECONDS, ''
            if wrong:
                failed += 1
                kept = tempfile.mkdtemp(prefix='bioinfer-mutate-')
                shutil.copytree(where, kept, dirs_exist_ok=True)
                print('%s, run %d, %s changed: %s\n  %s\n%s' % (
                    kind.name, i, names[0], wrong,
                    ' '.join(args).replace(where, kept), said[-3000:]), flush=True)
    print('%d runs of %d kinds, seed %s; by status: %s; %d wrong' % (
        runs, len(listed), seed, ', '.join('%d: %d' % x for x in sorted(statuses.items())), failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
