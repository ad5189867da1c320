#!/usr/bin/env python3
"""test_report.py BIOINFER SOURCE_ROOT - pages and pictures of outputs.

Standard library only. Outputs are made by the command itself (tiny models), by hand where they
must be hostile or damaged. A page is taken apart: its JSON is what the script of the page draws.
"""
import base64
import html.parser
import itertools
import json
import operator
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile
import zlib

EXE = ROOT = ''
HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>&"\'\x01\x1b[31m\x7f'
ANTIBODY = \
    'EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAED' \
    'TAVYYCSRWGGDGFYAMDYWGQGTLVTVSSDIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPS' \
    'RFSGSRSGTDFTLTISSLQPEDFATYYCQQHYTTPPTFGQGTKVEIK'
SEQUENCE = 'MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKV'


class Page(html.parser.HTMLParser):
    """Tags with attributes, and the text of every script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.title, self.inside = [], [], '', None
        self.feed(text)
        self.close()
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == 'script':
            self.scripts.append('')

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == 'script':
            self.scripts[-1] += data
        if self.inside == 'title':
            self.title += data

    def figures(self, kind):
        return [f for f in self.data['figures'] if f['kind'] == kind]

    def facts(self):
        return dict(self.data['facts'])


def unpack(packed):
    raw = base64.b64decode(packed['data'])
    codes = raw if packed['bits'] == 8 else struct.unpack('<%dH' % (len(raw) // 2), raw)
    top = 254 if packed['bits'] == 8 else 65534
    return [None if c > top else packed['low'] + (packed['high'] - packed['low']) * c / top
            for c in codes]


def npy(shape, values, kind='f'):
    head = "{'descr': '<f%d', 'fortran_order': False, 'shape': (%s), }" % \
        (4 if kind == 'f' else 2, ''.join('%d, ' % n for n in shape))
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    return b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head.encode('latin-1') + \
        struct.pack('<%d%s' % (len(values), kind), *values)


def read_png(data):
    """Width, height and rows of a PNG of 8-bit RGB without filters, as ours are."""
    assert data[:8] == b'\x89PNG\r\n\x1a\n', data[:8]
    at, packed, head = 8, b'', ()
    while at < len(data):
        n, name = struct.unpack('>I4s', data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        assert struct.unpack('>I', data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(name + body)
        head = struct.unpack('>2I5B', body) if name == b'IHDR' else head
        packed += body if name == b'IDAT' else b''
        at += 12 + n
    assert at == len(data) and head[2:] == (8, 2, 0, 0, 0), head
    line = 3 * head[0] + 1
    raw = zlib.decompress(packed)
    assert len(raw) == line * head[1]
    rows = [raw[line * y:line * (y + 1)] for y in range(head[1])]
    assert not any(row[0] for row in rows)
    return head[0], head[1], [row[1:] for row in rows]


def elements(root, name):
    return list(root.iter('{http://www.w3.org/2000/svg}' + name))


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.folder = cls.temp.name
        cls.write('in.fa', '>one\n%s\n>two\n%s\n>three\n%s\n>bad<b>\nMK1\n>none\n\n' %
                  (SEQUENCE, SEQUENCE[:40], SEQUENCE[10:]))

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def write(cls, name, data):
        with open(cls.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def run_it(self, *args, code=0):
        r = subprocess.run([EXE] + list(args), cwd=self.folder, capture_output=True, check=False)
        if code is not None:
            self.assertEqual(r.returncode, code, r.stderr.decode('utf-8', 'replace'))
        return r

    def has_hdf5(self):
        self.write('h.fa', '>a\nMK\n')
        return not self.tiny('esm2', 'h.fa', '-o', 'has.h5', '--resume=no', code=None).returncode

    def tiny(self, *args, code=1):
        return self.run_it(*args, '--weights', 'tiny', '--device', 'cpu', '-q', code=code)

    def page(self, *args):
        text = self.run_it('report', *args).stdout
        self.assertEqual(self.run_it('report', *args).stdout, text)  # no clock, no address in it
        page = Page(text.decode('utf-8'))
        for tag, attributes in page.tags:
            self.assertNotIn(tag, ('link', 'iframe', 'object', 'base', 'img'))
            for key, value in attributes.items():
                self.assertFalse(key == 'src' or key.startswith('on'), (tag, key))
                self.assertTrue(key != 'href' or value.startswith('#'), value)
        self.assertEqual([t for t, _ in page.tags].count('script'), 2)
        away = r'url\(|@import|https?://(?!www\.w3\.org/2000/svg)'
        self.assertFalse(re.search(away, text.decode()))
        self.assertFalse(set(text) & (set(range(32)) - {10}) | (set(text) & {127}))
        return page

    def plot(self, *args):
        text = self.run_it('plot', *args).stdout
        self.assertEqual(self.run_it('plot', *args).stdout, text)
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.tag, '{http://www.w3.org/2000/svg}svg')
        for e in root.iter():
            self.assertNotIn('script', e.tag)
            self.assertFalse([k for k in e.attrib if k.startswith('on')])
        self.check_pixels(root, *args)
        return root

    def check_pixels(self, root, *args):
        """The same as PNG: of the right size, and of the right colours where nothing else lies."""
        self.run_it('plot', *args, '-o', 'pixels.png')
        with open(self.path('pixels.png'), 'rb') as f:
            width, height, rows = read_png(f.read())
        for size, want in ((width, root.get('width')), (height, root.get('height'))):
            self.assertEqual(size, 2 * int(want))

        def pixel(x, y):
            return tuple(rows[int(2 * y)][3 * int(2 * x):3 * int(2 * x) + 3])
        self.assertEqual(pixel(1, 1), (255, 255, 255))
        title = [pixel(x / 2, y / 2) for x in range(40, 100) for y in range(30, 60)]
        self.assertTrue(any(sum(p) < 200 for p in title), 'no letters')
        for image in elements(root, 'image'):
            w, h, cells = read_png(base64.b64decode(image.get('href').split(',')[1]))
            x, y, wide, high = (float(image.get(k)) for k in ('x', 'y', 'width', 'height'))
            marks = [(float(c.get('cx')), float(c.get('cy'))) for c in elements(root, 'circle')]
            for i, j in itertools.product(range(0, w, w // 7 + 1), range(0, h, h // 7 + 1)):
                u, v = x + wide * (i + .5) / w, y + high * (j + .5) / h
                if all(abs(u - a) + abs(v - b) > 8 for a, b in marks):
                    self.assertEqual(pixel(u, v), tuple(cells[j][3 * i:3 * i + 3]))
        bars = [r for r in elements(root, 'rect') if r.get('fill') == '#2f6db3']
        for bar in bars:
            x, y, wide, high = (float(bar.get(k)) for k in ('x', 'y', 'width', 'height'))
            if wide > 2 and high > 2:
                self.assertEqual(pixel(x + wide / 2, y + high / 2), (0x2f, 0x6d, 0xb3))
                self.assertEqual(pixel(x + wide / 2, y - 2), (255, 255, 255))

    def refused(self, name, *words, code=65, also=()):
        for command in 'report', 'plot':
            out = 'out.svg' if command == 'plot' else 'out.html'
            r = self.run_it(command, name, *also, '-o', out, code=code)
            self.assertFalse(os.path.exists(self.path(out)))
            for word in (name.encode(),) + tuple(w.encode() for w in words):
                self.assertIn(word, r.stderr)

    def test_contacts_in_every_format(self):
        want = None
        for suffix in 'npz', 'safetensors', 'jsonl':
            name = 'contacts.' + suffix
            self.tiny('esm2', 'in.fa', '--include', 'mean,contacts', '-o', name)
            page = self.page(name)
            facts = page.facts()
            self.assertEqual((facts['Records'], facts['With a result'], facts['Without a result'],
                              facts['Residues computed']), ('5', '3', '2', str(59 + 40 + 49)))
            heats = page.figures('heat')
            self.assertEqual([(f['title'], f['rows'], f['columns']) for f in heats],
                             [('one', 59, 59), ('two', 40, 40), ('three', 49, 49)])
            values = unpack(heats[1]['values'])
            self.assertTrue(all(0 <= v <= 1 for v in values))
            self.assertEqual([values[40 * i + j] for i in range(40) for j in range(40)],
                             [values[40 * j + i] for i in range(40) for j in range(40)])
            scatter = page.figures('scatter')[0]
            self.assertEqual(scatter['labels'], ['one', 'two', 'three'])
            self.assertEqual([round(x) for x in unpack(scatter['colour'])], [59, 40, 49])
            reasons = [f for f in page.figures('table') if f['group'] == 'Overview'][0]
            self.assertEqual(reasons['columns'][0]['texts'], ['bad_residue', 'empty'])
            figures = [f for f in page.data['figures'] if f['group'] != 'How it was made']
            want = want or (figures, values)
            self.assertEqual((figures, values), want)
        with zipfile.ZipFile(self.path('contacts.npz')) as z:
            raw = z.read('two/contacts.npy')
        exact = struct.unpack('<1600f', raw[-6400:])
        self.assertLess(max(abs(a - b) for a, b in zip(want[1], exact)), 1 / 65534)
        one = self.page('contacts.npz', '--record', 'two')
        self.assertEqual([f['title'] for f in one.figures('heat')], ['two'])
        root = self.plot('contacts.npz', '--record', 'two')
        image = elements(root, 'image')[0]
        left, cell = float(image.get('x')), float(image.get('width')) / 40
        at = {int(t.text): float(t.get('x')) for t in elements(root, 'text')
              if t.get('text-anchor') == 'middle' and t.text.isdigit()}
        self.assertEqual(sorted(at), list(range(5, 41, 5)))
        for residue, x in at.items():  # in the middle of its column
            self.assertAlmostEqual(x, left + cell * (residue - .5), delta=.06)
        self.refused('contacts.npz', "no record 'four'", also=('--record', 'four'), code=66)

    def test_embeddings_in_every_format(self):
        norms = {}
        names = [('e.h5', ()), ('z.h5', ('--compression', 'gzip')),
                 ('m.h5', ('--layout', 'matrix'))] if self.has_hdf5() else []
        for name, more in (('e.npz', ()), ('e.npy', ()), ('e.tsv', ()), ('e.safetensors', ()),
                           ('m.npz', ('--layout', 'matrix')),
                           ('m.safetensors', ('--layout', 'matrix')),
                           ('h.npz', ('--dtype', 'f16')), ('e.jsonl', ('--json-floats',)), *names):
            self.tiny('esm2', 'in.fa', '-o', name, *more)
            page = self.page(name)
            scatter = page.figures('scatter')[0]
            order = sorted if name in ('e.h5', 'z.h5') else list  # HDF5 has names in their order
            self.assertEqual(scatter['labels'], order(['one', 'two', 'three']), name)
            table = [f for f in page.figures('table') if f['title'] == 'Records'][0]
            columns = {c['name']: c.get('numbers') or c.get('texts') for c in table['columns']}
            self.assertEqual(columns['id'], ['one', 'two', 'three', 'bad<b>', 'none'])
            self.assertEqual(columns['norm'][3:], [None, None])
            norms[name] = columns['norm'][:3]
            for a, b in zip(norms[name], norms['e.npz']):
                self.assertAlmostEqual(a, b, 2 if name == 'h.npz' else 4)
        for name in 'e.npz', 'm.npz':  # as numpy.savez_compressed() writes them
            with zipfile.ZipFile(self.path(name)) as z, \
                    zipfile.ZipFile(self.path('packed.npz'), 'w', zipfile.ZIP_DEFLATED) as packed:
                for member in z.namelist():
                    packed.writestr(member, z.read(member))
            table = [f for f in self.page('packed.npz').figures('scatter')][0]
            self.assertEqual(table['labels'], ['one', 'two', 'three'], name)
        with zipfile.ZipFile(self.path('e.npz')) as z:
            vector = struct.unpack('<320f', z.read('one.npy')[-1280:])
        self.assertAlmostEqual(norms['e.npz'][0], sum(x * x for x in vector) ** .5, 4)
        self.plot('e.npz')

    def test_names_that_are_no_paths(self):
        """Ids may look like paths that lead elsewhere; what one command wrote, another reads."""
        names = ['a\\b', 'c:x', 'd:', '/z', '..', '../y', 'w/..', 'e\\..\\f', 'C:\\g']
        self.write('odd.fa', ''.join('>%s\n%s\n' % (name, SEQUENCE[:9 + i])
                                     for i, name in enumerate(names)))
        for suffix in 'npz', 'npy', 'safetensors', 'jsonl', 'tsv', 'h5':
            r = self.run_it('esm2', 'odd.fa', '--weights', 'tiny', '-o', 'odd.' + suffix, '-q',
                            code=None)
            if suffix == 'h5' and b'HDF5' in r.stderr:
                continue
            self.assertEqual(r.returncode, 0, r.stderr)
            self.run_it('info', 'odd.' + suffix)
            self.run_it('report', 'odd.' + suffix, '-o', 'odd.html')
            self.run_it('plot', 'odd.' + suffix, '-o', 'odd.svg')
        with zipfile.ZipFile(self.path('odd.npz')) as z:
            self.assertEqual(z.namelist()[0], 'a\\b.npy')

    def test_components_are_those_of_the_data(self):
        # along x 10 times as far as along y, nothing along z
        points = [(10 * x, y, 0) for x in (-2, -1, 0, 1, 2) for y in (-1, 1)]
        self.write('p.npy', npy((len(points), 3), [v + 5 for p in points for v in p]))
        self.write('p.ids.txt', ''.join('p%d\n' % i for i in range(len(points))))
        scatter = self.page('p.npy').figures('scatter')[0]
        x, y = unpack(scatter['x']), unpack(scatter['y'])
        for k, p in enumerate(points):
            self.assertAlmostEqual(abs(x[k]), abs(p[0]), 2)
            self.assertAlmostEqual(abs(y[k]), abs(p[1]), 2)
        # the largest part of a direction is positive, and components are from the mean
        for u, v, w in itertools.permutations((4, -1, .5)):
            line = [(t * u + 1, t * v + 2, t * w + 3) for t in (-3, 0, 1, 4)]
            self.write('l.npy', npy((4, 3), [c for p in line for c in p]))
            self.write('l.ids.txt', 'a\nb\nc\nd\n')
            x = unpack(self.page('l.npy').figures('scatter')[0]['x'])
            for value, t in zip(x, (-3.5, -.5, .5, 3.5)):
                self.assertAlmostEqual(value, t * 17.25 ** .5, 2)
        share = [float(re.search(r'([\d.]+) %', scatter[k])[1]) for k in ('xName', 'yName')]
        self.assertEqual(share, [round(100 * 200 / 201, 1), round(100 / 201, 1)])

    def test_residues_logits_attentions(self):
        self.tiny('esm2', 'in.fa', '--include', 'per-residue', '-o', 'r.npz')
        self.assertIn('means of the vectors of residues',
                      self.page('r.npz').figures('scatter')[0]['note'])
        self.tiny('esm2', 'in.fa', '--include', 'logits,attentions', '-o', 'l.npz')
        groups = {f['group']: f for f in self.page('l.npz').figures('heat')}
        self.assertEqual(groups['logits']['columns'], 49)
        self.assertEqual((groups['Attention']['rows'], groups['Attention']['columns']), (51, 51))

    def test_scores(self):
        self.write('one.fa', '>one\n%s\n' % SEQUENCE)
        self.tiny('score', 'esm2', 'one.fa', '--method', 'wt-marginals', '-o', 's.tsv', code=0)
        page = self.page('s.tsv')
        heat = page.figures('heat')[0]
        self.assertEqual((heat['rows'], heat['columns'], heat['wild']), (20, 59, SEQUENCE))
        values = unpack(heat['values'])
        largest = max(abs(v) for v in values if v is not None)
        self.assertEqual((heat['values']['high'], heat['values']['low']), (largest, -largest))
        with open(self.path('s.tsv'), encoding='utf-8') as f:
            rows = [line.rstrip('\n').split('\t') for line in f][1:]
        for _, position, _, mutant, score in rows:
            got = values[heat['letters'].index(mutant) * 59 + int(position) - 1]
            self.assertAlmostEqual(got, float(score), 2)
        self.plot('s.tsv')
        self.write('mutants.csv', 'mutant,note\nM1A,x\nK2R,"a, ""b"""\nT3S,\n')
        self.tiny('score', 'esm2', 'one.fa', '--mutations', 'mutants.csv', '--method',
                  'wt-marginals', '-o', 'm.csv', code=0)
        page = self.page('m.csv')
        self.assertEqual(page.figures('heat')[0]['wild'], 'MKT')
        self.assertEqual(page.figures('table')[0]['columns'][1]['texts'], ['x', 'a, "b"', ''])
        self.assertFalse(page.figures('scatter'))  # no column of measured numbers
        self.tiny('score', 'esm2', 'in.fa', '--method', 'pppl', '-o', 'p.tsv')
        self.assertIn('pppl', [f['title'] for f in self.page('p.tsv').figures('histogram')])

    def test_measured(self):
        """Predicted against measured numbers."""
        rows = ['A1C,0.1,2', 'A1D,0.3,1', 'L2V,0.3,4', 'L2I,-1.5,-3', 'K3R,,7', 'K3E,0.9,5']
        note = 'Spearman 0.8208, Pearson 0.9371; 5 of 6 rows have both.'
        self.write('m.csv', '\n'.join(['mutant,measured,score', *rows, '']))
        scatter, = self.page('m.csv').figures('scatter')
        self.assertEqual((scatter['title'], scatter['n'], scatter['note']),
                         ('score against measured', 5, note))
        self.assertIn('K3E: measured 0.9, score 5', scatter['labels'])
        self.assertIn(note, self.run_it('info', 'm.csv').stdout.decode())
        self.write('scan.tsv', 'id\tposition\twildtype\tmutant\tscore\n' + ''.join(
            'x\t%s\t%s\t%s\t%s\n' % (r[1], r[0], r[2], r.split(',')[2]) for r in rows))
        beside = '\n'.join(['change\tgrowth', *(r.rsplit(',', 1)[0].replace(',', '\t')
                                                for r in reversed(rows)), 'W9A\t3', ''])
        self.write('lab.tsv', beside)
        scatter, = self.page('scan.tsv', '--measured', 'lab.tsv').figures('scatter')
        self.assertEqual((scatter['title'], scatter['note']), ('score against growth', note))
        self.run_it('plot', 'scan.tsv', '--measured', 'lab.tsv', '-o', 'p.svg')
        with open(self.path('p.svg'), encoding='utf-8') as f:
            self.assertEqual(f.read().count('<circle'), 5)
        self.write('e.tsv', 'id\tenergy\tpairs\na\t1\t5\nb\t2\t5\n')
        self.write('e.csv', 'ligand,pKd\na,3\nb,9\n')
        notes = [f['note'] for f in self.page('e.tsv', '--measured', 'e.csv').figures('scatter')]
        self.assertEqual(notes, ['No correlation: 2 of 2 rows have both, and one side is '
                                 'constant.',
                                 'Spearman 1.0000, Pearson 1.0000; 2 of 2 rows have both.'])
        for name, text, *words in (
                ('one.csv', 'id\na\n', 'line 1', 'one column'),
                ('none.csv', 'id,x\n', 'no row'), ('others.csv', 'id,x\nc,1\n', "first is 'a'"),
                ('text.csv', 'id,x\na,high\n', 'line 2', "'high' is no number"),
                ('twice.csv', 'id,x\na,1\na,2\n', 'line 3', 'as in line 2')):
            self.write(name, text)
            said = self.run_it('report', 'e.tsv', '--measured', name, code=None).stderr.decode()
            for word in (name, *words):
                self.assertIn(word, said)
        # spreadsheets and R write a byte order mark, quotes, CR LF, NA, comments before
        self.write('r.csv', '\ufeff"ligand","pKd, 1"\r\n"a","3.5"\r\n b , NA \r\nz,1\r\n')
        self.write('odd.tsv', '# by hand\n\nid\tpKd\na\t+3.5e0\nb\t\n')
        for name, title in ('r.csv', 'energy against pKd, 1'), ('odd.tsv', 'energy against pKd'):
            page = self.page('e.tsv', '--measured', name)
            self.assertIn((title, 'No correlation: 1 of 2 rows have both.'),
                          [(f['title'], f['note']) for f in page.figures('scatter')])
            self.assertEqual(page.facts().get('Measured'),
                             '2 of 3 ids are in the output' if name == 'r.csv' else None)
        for text, *words in (
                ('id;x\na;1\n', 'line 1', "one column 'id;x'", 'a comma or a tab'),
                ('id\tx\na\t1,5\n', 'line 2', 'column 2 (x)', "'1,5' is no number"),
                ('id,x\na,1,5\n', 'line 2', '3 fields, the header has 2'),
                ('id,x\na,inf\n', 'line 2', "'inf' is no number"),
                ('id,x\na,1\n"b,2\n', 'line 3', 'not closed'),
                ('id,x\na,1\n\n"a",2\n', 'line 4', "'a' again, as in line 2")):
            self.write('odd.csv', text)
            said = self.run_it('plot', 'e.tsv', '--measured', 'odd.csv', '-o', 'p.svg',
                               code=65).stderr.decode()
            for word in ('odd.csv', *words):
                self.assertIn(word, said)
        self.write('two.tsv', 'id\tx\na\t1\na\t2\n')
        self.refused('two.tsv', "several rows are 'a'", also=('--measured', 'e.csv'))
        self.run_it('report', 'e.tsv', '--measured', 'absent.csv', code=66)
        self.tiny('esm2', 'in.fa', '-o', 'v.npz')
        self.refused('v.npz', 'with numbers of a table', also=('--measured', 'e.csv'))

    def frame(self, k, atoms=2, more=''):
        return '%d\nProperties=species:S:1:pos:R:3 %s\n' % (atoms, more) + 'H 0 0 %d\n' % k * atoms

    def test_frames(self):
        """Energy and temperature along a trajectory; steps that are not even, words in quotes."""
        self.write('t.extxyz', ''.join(self.frame(k, more='name="energy=7 step=1" energy=%g step=%d'
                                                  ' temperature=%s' % (
                                                      -k * k, 10 * k, 300 if k != 2 else 'T'))
                                       for k in range(5)))
        page = self.page('t.extxyz')
        lines, = page.figures('tracks')
        self.assertEqual((lines['lines'], lines['place'], lines['start'], lines['step']),
                         (True, 'step', 0, 10))
        self.assertEqual([t['name'] for t in lines['tracks']], ['energy (eV)', 'temperature (K)'])
        for got, want in zip(unpack(lines['tracks'][0]['values']), (0, -1, -4, -9, -16)):
            self.assertAlmostEqual(got, want, places=3)
        table, = page.figures('table')
        self.assertEqual([(c['name'], c.get('unit'), c['numbers'][:3]) for c in table['columns']],
                         [('frame', None, [1, 2, 3]), ('step', None, [0, 10, 20]),
                          ('energy', 'eV', [0, -1, -4]), ('temperature', 'K', [300, 300, None])])
        self.assertEqual(page.facts()['Atoms'], '2 in each')
        self.run_it('plot', 't.extxyz', '-o', 'p.svg')
        with open(self.path('p.svg'), encoding='utf-8') as f:
            picture = f.read()
        self.assertIn('>-20</text>', picture)  # the axis ends at round numbers
        self.assertEqual(picture.count('L'), 4 + 2)  # temperature has a gap
        self.write('u.extxyz', self.frame(0, 2, 'energy=1 step=0') +
                   self.frame(1, 3, 'energy=2 step=9') + self.frame(2, 2, 'energy=3 step=10'))
        page = self.page('u.extxyz')
        self.assertEqual((page.figures('tracks')[0]['place'], page.facts()['Atoms']),
                         ('frame', '2 to 3'))
        self.write('one.extxyz', self.frame(0, more='energy=1'))
        self.assertFalse(self.page('one.extxyz').figures('tracks'))
        self.write('many.extxyz', ''.join(self.frame(k, 1, 'energy=%d' % k) for k in range(2500)))
        table, = self.page('many.extxyz').figures('table')
        self.assertEqual((table['rows'], table['note']),
                         (2048, '2048 of 2500 frames, evenly chosen.'))
        self.assertEqual(table['columns'][0]['numbers'][::2047], [1, 2499])
        for text, word in ((self.frame(0)[:-8], 'the last frame is cut off: 1 atoms'),
                           (self.frame(0) + 'x\n', "line 5: 'x', expected the number of atoms"),
                           (self.frame(0) + '0.5\n', "'0.5', expected")):
            self.write('bad.extxyz', text)
            self.refused('bad.extxyz', word)

    def test_variants(self):
        """Scores along a chromosome; of several the first, or the one that --record names."""
        rows = ['chrom\tpos\tid\tref\talt\tstatus\tREF:t\tSAD:t']
        rows += ['chr1\t%d\trs%d\tA\tG\tok\t1\t%g' % (1000 + k, k, k / 2) for k in range(4)]
        rows += ['chr1\t2000\t.\tA\tN\tbad\t\t', 'chr2\t5\tx\tC\tT\tok\t2\t-7',
                 'chr2\t9\ty\tC\tT\tok\t2\t7']
        self.write('v.tsv', '\n'.join(rows) + '\n')
        sad, ref = self.page('v.tsv').figures('scatter')
        self.assertEqual((ref['title'], sad['title'], sad['n'], sad['xName'], sad['yName']),
                         ('REF:t along chr1', 'SAD:t along chr1', 4, 'position on chr1 (base)',
                          'SAD:t'))
        self.assertEqual(sad['labels'][3], 'chr1:1003 A>G rs3: 1.5')
        self.assertEqual(sad['note'], '4 of 7 rows have a number on this chromosome; '
                                      '--record shows another one.')
        sad = self.page('v.tsv', '--record', 'chr2').figures('scatter')[0]
        self.assertEqual((sad['title'], sad['n'], sad['note']),
                         ('SAD:t along chr2', 2, '2 variants.'))
        self.run_it('plot', 'v.tsv', '-o', 'p.svg')
        with open(self.path('p.svg'), encoding='utf-8') as f:
            self.assertEqual(f.read().count('<circle'), 4)
        self.write('far.tsv', 'chrom\tpos\tscore\nchr1\t1\t1\nchr1\t9000001\t3\n')
        self.assertEqual(self.page('far.tsv').figures('scatter')[0]['xName'],
                         'position on chr1 (Mb)')
        self.write('few.tsv', 'chrom\tpos\tscore\nchr1\tx\t1\nchr1\t2\t3\n')
        self.assertFalse(self.page('few.tsv').figures('scatter'))  # a position is no number

    def test_dot_plot(self):
        """Several alignments of two sequences in PAF, on both strands."""
        rows = [('q', 0, 100, '+', 't', 50, 150), ('q', 120, 200, '-', 't', 300, 380),
                ('q', 0, 60, '+', 'u', 0, 60), ('p', 0, 60, '+', 't', 0, 60)]
        self.write('d.paf', ''.join('%s\t500\t%d\t%d\t%s\t%s\t600\t%d\t%d\t60\t60\t255\n' % r
                                    for r in rows))
        dots, = self.page('d.paf').figures('scatter')
        self.assertEqual((dots['title'], dots['n'], dots['segments'], dots['xName'], dots['note']),
                         ('q on t', 4, True, 'position in t (residue)',
                          '2 of 4 alignments: of the two sequences with the longest.'))
        for key, want in ('x', (50, 150, 300, 380)), ('y', (0, 100, 200, 120)):
            for a, b in zip(unpack(dots[key]), want):
                self.assertAlmostEqual(a, b, places=1)
        self.assertEqual(dots['labels'][2], 'q 120-200 on t 300-380, reverse')
        self.run_it('plot', 'd.paf', '-o', 'p.svg')
        with open(self.path('p.svg'), encoding='utf-8') as f:
            picture = f.read()
        self.assertEqual((picture.count('stroke-linecap'), picture.count('<circle')), (2, 0))
        dots = self.page('d.paf', '--record', 'p').figures('scatter')
        self.assertFalse(dots)  # one alignment is shown by its rows

    def test_designs(self):
        pdb = os.path.join(ROOT, 'tests', 'golden', 'proteinmpnn', '5L33.pdb')
        logos = []
        for name in 'd.fa', 'd.tsv':
            self.run_it('proteinmpnn', pdb, '--num-seq', '3', '--device', 'cpu', '-q', '-o', name)
            page = self.page(name)
            logos.append(page.figures('logo'))
            table = {c['name']: c.get('numbers') or c.get('texts')
                     for c in page.figures('table')[0]['columns']}
            self.assertEqual(table['sample'], [0, 1, 2, 3])
            shares = unpack(logos[-1][0]['values'])
            n = logos[-1][0]['columns']
            for c in range(n):  # shares at each position, counted anew
                for r, letter in enumerate(logos[-1][0]['letters']):
                    count = sum(s[c] == letter for s in table['sequence'][1:])
                    self.assertAlmostEqual(shares[r * n + c], count / 3, 4)
        self.assertEqual(logos[0], logos[1])
        self.assertEqual(logos[0][0]['wild'][:10], 'HMPEEEKAAR')
        self.plot('d.fa')
        self.run_it('proteinmpnn', pdb, '--unconditional', '--include', 'logprobs',
                    '--device', 'cpu', '-q', '-o', 'd.npz')
        self.assertEqual(self.page('d.npz').figures('heat')[0]['letters'], 'ACDEFGHIKLMNPQRSTVWYX')

    def test_alignments(self):
        self.write('a.fa', '>q1\nMKTAYIAKQR\n>q2\nAYIAKQRQIS\n')
        self.write('b.fa', '>t1\nMKTAYAKQR\n>t2\nAYIWKQRQISF\n')
        for kind in 'tsv', 'sam', 'paf', 'needle':
            self.run_it('align', 'a.fa', 'b.fa', '-o', 'al.' + kind, '-q',
                        *(['--format', kind] if kind == 'needle' else []))
            page = self.page('al.' + kind, '--sequences', 'a.fa,b.fa')
            self.assertEqual([f['rows'] for f in page.figures('alignment')],
                             [['MKTAYIAKQR', '||||| ||||', 'MKTAY-AKQR'],
                              ['AYIAKQRQIS-', '|||.|||||| ', 'AYIWKQRQISF']])
            table = [f for f in page.figures('table') if f['title'] == 'Pairs'][0]
            self.assertAlmostEqual(table['columns'][3]['numbers'][0], .9, 5)
            self.plot('al.' + kind)
        plain = self.page('al.tsv').figures('alignment')
        self.assertEqual(plain[0]['rows'], ['xxxxxxxxxx', '||||| ||||', 'xxxxx-xxxx'])
        self.assertEqual(self.page('al.sam').figures('alignment')[0]['rows'][2], 'MKTAY-AKQR')
        self.assertEqual(self.page('al.needle').figures('alignment')[0]['rows'],
                         ['MKTAYIAKQR', '||||| ||||', 'MKTAY-AKQR'])
        for name in 'al.tsv', 'al.needle':
            one = self.page(name, '--record', 't2').figures('alignment')
            self.assertEqual([f['title'] for f in one], ['q2 / t2'])
        with open(self.path('al.needle')) as file:
            text = file.read()
        for wrong, words in ((text.replace('MKTAY-AKQR', 'MKTAYAKQR'), 'rows of'),
                             (text.replace('MKTAY-AKQR', '10'), 'expected a name'),
                             (text.replace('# 1:', '# x:'), 'line'), ('####\n', 'no alignment')):
            self.write('wrong.needle', wrong)
            self.refused('wrong.needle', words)

    def test_energies(self):
        self.write('energies.tsv', 'id\trecord\tenergy\tpairs\tligand_atoms\tpocket_atoms\t'
                            'distance\t'
                            'status\tmessage\na\t1\t-3.5\t10\t5\t9\t2.5\tok\t\n'
                            'c\t3\t-4.5\t12\t6\t9\t2.5\tok\t\n'
                            'b<i>\t2\t\t\t\t\t\tempty\t%s\n' % HOSTILE[:60])
        page = self.page('energies.tsv')
        self.assertEqual(page.data['kind'], 'energies of ligands')
        self.assertEqual([f['title'] for f in page.figures('histogram')][0], 'energy')
        self.assertNotIn('record', [f['title'] for f in page.figures('histogram')])
        self.plot('energies.tsv')

    def test_structures(self):
        """Folds sorted by confidence, drawn with the values and the chains of their files."""
        heavy, light = ANTIBODY[:120], ANTIBODY[120:]
        self.write('ab.fa', '>swapped/<b>\n%s:%s\n>right\n%s:%s\n' %
                   (light, heavy, heavy, light))
        self.run_it('flashabb', 'ab.fa', '-q', '-o', 'folds', '--device', 'cpu')
        page = self.page('folds')
        rows = {c['name']: c.get('texts') or c['numbers']
                for c in page.figures('table')[0]['columns']}
        self.assertEqual(rows['id'], ['right', 'swapped/<b>'])
        self.assertGreater(rows['plddt'][0], rows['plddt'][1])
        first = page.figures('trace')[0]
        self.assertEqual([f['title'].split(',')[0] for f in page.figures('trace')], rows['id'])
        with open(self.path('folds/right.cif'), encoding='utf-8') as f:
            lines = f.read().split('\n')
        at = [n for n in lines if n.startswith('_atom_site.')].index('_atom_site.B_iso_or_equiv')
        bs = [float(n.split()[at]) for n in lines if n.startswith('ATOM') and ' CA ' in n]
        self.assertEqual(len(bs), 227)
        self.assertEqual(first['starts'][0], 0)
        self.assertIn(len(heavy), first['starts'])
        self.assertEqual([first['labels'][0], first['labels'][len(heavy)]], ['H 1 GLU', 'L 1 ASP'])
        x, y, z, plddt = (unpack(first[k]) for k in ('x', 'y', 'z', 'values'))
        for got, want in zip(plddt, bs):
            self.assertAlmostEqual(got, want, 2)
        spread = [sum(v * v for v in axis) for axis in (x, y, z)]
        self.assertEqual(spread, sorted(spread, reverse=True))
        for i in range(1, len(x)):
            if i not in first['starts']:
                self.assertLess(sum((a[i] - a[i - 1]) ** 2 for a in (x, y, z)) ** .5, 4.7)
        tracks = page.figures('tracks')[0]
        self.assertEqual([t['name'] for t in tracks['tracks']],
                         ['pLDDT, chain H', 'pLDDT, chain L'])
        self.assertEqual(unpack(tracks['tracks'][1]['values']).count(None),
                         len(heavy) - len(light))
        alone = self.page('folds', '--record', 'swapped/<b>')
        self.assertEqual([f['title'][:7] for f in alone.figures('trace')], ['swapped'])
        for name in 'folds', 'folds/right.cif':
            picture = self.plot(name)
            titled = [p for p in elements(picture, 'path') if len(p)]
            self.assertEqual(len(titled), 227)
            self.assertEqual({p[0].text for p in titled}, set(first['labels']))
        self.assertEqual(self.page('folds/right.cif').facts()['Residues'], '227')
        self.run_it('flashabb', 'ab.fa', '-q', '-o', 'arrays', '--device', 'cpu', '--format', 'npz',
                    '--include', 'plddt')
        self.assertEqual(self.page('arrays').figures('trace'), [])
        self.write('folds/right.cif', 'data_x\nloop_\n_atom_site.id\n1\n')
        self.assertIn(b'right.cif: line 4', self.run_it('report', 'folds', code=65).stderr)
        self.write('folds/scores.tsv', 'id\tsample\tplddt\tx\na\t0\tnone\t1\n')
        self.refused('folds', 'numbers')

    def test_samples(self):
        """The most confident sample of each record is drawn."""
        self.write('p.fa', '>p\nMKTAYIAKQ\n>q\nMKTAY:AK\n')
        self.run_it('esmfold2', 'p.fa', '-q', '-o', 'drawn', '--weights',
                    os.path.join(ROOT, 'tests', 'golden', 'esmfold2', 'tiny'), '--device', 'cpu',
                    '--include', 'pae', '--samples', '3', '--seeds', '8,9')
        page = self.page('drawn')
        rows = {c['name']: c.get('texts') or c['numbers']
                for c in page.figures('table')[0]['columns']}
        best = {}
        for k, name in enumerate(rows['id']):
            best.setdefault(name, '%s, seed %d, sample %d, pLDDT %.3f' % (
                name, rows['seed'][k], rows['sample'][k], rows['plddt'][k]))
        self.assertEqual(len(rows['id']), 12)
        self.assertEqual([f['title'] for f in page.figures('trace')], list(best.values()))
        self.assertEqual([f['title'] for f in page.figures('heat')], list(best.values()))
        with open(self.path('drawn/scores.tsv'), encoding='utf-8') as f:
            text = f.read()
        self.write('drawn/scores.tsv', text.replace('\t8\n', '\t../8\n').replace('\t9\n',
                                                                               '\t../9\n'))
        self.assertEqual(self.page('drawn').figures('trace'), [])

    def test_aligned_errors(self):
        self.write('p.fa', '>p\nMKTAYIAKQRQISFVK\n')
        self.run_it('esmfold', 'p.fa', '-q', '-o', 'p.out', '--weights',
                    os.path.join(ROOT, 'tests', 'golden', 'esmfold', 'tiny'), '--device', 'cpu',
                    '--include', 'pae')
        page = self.page('p.out')
        heat = page.figures('heat')[0]
        self.assertEqual((heat['rows'], heat['columns'], heat['first']), (16, 16, 1))
        with zipfile.ZipFile(self.path('p.out/p.npz')) as z:
            raw = z.read('pae.npy')[-16 * 16 * 4:]
        for a, b in zip(unpack(heat['values']), struct.unpack('<256f', raw)):
            self.assertAlmostEqual(a, b, 2)

    def test_residues_of_files(self):
        """Gaps and chains part lines, alternates are drawn once, nucleotides by their P."""
        atom = 'ATOM  %5d %-4s%s%3s %s%4d    %8.3f   0.000   0.000  1.00%6s\n'
        rows = [(1, ' CA ', ' ', 'ALA', 'A', 1, 0, ' 10.00'),
                (2, ' CA ', 'A', 'GLY', 'A', 2, 3.8, ' 20.00'),
                (3, ' CA ', 'B', 'GLY', 'A', 2, 3.9, ' 90.00'),
                (4, ' CA ', ' ', 'SER', 'A', 9, 20, '      '),
                (5, ' P  ', ' ', ' DA', 'B', 1, 24, ' 30.00'),
                (6, ' P  ', ' ', ' DC', 'B', 2, 30, ' 40.00')]
        self.write('x.pdb', ''.join(atom % r for r in rows))
        trace = self.page('x.pdb').figures('trace')[0]
        self.assertEqual(trace['labels'], ['A 1 ALA', 'A 2 GLY', 'A 9 SER', 'B 1 DA', 'B 2 DC'])
        self.assertEqual(trace['starts'], [0, 2, 3])
        values = unpack(trace['values'])
        self.assertIsNone(values[2])
        for got, want in zip([v for v in values if v is not None], (10, 20, 30, 40)):
            self.assertAlmostEqual(got, want, 2)
        self.plot('x.pdb')
        self.write('one.pdb', atom % rows[0])
        self.plot('one.pdb')
        self.write('water.pdb', 'HETATM    1  O   HOH A   1       0.000   0.000   0.000\n')
        self.refused('water.pdb', 'nothing to show')
        self.write('empty.cif', 'data_x\n')
        self.refused('empty.cif')

    def test_alignments_that_begin_inside(self):
        self.write('a.fa', '>q\nACGT\n')
        self.write('b.fa', '>t\nTTTTACGT\n')
        for kind in 'tsv', 'sam', 'paf':
            self.run_it('align', 'a.fa', 'b.fa', '--mode', 'ends-free', '-o', 'al.' + kind, '-q')
            page = self.page('al.' + kind, '--sequences', 'a.fa,b.fa')
            rows = page.figures('alignment')[0]['rows']
            self.assertTrue(rows[2].endswith('ACGT') and rows[0].endswith('ACGT'), (kind, rows))

    def test_histograms(self):
        """Statistics are over the numbers there are; bars stand on the axis, the highest as high as
        it, and ticks are multiples of 1, 2 or 5 times a power of ten, at most eight steps."""
        self.write('n.tsv', 'id\tx\na\t12\nb\t2\nc\t\nd\t5\ne\t4\nf\t5\ng\t\nh\t2\n')
        h = self.page('n.tsv').figures('histogram')[0]
        self.assertEqual([h[k] for k in ('n', 'min', 'median', 'mean', 'max')], [6, 2, 4.5, 5, 12])
        self.assertEqual(sum(h['counts']), 6)
        root = self.plot('n.tsv')
        self.assertIn('n = 6, median 4.5, mean 5', ' '.join(t.text for t in elements(root, 'text')))
        bars = [(float(r.get('y')), float(r.get('height')), int(r[0].text))
                for r in elements(root, 'rect') if len(r)]
        self.assertEqual([b[2] for b in bars], h['counts'])
        for y, height, count in bars:
            self.assertAlmostEqual(y + height, 366, 6)
            self.assertAlmostEqual(height, 300 * count / 2, 6)
        for values, ticks in (((2, 12), [2, 4, 6, 8, 10, 12]), ((0, 7), list(range(8))),
                              ((0, 30), [0, 5, 10, 15, 20, 25, 30])):
            self.write('n.tsv', 'id\tx\na\t%d\nb\t%d\n' % values)
            h = self.page('n.tsv').figures('histogram')[0]
            at = {float(t.text): float(t.get('x')) for t in elements(self.plot('n.tsv'), 'text')
                  if t.get('text-anchor') == 'middle' and re.fullmatch(r'[\d.]+', t.text)}
            self.assertEqual([v for v in sorted(at) if v <= values[1]], ticks)
            for value, x in at.items():
                share = (value - h['low']) / (h['high'] - h['low'])
                self.assertAlmostEqual(x, 60 + 600 * share, delta=.06)

    def test_numbers_without_ticks(self):
        """Axes end where a step does not change a number, and where there is no span."""
        for values in ('0.3', '0.30000000000000004'), ('1e17', '1e17'), ('1e308', '-1e308'):
            self.write('n.tsv', 'id\tx\na\t%s\nb\t%s\n' % values)
            self.page('n.tsv')
            self.run_it('plot', 'n.tsv', code=0 if values[0] != '1e308' else 66)
        self.write('t.bedgraph', 'chr1\t0\t10\t1\n')
        self.refused('t.bedgraph', 'CONTIG:START-END', also=('--record', 'chr1:0-0.5'))
        self.write('far.bedgraph', 'chr1\t100000000000000000000\t100000000000000016384\t1\n')
        self.refused('far.bedgraph', 'line 1')

    def test_tracks(self):
        self.write('w.npz', b'')
        with zipfile.ZipFile(self.path('w.npz'), 'w') as z:
            z.writestr('window/tracks.npy', npy((6, 2), [1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, -1]))
            z.writestr('site/ism.npy', npy((2, 4, 3), list(range(24))))
            z.comment = b'bioinfer 0.1.0 m f\nkinds tracks,ism'
        page = self.page('w.npz')
        tracks = page.figures('tracks')[0]
        got = [[round(v, 3) for v in unpack(t['values'])] for t in tracks['tracks']]
        self.assertEqual(got, [[1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, -1]])
        heat = page.figures('heat')[0]  # the first track of each base
        self.assertEqual([round(v, 2) for v in unpack(heat['values'])],
                         [0, 12, 3, 15, 6, 18, 9, 21])
        os.mkdir(self.path('bg'))
        self.write('bg/x.bedgraph', 'chr1\t100\t104\t1\nchr1\t104\t108\t3\nchr1\t500\t504\t7\n')
        self.write('bg/y.bedgraph', 'track type=bedGraph\nchr1\t100\t108\t-2\n')
        self.write('g.gtf', '#!x\nchr1\ta\texon\t99\t102\t.\t+\t.\tgene_id "i"; gene_name "A<b>";\n'
                            'chr1\ta\texon\t104\t105\t.\t+\t.\tgene_id "i"; gene_name "A<b>";\n'
                            'chr2\ta\texon\t101\t102\t.\t+\t.\tgene_id "j";\n')
        self.write('g.bed', 'chr1\t102\t107\tB\t0\t-\nchr1\t200\t300\tfar\n')
        tracks = self.page('bg', '--genes', 'g.gtf').figures('tracks')[0]
        self.assertEqual((tracks['contig'], tracks['start'], tracks['title']),
                         ('chr1', 100, 'chr1:100-108'))
        self.assertEqual([[round(v, 3) for v in unpack(t['values'])] for t in tracks['tracks']],
                         [[1] * 4 + [3] * 4, [-2] * 8])
        self.assertEqual([(g['name'], g['strand'], g['exons']) for g in tracks['genes']],
                         [('A<b>', '+', [98, 102, 103, 105])])
        genes = self.page('bg', '--genes', 'g.bed').figures('tracks')[0]['genes']
        self.assertEqual([(g['name'], g['start'], g['end'], g['strand']) for g in genes],
                         [('B', 102, 107, '-')])
        far = self.page('bg', '--record', 'chr1:498-506').figures('tracks')[0]
        values = unpack(far['tracks'][0]['values'])
        self.assertEqual([None if v is None else round(v) for v in values],
                         [None, None, 7, 7, 7, 7, None, None])
        self.plot('bg', '--genes', 'g.gtf')
        self.refused('bg/x.bedgraph', 'CONTIG:START-END', also=('--record', 'chr1'))
        self.refused('bg/x.bedgraph', 'no interval in chr9:1-2', also=('--record', 'chr9:1-2'))

    def test_tracks_in_bigwig(self):
        rng = random.Random(2)
        bases = ''.join(rng.choices('ACGT', k=12000))
        self.write('g.fa', '>chr1\n%s\n>chr2\n%s\n' % (bases, bases[::-1]))
        self.write('g.fa.fai', 'chr1\t12000\t6\t12000\t12001\nchr2\t12000\t12013\t12000\t12001\n')
        self.write('i.bed', 'chr1\t3000\t3100\tone\nchr2\t5000\t5100\ttwo\n')
        pages = {}
        for kind in 'bedgraph', 'bigwig':
            self.run_it('enformer', 'i.bed', '--genome', 'g.fa', '--weights',
                        os.path.join(ROOT, 'tests', 'golden', 'enformer', 'half'), '--positions',
                        'formula-pt', '--tracks', '0,2', '--format', kind, '-o', kind, '-q')
            pages[kind] = [self.page(kind).figures('tracks')[0],
                           self.page(kind, '--record', 'chr2:4000-6000').figures('tracks')[0]]
        for one, other in zip(*pages.values(), strict=True):
            self.assertEqual((one['title'], one['bins']), (other['title'], other['bins']))
            self.assertEqual(len(one['tracks']), 2)
            for a, b in zip(one['tracks'], other['tracks'], strict=True):
                self.assertEqual(a['name'], b['name'])
                for x, y in zip(unpack(a['values']), unpack(b['values']), strict=True):
                    self.assertTrue(x == y or abs(x - y) < 1e-3 * max(1, abs(x)), (x, y))
        name = sorted(os.listdir(self.path('bigwig')))[0]
        self.plot('bigwig/' + name)
        what, items = self.info('bigwig/' + name)
        graph = os.path.join('bedgraph', sorted(os.listdir(self.path('bedgraph')))[0])
        with open(self.path(graph)) as file:
            rows = [line.split() for line in file if line.startswith('chr')]
        n = [int(end) - int(start) for _, start, end, _ in rows]
        values = [float(row[3]) for row in rows]
        self.assertEqual((what, items['chromosomes'], items['bases'], items['chr1'], items['chr2']),
                         ('BigWig', '2', '24000', '12000', '12000'))
        self.assertEqual(int(items['bases with a value']), sum(n))
        for key, value in (('lowest', min(values)), ('highest', max(values)),
                           ('mean', sum(map(operator.mul, n, values)) / sum(n))):
            self.assertAlmostEqual(float(items[key]), value, delta=1e-5 * max(map(abs, values)))
        with open(self.path('bigwig/' + name), 'rb') as file:
            whole = file.read()
        for at in (8, 24, 52, 64, len(whole) // 2, len(whole) // 2 + 40):
            broken = bytearray(whole)
            broken[at:at + 4] = bytes(255 - b for b in broken[at:at + 4])
            self.write('broken.bw', bytes(broken))
            done = self.run_it('report', 'broken.bw', '-o', 'x.html', code=None)
            self.assertIn(done.returncode, (0, 65, 66), done.stderr)
            done = self.run_it('info', 'broken.bw', code=None)
            self.assertIn(done.returncode, (0, 65), done.stderr)
        self.write('broken.bw', whole[:150])
        self.assertIn(b'BigWig', self.run_it('info', 'broken.bw', code=65).stderr)
        self.refused('broken.bw', 'BigWig')

    def test_hostile_texts(self):
        ids = [HOSTILE.replace('\x01', '').replace('\x1b', ''), '\u202eabc', 'x' * 5000]
        with zipfile.ZipFile(self.path('h.npz'), 'w') as z:
            for name in ids:
                z.writestr(name.replace('/', '_') + '.npy', npy((3,), [1, 2, 3]))
        head = b'ordinal\tid\tlength\tstatus\tsame_as\tmessage\n'
        rows = [b'0\t%s\t3\tok\t\t\n' % HOSTILE.encode(), b'1\t\xff\xfe<b>\t3\tempty\t\t%s\n' %
                HOSTILE.encode(), b'2\t\xed\xa0\x80\t0\t<i>\t\t\xc3\n']
        self.write('h.npz.manifest.tsv', head + b''.join(rows))
        page = self.page('h.npz')
        table = [f for f in page.figures('table') if f['title'] == 'Records'][0]
        texts = {c['name']: c.get('texts') for c in table['columns']}
        self.assertEqual(texts['id'], [HOSTILE, '\ufffd\ufffd<b>', '\ufffd\ufffd\ufffd'])
        self.assertEqual(texts['message'][1], HOSTILE)
        self.assertEqual(texts['status'][2], '<i>')
        self.assertEqual(len(page.figures('scatter')[0]['labels'][2]), 400)
        hostile = 't.tsv'
        self.write(hostile, b'na<me\tvalue\n' + b'%s\t1\n\xff\t2\n\t3\n' % HOSTILE.encode())
        self.assertEqual(self.page(hostile).figures('table')[0]['columns'][0]['texts'],
                         [HOSTILE, '\ufffd', ''])
        self.plot(hostile)
        name = '<img src=x>&"\x02\xff.tsv'.encode('latin-1').decode('utf-8', 'surrogateescape')
        os.rename(self.path(hostile), os.fsencode(self.path(name)))
        page = self.page(name)
        self.assertEqual(page.data['title'], '<img src=x>&"\x02\ufffd.tsv')
        self.assertIn('<img src=x>&" \ufffd.tsv', page.title)
        self.plot(name)

    def test_vectors_whose_length_is_not_known(self):
        with zipfile.ZipFile(self.path('u.npz'), 'w') as z:
            for k, name in enumerate('abc'):
                z.writestr(name + '.npy', npy((2,), [k, k * k]))
        self.write('u.npz.manifest.tsv', 'ordinal\tid\tlength\tstatus\tsame_as\tmessage\n'
                   '0\ta\t30\tok\t\t\n1\tc\t50\tok\t\t\n')
        scatter = self.page('u.npz').figures('scatter')[0]
        self.assertEqual(unpack(scatter['colour']), [30, None, 50])
        self.plot('u.npz')

    def test_large_ones_are_sampled(self):
        self.write('big.tsv', 'id\tscore\n' + ''.join('r%d\t%d\n' % (i, i) for i in range(50000)))
        page = self.page('big.tsv')
        table = page.figures('table')[0]
        self.assertEqual((table['rows'], page.facts()['Rows']), (20000, '50000'))
        self.assertIn('20000 of 50000 rows, evenly chosen', table['note'])
        self.assertGreater(table['columns'][1]['numbers'][-1], 49990)
        n = 700
        with zipfile.ZipFile(self.path('maps.npz'), 'w') as z:
            for k in range(30):
                z.writestr('m%02d/contacts.npy' % k, npy((2, 2), [1, k / 32, k / 32, 1]))
            z.writestr('wide/contacts.npy', npy((n, n), [float(i // 350 == j // 350)
                                                         for i in range(n) for j in range(n)]))
        heats = self.page('maps.npz').figures('heat')
        self.assertEqual(len(heats), 12)
        self.assertIn('12 of 31 contact maps, evenly chosen', heats[0]['note'])
        wide = self.page('maps.npz', '--record', 'wide').figures('heat')[0]
        self.assertEqual(wide['columns'], n)
        with zipfile.ZipFile(self.path('wide.npz'), 'w') as z:
            z.writestr('wide/contacts.npy', npy((n, n), [float(i // 350 == j // 350)
                                                         for i in range(n) for j in range(n)]))
        wide = self.page('wide.npz').figures('heat')[0]
        self.assertEqual((wide['columns'], wide['step']), (320, n / 320))
        values = unpack(wide['values'])
        self.assertEqual({round(values[i * 320 + j], 6) for i in range(320) for j in range(320)},
                         {0, 1})  # 350 is 160 cells: none straddles the edge
        self.assertIn('700 positions in 320 cells', wide['note'])

    def test_refusals(self):
        self.write('empty.tsv', b'')
        self.refused('empty.tsv', 'empty file')
        self.write('head.tsv', 'id\tscore\n')
        self.refused('head.tsv', 'without rows')
        self.write('odd.tsv', 'id\tscore\na\t1\nb\n')
        self.refused('odd.tsv', 'line 3', '1 fields, expected 2')
        self.write('nul.tsv', b'id\tscore\na\t\0\n')
        self.refused('nul.tsv', 'line 2', 'NUL')
        self.write('s2.tsv', 'id\tposition\twildtype\tmutant\tscore\nx\tone\tA\tC\t1\n')
        self.refused('s2.tsv', 'line 2', 'expected id, position')
        self.write('cut.fa', '>5L33, score=1.5\nMK\n>T=0.1, sample=1, score=1\n')
        self.refused('cut.fa', 'cut off')
        self.refused('in.fa', 'an input, not an output')
        self.refused('missing.npz', code=66)
        os.mkdir(self.path('nothing'))
        self.refused('nothing', 'without bedGraph')
        with zipfile.ZipFile(self.path('zip.npz'), 'w') as z:
            z.writestr('a.npy', npy((4,), [1, 2]))  # the shape asks for more than is there
        self.refused('zip.npz', "array 'a.npy'", 'more than')
        whole = npy((2,), [1, 2])  # version 2 has a length of four bytes
        for more in 0, 1:
            with zipfile.ZipFile(self.path('two.npz'), 'w') as z:
                z.writestr('a.npy', b'%s\2\0%s%c\0%s' % (whole[:6], whole[8:10], more, whole[10:]))
            if more:
                self.refused('two.npz', 'header is longer than itself or 64 KiB')
            else:
                self.page('two.npz')
        for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.path('turned.npz'), 'w', how) as z:
                z.writestr('a.npy', npy((2, 2), [1, 2, 3, 4]).replace(b"': False, ", b"': True,  "))
            self.refused('turned.npz', "array 'a", "Fortran's order")
        with zipfile.ZipFile(self.path('nan.npz'), 'w') as z:
            z.writestr('a.npy', npy((2,), [1, float('nan')]))
        self.refused('nan.npz', 'no number')
        with zipfile.ZipFile(self.path('packed.npz'), 'w', zipfile.ZIP_DEFLATED) as z:
            z.writestr('a.npy', npy((2000,), [0] * 2000))
        with open(self.path('packed.npz'), 'rb') as file:
            packed = bytearray(file.read())
        packed[60] ^= 255
        self.write('packed.npz', bytes(packed))
        self.refused('packed.npz', "array 'a")
        with zipfile.ZipFile(self.path('packed.npz'), 'w', zipfile.ZIP_DEFLATED) as z:
            z.writestr('a.npy', npy((4,), [1, 2]))
        self.refused('packed.npz', 'more than')
        with zipfile.ZipFile(self.path('packed.npz'), 'w', zipfile.ZIP_BZIP2) as z:
            z.writestr('a.npy', npy((2,), [1, 2]))
        self.refused('packed.npz', 'method 12')
        if self.has_hdf5():
            self.write('cut.h5', b'\x89HDF\r\n\x1a\n' + bytes(100))
            self.refused('cut.h5', 'damaged')
        with zipfile.ZipFile(self.path('none.npz'), 'w'):
            pass
        self.refused('none.npz', 'no array')
        self.write('bad.jsonl', '{"ordinal":0,"id":"a","length":1,"status":"ok","arrays":[{"kind":'
                                '"mean","layer":6,"dtype":"f4","shape":[3],"data":"AAAA"}]}\n')
        self.refused('bad.jsonl', '3 values')
        self.write('words.txt', 'some words\n')
        self.refused('words.txt', 'no output of bioinfer')
        self.write('e2.npz.manifest.tsv', 'ordinal\tid\tlength\tstatus\tsame_as\tmessage\n0\ta\n')
        with zipfile.ZipFile(self.path('e2.npz'), 'w') as z:
            z.writestr('a.npy', npy((2,), [1, 2]))
        self.refused('e2.npz', 'e2.npz.manifest.tsv: line 2')

    def info(self, name):
        described, *_ = json.loads(self.run_it('info', '--json', name).stdout)
        self.assertEqual(described['name'], name)
        return described['value'], {i['name']: i['value'] for i in described['items']}

    def test_info(self):
        self.write('p.fa', '>a\nMKT\n>b\nMK1\n>c\nMKTAY\n')
        self.tiny('esm2', 'p.fa', '-o', 'one.npz')
        what, items = self.info('one.npz.manifest.tsv')
        self.assertEqual(what, 'a manifest')
        self.assertEqual((items['Records'], items['Without a result'], items['bad_residue']),
                         ('3', '1', '1'))
        with open(self.path('one.npz.manifest.tsv'), 'ab') as f:
            f.write(b'\t\t\tnote\t\tp.fa: something was named\n')
        items = self.info('one.npz.manifest.tsv')[1]
        self.assertEqual((items['Records'], items['note']), ('3', 'p.fa: something was named'))
        notes, = [f for f in self.page('one.npz').figures('table') if 'Notes' in f['title']]
        self.assertEqual(notes['columns'][0]['texts'], ['p.fa: something was named'])
        parts = ('--format', 'npz', '--part-records', '2')
        self.tiny('esm2', 'p.fa', '-o', 'parts', *parts)
        what, items = self.info('parts')
        self.assertEqual(what, 'a folder of parts')
        self.assertEqual([items[k] for k in ('state', 'parts', 'Records', 'Without a result',
                                             'records of a part', 'format', 'model')],
                         ['complete', '2', '3', '1', '2', 'npz', 'bioinfer-tiny'])
        self.tiny('esm2', 'p.fa', '-o', 'half', *parts, '--shard', '2/2', code=0)
        what, items = self.info('half')
        self.assertEqual((items['parts'], items['Records']), ('1', '1'))
        self.assertIn('not merged', items['state'])
        self.tiny('esm2', 'p.fa', '-o', 's.npz', '--shard', '1/2', code=0)
        what, items = self.info('s.npz.part-1-of-2')
        self.assertIn('journal', what)
        self.assertEqual((items['shard'], items['task']), ('1 of 2', 'embed'))
        self.run_it('align', 'p.fa', '--all-vs-all', '--format', 'needle', '-o', 'p.needle', '-q',
                    code=1)
        self.assertEqual(self.info('p.needle')[1]['Pairs'], '1')
        self.write('one.npz.manifest.tsv', 'ordinal\tid\tlength\tstatus\tsame_as\tmessage\nx\n')
        self.assertIn(b'line 2', self.run_it('info', 'one.npz.manifest.tsv', code=65).stderr)
        for text in ('{', '{}', '[]', '{"parts": [1, {"records": "x"}]}'):
            self.write('parts/index.json', text)
            self.run_it('info', 'parts', code=65 if text == '{' else 0)

    def test_command(self):
        text = self.run_it('help', 'report').stdout.decode()
        for word in ('--record', '--genes', '--sequences', 'report.html'):
            self.assertIn(word, text)
        self.assertNotIn('--weights', text)
        self.run_it('report', code=64)
        self.run_it('report', 'in.fa', '--threads', '2', code=64)
        self.write('t2.tsv', 'a\tb\nx\t1\ny\t2\n')
        self.run_it('report', 't2.tsv', '-o', 'folder/none.html', code=73)
        self.run_it('report', 't2.tsv', '-o', 't2.html')
        with open(self.path('t2.html'), 'rb') as f:
            self.assertEqual(f.read(), self.run_it('report', 't2.tsv').stdout)
        self.assertLess(os.path.getsize(self.path('t2.html')), 60000)
        self.write('t3.tsv', 'a\tb\nx\ty\n')
        r = self.run_it('plot', 't3.tsv', code=66)
        self.assertIn(b'without a figure', r.stderr)


if __name__ == '__main__':
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
