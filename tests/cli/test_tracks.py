#!/usr/bin/env python3
"""test_tracks.py BIOINFER SOURCE_ROOT - the command on models of DNA windows.

Standard library only. The model is the golden one with random weights (tests/golden); numbers
are compared between ways that must agree: a window alone and read from a genome, plain and
bgzip, single and shared windows, arrays and BigWig (read here from the format's description).
"""
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

EXE = ROOT = ''
WINDOW, BIN, BINS, TRACKS = 5120, 128, 16, 8


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def npz(path):
    """Name -> (shape, values)."""
    out = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            if not name.endswith('.npy'): # windows.tsv
                continue
            raw = z.read(name)
            size = struct.unpack('<H', raw[8:10])[0]
            head = eval(raw[10:10 + size].decode())  # pylint: disable=eval-used
            n = (len(raw) - 10 - size) // 4
            out[name[:-4]] = (head['shape'], struct.unpack('<%df' % n, raw[10 + size:]))
    return out


def bgzip(data, step=700):
    """Bytes in blocks, and the index of blocks."""
    out, index = b'', []
    for at in list(range(0, len(data), step)) + [None]:
        x = b'' if at is None else data[at:at + step]
        c = zlib.compressobj(6, zlib.DEFLATED, -15)
        p = c.compress(x) + c.flush()
        if at:
            index.append(struct.pack('<QQ', len(out), at))
        out += b'\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0' + struct.pack('<H', len(p) + 25)
        out += p + struct.pack('<II', zlib.crc32(x), len(x))
    return out, struct.pack('<Q', len(index)) + b''.join(index)


class BigWig:
    """As much of the format as a test needs, every count and offset checked."""

    def __init__(self, path):
        self.raw = r = read(path)
        (magic, version, zooms, tree, data, index, fields, defined, sql, summary, self.most,
         extension) = struct.unpack('<IHHQQQHHQQIQ', r[:64])
        assert (magic, version, fields, defined, sql, extension) == (0x888FFC26, 4, 0, 0, 0, 0)
        assert struct.unpack('<I', r[-4:])[0] == 0x888FFC26
        self.bases, self.low, self.high, self.sum, self.squares = struct.unpack(
            '<Qdddd', r[summary:summary + 40])
        self.contigs = self.read_contigs(tree)
        self.values = {}  # (contig, start) -> (end, value)
        pieces = self.read_tree(index)
        assert struct.unpack('<Q', r[data:data + 8])[0] == len(pieces)
        for piece in pieces:
            self.read_section(*piece)
        self.zooms = []
        for i in range(zooms):
            reduction, zero, at, tree_at = struct.unpack('<IIQQ', r[64 + 24 * i:88 + 24 * i])
            assert zero == 0
            records = []
            for box, offset, size in self.read_tree(tree_at):
                text = zlib.decompress(r[offset:offset + size])
                assert len(text) % 32 == 0 and len(text) <= self.most
                records += [struct.unpack('<IIIIffff', text[k:k + 32])
                            for k in range(0, len(text), 32)]
                assert box[:2] == struct.unpack('<II', text[:8])
            assert struct.unpack('<I', r[at:at + 4])[0] == len(records)
            self.zooms.append((reduction, records))

    def read_contigs(self, at):
        magic, _, key, value, n, zero = struct.unpack('<IIIIQQ', self.raw[at:at + 32])
        leaf, _, count = struct.unpack('<BBH', self.raw[at + 32:at + 36])
        assert (magic, value, zero, leaf, count) == (0x78CA8C91, 8, 0, 1, n)
        out = []
        for i in range(n):
            p = at + 36 + i * (key + 8)
            name = self.raw[p:p + key].rstrip(b'\0').decode()
            number, length = struct.unpack('<II', self.raw[p + key:p + key + 8])
            assert number == i
            out.append((name, length))
        assert out == sorted(out)
        return out

    def read_tree(self, at):
        magic, block, n, _, _, _, _, _, _, zero = struct.unpack('<IIQIIIIQII',
                                                                self.raw[at:at + 48])
        assert (magic, zero) == (0x2468ACE0, 0)
        found = []

        def node(p):
            leaf, pad, count = struct.unpack('<BBH', self.raw[p:p + 4])
            assert pad == 0 and count <= block
            for i in range(count):
                q = p + 4 + i * (32 if leaf else 24)
                box = struct.unpack('<IIII', self.raw[q:q + 16])
                if leaf:
                    found.append((box,) + struct.unpack('<QQ', self.raw[q + 16:q + 32]))
                else:
                    node(struct.unpack('<Q', self.raw[q + 16:q + 24])[0])
        node(at + 48)
        assert len(found) == n
        return found

    def read_section(self, box, offset, size):
        text = zlib.decompress(self.raw[offset:offset + size])
        assert len(text) <= self.most
        chrom, start, end, step, span, kind, zero, n = struct.unpack('<IIIIIBBH', text[:24])
        assert zero == 0 and box == (chrom, start, chrom, end)
        name, length = self.contigs[chrom]
        for i in range(n):
            if kind == 3:
                s, e = start + i * step, start + i * step + span
                v = struct.unpack('<f', text[24 + 4 * i:28 + 4 * i])[0]
            else:
                assert kind == 1
                s, e, v = struct.unpack('<IIf', text[24 + 12 * i:36 + 12 * i])
            assert (name, s) not in self.values and s < e <= length
            self.values[name, s] = e, v


