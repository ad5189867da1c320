#!/usr/bin/env python3
"""test_pictures.py BIOINFER SOURCE_ROOT - the numbers of pages and pictures, read back out of them.

Standard library only. What a picture draws (heights of bars, places of points, colours of cells,
labels of axes) is turned into numbers again and compared with the file that it was made of.
"""
import base64
import math
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile
import zlib

from test_report import Page, npy, unpack

EXE = ROOT = ''
SVG = '{http://www.w3.org/2000/svg}'
STOPS = {'unit': [(247, 250, 253), (200, 219, 238), (115, 170, 214), (38, 110, 178), (8, 48, 107)],
         'range': [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)],
         'diverging': [(24, 79, 149), (120, 171, 212), (246, 246, 244), (231, 142, 110),
                       (168, 30, 45)]}


def colour(scale, share):
    at = 4 * min(max(share, 0), 1)
    k = min(3, int(at))
    a, b = STOPS[scale][k:k + 2]
    return tuple(math.floor(x + (at - k) * (y - x) + .5) for x, y in zip(a, b, strict=True))


class Picture:
    """An SVG: texts with their places, bars, points, paths and images."""

    def __init__(self, text):
        self.root = xml.etree.ElementTree.fromstring(text)

    def all(self, tag):
        return list(self.root.iter(SVG + tag))

    def texts(self):
        return [(float(e.get('x')), float(e.get('y')), e.text or '') for e in self.all('text')
                if e.get('x')]

    def words(self):
        return ' '.join(t for _, _, t in self.texts())

    def numbers_at(self, y):
        """Labels along a horizontal axis: {number: x}."""
        return {float(t): x for x, at, t in self.texts()
                if abs(at - y) < .06 and re.fullmatch(r'-?[\d.]+(e[+-]?\d+)?', t)}

    def bars(self):
        return [e for e in self.all('rect') if e.find(SVG + 'title') is not None]

    def image(self, k):
        """Image k as (x, y, width, height, rows of colours)."""
        e = self.all('image')[k]
        png = base64.b64decode(e.get('href').split(',')[1])
        wide, high = struct.unpack('>II', png[16:24])
        at, data = 8, b''
        while at < len(png):
            size, kind = struct.unpack('>I4s', png[at:at + 8])
            data += png[at + 8:at + 8 + size] if kind == b'IDAT' else b''
            at += 12 + size
        raw, line = zlib.decompress(data), 1 + 3 * wide
        return tuple(float(e.get(k)) for k in ('x', 'y', 'width', 'height')) + ([
            [tuple(raw[r * line + 1 + 3 * c:r * line + 4 + 3 * c]) for c in range(wide)]
            for r in range(high)],)


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.folder = cls.temp.name

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def npz(self, name, arrays, kinds=None):
        with zipfile.ZipFile(self.path(name), 'w') as z:
            for key, shape, values in arrays:
                z.writestr(key + '.npy', npy(shape, values))
            if kinds:
                z.comment = b'bioinfer 0.1.0 m f\nkinds ' + kinds.encode()

    def run_it(self, *args, code=0):
        r = subprocess.run([EXE] + list(args), cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(r.returncode, code, r.stderr.decode('utf-8', 'replace'))
        return r.stdout

    def page(self, *args):
        return Page(self.run_it('report', *args).decode())

    def plot(self, *args):
        return Picture(self.run_it('plot', *args))

    def close(self, a, b, places=3):
        self.assertEqual(len(a), len(b))
        for x, y in zip(a, b, strict=True):
            self.assertAlmostEqual(x, y, places)

    # ---- distributions

    def check_bars(self, picture, figure, values):
        """Bars hold the values between their edges; edges and labels lie on one axis."""
        low, high, n = figure['low'], figure['high'], len(figure['counts'])
        step = (high - low) / n
        want = [0] * n
        for v in values:
            want[min(n - 1, max(0, math.floor((v - low) / step + 1e-9)))] += 1
        self.assertEqual(figure['counts'], want)
        bars = picture.bars()
        self.assertEqual([int(b.find(SVG + 'title').text) for b in bars], want)
        self.close([float(b.get('height')) for b in bars], [300 * c / max(want) for c in want], 0)
        for b, count in zip(bars, want, strict=True):
            self.assertAlmostEqual(float(b.get('y')) + float(b.get('height')), 366, 0)
        self.close([float(b.get('x')) - 1 for b in bars], [60 + 600 * k / n for k in range(n)], 0)
        ticks = picture.numbers_at(383)
        self.assertGreaterEqual(len(ticks), 3)
        for value, x in ticks.items():
            self.assertAlmostEqual(x, 60 + 600 * (value - low) / (high - low), 0)
        self.assertEqual((figure['n'], figure['min'], figure['max']),
                         (len(values), min(values), max(values)))
        self.assertAlmostEqual(figure['median'], statistics.median(values), 6)
        self.assertAlmostEqual(figure['mean'], statistics.fmean(values), 6)
        said = re.search(r'n = (\d+), median (\S+), mean (\S+)', picture.words())
        self.assertEqual(int(said[1]), len(values))
        self.assertAlmostEqual(float(said[2]), statistics.median(values), 4)
        self.assertAlmostEqual(float(said[3]), statistics.fmean(values), 4)

    def test_histogram(self):
        for values in ([.5 + .25 * (k * k % 37) for k in range(101)], [-7, 3, 3, 4],
                       [1e-9 * k for k in range(7)], [2e6 + k for k in range(30)]):
            self.write('h.tsv', 'id\tx\n' + ''.join('r\t%r\n' % v for v in values))
            self.check_bars(self.plot('h.tsv'), self.page('h.tsv').figures('histogram')[0], values)

    def test_one_value(self):
        """Equal values are one bar in the middle of an axis, not one as wide as the axis."""
        for value in (0, 3.5, -2, 4e-7, 1e17):
            self.write('c.tsv', 'id\tx\n' + 'r\t%r\n' % value * 9)
            figure = self.page('c.tsv').figures('histogram')[0]
            self.assertEqual(figure['counts'], [0, 0, 9, 0, 0], value)
            self.assertAlmostEqual((figure['low'] + figure['high']) / 2, value,
                                   delta=1e-9 * abs(value))
            bars = self.plot('c.tsv').bars()
            self.assertAlmostEqual(float(bars[2].get('x')) + float(bars[2].get('width')) / 2, 360)
            self.assertLess(float(bars[2].get('width')), 121)

    # ---- maps

    def check_map(self, picture, values, columns, scale, low, high):
        """Cells have the colours of their values; the bar below them runs from low to high."""
        x, y, width, height, cells = picture.image(0)
        for i, v in enumerate(values):
            got = cells[i // columns][i % columns]
            want = (224, 224, 224) if v is None else colour(scale, (v - low) / (high - low))
            self.assertLessEqual(max(abs(a - b) for a, b in zip(got, want, strict=True)), 1,
                                 (i, v, got, want))
        at = picture.image(1)
        bar = at[4][0]
        self.assertEqual((bar[0], bar[-1]), (STOPS[scale][0], STOPS[scale][-1]))
        ends = {float(t): tx for tx, ty, t in picture.texts() if abs(ty - at[1] - 24) < .1 and
                re.match(r'-?\d', t)}
        self.close(sorted(ends), [low, high])
        self.assertEqual([ends[k] for k in sorted(ends)], [at[0], at[0] + at[2]])
        return x, y, width, height

    def test_zeros_on_a_diverging_map(self):
        self.npz('z.npz', [('a/ism', (3, 4, 1), [0] * 12)], 'tracks,ism')
        figure = self.page('z.npz').figures('heat')[0]
        self.assertEqual((figure['scale'], figure['values']['low'], figure['values']['high']),
                         ('diverging', -1, 1))
        self.assertEqual(unpack(figure['values']), [0] * 12)
        self.check_map(self.plot('z.npz'), [0] * 12, 3, 'diverging', -1, 1)

    def test_constant_map(self):
        for value, low, high in (7, 3.5, 10.5), (.25, -.25, .75), (-4, -6, -2):
            self.npz('k.npz', [('m', (3, 3), [value] * 9)])
            figure = self.page('k.npz').figures('heat')[0]
            self.close(unpack(figure['values']), [value] * 9, 4)
            self.check_map(self.plot('k.npz'), [value] * 9, 3, 'range', low, high)

    def test_contact_map(self):
        n = 30
        values = [1 / (1 + abs(i - j) + (i + j) / 10) for i in range(n) for j in range(n)]
        self.npz('c.npz', [('one/contacts', (n, n), values), ('one/mean', (2,), [1, 2])])
        picture = self.plot('c.npz')
        x, y, width, height = self.check_map(picture, values, n, 'unit', 0, 1)
        for value, at in picture.numbers_at(y + height + 15).items():
            self.assertAlmostEqual(at, x + (value - .5) / n * width, 0)
        upright = [(float(t), ty) for tx, ty, t in picture.texts()
                   if abs(tx - x + 6) < .06 and re.fullmatch(r'\d+', t)]
        self.assertGreaterEqual(len(upright), 4)
        for value, at in upright:
            self.assertAlmostEqual(at - 4, y + (value - .5) / n * height, 0)

    def test_places_on_a_pooled_map(self):
        n = 700
        self.npz('w.npz', [('w/contacts', (n, n), [float(i == j) for i in range(n)
                                                   for j in range(n)])])
        picture = self.plot('w.npz')
        x, y, width, height, _ = picture.image(0)
        ticks = picture.numbers_at(y + height + 15)
        self.assertGreaterEqual(len(ticks), 5)
        for value, at in ticks.items():
            self.assertAlmostEqual(at, x + (value - .5) / n * width, 0)

    def test_scores_leave_wild_types_out(self):
        """A residue as it is has a score of 0 by definition: it is no value of a distribution."""
        wild, letters = 'MKVLA', 'GAVLIMFWYSTCPNQKRHDE'
        score = {(p, m): 0 if m == w else round(-1 - p - k / 10, 3)
                 for p, w in enumerate(wild) for k, m in enumerate(letters)}
        self.write('s.tsv', 'id\tposition\twildtype\tmutant\tscore\n' + ''.join(
            'a\t%d\t%s\t%s\t%r\n' % (p + 3, wild[p], m, s) for (p, m), s in score.items()))
        self.write('m.csv', 'mutant,esm2\n' + ''.join(
            '%s%d%s,%r\n' % (wild[p], p + 3, m, s) for (p, m), s in score.items()))
        changed = [s for (p, m), s in score.items() if m != wild[p]]
        for name in 's.tsv', 'm.csv':
            page = self.page(name)
            histogram = page.figures('histogram')[0]
            self.assertEqual((histogram['n'], histogram['max']), (len(changed), max(changed)))
            self.assertAlmostEqual(histogram['mean'], statistics.fmean(changed), 9)
            heat = page.figures('heat')[0]
            self.assertEqual((heat['wild'], heat['first']), (wild, 3))
            picture = self.plot(name)
            most = -min(changed)
            x, y, width, _ = self.check_map(picture, [score[p, m] for m in letters
                                                      for p in range(5)], 5, 'diverging', -most,
                                            most)
            dots = [(float(e.get('cx')), float(e.get('cy'))) for e in picture.all('circle')]
            for p, (dx, dy) in enumerate(dots):
                self.assertAlmostEqual(dx, x + (p + .5) * width / 5, 0)
                self.assertAlmostEqual(dy, y + 14 * letters.index(wild[p]) + 7, 0)
            self.assertEqual(len(dots), 5)

    def test_bases_that_are_there(self):
        """The base of an interval is the letter whose change is 0 in all tracks, not in one."""
        bases, values = 'GATC', []
        for p, base in enumerate(bases):
            for k, letter in enumerate('ACGT'):
                values += [0, 0] if letter == base else [0 if k == 3 else p - 1.5, k + 1]
        self.npz('i.npz', [('x/ism', (4, 4, 2), values), ('x/tracks', (1, 2), [1, 1])],
                 'tracks,ism')
        heat = self.page('i.npz').figures('heat')[0]
        self.assertEqual((heat['wild'], heat['letters']), (bases, 'ACGT'))
        self.close(unpack(heat['values']), [values[2 * (4 * p + k)] for k in range(4)
                                            for p in range(4)])

    # ---- points, tracks, logos, alignments

    def test_points(self):
        """Places are the components; the sign makes a direction's largest part positive."""
        first = [3, -1, 4, -1.5, 5, -9, 2, -2.5]
        second = [.5, -.5, -.25, .25, .75, -.125, .125, -.75]
        mean = [statistics.fmean(first), statistics.fmean(second)]
        self.npz('p.npz', [('r%d/mean' % i, (3,), [-.6 * x + 1, .8 * x + 2, y])
                           for i, (x, y) in enumerate(zip(first, second, strict=True))] +
                 [('r0/bos', (3,), [0, 0, 0])])
        figure = self.page('p.npz').figures('scatter')[0]
        x, y = unpack(figure['x']), unpack(figure['y'])
        self.close(x, [v - mean[0] for v in first], 0)
        self.assertLess(max(abs(a - b + mean[0]) for a, b in zip(x, first, strict=True)), .06)
        norms = [math.sqrt((1 - .6 * a) ** 2 + (2 + .8 * a) ** 2 + b * b)
                 for a, b in zip(first, second, strict=True)]
        self.close(unpack(figure['colour']), norms)
        picture = self.plot('p.npz')
        points = picture.all('circle')
        self.assertEqual([p.find(SVG + 'title').text for p in points],
                         ['r%d' % i for i in range(8)])
        for k, p in enumerate(points):
            across = (x[k] - min(x)) / (max(x) - min(x))
            up = (y[k] - min(y)) / (max(y) - min(y))
            self.assertAlmostEqual(float(p.get('cx')), 88 + 536 * across, 0)
            self.assertAlmostEqual(float(p.get('cy')), 614 - 536 * up, 0)
            want = colour('range', (norms[k] - min(norms)) / (max(norms) - min(norms)))
            got = [int(p.get('fill')[i:i + 2], 16) for i in (1, 3, 5)]
            self.assertLessEqual(max(abs(a - b) for a, b in zip(got, want, strict=True)), 2)
        ticks = picture.numbers_at(640)
        self.assertGreaterEqual(len(ticks), 3)
        for value, at in ticks.items():
            self.assertAlmostEqual(at, 88 + 536 * (value - min(x)) / (max(x) - min(x)), 0)

    def test_neighbours(self):
        """Lines in the plane go to those that `bioinfer nearest` finds."""
        random.seed(7)
        points = [[random.gauss(0, 1) + 3 * (i % 3 == k) for k in range(5)] for i in range(30)]
        points[4] = [0] * 5  # has no direction
        self.write('v.npy', npy((30, 5), [v for p in points for v in p]))
        self.write('v.ids.txt', ''.join('v%d\n' % i for i in range(30)))
        self.write('u.npy', npy((29, 5), [v for p in points if any(p) for v in p]))
        self.write('u.ids.txt', ''.join('v%d\n' % i for i in range(30) if i != 4))
        rows = self.run_it('nearest', 'u.npy', 'u.npy', '-k', '12').decode().split('\n')[1:-1]
        hits = {}
        for query, _, hit, value in (row.split('\t') for row in rows):
            if query != hit:
                hits.setdefault(query, []).append((hit, float(value)))
        one = self.page('v.npy', '--record', 'v8')
        plane, lines = one.figures('scatter')
        x, y = unpack(lines['x']), unpack(lines['y'])
        self.assertEqual(lines['n'], 2 * (30 + 10))
        self.assertEqual([label.split(', similarity ') for label in lines['labels'][60::2]],
                         [['v8: ' + hit, '%.4f' % near] for hit, near in hits['v8'][:10]])
        at = dict(zip(plane['labels'], zip(unpack(plane['x']), unpack(plane['y']))))
        for k, (hit, _) in zip(range(60, 80, 2), hits['v8']):
            for i, name in ((k, 'v8'), (k + 1, hit)):
                self.assertAlmostEqual(x[i], at[name][0], 4)
                self.assertAlmostEqual(y[i], at[name][1], 4)
        table = next(f for f in one.figures('table') if f['title'].startswith('Nearest'))
        self.assertEqual(table['columns'][1]['texts'], [hit for hit, _ in hits['v8'][:10]])
        lines = self.page('v.npy').figures('scatter')[1]
        want = {frozenset((query, of[0][0])) for query, of in hits.items()}
        got = [label.split(', similarity')[0].split(': ') for label in lines['labels'][::2]]
        self.assertEqual({frozenset(pair) for pair in got if len(pair) == 2}, want)
        self.assertEqual([pair for pair in got if len(pair) == 1], [['v4']])
        self.assertIn('Nearest neighbours of v8',
                      self.plot('v.npy', '--record', 'v8').words())
        self.assertEqual(len(self.page('v.npy', '--record', 'v4').figures('scatter')), 1)
        self.write('w.npy', npy((2, 2), [1, 2, 3, 4]))  # two have nothing to choose
        self.assertEqual(len(self.page('w.npy').figures('scatter')), 1)

    def test_tracks(self):
        """Bars rise from 0, also below it; both ends of each axis are labelled."""
        tracks = [[1, 4, 2, 0, 8], [-3, -1, -2, -6, -4], [2, -2, 1, -4, 0], [5, 5, 5, 5, 5],
                  [0, 0, 0, 0, 0]]
        self.npz('t.npz', [('w', (5, 5), [tracks[t][b] for b in range(5) for t in range(5)])],
                 'tracks')
        picture = self.plot('t.npz')
        fills = [e.get('d') for e in picture.all('path') if e.get('fill')]
        self.assertEqual(len(fills), 5)
        for k, (d, values) in enumerate(zip(fills, tracks, strict=True)):
            low, high = min(0, *values), max(0, *values) or (0 if min(values) else 1)
            y = 66 + 72 * k
            zero = y + 60 * high / (high - low)
            left, start = map(float, re.match(r'M(\S+) ([\d.]+)', d).groups())
            self.assertAlmostEqual(start, zero, 0)
            tops = [float(v) for v in re.findall(r'V([\d.]+)H', d)]
            self.close([(zero - v) / 60 * (high - low) for v in tops], values, 0)
            edges = [float(v) for v in re.findall(r'H([\d.]+)', d)]
            self.close(edges, [left + 160 * (b + 1) for b in range(5)], 0)
            self.assertAlmostEqual(float(re.search(r'V([\d.]+)Z', d)[1]), zero, 0)
            labels = [float(t) for tx, ty, t in picture.texts()
                      if abs(tx - left + 5) < .06 and y <= ty <= y + 61]
            self.assertEqual(labels, [high, low])
        drawn = self.page('t.npz').figures('tracks')[0]['tracks']
        for t, values in zip(drawn, tracks, strict=True):
            self.close(unpack(t['values']), values)

    def test_logo(self):
        """Letters are as high as their share of the information of their column, in bits."""
        designs = ['AAK', 'AAK', 'AGE', 'AGD']
        self.write('d.fa', '>x, score=1.5, global_score=1.5\nAGK\n' + ''.join(
            '>T=0.1, sample=%d, score=1, global_score=1, seq_recovery=0.5\n%s\n' % (i + 1, s)
            for i, s in enumerate(designs)))
        picture = self.plot('d.fa')
        got = {}
        for e in picture.all('text'):
            at = re.match(r'translate\((\S+) (\S+)\) scale\(\S+ (\S+)\)', e.get('transform', ''))
            if at:
                column = round((float(at[1]) - 67) / 14)
                got.setdefault(column, []).append((e.text, float(at[2]), 14.4 * float(at[3])))
        for c in range(3):
            shares = {a: sum(s[c] == a for s in designs) / 4 for a in {s[c] for s in designs}}
            bits = math.log2(20) + sum(p * math.log2(p) for p in shares.values())
            bottom = 66 + 90
            self.assertEqual(len(got[c]), len(shares))
            for letter, y, high in got[c]:
                self.assertAlmostEqual(high, 90 * shares[letter] * bits / math.log2(20), 1)
                self.assertAlmostEqual(y, bottom, 1)
                bottom -= high
            self.assertEqual(shares[got[c][-1][0]], max(shares.values()))
        self.assertIn('4.32 bits', picture.words())

    def test_alignment(self):

        self.write('q.fa', '>q1\nMKTAYIAKQR\n')
        self.write('t.fa', '>t1\nMKTAYAKQK\n')
        self.run_it('align', 'q.fa', 't.fa', '-o', 'a.tsv', '-q')
        rows = [e.text for e in self.plot('a.tsv', '--sequences', 'q.fa,t.fa').all('text')
                if e.get('{http://www.w3.org/XML/1998/namespace}space')]
        self.assertEqual(rows, ['MKTAYIAKQR', '||||| |||.', 'MKTAY-AKQK'])

    # ---- files that say what they hold

    def test_blast_rows(self):
        """A table of BLAST has no line of names: its first hit is a row."""
        self.write('q.fa', '>q1\nMKTAYIAKQRQISFVKSHFSRQLEERLGLIEV\n>q2\nMKLVINNKQRQISF\n')
        self.write('t.fa', '>t1\nMKTAYAKQRQISFVKSHFSRQLEERLGIEV\n>t2\nMKLVNNKQRQ\n')
        self.run_it('align', 'q.fa', 't.fa', '--all-vs-all', '--local', '--matrix', 'BLOSUM62',
                    '--format', 'blast', '-o', 'hits.out', '-q')
        with open(self.path('hits.out'), encoding='utf-8') as f:
            rows = [line.rstrip('\n').split('\t') for line in f]
        self.assertGreaterEqual(len(rows), 4)
        page = self.page('hits.out')
        table = [f for f in page.figures('table') if f['group'] == 'Table'][0]
        columns = [c.get('numbers') or c.get('texts') for c in table['columns']]
        self.assertEqual(table['rows'], len(rows))
        for k, row in enumerate(rows):
            self.assertEqual([c[k] for c in columns[:2]], row[:2])
            self.close([c[k] for c in columns[2:]], [float(v) for v in row[2:]], 9)
        self.assertEqual(page.figures('histogram')[0]['n'], len(rows))
        self.assertEqual([c['name'] for c in table['columns']][-2:], ['E-value', 'bit score'])

    def test_distances(self):
        self.write('d.fa', '>one\nMKTAYIAKQR\n>two\nAYIAKQRQIS\n>30\nMKTAYIAK\n')
        want = None
        for name, more in (('d.tsv', ()), ('d.npz', ()), ('d.phy', ('--format', 'phylip')),
                           ('l.phy', ('--format', 'phylip', '--shape', 'lower')),
                           ('n.phy', ('--format', 'phylip', '--names', 'strict'))):
            self.run_it('align', 'd.fa', '--values', 'distance', '--matrix', 'BLOSUM62', '-q',
                        '-o', name, *more)
            if not want:
                with open(self.path(name), encoding='utf-8') as f:
                    want = [float(v) for line in list(f)[1:] for v in line.split('\t')[1:]]
            page = self.page(name)
            heat = page.figures('heat')[0]
            self.close(unpack(heat['values']), want, 4)
            self.assertEqual(heat['rowNames'], ['one', 'two', '30'])
            self.assertEqual(heat['columnNames'], ['one', 'two', '30'])
            self.assertNotIn('ontact', page.data['kind'] + heat['group'] + heat['valueName'])
            self.check_map(self.plot(name), want, 3, 'range', 0, max(want))
        self.write('e.fa', '>z\nMKTAYIAKQR\n')
        self.run_it('align', 'd.fa', 'e.fa', '--values', 'identity', '--matrix', 'BLOSUM62', '-q',
                    '-o', 'i.tsv')
        heat = self.page('i.tsv').figures('heat')[0]
        self.assertEqual((heat['rows'], heat['columns'], heat['columnNames']), (3, 1, ['z']))
        self.assertEqual(unpack(heat['values'])[0], 1)
        for text, words in (('   3\na 0 1 2\nb 1 0 1\n', '2 rows, line 1 says 3'),
                            ('   2\na 0 x\nb 1 0\n', 'line 2'), ('\ta\tb\na\t1\n', 'line 2'),
                            ('\ta\nb\t1\t2\n', 'line 2')):
            self.write('bad.phy', text)
            r = subprocess.run([EXE, 'report', self.path('bad.phy')], capture_output=True,
                               check=False)
            self.assertEqual(r.returncode, 65, text)
            self.assertIn(words.encode(), r.stderr)

    def test_kinds_of_arrays(self):
        """A name in the file decides, not a shape."""
        self.write('p.fa', '>a\nMKTAYIAK\n>b\nMKTA\n')
        for include, kind in (('logits', 'logits'), ('contacts', 'Contacts'),
                              ('per-residue', None), ('attentions', 'Attention')):
            names = ['.npz', '.safetensors', '.jsonl']
            with open(self.path('hdf5'), 'wb') as log:
                if not subprocess.run([EXE, 'esm2', 'p.fa', '--weights', 'tiny', '-q', '-o',
                                       'x.h5', '--resume=no'], cwd=self.folder, stderr=log,
                                      check=False).returncode:
                    names.append('.h5')
            for suffix in names:
                name = include + suffix
                self.run_it('esm2', 'p.fa', '--weights', 'tiny', '--include', include, '-q', '-o',
                            name)
                os.remove(self.path(name + '.manifest.tsv'))  # lengths stood there
                page = self.page(name)
                groups = {f['group'] for f in page.figures('heat')}
                self.assertEqual(groups, {kind} if kind else set(), name)
                self.assertEqual(len(page.figures('scatter')), include == 'per-residue', name)
        pairs = [i + 10 * j + 100 * t for i in range(4) for j in range(4) for t in range(3)]
        for kinds, key in ('tracks', 'w'), ('rna_seq,contact_maps', 'w/contact_maps'):
            self.npz('pairs.npz', [(key, (4, 4, 3), pairs)], kinds)
            heat = self.page('pairs.npz').figures('heat')[0]
            self.assertEqual(heat['group'], 'Pairs of bins')
            self.close(unpack(heat['values']), pairs[::3])
        self.npz('square.npz', [('w', (2, 2), [0, .25, .5, 1])], 'tracks')
        tracks = self.page('square.npz').figures('tracks')[0]['tracks']
        self.close(unpack(tracks[1]['values']), [.25, 1])
        self.npz('other.npz', [('x', (2, 2), [0, .25, .5, 1])])
        heat = self.page('other.npz').figures('heat')[0]
        self.assertEqual((heat['group'], heat['valueName']), ('Matrices', 'value'))
        self.assertIn('does not say', heat['note'])
        self.npz('head.npz', [('a', (3,), [1, 2, 3]), ('b', (3,), [4, 5, 6])], 'head')
        table = self.page('head.npz').figures('table')[0]
        self.assertEqual([c.get('numbers') or c.get('texts') for c in table['columns']],
                         [['a', 'b'], [1, 4], [2, 5], [3, 6]])

    def test_contributions(self):
        values = [.5, -2, 1, 0, 3, -.25]
        gradient = [k - 11 for k in range(24)]
        self.npz('c.npz', [('w/contributions', (6,), values), ('w/gradient', (6, 4), gradient),
                           ('w/value', (1,), [42])], 'contributions,gradient,value')
        page = self.page('c.npz')
        track = page.figures('tracks')[0]['tracks'][0]
        self.assertEqual(track['name'], 'contributions')
        self.close(unpack(track['values']), values)
        heat = page.figures('heat')[0]
        self.assertEqual((heat['letters'], heat['scale']), ('ACGT', 'diverging'))
        self.close(unpack(heat['values']), [gradient[4 * p + k] for k in range(4)
                                            for p in range(6)])
        table = page.figures('table')[0]
        self.assertEqual(table['columns'][1]['numbers'], [42])


if __name__ == '__main__':
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
