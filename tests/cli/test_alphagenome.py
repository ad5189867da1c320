#!/usr/bin/env python3
"""test_alphagenome.py BIOINFER SOURCE_ROOT - the command on AlphaGenome: outputs of all kinds, the
table of tracks, and what is refused.

Standard library only. The model is the golden one with random weights (tests/golden/alphagenome),
whose values the golden tests compare with the PyTorch port.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

try:
    import h5py
except ImportError:
    h5py = None

from test_tracks import npz, read

EXE = ROOT = ''
WINDOW, SITES = 8192, 16


def npy(path):
    """(shape, values) of an array of 4 byte numbers."""
    raw = read(path)
    size = struct.unpack('<H', raw[8:10])[0]
    head = eval(raw[10:10 + size].decode())  # pylint: disable=eval-used
    n = (len(raw) - 10 - size) // 4
    return head['shape'], struct.unpack('<%d%s' % (n, head['descr'][1]), raw[10 + size:])


class AlphaGenome(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(ROOT, 'tests', 'golden', 'alphagenome', 'small')
        self.window = os.path.join(self.model, 'window.fa')
        bases = ''.join(read(self.window).decode().split('\n')[1:])
        self.write('g.fa', '>chr1\n%s\n' % bases)
        self.write('g.fa.fai', 'chr1\t%d\t6\t%d\t%d\n' % (WINDOW, WINDOW, WINDOW + 1))
        self.write('i.bed', 'chr1\t%d\t%d\twhole\n' % (WINDOW // 2 - 10, WINDOW // 2 + 10))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def run_it(self, *args, code=0, weights=None):
        args = [EXE, 'alphagenome', '--weights', weights or self.model, '--progress', 'off',
                '--threads', '1'] + list(args)
        r = subprocess.run(args, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(r.returncode, code, r.stderr)
        return r

    def test_contributions(self):
        window = os.path.join(self.model, 'contributions.fa')
        values = {}
        for head, tracks in (('human.chip_tf.128', '0,1'), ('human.splice_sites.1', '0,1'),
                             ('human.contact_maps.2048', '0,1'), ('human.splice_sites.1', '4')):
            self.run_it(window, '--head', head, '--contributions', '--tracks', tracks, '-o',
                        'c.npz')
            got = {name.split('/')[-1]: array for name, array in npz(self.path('c.npz')).items()}
            shape, want = self.golden('contributions.' + head)
            self.assertEqual(got['gradient'][0], shape)
            self.assertEqual(got['contributions'][0], (WINDOW,))
            values[head + tracks] = got['value'][1][0]
            if tracks == '0,1':
                most = max(abs(x) for x in want)
                self.assertTrue(all(abs(x - y) <= 1e-4 * most
                                    for x, y in zip(got['gradient'][1], want)))
        # classes one by one, all of which add up to 1
        self.run_it(window, '--head', 'human.splice_sites.1', '--contributions', '--tracks', '2,3',
                    '-o', 'c.npz')
        rest = next(a for name, a in npz(self.path('c.npz')).items() if 'value' in name)[1][0]
        self.assertAlmostEqual(2 * values['human.splice_sites.10,1'] + 2 * rest +
                               values['human.splice_sites.14'], 1, places=5)
        # bins of a map are its rows
        for bins, code in (('3-3', 0), ('4-4', 64)):
            self.run_it(window, '--head', 'human.contact_maps.2048', '--contributions', '--tracks',
                        '0', '--bins', bins, '-o', 'c.npz', code=code)
        for head, why in (('human.splice_junctions.1', 'between sites, which have no derivative'),):
            r = self.run_it('i.bed', '--genome', 'g.fa', '--head', head, '--contributions',
                            '--tracks', '0', '-o', 'x.npz', code=64)
            self.assertIn(why, r.stderr)
            self.assertFalse(os.path.exists(self.path('x.npz')))

    def golden(self, name):
        return npy(os.path.join(self.model, name + '.npy'))

    def assert_near(self, got, want):
        self.assertEqual(len(got), len(want))
        most = max(abs(x) for x in want)
        for x, y in zip(got, want):
            self.assertLess(abs(x - y), 1e-4 * most)

    def test_indels_in_pieces(self):
        """Both windows of a deletion count, also where the values of the second come in another
        piece: pieces have eight windows here, and before the fourth indel stand seven."""
        s = read(self.path('g.fa')).decode().split('\n')[1].upper()
        lines = [(4001, s[4000], 'A' if s[4000] != 'A' else 'C')]
        for i in range(6):
            at = 4010 + 10 * i
            short, long = s[at], s[at:at + i + 2]
            lines.append((at + 1, long, short) if i % 2 else
                         (at + 1, short, short + 'ACGTTGCA'[i:]))
        self.write('v.vcf', '##fileformat=VCFv4.2\n' +
                   ''.join('chr1\t%d\tv%d\t%s\t%s\n' % (x[0], *x) for x in lines))
        rows = {side: self.run_it('v.vcf', '--genome', 'g.fa', '--outputs', 'rna_seq', '--tracks',
                                  ','.join(['0,1'] * 150), '--stats', 'SAR', '--shifts', '0,0',
                                  '--cluster', '100', '--indel', side, '-q').stdout.splitlines()[1:]
                for side in ('both', 'left', 'right')}
        self.assertEqual(len(rows['both']), 7)
        for both, left, right in zip(*rows.values(), strict=True):
            x, y, z = ([float(v) for v in row.split('\t')[6:]] for row in (both, left, right))
            self.assertEqual(len(x), 300)
            for got, one, other in zip(x, y, z, strict=True):
                self.assertLess(abs(got - (one + other) / 2), 1e-6 * max(abs(one), abs(other)))
        self.assertNotEqual(rows['left'][1], rows['right'][1])
        self.assertEqual(rows['left'][0], rows['right'][0])

    def test_contact_maps(self):
        self.run_it(self.window, '--head', 'mouse.contact_maps.2048', '-o', 'c.npz', '-q')
        shape, values = npz(self.path('c.npz'))['window']
        self.assertEqual(shape, (4, 4, 3))
        self.assert_near(values, self.golden('mouse.contact_maps.2048')[1])
        # turned round, and of one strand in place of the other
        self.run_it(self.window, '--head', 'mouse.contact_maps.2048', '--rc', '-o', 'r.npz', '-q')
        self.assertEqual(npz(self.path('r.npz'))['window'][0], (4, 4, 3))

    def test_both_strands(self):
        with open(self.window, encoding='ascii') as f:
            s = ''.join(line.strip() for line in f if line[0] != '>')
        turned = s[::-1].translate(str.maketrans('ACGTacgtRYKM', 'TGCAtgcaYRMK'))
        self.write('turned.fa', '>window\n%s\n' % turned)
        # tracks of the strands change places by the table that comes with bioinfer, if it is of
        # these weights; DNASE's are moved by a base, as the released tool does it
        for head, pair, shift, why in (('atac.1', (0, 1), 0, 'is of other weights'),
                                       ('dnase.1', (0,), 1, 'is of other weights'),
                                       ('splice_sites.1', (2, 3, 0, 1, 4), 0, '')):
            values = []
            for file, more in ((self.window, ()), ('turned.fa', ()), (self.window, ('--rc',))):
                r = self.run_it(file, '--head', 'human.' + head, '-o', 'x.npz', *more)
                values.append(npz(self.path('x.npz'))['window'][1])
            self.assertIn(why, r.stderr)
            self.assertEqual(bool(why), 'strands keep' in r.stderr)
            n, k = WINDOW, len(pair)
            want = [(values[0][k * i + c] +
                     (values[1][k * (n - 1 - i + shift) + pair[c]] if i >= shift else 0)) / 2
                    for i in range(n) for c in range(k)]
            self.assertEqual(len(values[2]), len(want))
            self.assertTrue(all(abs(x - y) <= 1e-6 * (abs(x) + abs(y) + 1e-3)
                                for x, y in zip(values[2], want)), head)

    def test_gelu_of_the_tower(self):
        weights = self.path('tanh')
        os.mkdir(weights)
        shutil.copy(os.path.join(self.model, 'model.safetensors'), weights)
        with open(os.path.join(self.model, 'config.json'), encoding='utf-8') as f:
            config = json.load(f)
        for gelu, code, name in (('tanh', 0, 'gelu_tanh.human.contact_maps.2048'),
                                 ('erf', 0, 'human.contact_maps.2048'), ('relu', 78, None),
                                 (1, 78, None)):
            self.write('tanh/config.json', json.dumps({**config, 'gelu': gelu}))
            r = self.run_it(self.window, '--head', 'human.contact_maps.2048', '-o', 'x.npz', '-q',
                            weights=weights, code=code)
            if code:
                self.assertIn('expected "erf" or "tanh"', r.stderr)
                continue
            got = npz(self.path('x.npz'))['window'][1]
            off = {other: max(abs(x - y) for x, y in zip(got, self.golden(other)[1]))
                   for other in ('gelu_tanh.human.contact_maps.2048', 'human.contact_maps.2048')}
            near, far = sorted(off.values())
            self.assertEqual(off[name], near)
            self.assertLess(20 * near, far)

    def test_junctions(self):
        self.run_it(self.window, '--head', 'human.splice_junctions.1', '-o', 'j.npz', '-q')
        arrays = {name.split('.')[-1].split('/')[-1]: a
                  for name, a in npz(self.path('j.npz')).items()}
        self.assertEqual(arrays['sites'][0], (4, SITES))
        self.assertEqual(arrays['sites'][1], self.golden('human.sites')[1])
        self.assertEqual(arrays['tracks'][0], (SITES, SITES, 4))
        self.assert_near(arrays['tracks'][1], self.golden('human.splice_junctions.1')[1])
        # tracks of one strand alone, and of both
        for chosen in ('1', '2', '0,3'):
            self.run_it(self.window, '--head', 'human.splice_junctions.1', '--tracks', chosen,
                        '-o', 'k.npz', '-q')
            some = [a for name, a in npz(self.path('k.npz')).items() if 'sites' not in name][0]
            of = [int(i) for i in chosen.split(',')]
            self.assertEqual(some[0], (SITES, SITES, len(of)))
            self.assertEqual(some[1], tuple(arrays['tracks'][1][i + k]
                                            for i in range(0, 4 * SITES * SITES, 4) for k in of))

    def test_tiles(self):
        """Less memory gives the same bytes, in tiles, until one of these is too large, too."""
        names = 'rna_seq,splice_sites,contact_maps'
        whole = self.run_it(self.window, '--outputs', names, '-o', 'whole.npz')
        tiled = self.run_it(self.window, '--outputs', names, '--memory-limit', '3', '-o',
                            'tiled.npz')
        self.assertNotIn('tiles of it', whole.stderr)
        self.assertIn('4 tiles of it', tiled.stderr)
        self.assertEqual(read(self.path('whole.npz')), read(self.path('tiled.npz')))
        r = self.run_it(self.window, '--outputs', names, '--memory-limit', '1', '-o', 'none.npz',
                        code=1)
        self.assertIn('64 tokens need', r.stderr)
        self.assertIn('1.0 MiB are allowed', r.stderr)

    def test_tracks_of_a_table(self):
        self.write('t.tsv', '# of whom\nhead\tidentifier\tstrand_pair\tdescription\n'
                   'atac\tA1\t0\tliver\natac\tA2\t1\tbrain\ndnase\tD1\t0\tliver\n'
                   'mouse.rna_seq.1\tR1\t1\tliver\nmouse.rna_seq.1\tR2\t0\tliver\n')
        g = ('i.bed', '--genome', 'g.fa', '--targets', 't.tsv', '-q')
        self.run_it(*g, '--head', 'human.atac.128', '--tracks', '*brain*', '-o', 'b.npz')
        shape, values = npz(self.path('b.npz'))['whole']
        self.assertEqual(shape, (WINDOW // 128, 1))
        self.assert_near(values, self.golden('human.atac.128')[1][1::2])
        self.run_it(*g, '--head', 'mouse.rna_seq.1', '--rc', '--format', 'bigwig', '-o', 'w')
        self.assertEqual(sorted(os.listdir(self.path('w'))), ['0_R1.bw', '1_R2.bw'])
        self.write('s.tsv', 'head\tidentifier\natac\tA1\natac\tA2\n')
        strands = ('i.bed', '--genome', 'g.fa', '--head', 'human.atac.128', '--rc', '-o', 'x.npz')
        for table, said in (('s.tsv', True), ('t.tsv', False)):
            r = self.run_it(*strands, '--targets', table)
            self.assertEqual("%s has no column 'strand_pair', so strands keep" % table in
                             r.stderr, said)
        self.assertIn('t.tsv: 0 tracks of human.cage.1, the head has 1',
                      self.run_it(*g, '--head', 'human.cage.1', '-o', 'x.npz', code=65).stderr)

    def test_the_committed_tables(self):
        for organism, rows in ('human', 5931), ('mouse', 1129):
            with open(os.path.join(ROOT, 'share', 'alphagenome', 'tracks_%s.tsv' % organism),
                      encoding='utf-8') as f:
                lines = f.read().split('\n')
            self.assertIn('Apache License, Version 2.0', lines[2])
            tracks = [line.split('\t') for line in lines[4:] if line]
            self.assertEqual(len(tracks), rows)
            for head in {t[0] for t in tracks}:
                pair = [int(t[2]) for t in tracks if t[0] == head]
                self.assertEqual([pair[p] for p in pair], list(range(len(pair))))

    def arrays(self, name):
        return npz(self.path(name))

    def test_several_outputs(self):
        outputs = ('rna_seq', 'atac.128', 'contact_maps', 'splice_sites', 'splice_junctions',
                   'rna_seq.128')
        self.run_it(self.window, '--outputs', ','.join(outputs), '-o', 'all.npz', '-q')
        got = self.arrays('all.npz')
        self.assertEqual(sorted(got), ['window/atac', 'window/contact_maps', 'window/rna_seq.1',
                                       'window/rna_seq.128', 'window/sites',
                                       'window/splice_junctions', 'window/splice_sites'])
        for output in outputs:
            self.run_it(self.window, '--outputs', output, '-o', 'one.npz', '-q')
            alone = self.arrays('one.npz')
            name = {'rna_seq': 'rna_seq.1', 'atac.128': 'atac'}.get(output, output)
            want = alone.get('window', alone.get('window/tracks'))
            self.assertEqual(got['window/' + name], want, output)
        self.assertEqual(got['window/sites'], alone.get('window/sites', got['window/sites']))
        self.assert_near(got['window/rna_seq.1'][1], self.golden('human.rna_seq.1')[1])
        # by workers, and as a journal, which a shard each begins
        for more in (['--workers', '2'], ['--resume']):
            self.run_it(self.window, '--outputs', ','.join(outputs), '-o', 'w.npz', '-q', *more)
            self.assertEqual(self.arrays('w.npz'), got)
        # every output of another organism
        self.run_it(self.window, '--outputs', 'all', '--organism', 'mouse', '--resolution', '128',
                    '-o', 'm.npz', '-q')
        got = self.arrays('m.npz')
        self.assertEqual(len(got), 12)
        self.assert_near(got['window/cage'][1], self.golden('mouse.cage.128')[1])
        self.assert_near(got['window/splice_site_usage'][1],
                         self.golden('mouse.splice_site_usage.1')[1])

    def test_list_of_outputs(self):
        rows = [r.split('\t') for r in self.run_it('--list-outputs').stdout.split('\n')[:-1]]
        self.assertEqual(rows[0], ['name', 'output', 'organism', 'resolution', 'tracks', 'kind'])
        self.assertEqual(len(rows), 33)
        self.assertIn(['mouse.cage.128', 'cage', 'mouse', '128', '1', 'bins'], rows)
        self.assertIn(['human.contact_maps.2048', 'contact_maps', 'human', '2048', '3',
                       'pairs of bins'], rows)

    def test_files_of_several_outputs(self):
        g = ('i.bed', '--genome', 'g.fa', '-q')
        self.run_it(*g, '--outputs', 'rna_seq,chip_tf,splice_sites', '--tracks', '1,0', '--format',
                    'bedgraph', '-o', 'w')
        self.assertEqual(sorted(os.listdir(self.path('w'))),
                         ['%s_track_%d.bedgraph' % (o, i)
                          for o in ('chip_tf', 'rna_seq', 'splice_sites') for i in (0, 1)])
        for output in 'rna_seq', 'chip_tf':
            self.run_it(*g, '--outputs', output, '--format', 'bedgraph', '-o', output)
            for i in 0, 1:
                self.assertEqual(read(self.path('w/%s_track_%d.bedgraph' % (output, i))),
                                 read(self.path('%s/track_%d.bedgraph' % (output, i))))
        self.run_it(*g, '--outputs', 'rna_seq,chip_tf', '--tracks', '1,0', '--format', 'bedgraph',
                    '-o', 'r', '--resume')
        for name in os.listdir(self.path('r')):
            if name.endswith('.bedgraph'):
                self.assertEqual(read(self.path('r/' + name)), read(self.path('w/' + name)))

    def test_coordinates(self):
        g = ('i.bed', '--genome', 'g.fa', '-q', '--outputs',
             'rna_seq,contact_maps,splice_junctions')
        self.run_it(*g, '-o', 'c.npz')
        with zipfile.ZipFile(self.path('c.npz')) as z:
            rows = [r.split('\t') for r in z.read('windows.tsv').decode().split('\n')]
        self.assertEqual(rows[0], ['id', 'array', 'contig', 'start', 'bin_size'])
        self.assertEqual(rows[1:], [['whole', 'rna_seq', 'chr1', '0', '1'],
                                    ['whole', 'contact_maps', 'chr1', '0', '2048'],
                                    ['whole', 'splice_junctions', 'chr1', '0', '1'], ['']])
        self.run_it(*g, '-o', 'c.jsonl')
        arrays = json.loads(read(self.path('c.jsonl')))['arrays']
        self.assertEqual([(a['kind'], a.get('contig'), a.get('start'), a.get('bin_size'))
                          for a in arrays],
                         [('rna_seq', 'chr1', 0, 1), ('contact_maps', 'chr1', 0, 2048),
                          ('splice_junctions', 'chr1', 0, 1), ('sites', None, None, None)])
        self.write('p.bed', 'chr1\t4100\t4102\tp\n')
        self.run_it('p.bed', '--genome', 'g.fa', '-q', '--ism', '-o', 'p.npz')
        with zipfile.ZipFile(self.path('p.npz')) as z:
            self.assertIn('p\tism\tchr1\t4100\t1\n', z.read('windows.tsv').decode())
        self.run_it(self.window, '-o', 'f.npz', '-q') # from FASTA: nothing is known
        with zipfile.ZipFile(self.path('f.npz')) as z:
            self.assertEqual(z.namelist(), ['window.npy'])
        # a journal keeps the same
        self.run_it(*g, '-o', 'r.npz', '--resume')
        with zipfile.ZipFile(self.path('r.npz')) as z, zipfile.ZipFile(self.path('c.npz')) as c:
            self.assertEqual(z.read('windows.tsv'), c.read('windows.tsv'))
        # such files are read
        for args in (['info', 'c.npz'], ['report', 'c.npz', '-o', 'c.html']):
            r = subprocess.run([EXE, *args], cwd=self.folder, capture_output=True, text=True,
                               check=False)
            self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn('whole/contact_maps', subprocess.run(
            [EXE, 'info', 'c.npz'], cwd=self.folder, capture_output=True, text=True,
            check=True).stdout)

    @unittest.skipUnless(h5py, 'no h5py')
    def test_coordinates_in_h5(self):
        r = subprocess.run([EXE, 'alphagenome', 'i.bed', '--weights', self.model, '--genome',
                            'g.fa', '--outputs', 'rna_seq,contact_maps', '-o', 'c.h5', '-q'],
                           cwd=self.folder, capture_output=True, text=True, check=False)
        if 'writes no HDF5' in r.stderr:
            self.skipTest('a build without HDF5')
        self.assertEqual(r.returncode, 0, r.stderr)
        with h5py.File(self.path('c.h5'), 'r') as f:
            for name, size in ('rna_seq', '1'), ('contact_maps', '2048'):
                about = dict(f['whole/' + name].attrs)
                self.assertEqual({k: v if isinstance(v, str) else v.decode()
                                  for k, v in about.items()},
                                 {'contig': 'chr1', 'start': '0', 'bin_size': size})

    def test_ontology(self):
        self.write('t.tsv', 'head\tidentifier\tdescription\tontology\n'
                   'atac\tA1\tliver\tCL:1\natac\tA2\tbrain\tCL:2\ndnase\tD1\tliver\tCL:1\n'
                   'chip_tf\tT1\tliver\tCL:3\nchip_tf\tT2\tliver\tCL:2\nchip_tf\tT3\ta\t\n')
        self.write('old.tsv', 'head\tidentifier\natac\tA1\natac\tA2\n')
        t = (self.window, '--targets', 't.tsv', '-o', 'x.npz', '--resolution', '128')
        r = self.run_it(*t, '--outputs', 'atac,dnase,chip_tf', '--ontology', 'cl:2')
        self.assertIn('no track of human.dnase.128 is meant by ontology: left out', r.stderr)
        got = self.arrays('x.npz')
        self.assertEqual(sorted(got), ['window/atac', 'window/chip_tf'])
        self.assert_near(got['window/atac'][1], self.golden('human.atac.128')[1][1::2])
        want = self.golden('human.chip_tf.128')[1] # the third is of no sample
        self.assert_near(got['window/chip_tf'][1], [x for i, x in enumerate(want) if i % 3])
        # a pattern over all words of a track, and both lists
        self.run_it(*t, '--outputs', 'atac,chip_tf', '--tracks', 'ATAC*liver', '-q')
        self.assertEqual(list(self.arrays('x.npz')), ['window'])
        self.run_it(*t, '--outputs', 'atac,chip_tf', '--tracks', '*liver', '--ontology',
                    'CL:1,CL:3', '-q')
        self.assertEqual([a[0][1] for a in self.arrays('x.npz').values()], [1, 1])
        for args, code, part in (
                (['--ontology', 'CL:9', '--outputs', 'atac,dnase'], 64,
                 "no track has 'CL:9'; the outputs chosen have CL:1, CL:2"),
                (['--ontology', 'CL:1', '--outputs', 'atac', '--targets', 'old.tsv'], 65,
                 "the header has no column 'ontology'"),
                (['--tracks', '*liver,*spleen', '--outputs', 'atac,dnase'], 64,
                 "no track of t.tsv is called '*spleen', of output human.atac.128, human."),
                (['--tracks', 'A1', '--ontology', 'CL:2', '--outputs', 'atac'], 64,
                 "no track has 'CL:2'"),
                (['--ontology', ',', '--outputs', 'atac'], 64, 'ontology: the list is empty'),
                (['--tracks', '0-1', '--outputs', 'atac,dnase'], 64, 'the head has tracks 0 to 0')):
            self.assertIn(part, self.run_it(*t, *args, code=code).stderr)
        # the table that comes with bioinfer is that of the released weights
        r = self.run_it(self.window, '--outputs', 'rna_seq', '--ontology', 'CL:0000084', '-o',
                        'x.npz', code=65)
        self.assertIn('tracks_human.tsv: 667 tracks of human.rna_seq.1, the head has 2', r.stderr)
        r = self.run_it(self.window, '--outputs', 'atac', '--ontology', 'CL:0000084', '-o', 'x.npz',
                        code=65)
        self.assertIn('alphagenome/tracks_human.tsv: 167 tracks of human.atac.1, the head has 2: '
                      'targets takes its own table', r.stderr)

    def test_scores_of_several_outputs(self):
        self.variant()
        g = ('v.vcf', '--genome', 'g.fa', '-q', '--resolution', '128', '--stats', 'SAD,REF')
        rows = [r.split('\t') for r in
                self.run_it(*g, '--outputs', 'atac,chip_tf').stdout.split('\n')]
        self.assertEqual(rows[0][6:], ['%s:%s:track_%d' % (s, o, i) for s in ('SAD', 'REF')
                                       for o, n in (('atac', 2), ('chip_tf', 3)) for i in range(n)])
        want = [[r.split('\t')[6:] for r in self.run_it(*g, '--outputs', o).stdout.split('\n')][1]
                for o in ('atac', 'chip_tf')]
        self.assertEqual(rows[1][6:], want[0][:2] + want[1][:3] + want[0][2:] + want[1][3:])
        self.run_it(*g, '--outputs', 'atac,chip_tf', '-o', 'v.npz')
        got = self.arrays('v.npz')
        self.assertEqual(sorted(got), ['rs1/atac.REF', 'rs1/atac.SAD', 'rs1/chip_tf.REF',
                                       'rs1/chip_tf.SAD'])
        self.assertEqual(['%.9g' % x for x in got['rs1/chip_tf.SAD'][1]], want[1][:3])
        self.write('p.bed', 'chr1\t4100\t4102\tp\n')
        g = ('p.bed', '--genome', 'g.fa', '-q', '--resolution', '128', '--ism')
        self.run_it(*g, '--outputs', 'atac,chip_tf', '-o', 'both.npz')
        both = self.arrays('both.npz')
        for output in 'atac', 'chip_tf':
            self.run_it(*g, '--outputs', output, '-o', 'i.npz')
            self.assertEqual(both['p/' + output], self.arrays('i.npz')['p'])

    def test_no_base_at_all(self):
        self.write('n.fa', '>n\n%s\n' % ('N' * WINDOW))
        self.run_it('n.fa', '--outputs', 'atac,splice_junctions', '--resolution', '128', '-o',
                    'n.npz', '-q')
        values = self.arrays('n.npz')
        self.assertTrue(all(x == x and abs(x) < 1e30 for a in values.values() for x in a[1]))

    def variant(self):
        reference = read(self.path('g.fa')).decode().split('\n')[1][4099].upper()
        other = 'G' if reference != 'G' else 'T'
        self.write('v.vcf', '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n'
                   'chr1\t4100\trs1\t%s\t%s\n' % (reference, other))
        return reference, other

    def test_variants_longer_than_a_window(self):
        reference, _ = self.variant()
        rows = ['chr1\t4100\tv%d\t%s\t%s\n' % (n, reference, reference + 'C' * (n - 1))
                for n in (WINDOW, WINDOW + 1)]
        self.write('v.vcf', '#CHROM\tPOS\tID\tREF\tALT\n' + ''.join(rows)) # a VCF, too
        self.assertEqual(subprocess.run([EXE, 'info', self.path('v.vcf')], capture_output=True,
                                        text=True, check=True).stdout.split('\n')[0].split(': ')[1],
                         'VCF')
        r = self.run_it('v.vcf', '--genome', 'g.fa', '--outputs', 'dnase.128', code=1)
        self.assertIn('line 3: ALT of %d bases, more than a window' % (WINDOW + 1), r.stderr)
        self.assertEqual([row.split('\t')[5] for row in r.stdout.splitlines()[-2:]],
                         ['ok', 'too_long'])

    def test_variants(self):
        reference, other = self.variant()
        g = ('v.vcf', '--genome', 'g.fa', '--head', 'human.chip_tf.128', '--stats', 'REF,ALT,SAD')
        rows = [line.split('\t') for line in self.run_it(*g, '-q').stdout.split('\n')]
        self.assertEqual(rows[1][:6], ['chr1', '4100', 'rs1', reference, other, 'ok'])
        ref, alt, sad = ([float(x) for x in rows[1][i:i + 3]] for i in (6, 9, 12))
        for r, a, d in zip(ref, alt, sad):
            self.assertNotEqual(r, a)
            self.assertLess(abs(a - r - d), 1e-5 * max(abs(r), 1))

    def test_refusals(self):
        bed = ('i.bed', '--genome', 'g.fa')
        self.variant()
        for args, code, part in (
                ((*bed, '--head', 'human.contact_maps.2048', '--format', 'bigwig', '-o', 'x'), 64,
                 'gives pairs of bins, and --format bigwig takes bins'),
                ((*bed, '--head', 'human.splice_junctions.1', '--format', 'bedgraph', '-o', 'x'),
                 64,
                 'gives pairs of splice sites'),
                ((self.window, '--head', 'human.splice_junctions.1', '--rc', '-o', 'x.npz'), None,
                 'junctions have no shifts, other strand or sums'),
                ((self.window, '--head', 'human.splice_junctions.1', '--tracks', '2,1', '-o',
                  'x.npz'), None, 'track 1: tracks of junctions are ascending'),
                ((self.window, '--window', '3000', '-o', 'x.npz'), None, 'a window of 3000 bases'),
                ((self.window, '--window', '6144', '--head', 'human.atac.128', '-o', 'x.npz'), None,
                 '8192 bases, a window has 6144'),
                ((self.window, '--window', '1920', '-o', 'x.npz'), None,
                 'a window of 1920 bases: expected a multiple of 2048'),
                ((self.window, '--window', str(1 << 21), '-o', 'x.npz'), None, 'up to 1048576'),
                ((self.window, '--head', 'human.atac.64', '-o', 'x.npz'), None,
                 "no output 'human.atac.64'; it has atac, dnase, "),
                ((self.window, '--outputs', 'human.atac.1,mouse.atac.1', '-o', 'x.npz'), 64,
                 'outputs human.atac.1 and mouse.atac.1 are of two organisms'),
                ((self.window, '--outputs', 'human.atac.1', '--organism', 'mouse', '-o', 'x.npz'),
                 64, "no output 'human.atac.1' of mouse; it has atac, "),
                ((self.window, '--outputs', 'atac', '--organism', 'rat', '-o', 'x.npz'), 64,
                 "no output is of organism 'rat'; they are of human, mouse"),
                ((self.window, '--outputs', 'atac', '--resolution', '64', '-o', 'x.npz'), 64,
                 'no output has bins of 64 bases; they have 1, 128, 2048'),
                ((self.window, '--outputs', 'atac', '--resolution', '2048', '-o', 'x.npz'), 64,
                 "no output 'atac' of resolution 2048; it has 1, 128"),
                ((self.window, '--outputs', 'atac,dnase,atac.1', '-o', 'x.npz'), 64,
                 'output human.atac.1 is asked for twice'),
                ((self.window, '--outputs', ',', '-o', 'x.npz'), 64, 'the list is empty'),
                ((*bed, '--outputs', 'atac,contact_maps', '--format', 'bigwig', '-o', 'x'), 64,
                 'output human.contact_maps.2048 gives pairs of bins'),
                (('v.vcf', '--genome', 'g.fa', '--outputs', 'atac,splice_junctions'), 64,
                 'sums, which scores of variants are: scorers have their own'),
                (('v.vcf', '--outputs', 'atac', '-o', 'x.npz'), 64,
                 'v.vcf: variants and intervals lie in a genome: --genome FASTA says which'),
                (('i.bed', '--outputs', 'atac', '-o', 'x.npz'), 64, 'lie in a genome'),
                (('v.vcf', '--genome', 'g.fa', '--outputs', 'mouse.cage'), 64,
                 "no output 'mouse.cage'; in full its name has a resolution: mouse.cage.1"),
                (('v.vcf', '--genome', 'g.fa', '--outputs', 'mouse.none'), 64,
                 "no output 'mouse.none'; it has atac"),
                ((self.window, '--window', '2000', '-o', 'x.npz'), None,
                 'a window of 2000 bases: expected a multiple of 2048 up to 1048576')):
            r = subprocess.run([EXE, 'alphagenome', '--weights', self.model, '--threads', '1',
                                *args], cwd=self.folder, capture_output=True, text=True,
                               check=False)
            self.assertNotEqual(r.returncode, 0)
            if code:
                self.assertEqual(r.returncode, code)
            self.assertIn(part, r.stderr)

    def test_license(self):
        text = self.run_it('--license').stdout
        self.assertRegex(text, '^gtca/alphagenome_pytorch: AlphaGenome model terms: weights and '
                               'outputs for non-commercial use only ')
        self.assertEqual(text.count('\n'), 1)

    def changed(self, name, value):
        """A copy of the weights with one tensor filled with a number."""
        folder = self.path('changed')
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.model, folder)
        path = os.path.join(folder, 'model.safetensors')
        raw = read(path)
        size = struct.unpack('<Q', raw[:8])[0]
        first, end = json.loads(raw[8:8 + size])[name]['data_offsets']
        with open(path, 'wb') as f:
            f.write(raw[:8 + size + first] + struct.pack('<e', value) * ((end - first) // 2) +
                    raw[8 + size + end:])
        return folder

    def test_weights_that_lack_means(self):
        folder = self.changed('heads.cage.track_means', 1)
        path = os.path.join(folder, 'model.safetensors')
        raw = read(path)
        with open(path, 'wb') as f:
            f.write(raw.replace(b'heads.cage.track_means', b'heads.cage.track_meanz'))
        r = subprocess.run([EXE, 'alphagenome', self.window, '--weights', folder, '-o', 'x.npz'],
                           cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn('tensor heads.cage.track_means is missing', r.stderr)

    def test_weights_without_means(self):
        for value, part in (0, 'no track has a mean'), (float('inf'), 'has the mean inf'):
            folder = self.changed('heads.cage.track_means', value)
            r = subprocess.run([EXE, 'alphagenome', self.window, '--weights', folder, '-o',
                                'x.npz'], cwd=self.folder, capture_output=True, text=True,
                               check=False)
            self.assertNotEqual(r.returncode, 0)
            self.assertIn(part, r.stderr)


if __name__ == '__main__':
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=2)