class Tracks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(ROOT, 'tests', 'golden', 'enformer', 'half')
        rng = random.Random(5)
        self.a = ''.join(rng.choice('ACGT') for _ in range(20000))
        self.b = ''.join(rng.choice('acgtNR') for _ in range(6001))
        text, fai = '', ''
        for name, s in (('chrA', self.a), ('chrB', self.b)):
            text += '>%s words\n' % name
            fai += '%s\t%d\t%d\t61\t62\n' % (name, len(s), len(text))
            text += ''.join(s[i:i + 61] + '\n' for i in range(0, len(s), 61))
        self.write('g.fa', text)
        self.write('g.fa.fai', fai)
        packed, index = bgzip(text.encode())
        self.write('z.fa.gz', packed)
        self.write('z.fa.gz.gzi', index)
        self.write('z.fa.gz.fai', fai)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def test_heads_and_bins_of_flashzoi(self):
        weights = os.path.join(ROOT, 'tests', 'golden', 'borzoi', 'flash')
        with open(os.path.join(weights, 'config.json'), encoding='utf-8') as f:
            config = json.load(f)
        for name in ('model.safetensors', 'window.fa'):
            shutil.copy(os.path.join(weights, name), self.path(name))
        for change, word in (({'heads': 3}, '3 heads in 48 columns'),
                             ({'heads': 2, 'rotary_emb_dim': 26}, 'of which 26 are rotated'),
                             ({'rotary_emb_dim': 7}, 'of which 7 are rotated'),
                             ({'bins_to_return': 193}, 'a window has 192 bins'),
                             ({'return_center_bins_only': 'no'}, 'expected true or false'),
                             ({'return_center_bins_only': False}, ''),
                             ({}, '')):
            self.write('config.json', json.dumps({**config, **change}))
            r = subprocess.run([EXE, 'borzoi', 'window.fa', '--weights', '.', '--quiet', '--tracks',
                                '1', '-o', 'out.npz'], cwd=self.folder, capture_output=True,
                               text=True, check=False)
            self.assertEqual(not word, r.returncode == 0, r.stderr)
            self.assertIn(word, r.stderr)
            if not word:
                bins = 192 - 32 if change else 64
                shape = subprocess.run([EXE, 'info', 'out.npz'], cwd=self.folder, text=True,
                                       capture_output=True, check=True).stdout
                self.assertIn('[%d, 1]' % bins, shape)
                os.remove(self.path('out.npz'))

    def test_positions_by_config(self):
        """use_tf_gamma of config.json says which features of positions weights were made with:
        absent is false, as enformer-pytorch has it, unless TensorFlow's table lies there."""
        table = os.path.join(ROOT, 'tests', 'golden', 'enformer', 'table')
        with open(os.path.join(table, 'config.json'), encoding='utf-8') as f:
            config = json.load(f)
        del config['use_tf_gamma']
        for name in ('model.safetensors', 'window.fa'):
            shutil.copy(os.path.join(table, name), self.path(name))
        with open(os.path.join(self.model, 'config.json'), encoding='utf-8') as f:
            half = json.load(f)
        os.mkdir(self.path('half'))
        for name in ('model.safetensors', 'window.fa'):
            shutil.copy(os.path.join(self.model, name), self.path('half'))

        def run(folder, change, *more, code=0):
            text = json.dumps({**(config if folder == '.' else half), **change})
            self.write(os.path.join(folder, 'config.json'), text)
            r = subprocess.run([EXE, 'enformer', 'window.fa', '--weights', '.', '--quiet', '-o',
                                'out.npz', *more], cwd=self.path(folder), capture_output=True,
                               text=True, check=False)
            self.assertEqual(r.returncode, code, r.stderr)
            if code:
                return r.stderr
            got = npz(os.path.join(self.path(folder), 'out.npz'))
            os.remove(os.path.join(self.path(folder), 'out.npz'))
            return got
        for folder in '.', 'half':
            want = {how: run(folder, {}, '--positions', how)
                    for how in ('formula-pt', 'formula-tf')}
            self.assertNotEqual(want['formula-pt'], want['formula-tf'])
            self.assertEqual(run(folder, {}), want['formula-pt'])
            self.assertEqual(run(folder, {'use_tf_gamma': False}), want['formula-pt'])
            self.assertIn('use_tf_gamma: expected true or false',
                          run(folder, {'use_tf_gamma': 'yes'}, code=78))
        # another window than the table's
        self.assertEqual(run('half', {'use_tf_gamma': True}), want['formula-tf'])
        self.assertIn('need the gamma table', run('.', {'use_tf_gamma': True}, code=78))
        # names of folders say nothing; what is taken without a word of the file is told
        named = os.path.join('enformer-official-rough', 'mine')
        shutil.copytree(self.path('half'), self.path(named))
        self.assertEqual(run(named, {}), want['formula-pt'])
        for change, more, told in (({}, (), 'features of positions are formula-pt, as the package'),
                                   ({'use_tf_gamma': False}, (), ''),
                                   ({}, ('--positions', 'formula-pt'), '')):
            self.write(os.path.join(named, 'config.json'), json.dumps({**half, **change}))
            r = subprocess.run([EXE, 'enformer', 'window.fa', '--weights', '.', '-o', 'x.npz',
                                *more], cwd=self.path(named), capture_output=True, text=True,
                               check=True)
            self.assertIn(told, r.stderr)
            self.assertEqual('use_tf_gamma' in r.stderr, bool(told), r.stderr)
        self.write(os.path.join(named, 'tf_gammas.pt'), '')
        self.write(os.path.join(named, 'config.json'), json.dumps(half))
        r = subprocess.run([EXE, 'enformer', 'window.fa', '--weights', '.', '-o', 'x.npz'],
                           cwd=self.path(named), capture_output=True, text=True, check=True)
        self.assertIn("formula-tf, as TensorFlow's table lies beside", r.stderr)
        self.assertEqual(npz(self.path(os.path.join(named, 'x.npz'))), want['formula-tf'])

    def run_it(self, *args, code=0, **more):
        args = [EXE, 'enformer', '--weights', self.model, '--positions', 'formula-pt',
                '--progress', 'off', '--threads', '1'] + list(args)
        r = subprocess.run(args, cwd=self.folder, capture_output=True, text=True, check=False,
                           **more)
        self.assertEqual(r.returncode, code, r.stderr)
        self.assertFalse([n for n in os.listdir(self.folder) if '.tmp' in n or '.part' in n])
        return r

    def run_it_with_parts(self, *args, code=0):
        args = [EXE, 'enformer', '--weights', self.model, '--positions', 'formula-pt',
                '--progress', 'off', '--threads', '1'] + list(args)
        r = subprocess.run(args, cwd=self.folder, capture_output=True, text=True, check=False)
        if code is not None:
            self.assertEqual(r.returncode, code, r.stderr)
        return r

    def window(self, s, start):
        return ''.join(s[i] if 0 <= i < len(s) else 'N' for i in range(start, start + WINDOW))

    def of_windows(self, **windows):
        self.write('w.fa', ''.join('>%s\n%s\n' % w for w in windows.items()))
        self.run_it('w.fa', '-o', 'w.npz', '-q')
        return npz(self.path('w.npz'))

    def test_intervals_are_windows(self):
        want = self.of_windows(mid=self.window(self.a, 10000 - 2560),
                               edge=self.window(self.b, 100 - 2560),
                               end=self.window(self.b, 5999 - 2560))
        self.write('i.bed', 'track name=x\n# words\nchrA\t9990\t10010\tmid\t0\t+\n'
                            'chrB\t100\t100\tedge\nchrB\t5998\t6001\tend\n')
        for genome in ('g.fa', 'z.fa.gz'):
            self.run_it('i.bed', '--genome', genome, '-o', 'i.npz', '-q')
            got = npz(self.path('i.npz'))
            self.assertEqual(got, want)
            self.assertEqual(got['mid'][0], (BINS, TRACKS))

    def test_bad_places_cost_themselves(self):
        self.write('i.bed', 'chrZ\t1\t2\tone\nchrA\t50\t40\nchrA\tx\t40\nchrA\t19999\t20002\n'
                            'chrA 7\nchrA\t10000\t10000\tgood\nchrA\t1\t2\ttwo\t0\t*\n')
        r = self.run_it('i.bed', '--genome', 'g.fa', '-o', 'i.npz', code=1)
        self.assertEqual(list(npz(self.path('i.npz'))), ['good'])
        for part in ("line 1: the genome has no contig 'chrZ'", 'line 2: the start is after',
                     "line 3: start is no number: 'x'", 'line 4: chrA:19999-20002 is off the '
                     'contig, which has 20000', 'line 5: expected contig, start and end',
                     "line 7: expected strand + - or . , got '*'"):
            self.assertIn(part, r.stderr)
        # none of them: an empty output, and 1
        self.write('names.bed', 'A\t50\t60\nchra\t50\t60\nchr2\t50\t60\n')
        r = self.run_it('names.bed', '--genome', 'g.fa', '-o', 'n.npz', code=1)
        self.assertEqual(r.stderr.count("it is called 'chrA' there"), 2)
        self.assertIn("no contig 'chr2'; it has chrA, chrB", r.stderr)
        self.write('short.fa', '>short\nACGT\n>good\n%s\n' % self.window(self.a, 0))
        r = self.run_it('short.fa', '-o', 's.npz', code=1)
        self.assertIn('short: no result: invalid_argument: 4 bases, a window has 5120', r.stderr)
        self.assertEqual(list(npz(self.path('s.npz'))), ['good'])

    def test_windows_among_bad_records(self):
        """Windows are on their way while records are read: all come out, in order, as they are
        alone."""
        windows = {'w%d' % i: self.window(self.a, 900 * i) for i in range(6)}
        alone = self.of_windows(**windows)
        order = ['w0', 'w1', 'x', 'w2', 'y', 'z', 'w3', 'w4', 'w5', 'x2']
        self.write('m.fa', ''.join('>%s\n%s\n' % (n, windows.get(n, 'ACGT')) for n in order))
        for n_threads in '1', '3':
            r = self.run_it('m.fa', '-o', 'm.npz', '--threads', n_threads, code=1)
            got = npz(self.path('m.npz'))
            self.assertEqual(list(got), list(windows))
            self.assertEqual(got, alone)
            said = [line.split(': ')[1] for line in r.stderr.splitlines() if 'no result:' in line]
            self.assertEqual(said, ['x', 'y', 'z', 'x2'])
        self.assertEqual(len({v for _, v in got.values()}), 6)

    def test_letters(self):
        """U is T, IUPAC's letters for several bases are none, and other letters, such as those of a
        protein, cost the window they are in: of each family, and of contributions."""
        for family, folder, more in (('enformer', 'enformer/half', ['--positions', 'formula-pt']),
                                     ('borzoi', 'borzoi/final', []),
                                     ('alphagenome', 'alphagenome/small',
                                      ['--outputs', 'chip_tf'])):
            weights = os.path.join(ROOT, 'tests', 'golden', *folder.split('/'))
            text = read(os.path.join(weights, 'window.fa')).decode()
            bases = ''.join(x for x in text.split('\n') if x[:1] != '>')
            for how in [], ['--contributions', '--tracks', '0']:
                for name, s in (('rna', bases.replace('T', 'U').replace('t', 'u')), ('dna', bases),
                                ('iupac', re.sub('[NRYSWKMBDHV]', 'n', bases)),
                                ('protein', (bases[:9] + 'MEFPQ' + bases[14:])),
                                ('x', bases[:-1] + 'X')):
                    self.write(name + '.fa', '>window\n%s\n' % s)
                    r = subprocess.run([EXE, family, name + '.fa', '--weights', weights, '-o',
                                        name + '.npz', *more, *how], cwd=self.folder, text=True,
                                       capture_output=True, check=False)
                    self.assertEqual(r.returncode, 1 if name in ('protein', 'x') else 0, r.stderr)
                    if r.returncode:
                        place = "base 11 is 'E' (0x45)" if name == 'protein' else \
                            "base %d is 'X' (0x58)" % len(bases)
                        self.assertIn('window: no result: bad_residue: ' + place, r.stderr)
                want = npz(self.path('dna.npz'))
                self.assertEqual(npz(self.path('rna.npz')), want)
                self.assertEqual(npz(self.path('iupac.npz')), want)

    def test_letters_of_a_genome(self):
        """REF may have T where the genome has U, and windows without a bad letter stay."""
        u = self.a.replace('T', 'U')
        bad = u[:15000] + 'E' + u[15001:]
        for name, s in (('t', self.a), ('u', u), ('bad', bad)):
            self.write(name + '.fa', '>chrA\n%s\n' % s)
            self.write(name + '.fa.fai', 'chrA\t20000\t6\t20000\t20001\n')
        self.write('i.bed', 'chrA\t9999\t10003\tone\n')
        at = [i for i in range(9000, 9100) if self.a[i] == 'T'][:3]
        self.write('v.vcf', '##fileformat=VCFv4.2\n' + ''.join(
            'chrA\t%d\tv%d\tT\t%s\n' % (i + 1, i, 'G' if i % 2 else 'GA') for i in at) +
                   'chrA\t14000\tbad\t%s\tN\n' % self.a[13999])
        for args, out in ((['i.bed', '--ism', '-o', 'x.npz'], 'x.npz'),
                          (['v.vcf', '-o', 'x.tsv'], 'x.tsv')):
            got = {}
            for name in 't', 'u', 'bad':
                r = self.run_it(*args, '--genome', name + '.fa',
                                code=int(name == 'bad' and out == 'x.tsv'))
                got[name] = npz(self.path(out)) if out == 'x.npz' else \
                    read(self.path(out)).decode().splitlines()
            self.assertEqual(got['t'], got['u'])
            if out == 'x.tsv':
                self.assertIn("bad: no result: bad_residue: base 3562 is 'E'", r.stderr)
                self.assertEqual(got['bad'][:-1], got['t'][:-1])

    def test_windows_that_are_not_finite(self):
        """Each fails for itself, and none is lost."""
        model = self.path('nan')
        shutil.copytree(self.model, model)
        raw = bytearray(read(os.path.join(model, 'model.safetensors')))
        size = struct.unpack('<Q', raw[:8])[0]
        head = json.loads(raw[8:8 + size])
        first, end = next(v['data_offsets'] for k, v in head.items()
                          if k.startswith('_heads.human') and k.endswith('bias'))
        for at in range(8 + size + first, 8 + size + end, 4):
            raw[at:at + 4] = struct.pack('<f', float('nan'))
        with open(os.path.join(model, 'model.safetensors'), 'wb') as f:
            f.write(raw)
        self.model = model
        self.write('n.fa', ''.join('>n%d\n%s\n' % (i, self.window(self.a, i)) for i in range(3)))
        r = self.run_it('n.fa', '-o', 'n.npz', code=1)
        for i in range(3):
            self.assertIn('n%d: no result: nan' % i, r.stderr)
        self.assertIn('3 of 3 records have no result', r.stderr)

    def test_bad_genomes(self):
        self.write('i.bed', 'chrA\t10000\t10000\tgood\n')
        cases = [('none.fa', None, 66, 'cannot open'),
                 ('g2.fa', read(self.path('g.fa')), 66, 'no index'),
                 ('bad.fa', b'>chrA\n' + b'A' * 30000, 65, 'index it again with samtools faidx')]
        shutil.copy(self.path('g.fa.fai'), self.path('bad.fa.fai'))
        for name, data, code, part in cases:
            if data:
                self.write(name, data)
            r = self.run_it('i.bed', '--genome', name, '-o', 'x.npz', code=code)
            self.assertIn(part, r.stderr)
        os.remove(self.path('z.fa.gz.gzi'))
        r = self.run_it('i.bed', '--genome', 'z.fa.gz', '-o', 'x.npz', code=66)
        self.assertIn('bgzip -r', r.stderr)

    def score_by_hand(self, start, at, ref, alt, of=lambda x: x, sides=('left', 'right')):
        """Difference of the sums over bins of the tracks, or what `of` makes of them, with and
        without a change: the mean of windows that keep the bases on its left and on its right in
        their places."""
        ref_window = self.window(self.a, start)
        changed = self.a[:at] + alt + self.a[at + len(ref):]
        moved = {'left': 0, 'right': len(alt) - len(ref)}
        out = self.of_windows(ref=ref_window,
                              **{s: self.window(changed, start + moved[s]) for s in sides})
        sums = {k: [sum(map(of, v[t::TRACKS])) for t in range(TRACKS)] for k, (_, v) in out.items()}
        return [sum(sums[s][t] for s in sides) / len(sides) - sums['ref'][t] for t in range(TRACKS)]

    def test_variants(self):
        a = self.a
        other = {'A': 'C', 'C': 'G', 'G': 'T', 'T': 'A'}
        lines = [('chrA', 10001, 'snv', a[10000], other[a[10000]]),
                 ('chrA', 10011, 'ins', a[10010], a[10010] + 'TTG'),
                 ('chrA', 10021, 'del', a[10020:10025], a[10020]),
                 ('chrA', 10031, 'mnv', a[10030:10033].lower(), ''.join(other[x] for x in
                                                                      a[10030:10033]))]
        bad = [('chrA', 10041, 'mis', other[a[10040]], 'A'), ('chrQ', 5, 'q', 'A', 'C'),
               ('chrA', 10050, 'sv', a[10049], '<DEL>'), ('chrA', 20001, 'off', 'A', 'C')]
        self.write('v.vcf', '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n' +
                   ''.join('%s\t%d\t%s\t%s\t%s\n' % x for x in lines + bad))
        r = self.run_it('v.vcf', '--genome', 'z.fa.gz', '--stats', 'SAD,REF,ALT', code=1)
        rows = [x.split('\t') for x in r.stdout.splitlines()]
        self.assertEqual(rows[0][:8], ['chrom', 'pos', 'id', 'ref', 'alt', 'status',
                                       'SAD:track_0', 'SAD:track_1'])
        self.assertEqual([x[5] for x in rows[1:]], ['ok'] * 4 + ['mismatch', 'invalid_argument',
                                                               'unsupported', 'invalid_argument'])
        self.assertIn('REF is %s, the genome has %s' % (bad[0][3], a[10040]), r.stderr)
        for row, (_, pos, _, ref, alt) in zip(rows[1:], lines):
            want = self.score_by_hand(pos - 1 - 2560, pos - 1, ref, alt)
            for t in range(TRACKS):
                got = float(row[6 + t])
                scale = max(abs(float(row[6 + TRACKS + t])), 1e-6)
                self.assertLess(abs(got - want[t]), 1e-5 * scale + 1e-6)
        one = self.run_it('v.vcf', '--genome', 'g.fa', '--tracks', '6,2-3', '-q', code=1)
        self.assertEqual([x.split('\t')[6:9] for x in one.stdout.splitlines()][1:5],
                         [[x[12], x[8], x[9]] for x in rows[1:5]])
        mixed = [x for pair in zip(bad, lines) for x in pair] # variants that fail keep their places
        self.write('mixed.vcf',
                   '##fileformat=VCFv4.2\n' + ''.join('%s\t%d\t%s\t%s\t%s\n' % x for x in mixed))
        r = self.run_it('mixed.vcf', '--genome', 'g.fa', '--stats', 'SAD,REF,ALT', '-q', code=1)
        by_id = {x[2]: x for x in rows[1:]}
        self.assertEqual([x.split('\t') for x in r.stdout.splitlines()][1:],
                         [by_id[x[2]] for x in mixed])
        logs = self.run_it('v.vcf', '--genome', 'g.fa', '--stats', 'SAR', '-q', code=1)
        both = self.run_it('v.vcf', '--genome', 'g.fa', '--stats', 'SAR', '--shifts', '0,0', '-q',
                           code=1)
        for text in (logs.stdout, both.stdout): # by sums, and by the means of all values
            self.assertEqual(len(text.splitlines()), len(rows))
            for row, (_, pos, _, ref, alt) in zip(text.splitlines()[1:], lines):
                want = self.score_by_hand(pos - 1 - 2560, pos - 1, ref, alt,
                                          lambda x: math.log2(1 + x))
                for got, w in zip(row.split('\t')[6:], want, strict=True):
                    self.assertLess(abs(float(got) - w), 1e-4)
        shared = self.run_it('v.vcf', '--genome', 'g.fa', '--cluster', '100', code=1)
        self.assertRegex(shared.stderr, r'\b[15] whole windows')

    def indels(self):
        """Insertions and deletions around the middle of chrA, at its ends, and as long as half of
        what a window holds."""
        a, out = self.a, []
        for pos, old, more in ((10001, 1, 'TTG'), (10021, 5, ''), (10040, 3, 'GATTACA'),
                               (10050, 1280, ''), (10060, 2, 'AC' * 1300), (3, 1, 'GG'), (2, 4, ''),
                               (2001, 9, 'T'), (19990, 6, ''), (19991, 1, 'CCA')):
            ref = a[pos - 1:pos - 1 + old]
            out.append(('chrA', pos, 'i%d' % pos, ref, ref[0] + more))
        return out

    def test_indels(self):
        """Scores of insertions and deletions against whole windows, made here, of each side."""
        lines = self.indels()
        self.write('v.vcf', '##fileformat=VCFv4.2\n' + ''.join('%s\t%d\t%s\t%s\t%s\n' % x
                                                              for x in lines))
        use = ['v.vcf', '--genome', 'g.fa', '-q', '--stats']
        for more, sides in (([], ('left', 'right')), (['--indel', 'both'], ('left', 'right')),
                            (['--indel', 'left'], ('left',)), (['--indel', 'right'], ('right',))):
            for stat, of in (('SAD', lambda x: x), ('SAR', lambda x: math.log2(1 + x))):
                rows = self.run_it(*use, stat, *more).stdout.splitlines()[1:]
                for row, (_, pos, _, ref, alt) in zip(rows, lines, strict=True):
                    want = self.score_by_hand(pos - 1 - 2560, pos - 1, ref, alt, of, sides)
                    for got, w in zip(row.split('\t')[6:], want, strict=True):
                        self.assertLess(abs(float(got) - w), 1e-4, (stat, more, pos))
        left, right = (self.run_it(*use, 'SAD', '--indel', s).stdout for s in ('left', 'right'))
        self.assertNotEqual(left, right)
        # REF is the same and ALT is the mean of both sides, also of strands and shifts
        for more in (['--rc'], ['--shifts', '0,3,-2'], ['--rc', '--shifts', '1'],
                     ['--cluster', '100']):
            got = {s: [[float(x) for x in row.split('\t')[6:]] for row in self.run_it(
                *use, 'REF,ALT,SAD,SAR', '--indel', s, *more).stdout.splitlines()[1:]]
                for s in ('both', 'left', 'right')}
            for both, one, other in zip(got['both'], got['left'], got['right'], strict=True):
                for x, y, z in zip(both, one, other, strict=True):
                    self.assertLess(abs(x - (y + z) / 2), 1e-6 * max(abs(y), abs(z)) + 1e-6)
                self.assertEqual(one[:TRACKS], other[:TRACKS])

    def test_indels_of_jobs(self):
        """Workers, shards and a resumed run give the bytes of one process; another --indel is
        another run."""
        self.write('v.vcf', '##fileformat=VCFv4.2\n' + ''.join('%s\t%d\t%s\t%s\t%s\n' % x
                                                              for x in self.indels()))
        ask = ['v.vcf', '--genome', 'g.fa', '--stats', 'SAD,SAR,ALT']
        r = self.run_it(*ask)
        self.assertIn('10 insertions and deletions: means of two alignments', r.stderr)
        self.assertEqual(self.run_it(*ask, '--workers', '2').stdout, r.stdout)
        self.run_it(*ask, '-q', '--resume', '-o', 'job.tsv')
        self.assertEqual(read(self.path('job.tsv')).decode(), r.stdout)
        for i in ('1/2', '2/2'):
            self.run_it_with_parts(*ask, '-q', '--shard', i, '-o', 's.tsv')
        subprocess.run([EXE, 'merge', 's.tsv', '-q'], cwd=self.folder, check=True)
        self.assertEqual(read(self.path('s.tsv')).decode(), r.stdout)
        self.run_it_with_parts(*ask, '-q', '--shard', '1/2', '-o', 'p.tsv')
        r = self.run_it_with_parts(*ask, '-q', '--indel', 'left', '--shard', '1/2', '-o', 'p.tsv',
                                   '--resume', code=None)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn('indel=', r.stderr)

    def test_contributions(self):
        """Three arrays of each window that agree, the same from jobs and shards, and coverage."""
        self.write('i.bed', 'chrA\t9990\t10010\tmid\nchrB\t2\t3\tedge\n')
        ask = ['i.bed', '--genome', 'g.fa', '--contributions', '--tracks', '2,5', '-q']
        self.run_it(*ask, '-o', 'c.npz')
        got = npz(self.path('c.npz'))
        self.assertEqual(sorted(got), sorted('%s/%s' % (a, b) for a in ('mid', 'edge')
                                             for b in ('contributions', 'gradient', 'value')))
        tracks = self.of_windows(mid=self.window(self.a, 10000 - 2560),
                                 edge=self.window(self.b, 2 - 2560))
        for name, start, s in (('mid', 10000 - 2560, self.a), ('edge', 2 - 2560, self.b)):
            shape, gradient = got[name + '/gradient']
            self.assertEqual(shape, (WINDOW, 4))
            window = self.window(s, start).upper()
            want = tuple(gradient[4 * i + 'ACGT'.index(c)] if c in 'ACGT' else 0
                         for i, c in enumerate(window))
            self.assertEqual(got[name + '/contributions'], ((WINDOW,), want))
            mean = sum(tracks[name][1][b * TRACKS + t] for b in (7, 8) for t in (2, 5)) / 4
            self.assertLess(abs(got[name + '/value'][1][0] - mean), 1e-5 * mean)
            self.assertGreater(max(map(abs, gradient)), 1e-3)
        # bins of one's own choice; here those of the default
        self.run_it(*ask, '--bins', '7-8', '-o', 'same.npz')
        self.assertEqual(npz(self.path('same.npz')), got)
        self.run_it(*ask, '--bins', '0-0', '-o', 'other.npz')
        self.assertNotEqual(npz(self.path('other.npz')), got)
        # a job gives the same bytes, and so do shards
        self.run_it(*ask, '--resume', '-o', 'job.npz')
        self.assertEqual(npz(self.path('job.npz')), got)
        for i in ('1/2', '2/2'):
            subprocess.run([EXE, 'enformer', '--weights', self.model, '--positions', 'formula-pt'] +
                           ask + ['--shard', i, '-o', 's.npz'], cwd=self.folder, check=True)
        subprocess.run([EXE, 'merge', 's.npz', '-q'], cwd=self.folder, check=True)
        self.assertEqual(npz(self.path('s.npz')), got)
        for i in ('1', '2'):
            shutil.rmtree(self.path('s.npz.part-%s-of-2' % i), ignore_errors=True)
            if os.path.exists(self.path('s.npz.part-%s-of-2' % i)):
                os.remove(self.path('s.npz.part-%s-of-2' % i))
        # coverage of single bases
        self.run_it(*ask, '--format', 'bedgraph', '-o', 'bed')
        self.assertEqual(os.listdir(self.path('bed')), ['contributions.bedgraph'])
        at = {}
        for line in read(self.path('bed/contributions.bedgraph')).decode().splitlines():
            chrom, first, end, value = line.split('\t')
            for i in range(int(first), int(end)):
                at[chrom, i] = float(value)
        values = got['mid/contributions'][1]
        for i, v in enumerate(values):
            self.assertLess(abs(at['chrA', 10000 - 2560 + i] - v), 1e-6 * abs(v) + 1e-12)

    def test_contributions_that_cannot_be(self):
        self.write('i.bed', 'chrA\t9990\t10010\tmid\n')
        self.write('v.vcf', '##fileformat=VCFv4.2\nchrA\t10001\tv\t%s\tA\n' % self.a[10000])
        ask = ['--genome', 'g.fa', '-o', 'x.npz']
        one = ['--contributions', '--tracks', '1']
        for more, code, part in ((['v.vcf'] + one, 64, 'of variants'),
                                 (['i.bed', '--contributions'], 64, '--tracks'),
                                 (['i.bed', '--bins', '1-2'], 64, '--contributions'),
                                 (['i.bed'] + one + ['--ism'], 64, '--ism'),
                                 (['i.bed'] + one + ['--rc'], 64, '--rc'),
                                 (['i.bed'] + one + ['--shifts', '0,1'], 64, '--shifts'),
                                 (['i.bed'] + one + ['--bins', '3-1'], 64, 'FIRST-LAST'),
                                 (['i.bed'] + one + ['--bins', '1-2x'], 64, 'FIRST-LAST'),
                                 (['i.bed'] + one + ['--bins', '0-16'], 64, 'bins 0 to 15')):
            r = self.run_it(*(more + ask), code=code)
            self.assertIn(part, r.stderr)
            self.assertFalse(os.path.exists(self.path('x.npz')))

    def test_mutagenesis(self):
        self.write('i.bed', 'chrA\t10000\t10002\tism\n')
        r = self.run_it('i.bed', '--genome', 'g.fa', '--ism', '-o', 'ism.npz')
        self.assertIn('1 whole windows, 6 by', r.stderr)
        shape, values = npz(self.path('ism.npz'))['ism']
        self.assertEqual(shape, (2, 4, TRACKS))
        start = 10001 - 2560
        for i in range(2):
            for b, base in enumerate('ACGT'):
                got = values[(i * 4 + b) * TRACKS:(i * 4 + b + 1) * TRACKS]
                if base == self.a[10000 + i]:
                    self.assertEqual(got, (0.0,) * TRACKS)
                    continue
                want = self.score_by_hand(start, 10000 + i, self.a[10000 + i], base)
                for g, w in zip(got, want, strict=True):
                    self.assertLess(abs(g - w), 2e-2 + 1e-5 * abs(w))

    def check_summaries(self, wig):
        """The header's summary, and each record of a zoom level, against the values."""
        def summary(of):  # (bases, value) -> bases, min, max, sum, sum of squares
            return (sum(n for n, _ in of), min(v for _, v in of), max(v for _, v in of),
                    math.fsum(n * v for n, v in of), math.fsum(n * v * v for n, v in of))
        values = [(*key, end, v) for key, (end, v) in wig.values.items()]
        want = summary([(end - start, v) for _, start, end, v in values])
        self.assertEqual((wig.bases, wig.low, wig.high), want[:3])
        self.assertAlmostEqual(wig.sum, want[3], delta=1e-9 * abs(want[3]))
        self.assertAlmostEqual(wig.squares, want[4], delta=1e-9 * want[4])
        self.assertTrue(wig.zooms)
        for reduction, records in wig.zooms:
            self.assertEqual(sum(x[3] for x in records), wig.bases)
            for chrom, start, end, bases, low, high, total, squares in records:
                self.assertLessEqual(end - start, reduction)
                inside = [(min(e, end) - max(s, start), v) for c, s, e, v in values
                          if c == wig.contigs[chrom][0] and s < end and e > start]
                want = summary(inside)
                self.assertEqual((bases, low, high), want[:3])
                self.assertAlmostEqual(total, want[3], delta=1e-6 * abs(want[3]) + 1e-44)
                self.assertAlmostEqual(squares, want[4], delta=1e-6 * want[4] + 1e-44)

    def test_coverage_at_an_end(self):
        """The last bin of a contig has the bases that are there, and those off it are left out;
        windows may touch, and not overlap by a single base."""
        self.write('i.bed', 'chrB\t5998\t5998\tend\nchrA\t10000\t10000\ta\n'
                            'chrA\t12048\t12048\tbehind\n')
        use = ['i.bed', '--genome', 'g.fa', '--tracks', '2', '-q']
        self.run_it(*use, '-o', 'i.npz')
        self.run_it(*use, '--format', 'bigwig', '-o', 'bw')
        self.run_it(*use, '--format', 'bedgraph', '-o', 'bg')
        first = 5998 - 2560 + 12 * BIN
        bins = {('chrB', first + i * BIN): (min(first + (i + 1) * BIN, 6001), v)
                for i, v in enumerate(npz(self.path('i.npz'))['end'][1]) if first + i * BIN < 6001}
        self.assertEqual((len(bins), max(bins)), (9, ('chrB', 5998)))
        wig = BigWig(self.path('bw/track_2.bw'))
        self.assertEqual({k: v for k, v in wig.values.items() if k[0] == 'chrB'}, bins)
        self.assertEqual(wig.bases, 2 * BINS * BIN + 8 * BIN + 3)
        self.check_summaries(wig)
        rows = [x.split('\t') for x in read(self.path('bg/track_2.bedgraph')).decode().splitlines()]
        self.assertEqual({at: float(x[3]) for x in rows if x[0] == 'chrB'  # equal bins are one row
                          for at in range(int(x[1]), int(x[2]))},
                         {at: float('%.9g' % v) for (_, s), (e, v) in bins.items()
                          for at in range(s, e)})
        self.write('i.bed', 'chrA\t10000\t10000\ta\nchrA\t12047\t12047\tone base\n')
        for kind in 'bigwig', 'bedgraph':
            r = self.run_it(*use, '--format', kind, '-o', 'off', code=65)
            self.assertIn('not by whole bins', r.stderr)

    def test_coverage(self):
        self.write('i.bed', 'chrB\t3000\t3000\tb\nchrA\t10000\t10000\ta1\n'
                            'chrA\t10640\t10640\ta2\nchrA\t2600\t2600\tfar\n')
        self.write('t.txt', 'index\tidentifier\tdescription\n' + ''.join(
            '%d\tENC%d\tDNASE:cell %d\n' % (i, i, i) for i in range(TRACKS)))
        common = ['i.bed', '--genome', 'g.fa', '--targets', 't.txt', '--tracks', 'enc2,*cell 7',
                  '-q']
        self.run_it(*common, '--format', 'bedgraph', '-o', 'bg')
        self.run_it(*common, '--format', 'bigwig', '-o', 'bw')
        self.run_it('i.bed', '--genome', 'g.fa', '-o', 'i.npz', '-q')
        arrays = npz(self.path('i.npz'))
        self.assertEqual(sorted(os.listdir(self.path('bw'))), ['2_ENC2.bw', '7_ENC7.bw'])
        for track in (2, 7):
            want = {}
            for name, chrom, middle in (('b', 'chrB', 3000), ('a1', 'chrA', 10000),
                                        ('a2', 'chrA', 10640), ('far', 'chrA', 2600)):
                values = arrays[name][1][track::TRACKS]
                for i, v in enumerate(values):
                    want.setdefault((chrom, middle - 2560 + (12 + i) * BIN), []).append(v)
            wig = BigWig(self.path('bw/%d_ENC%d.bw' % (track, track)))
            self.assertEqual(wig.contigs, [('chrA', 20000), ('chrB', 6001)])
            self.assertEqual(set(wig.values), set(want))
            for key, (end, v) in wig.values.items():
                self.assertEqual(end, key[1] + BIN)
                self.assertAlmostEqual(v, sum(want[key]) / len(want[key]), delta=1e-5 * abs(v))
            self.assertEqual(wig.bases, BIN * len(want))
            self.check_summaries(wig)
            covered = {}
            for line in read(self.path('bg/%d_ENC%d.bedgraph' %
                                       (track, track))).decode().splitlines():
                chrom, s, e, v = line.split('\t')
                for at in range(int(s), int(e), BIN):
                    covered[chrom, at] = float(v)
            self.assertEqual(set(covered), set(want))
            for key, v in covered.items():
                self.assertAlmostEqual(v, wig.values[key][1], delta=1e-6 * abs(v))
        self.write('i.bed', 'chrA\t10000\t10000\tx\nchrA\t10001\t10001\ty\n')
        r = self.run_it(*common, '--format', 'bigwig', '-o', 'off', code=65)
        self.assertIn('not by whole bins', r.stderr)
        self.assertFalse(os.path.exists(self.path('off')))  # no folder of a failed run
        os.mkdir(self.path('mine'))
        self.run_it(*common, '--format', 'bigwig', '-o', 'mine', code=65)
        self.assertTrue(os.path.isdir(self.path('mine')))

    def test_coverage_is_a_job(self):
        self.write('i.bed', 'chrA\t10000\t10000\tx\nchrA\t9872\t9872\ty\nchrB\t900\t900\tz\n')
        common = ['i.bed', '--genome', 'g.fa', '--tracks', '2']
        for kind, suffix in ('bigwig', 'bw'), ('bedgraph', 'bedgraph'):
            name = 'track_2.' + suffix
            self.run_it(*common, '--format', kind, '-o', kind, '-q')
            self.run_it(*common, '--format', kind, '-o', kind + '-r/', '-q', '--resume')
            want = read(self.path(f'{kind}/{name}'))
            self.assertTrue(want)
            self.assertEqual(read(self.path(f'{kind}-r/{name}')), want)
            shard = ['enformer', '--weights', self.model, '--positions', 'formula-pt', *common,
                     '--format', kind, '-o', kind + '-s/', '--shard']
            for args in [*shard, '1/2'], [*shard, '2/2'], ['merge', kind + '-s/', '--format', kind]:
                r = subprocess.run([EXE, *args], cwd=self.folder, capture_output=True, text=True,
                                   check=False)
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(f'bioinfer merge {kind}-s --format {kind}\n' in r.stderr,
                                 '--shard' in args, r.stderr)
            self.assertEqual(read(self.path(f'{kind}-s/{name}')), want)
            for i in 1, 2:
                shutil.rmtree(self.path(f'{kind}-s.part-{i}-of-2'))
            r = self.run_it(*common, '--format', kind, '-o', kind, '--resume', code=73)
            self.assertIn('output is there already', r.stderr)

    def test_coverage_of_nothing(self):
        self.write('i.bed', 'chrZ\t10000\t10000\tx\n')
        for kind in 'bigwig', 'bedgraph':
            self.run_it('i.bed', '--genome', 'g.fa', '--tracks', '2', '--format', kind, '-o', kind,
                        '-q', code=1)
        files = [os.path.join(kind, name) for kind in ('bigwig', 'bedgraph')
                 for name in os.listdir(self.path(kind))]
        self.assertEqual(len(files), 2)
        self.assertEqual(BigWig(self.path(files[0])).values, {})
        self.assertEqual(read(self.path(files[1])), b'')

    def test_bad_targets(self):
        self.write('i.bed', 'chrA\t10000\t10000\tx\n')
        rows = ['%d\tENC%d\t%d' % (i, i, TRACKS - 1 - i) for i in range(TRACKS)]

        def table(*lines, head='index\tidentifier\tstrand_pair'):
            return '\n'.join((head,) + lines) + '\n'
        swapped = lambda i, row: rows[:i] + [row] + rows[i + 1:]
        for text, code, part in (
                (table(*rows), 0, ''),
                (table('', *rows).replace('\n', '\r\n'), 0, ''),
                (table(*rows[1:]), 65, 't.txt: 7 tracks of human, the head has 8'),
                (table(*rows, *rows), 65, 't.txt: 16 tracks of human, the head has 8'),
                ('', 65, 't.txt: the table is empty'),
                (table(*rows, head='index\tname\tstrand_pair'), 65, "no column 'identifier'"),
                (table(*swapped(2, '2')), 65, 't.txt: line 4: 1 fields, the header has 3'),
                (table(*swapped(2, '2\tENC2\t5\t')), 65, 't.txt: line 4: 4 fields, the header'),
                (table('', *swapped(2, '2\t\t5')), 65, 't.txt: line 5: no identifier'),
                (table(*swapped(3, '3\tENC3\t')), 65, "t.txt: line 5: strand_pair '' is no track"),
                (table(*rows, head='identifier\tidentifier\tstrand_pair'), 65,
                 "t.txt: line 1: two columns 'identifier'"),
                (table(*swapped(3, '3\tENC3\t8')), 65, "strand_pair '8' is no track"),
                (table(*swapped(3, '3\tENC3\t-1')), 65, "strand_pair '-1' is no track"),
                (table(*swapped(3, '3\tENC3\t4294967297')), 65,
                 "strand_pair '4294967297' is no track"),
                (table(*swapped(3, '3\tENC3\t99999999999999999999')), 65, 'is no track'),
                (table(*swapped(3, '3\tENC3\t4x')), 65, "strand_pair '4x' is no track"),
                (table(*rows) + 'x\0y', 65, 't.txt: a NUL byte')):
            self.write('t.txt', text)
            r = self.run_it('i.bed', '--genome', 'g.fa', '--targets', 't.txt', '-o', 'x.npz',
                            code=code)
            self.assertIn(part, r.stderr)
        r = self.run_it('i.bed', '--genome', 'g.fa', '--targets', '.', '-o', 'x.npz', code=66)
        self.assertIn('cannot be read as a table', r.stderr)

    def test_profile(self):
        self.write('i.bed', 'chrA\t10000\t10000\tx\n')
        r = self.run_it('i.bed', '--genome', 'g.fa', '--profile', '-o', 'x.npz')
        self.assertRegex(r.stderr, r'activations \d+\.\d MiB, inputs and outputs \d+\.\d MiB')

    def test_workers(self):
        """Workers give the bytes of one process, of every kind of input, also from a pipe."""
        variants = '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n' + ''.join(
            'chrA\t%d\tv%d\t%s\t%s\n' %
            (10001 + 7 * i, i, self.a[10000 + 7 * i], 'ACGT'[i % 4] + 'A' * (i % 3))
            for i in range(9)) + 'chrZ\t5\tnowhere\tA\tC\n'
        places = ''.join('chrA\t%d\t%d\ti%d\n' % (9000 + 640 * i, 9002 + 640 * i, i)
                         for i in range(6)) + 'chrB\t7000\t7001\toff\n'
        table = ['--stats', 'SAD,ALT']
        for args, text in ((table, variants), (table + ['--cluster', '30'], variants),
                           (['--format', 'jsonl', '-o', 'out', '--cluster', '30'], variants),
                           (['--format', 'jsonl', '-o', 'out'], places),
                           (['--format', 'npz', '-o', 'out', '--ism'], places),
                           (['--format', 'bigwig', '-o', 'out', '--tracks', '2'], places)):
            want = None
            for how in [], ['--workers', '2'], ['--workers', '3', '--device', 'all']:
                r = self.run_it('-', '--genome', 'g.fa', *args, *how, code=1, input=text)
                out = self.path('out')
                got = [r.stdout]
                if '-o' in args:
                    got += [read(os.path.join(out, n)) for n in sorted(os.listdir(out))] \
                        if os.path.isdir(out) else [read(out)]
                want = want or got
                self.assertEqual(got, want, how)
                self.assertRegex(r.stderr, r'[1-9][0-9]* whole windows')
            if '-o' in args:
                (shutil.rmtree if os.path.isdir(out) else os.remove)(out)
        self.write('v.vcf', variants)
        v = ['v.vcf', '--genome', 'g.fa', '--workers', '2']
        r = self.run_it(*v, '--strict', code=65)
        self.assertIn('nowhere: no result', r.stderr)
        for args, words in ((['--cluster', '2560'], 'a window has 5120: expected less than half'),
                            (['--head', 'martian'], 'no output')):
            self.assertIn(words, self.run_it(*v, *args, code=64).stderr)
        self.assertEqual(self.run_it(*v, '--profile', code=1).stderr.count('peak memory'), 2)

    def test_options(self):
        self.write('i.bed', 'chrA\t10000\t10000\tx\n')
        g = ['i.bed', '--genome', 'g.fa', '-o', 'x.npz']
        for args, code, part in (
                (g + ['--tracks', '8'], 64, 'the head has tracks 0 to 7'),
                (g + ['--tracks', 'DNASE'], 64, 'names need the table'),
                (g + ['--head', 'martian'], 64, "no output 'martian'; it has human, mouse"),
                (g + ['--stats', 'SAD'], 64, 'i.bed holds intervals, and --stats takes variants'),
                (g[:3] + ['-o', 'x.tsv'], 64,
                 'i.bed holds intervals, and --format tsv takes variants'),
                (g + ['--shifts', '1,x'], 64, "--shifts: 'x' is not a whole number from -1000000"),
                (g + ['--shifts', ','.join(65 * ['1'])], 64, 'shifts: 65 of them'),
                (g + ['--window', '5000'], 78, 'expected a multiple of 128'),
                (g + ['--include', 'mean'], 64, 'does not belong'),
                (['w.fa', '--format', 'bigwig', '-o', 'x'], 64, 'takes intervals')):
            self.write('w.fa', '>w\nA\n')
            self.assertIn(part, self.run_it(*args, code=code).stderr)
        self.run_it('i.bed', '--genome', 'g.fa', '--head', 'mouse', '--rc', '--shifts', '0,1',
                    '-o', 'm.npz', '-q')
        self.assertEqual(npz(self.path('m.npz'))['x'][0], (BINS, 5))
        self.assertIn('rel_attention', self.run_it(*g, '--dump-graph').stdout)
        self.assertRegex(self.run_it(*g, '--trace-rules').stdout, r'half_pool +7')


if __name__ == '__main__':
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
