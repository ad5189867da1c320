#!/usr/bin/env python3
"""test_genome_index.py BIOINFER SOURCE_ROOT - `bioinfer index --fai`: the bytes that samtools faidx
writes (constants here are of pysam 0.24.1, htslib 1.24), and what it refuses."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_tracks import bgzip, read

EXE = ROOT = ''
# text, what samtools faidx makes of it
GOOD = (('>a words\nACGT\nAC\n>b\nNN\n', 'a\t6\t9\t4\t5\nb\t2\t20\t2\t3\n'),
        ('>a\r\nACGT\r\nACGT\r\nA\r\n>b\tx\r\nac\r\n', 'a\t9\t4\t4\t6\nb\t2\t25\t2\t4\n'),
        ('>a\nACGTACGT\n\n>b\nA\n', 'a\t8\t3\t8\t9\nb\t1\t16\t1\t2\n'),
        ('>one\nACGTACGTRYKMN-.*', 'one\t16\t5\t16\t17\n'),
        ('>none\n\n>b\nA\n', 'b\t1\t10\t1\t2\n'),
        ('>a|b/c:1-2,d\nACGT\n', 'a|b/c:1-2,d\t4\t13\t4\t5\n'))
BAD = (('>a\nACGT\nAC\nACGT\n', 'line 4: all lines of a contig but its last have one length'),
       ('>a\nAC\nACGT\n', 'line 3: all lines of a contig'),
       ('>a\nACGT\n\nACGT\n', 'line 4: all lines of a contig'),
       ('>a\nACGT\r\nACGT\nAC\n', 'line 4: all lines of a contig'),
       ('>a\nACGT\n>a x\nACGT\n', 'line 3: a second a'),
       ('> a\nACGT\n', 'line 1: a record without a name'),
       ('ACGT\n', 'line 1: bases, expected a line that begins with >'),
       (';x\n>a\nACGT\n', 'line 1: bases, expected'),
       ('>a\nAC GT\n', 'line 2: a byte that is no base'),
       ('>a\nAC\0GT\n', 'line 2: a byte that is no base'),
       ('>a\nAC\rGT\n', 'line 2: CR within a line'),
       ('>a\n\nACGT\n', 'line 3: all lines of a contig'),
       (b'\xef\xbb\xbf>a\nACGT\n', 'line 1: a byte order mark'),
       ('>a\n', 'no record of FASTA with bases'),
       ('', 'no record of FASTA'), ('\n\n', 'no record of FASTA'))


class Index(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def run_it(self, *args, code=0):
        r = subprocess.run([EXE, *args], cwd=self.folder, capture_output=True, text=True,
                           check=False)
        self.assertEqual(r.returncode, code, r.stderr)
        return r.stderr

    def test_plain(self):
        for text, fai in GOOD:
            self.write('g.fa', text)
            said = self.run_it('index', '--fai', 'g.fa')
            self.assertEqual(read(self.path('g.fa.fai')).decode(), fai)
            self.assertIn('%d contigs of ' % fai.count('\n'), said)

    def test_bgzip(self):
        """The index is that of the text, and blocks begin where they do; an empty one ends it."""
        for text, fai in GOOD:
            for step in 3, 7, 1000:
                packed, blocks = bgzip(text.encode(), step)
                self.write('g.fa.gz', packed)
                self.run_it('index', '--fai', 'g.fa.gz', '-q')
                self.assertEqual(read(self.path('g.fa.gz.fai')).decode(), fai)
                self.assertEqual(read(self.path('g.fa.gz.gzi')), blocks)
        packed = bgzip(GOOD[0][0].encode(), 7)[0]
        for blocks in (packed + packed[-28:], packed[-28:] + packed,
                       bgzip(b'>x\nAC\n', 7)[0] + packed):
            self.write('cut.fa.gz', blocks)
            self.assertIn('an empty bgzip block at byte ',
                          self.run_it('index', '--fai', 'cut.fa.gz', code=65))
        for n, words in ((len(packed) - 28, 'truncated'), (len(packed) - 5, 'truncated')):
            self.write('cut.fa.gz', packed[:n])
            self.assertIn(words, self.run_it('index', '--fai', 'cut.fa.gz', code=65))
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith('cut.fa.gz.')])

    def test_refusals(self):
        for text, words in BAD:
            self.write('bad.fa', text)
            self.assertIn(words, self.run_it('index', '--fai', 'bad.fa', code=65))
            self.assertFalse(os.path.exists(self.path('bad.fa.fai')))
        import gzip
        self.write('g.fa.gz', gzip.compress(b'>a\nACGT\n'))
        self.assertIn('compress it with bgzip', self.run_it('index', '--fai', 'g.fa.gz', code=65))
        self.assertIn('none.fa', self.run_it('index', '--fai', 'none.fa', code=66))
        self.assertIn('not of standard input', self.run_it('index', '--fai', '-', code=64))

    def test_use(self):
        """A genome without an index says how to make it, and is read then."""
        model = os.path.join(ROOT, 'tests', 'golden', 'enformer', 'half')
        self.write('g.fa', '>c\n' + ('ACGTTGCAAC' * 6 + '\n') * 200)
        self.write('i.bed', 'c\t6000\t6001\tx\n')
        run = ('enformer', 'i.bed', '--genome', 'g.fa', '--weights', model, '-o', 'x.npz', '-q')
        said = self.run_it(*run, code=66)
        self.assertIn('make it with: bioinfer index --fai g.fa', said)
        self.run_it('index', '--fai', 'g.fa', '-q')
        self.run_it(*run)


if __name__ == '__main__':
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
