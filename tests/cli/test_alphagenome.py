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

    def test_contributions_are_refused(self):
        r = self.run_it('i.bed', '--genome', 'g.fa', '--head', 'human.dnase.128', '--contributions',
                        '--tracks', '0', '-o', 'x.npz', code=64)
        self.assertIn('contributions to head human.dnase.128: gradient: unclip has none', r.stderr)
        self.assertFalse(os.path.exists(self.path('x.npz')))

    def golden(self, name):
        return npy(os.path.join(self.model, name + '.npy'))

    def assert_near(self, got, want):
        self.assertEqual(len(got), len(want))
        most = max(abs(x) for x in want)
        for x, y in zip(got, want):
            self.assertLess(abs(x - y), 1e-4 * most)

    def test_contact_maps(self):
        self.run_it(self.window, '--head', 'mouse.contact_maps.2048', '-o', 'c.npz', '-q')
        shape, values = npz(self.path('c.npz'))['window']
        self.assertEqual(shape, (4, 4, 3))
        self.assert_near(values, self.golden('mouse.contact_maps.2048')[1])
        # turned round, and of one strand in place of the other
        self.run_it(self.window, '--head', 'mouse.contact_maps.2048', '--rc', '-o', 'r.npz', '-q')
        self.assertEqual(npz(self.path('r.npz'))['window'][0], (4, 4, 3))

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
        self.assertIn('t.tsv: 0 tracks, the head has 1',
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

    def test_variants(self):
        reference = read(self.path('g.fa')).decode().split('\n')[1][4099].upper()
        other = 'G' if reference != 'G' else 'T'
        self.write('v.vcf', '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n'
                   'chr1\t4100\trs1\t%s\t%s\n' % (reference, other))
        g = ('v.vcf', '--genome', 'g.fa', '--head', 'human.chip_tf.128', '--stats', 'REF,ALT,SAD')
        rows = [line.split('\t') for line in self.run_it(*g, '-q').stdout.split('\n')]
        self.assertEqual(rows[1][:6], ['chr1', '4100', 'rs1', reference, other, 'ok'])
        ref, alt, sad = ([float(x) for x in rows[1][i:i + 3]] for i in (6, 9, 12))
        for r, a, d in zip(ref, alt, sad):
            self.assertNotEqual(r, a)
            self.assertLess(abs(a - r - d), 1e-5 * max(abs(r), 1))

    def test_refusals(self):
        bed = ('i.bed', '--genome', 'g.fa')
        for args, code, part in (
                ((*bed, '--head', 'human.contact_maps.2048', '--format', 'bigwig', '-o', 'x'), 64,
                 'gives pairs of bins, and --format bigwig takes bins'),
                ((*bed, '--head', 'human.splice_junctions.1', '--format', 'bedgraph', '-o', 'x'),
                 64,
                 'gives pairs of splice sites'),
                ((self.window, '--head', 'human.splice_junctions.1', '--rc', '-o', 'x.npz'), None,
                 'junctions have no shifts, sums or other strand'),
                ((self.window, '--head', 'human.splice_junctions.1', '--tracks', '2,1', '-o',
                  'x.npz'), None, 'track 1: those of junctions are ascending'),
                ((self.window, '--window', '3000', '-o', 'x.npz'), None, 'a window of 3000 bases'),
                ((self.window, '--window', '6144', '--head', 'human.atac.128', '-o', 'x.npz'), None,
                 '8192 bases, a window has 6144'),
                ((self.window, '--window', '1920', '-o', 'x.npz'), None,
                 'a window of 1920 bases: expected a multiple of 2048'),
                ((self.window, '--window', str(1 << 21), '-o', 'x.npz'), None, 'up to 1048576'),
                ((self.window, '--head', 'human.atac.64', '-o', 'x.npz'), None,
                 "no head 'human.atac.64'")):
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
    unittest.main(argv=sys.argv[:1])
