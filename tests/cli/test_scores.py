#!/usr/bin/env python3
"""test_scores.py BIOINFER SOURCE_ROOT - scores of variants (--scorers): every row against a plain
statement of the scorers in Python over the command's own tracks of both alleles; what is refused.

Standard library only. The model is the golden one with random weights (tests/golden/alphagenome).
The arithmetic is compared with the released tool's in tests/engine/scores_values_test.c.
"""
import gzip
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_tracks import npz, read

EXE = ROOT = ''
WINDOW, GENOME = 8192, 30000
OUTPUTS = {  # tracks: name, strand
    'atac.1': [('A0', '.'), ('A1', '.')],
    'contact_maps.2048': [('C0', '.'), ('C1', '.'), ('C2', '.')],
    'dnase.1': [('D0', '.')],
    'chip_tf.128': [('T0', '.'), ('T1', '.'), ('T2', '.')],
    'chip_histone.128': [('H0', '.'), ('H1', '.')],
    'cage.1': [('CAGE', '+')],
    'procap.1': [('PROCAP', '-')],
    'rna_seq.1': [('R0', '+'), ('R0', '-')],
    'splice_sites.1': [('donor', '+'), ('acceptor', '+'), ('donor', '-'), ('acceptor', '-'),
                       ('none', '.')],
    'splice_site_usage.1': [('U0', '+'), ('U1', '+'), ('U0', '-'), ('U1', '-')],
    'splice_junctions.1': [('J0', '+'), ('J1', '+'), ('J0', '-'), ('J1', '-')],
}
CENTER = 'CenterMaskScorer(requested_output=%s, width=%d, aggregation_type=%s)'
SPLICING = 'GeneMaskSplicingScorer(requested_output=%s, width=None)'


def center(output, how, width=501):
    kind = output.split('.')[0].upper()
    return output, kind, CENTER % (kind, width, how)


SCORERS = [  # the recommended ones, in their order
    center('atac.1', 'DIFF_LOG2_SUM'),
    ('contact_maps.2048', 'CONTACT_MAPS', 'ContactMapScorer()'),
    center('dnase.1', 'DIFF_LOG2_SUM'),
    center('chip_tf.128', 'DIFF_LOG2_SUM'),
    center('chip_histone.128', 'DIFF_LOG2_SUM', 2001),
    center('cage.1', 'DIFF_LOG2_SUM'),
    center('procap.1', 'DIFF_LOG2_SUM'),
    ('rna_seq.1', 'RNA_SEQ', 'GeneMaskLFCScorer(requested_output=RNA_SEQ)'),
    ('rna_seq.1', 'RNA_SEQ', 'GeneMaskActiveScorer(requested_output=RNA_SEQ)'),
    ('splice_sites.1', 'SPLICE_SITES', SPLICING % 'SPLICE_SITES'),
    ('splice_site_usage.1', 'SPLICE_SITE_USAGE', SPLICING % 'SPLICE_SITE_USAGE'),
    ('rna_seq.1', 'RNA_SEQ', 'PolyadenylationScorer()'),
    center('atac.1', 'ACTIVE_SUM'),
    center('dnase.1', 'ACTIVE_SUM'),
    center('chip_tf.128', 'ACTIVE_SUM'),
    center('chip_histone.128', 'ACTIVE_SUM', 2001),
    center('cage.1', 'ACTIVE_SUM'),
    center('procap.1', 'ACTIVE_SUM'),
]
GENES = [  # id, name, type, strand, start, end (0-based), transcripts of exons
    ('G1.7', 'ONE', 'protein_coding', '+', 11000, 14000,
     [[(11000, 11200), (12900, 13100)], [(12000, 12050), (12950, 14000)]]),
    ('G2.1', '', 'lncRNA', '-', 12500, 15200, [[(12500, 12800), (15000, 15200)]]),
    ('G3.2', 'FAR', 'protein_coding', '+', 25000, 26000, [[(25000, 26000)]]),
]
SITES = [  # gene, strand, start
    ('G1', '+', 12400), ('G1', '+', 13010), ('G1', '+', 13900), ('G1', '-', 13950),
    ('G2', '-', 12600), ('G3', '+', 25900)]
HEADER = ('variant_id scored_interval gene_id gene_name gene_type gene_strand junction_Start '
          'junction_End output_type variant_scorer track_name track_strand Assay_title '
          'ontology_curie biosample_name biosample_type biosample_life_stage gtex_tissue '
          'data_source endedness genetically_modified transcription_factor histone_mark '
          'raw_score').split()


def genome():
    numbers = random.Random(5)
    return ''.join(numbers.choice('ACGT') for _ in range(GENOME))


# ---- the plain statement ----

def window_of(pos, ref):
    return (2 * pos + len(ref) + 1) // 2 - WINDOW // 2


def bases(text, start, end):
    return ''.join(text[i] if 0 <= i < len(text) else 'N' for i in range(start, end))


def alleles(text, pos, ref, alt):
    start = window_of(pos, ref)
    more = max(0, len(ref) - len(alt))
    other = bases(text, start, pos) + alt + bases(text, pos + len(ref), start + WINDOW + more)
    return bases(text, start, start + WINDOW), other[:WINDOW]


def align(values, at, change):
    """The rows of the alternative beside those of the reference."""
    zero = [0.0] * len(values[0])
    if change > 0:
        top = [max(column) for column in zip(*values[at:at + change + 1])]
        values = values[:at] + [top] + values[at + change + 1:]
        return values + [zero] * change
    if change < 0:
        return values[:at + 1] + [zero] * -change + values[at + 1:len(values) + change]
    return values


def mean(values, rows, k):
    return sum(values[i][k] for i in rows) / len(rows) if rows else math.nan


def polya(ref, alt, gene, start, k):
    """The best split of a gene's sites; None: the gene has none that count."""
    sites = [s for g, strand, s in SITES if g == gene[0].split('.')[0] and strand == gene[3]]
    inside = [s for s in sites if start <= s and s + 1 < start + WINDOW]
    if not sites or 10 * sum(s >= start for s in sites) < 8 * len(sites) or \
            10 * sum(s + 1 < start + WINDOW for s in sites) < 8 * len(sites) or len(inside) < 2:
        return None
    ratios = []
    for s in inside:
        first = s + 1 - 400 if gene[3] == '+' else s
        rows = range(max(first - start, 0), min(first - start + 400, WINDOW))
        below = sum(ref[i][k] for i in rows)
        ratios.append(sum(alt[i][k] for i in rows) / below if below else 0)
    best = 0
    for n in range(1, len(ratios)):
        near, far = sum(ratios[:n]), sum(ratios[n:])
        if near > 0 and far > 0:
            best = max(best, abs(math.log2((len(ratios) - n) / n * near / far)))
    return best


class Statement:
    """Rows of a variant: (gene id or '', track, strand, score)."""

    def __init__(self, pos, ref, alt, arrays):
        self.pos, self.ref, self.alt, self.arrays = pos, ref, alt, arrays
        self.start = window_of(pos, ref)

    def values(self, output, aligned):
        ref, alt = self.arrays[output]
        change = len(self.alt) - len(self.ref)
        if aligned and change:
            alt = align(alt, self.pos - self.start + min(len(self.ref), len(self.alt)) - 1, change)
        return ref, alt

    def center(self, output, scorer, k):
        width, how = re.search('width=(.*), aggregation_type=(.*)\\)', scorer).groups()
        resolution = int(output.split('.')[1])
        ref, alt = self.values(output, False)
        width = -(-int(width) // resolution)
        low = (self.pos - self.start) // resolution - width // 2
        rows = range(max(low, 0), min(low + width, len(ref)))
        r, a = sum(ref[i][k] for i in rows), sum(alt[i][k] for i in rows)
        return max(r, a) if how == 'ACTIVE_SUM' else math.log2(1 + a) - math.log2(1 + r)

    def contacts(self, output, k):
        ref, alt = self.values(output, False)
        side = WINDOW // 2048
        bin_ = (self.pos - self.start) // 2048
        return sum(abs(alt[i * side + bin_][k] - ref[i * side + bin_][k])
                   for i in range(side)) / side

    def exons(self, output, scorer, k):
        ref, alt = self.values(output, True)
        for gene in GENES:
            rows, here = set(), False
            for exons in gene[6]:
                site = exons[0][0] if gene[3] == '+' else exons[-1][1]
                if self.start <= site < self.start + WINDOW:
                    here = True
                    rows |= {i - self.start for e in exons for i in range(*e)
                             if 0 <= i - self.start < WINDOW}
            if here:
                r, a = mean(ref, sorted(rows), k), mean(alt, sorted(rows), k)
                yield gene, (max(r, a) if 'Active' in scorer
                             else math.log(a + 1e-3) - math.log(r + 1e-3))

    def bodies(self, output, scorer, k):
        ref, alt = self.values(output, True)
        for gene in GENES:
            if gene[5] <= self.pos or gene[4] >= self.pos + max(len(self.ref), len(self.alt)):
                continue
            if 'Poly' in scorer:
                score = polya(ref, alt, gene, self.start, k)
            else:
                rows = range(max(gene[4] - self.start, 0), min(gene[5] - self.start, WINDOW))
                score = max(abs(alt[i][k] - ref[i][k]) for i in rows)
            if score is not None:
                yield gene, score

    def rows(self, with_polya):
        for output, kind, scorer in SCORERS:
            if 'Poly' in scorer and not with_polya:
                continue
            for k, (track, strand) in enumerate(OUTPUTS[output][:4]):
                if 'Center' in scorer:
                    found = [(None, self.center(output, scorer, k))]
                elif 'Contact' in scorer:
                    found = [(None, self.contacts(output, k))]
                elif 'LFC' in scorer or 'Active' in scorer:
                    found = self.exons(output, scorer, k)
                else:
                    found = self.bodies(output, scorer, k)
                for gene, score in found:
                    if not gene or strand in (gene[3], '.'):
                        yield gene, kind, scorer, track, strand, score


# ---- the command ----

class Scores(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(ROOT, 'tests', 'golden', 'alphagenome', 'small')
        self.genome = genome()
        self.write('g.fa', '>chr1\n%s\n' % self.genome)
        self.write('g.fa.fai', 'chr1\t%d\t6\t%d\t%d\n' % (GENOME, GENOME, GENOME + 1))
        self.write('g.gtf', self.gtf())
        self.write('t.tsv', 'head\tidentifier\tname\tstrand\tbiosample_name\n' + ''.join(
            '%s\t%s%s\t%s\t%s\tof %s\n' % ('human.' + o, n, s, n, s, n)
            for o, tracks in OUTPUTS.items() for n, s in tracks))
        self.write('pas.tsv', 'gene_id\tpas_strand\tStart\tEnd\n' + ''.join(
            '%s\t%s\t%d\t%d\n' % (g, s, x, x + 1) for g, s, x in SITES))
        self.use = ('--genome', 'g.fa', '--gtf', 'g.gtf', '--targets', 't.tsv', '-q')

    def gtf(self):
        rows = []
        for gene, name, kind, strand, start, end, transcripts in GENES:
            about = 'gene_id "%s"; gene_type "%s";' % (gene, kind)
            about += ' gene_name "%s";' % name if name else ''
            rows.append(('gene', start + 1, end, strand, about))
            for i, exons in enumerate(transcripts):
                more = about + ' transcript_id "%s-%d";' % (gene, i)
                rows.append(('transcript', exons[0][0] + 1, exons[-1][1], strand, more))
                rows += [('exon', a + 1, b, strand, more) for a, b in exons]
        return ''.join('chr1\tT\t%s\t%d\t%d\t.\t%s\t.\t%s\n' % r for r in rows)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def vcf(self, variants, name='v.vcf'):
        self.write(name, '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n' + ''.join(
            'chr1\t%d\t%s\t%s\t%s\n' % (pos + 1, 'v%d' % i, ref, alt)
            for i, (pos, ref, alt) in enumerate(variants)))

    def run_it(self, *args, code=0):
        args = [EXE, 'alphagenome', *args]
        if args[2] != 'merge':
            args += ['--weights', self.model, '--progress', 'off', '--threads', '1']
        else:
            args = [EXE] + args[2:]
        r = subprocess.run(args, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(r.returncode, code, r.stderr)
        return r

    def table(self, name):
        lines = read(self.path(name)).decode().splitlines()
        self.assertEqual(lines[0].replace('Assay title', 'Assay_title').split('\t'), HEADER)
        return [dict(zip(HEADER, line.split('\t'))) for line in lines[1:]]

    def arrays(self, variants, outputs):
        """The tracks of both alleles of each variant, by output."""
        pairs = [alleles(self.genome, *v) for v in variants]
        self.write('w.fa', ''.join('>r%d\n%s\n>a%d\n%s\n' % (i, r, i, a)
                                   for i, (r, a) in enumerate(pairs)))
        found = [{} for _ in variants]
        for output in outputs:
            self.run_it('w.fa', '--head', 'human.' + output, '-o', 'w.npz', '-q')
            arrays = npz(self.path('w.npz'))
            for i, of in enumerate(found):
                of[output] = []
                for name in 'r%d' % i, 'a%d' % i:
                    shape, values = arrays[name]
                    n = shape[-1]
                    of[output].append([values[j:j + n] for j in range(0, len(values), n)])
        return found

    def compare(self, got, variants, arrays, with_polya=True):
        got = iter(got)
        for variant, of in zip(variants, arrays):
            pos, ref, alt = variant
            start, n = window_of(pos, ref), 0
            rows = Statement(*variant, of).rows(with_polya)
            for gene, kind, scorer, track, strand, score in rows:
                row = next(got)
                self.assertEqual(row['variant_id'], 'chr1:%d:%s>%s' % (pos + 1, ref, alt))
                self.assertEqual(row['scored_interval'], 'chr1:%d-%d:.' % (start, start + WINDOW))
                self.assertEqual([row[c] for c in HEADER[2:12]],
                                 ([gene[0].split('.')[0], *gene[1:4]] if gene else [''] * 4) +
                                 ['', '', kind, scorer, track, strand])
                self.assertEqual(row['biosample_name'], 'of ' + track)
                # logarithms of sums, and differences of tracks, lose digits of float32
                self.assertAlmostEqual(float(row['raw_score']), score,
                                       delta=1e-4 * max(abs(score), 1), msg=row)
                n += 1
            self.assertGreater(n, 10)
        self.assertIsNone(next(got, None))

    def other(self, pos):
        return 'ACGT'['ACGT'.index(self.genome[pos]) - 1]

    def variants(self):
        at = self.genome
        return [(13000, at[13000], self.other(13000)),       # in an exon of G1, in G2
                (13005, at[13005], at[13005] + 'GATTACA'),    # an insertion
                (13040, at[13040:13052], at[13040]),          # a deletion
                (13060, at[13060:13063], 'ACGTA'),            # both
                (100, at[100], self.other(100))]              # near the edge, without genes

    def test_rows(self):
        variants = self.variants()
        self.vcf(variants)
        self.run_it('v.vcf', *self.use, '--scorers', 'center,gene,splicing,contact,polya',
                    '--polya', 'pas.tsv', '-o', 's.tsv')
        got = self.table('s.tsv')
        self.compare(got, variants, self.arrays(variants, sorted({s[0] for s in SCORERS})))
        self.assertTrue(any(r['variant_scorer'] == 'PolyadenylationScorer()' for r in got))

    def test_genes_without_exons(self):
        """The released tool reads genes off lines of exons, so one without them has no rows."""
        self.vcf(self.variants())
        self.write('more.gtf', self.gtf() + ''.join(
            'chr1\tT\t%s\t12001\t14000\t.\t+\t.\tgene_id "BARE"; gene_type "lncRNA";%s\n' % of
            for of in (('gene', ''), ('transcript', ' transcript_id "BARE-0";'))))
        use = list(self.use)
        self.run_it('v.vcf', *use, '--scorers', 'gene', '-o', 'without.tsv')
        use[use.index('--gtf') + 1] = 'more.gtf'
        use.remove('-q')
        r = self.run_it('v.vcf', *use, '--scorers', 'gene', '-o', 'with.tsv')
        self.assertEqual(r.stderr.count("gene 'BARE' has no exons here"), 1, r.stderr)
        self.assertEqual(read(self.path('with.tsv')), read(self.path('without.tsv')))

    def test_junctions(self):
        """Rows of the released tool's own functions (tools/golden_junctions.py): of a substitution,
        of insertions and a deletion at sites, and none of variants that no protein's gene has."""
        golden = os.path.join(ROOT, 'tests', 'golden', 'alphagenome')
        vcf = os.path.join(golden, 'junctions.vcf')
        use = ('--genome', 'g.fa', '--gtf', os.path.join(golden, 'junctions.gtf'), '--targets',
               't.tsv', '-q', '--scorers', 'junction')
        self.run_it(vcf, *use, '-o', 's.tsv')
        got = self.table('s.tsv')
        lines = read(os.path.join(golden, 'junctions.tsv')).decode().splitlines()
        columns = lines[0].split('\t')
        self.assertEqual(len(got), len(lines) - 1)
        for row, line in zip(got, lines[1:]):
            want = dict(zip(columns, line.split('\t')))
            self.assertEqual([row[c] for c in columns[:-1]], list(want.values())[:-1])
            # a score is rounded to float16, and so is the tool's
            self.assertAlmostEqual(float(row['raw_score']), float(want['raw_score']),
                                   delta=2 ** -10 * float(want['raw_score']) + 1e-6, msg=row)
            self.assertEqual(row['biosample_name'], 'of ' + row['track_name'])
        self.assertGreater(len({r['variant_id'] for r in got}), 4)
        self.run_it(vcf, *use, '-o', 'two.tsv', '--workers', '2')
        self.assertEqual(read(self.path('two.tsv')), read(self.path('s.tsv')))
        # a tissue is meant by the track of either strand, and is the same alone
        self.run_it(vcf, *use, '-o', 'one.tsv', '--tracks', 'J1-')
        for row in self.table('one.tsv'):
            self.assertEqual(row['track_name'], 'J1')
            self.assertIn(row, got)

    def test_junctions_in_company(self):
        """Variants that share a window, and other scorers, change no bytes of a variant's rows."""
        at, gtf = self.genome, os.path.join(ROOT, 'tests', 'golden', 'alphagenome', 'junctions.gtf')
        variants = [(13000, at[13000], alt) for alt in 'ACGT' if alt != at[13000]]
        use = ('--genome', 'g.fa', '--gtf', gtf, '--targets', 't.tsv', '-q')
        self.vcf(variants)
        self.run_it('v.vcf', *use, '--scorers', 'recommended', '-o', 'all.tsv', '--cluster', '100',
                    '--resume')
        together = [r for r in self.table('all.tsv')
                    if r['variant_scorer'] == 'SpliceJunctionScorer()']
        scorers = list(dict.fromkeys(r['variant_scorer'] for r in self.table('all.tsv')))
        self.assertEqual(scorers, [s for _, _, s in SCORERS[:11]] + ['SpliceJunctionScorer()'] +
                         [s for _, _, s in SCORERS[12:]])
        alone = []
        for variant in variants:
            self.vcf([variant], 'w.vcf')
            self.run_it('w.vcf', *use, '--scorers', 'junction', '-o', 'alone.tsv')
            alone += self.table('alone.tsv')
        self.assertGreater(len(alone), 10)
        self.assertEqual(together, alone)

    def test_a_job(self):
        """Clusters, journals, shards and workers give the bytes of a plain run."""
        variants = self.variants()[:4] + [(13500, self.genome[13500], self.other(13500)),
                                          (20000, self.genome[20000], self.other(20000))]
        self.vcf(variants)
        with gzip.open(self.path('g.gtf.gz'), 'wb') as f:
            f.write(self.gtf().encode())
        use = ['v.vcf', '--genome', 'g.fa', '--gtf', 'g.gtf.gz', '--targets', 't.tsv', '-q',
               '--scorers', 'gene,contact', '--cluster', '600']
        self.run_it(*use, '-o', 'plain.tsv')
        plain = read(self.path('plain.tsv'))
        rows = self.table('plain.tsv')
        self.assertEqual(len({r['variant_id'] for r in rows}), 6)
        # variants that share a window are scored in it
        self.assertEqual(len({r['scored_interval'] for r in rows}), 2)
        self.run_it(*use, '-o', 'job.tsv', '--resume')
        self.assertEqual(read(self.path('job.tsv')), plain)
        self.run_it(*use, '-o', 'two.tsv', '--workers', '2')
        self.assertEqual(read(self.path('two.tsv')), plain)
        for shard in '1/2', '2/2':
            self.run_it(*use, '-o', 'parts.tsv', '--shard', shard)
        self.run_it('merge', 'parts.tsv')
        self.assertEqual(read(self.path('parts.tsv')), plain)
        # a shard that was scored over other genes, or by other scorers, is of another job
        self.write('g.gtf', self.gtf().replace('ONE', 'TWO'))
        other = [w.replace('g.gtf.gz', 'g.gtf') for w in use]
        fewer = [w.replace('gene,contact', 'gene') for w in use]
        for name, changed in ('genes.tsv', other), ('fewer.tsv', fewer):
            self.run_it(*use, '-o', name, '--shard', '1/2')
            self.run_it(*changed, '-o', name, '--shard', '2/2')
            self.run_it('merge', name, code=65)
            self.assertFalse(os.path.exists(self.path(name)))

    def test_other_jobs(self):
        """A journal is of the contents of all tables, and of the lists that scorers are cut by."""
        self.vcf(self.variants()[:2])
        self.write('q.tsv', 'variant_scorer\ttrack_name\ttrack_strand\t-1\t0\t1\n'
                            'PolyadenylationScorer()\tR0\t+\t1\t2\t3\n')
        use = ('v.vcf', *self.use, '--scorers', 'gene,polya', '--polya', 'pas.tsv', '--quantiles',
               'q.tsv', '-o', 'job.tsv', '--shard', '1/1', '--resume')
        self.run_it(*use)
        for name, role in (('g.gtf', 'genes'), ('pas.tsv', 'polyadenylation'),
                           ('q.tsv', 'quantiles'), ('t.tsv', 'targets'), ('g.fa', 'genome')):
            old, times = read(self.path(name)), os.stat(self.path(name))
            self.write(name, old + b'\n')
            self.assertIn('the size of the ' + role, self.run_it(*use, code=73).stderr)
            self.write(name, old)
            os.utime(self.path(name), ns=(times.st_atime_ns, times.st_mtime_ns))
        for words, *more in (('tracks=', '--tracks', 'R0+'), ('organism=', '--organism', 'human'),
                             ('cluster=0', '--cluster', '5'), ('no-rule=', '--no-rule', 'all')):
            self.assertIn(words, self.run_it(*use, *more, code=73).stderr)
        for change in (('gene,polya', 'polya,gene'), ('gene,polya', 'polya')):
            self.assertIn('scorers=gene,polya',
                          self.run_it(*(w.replace(*change) for w in use), code=73).stderr)
        self.run_it(*use)

    def test_bad_variants(self):
        at = self.genome
        good = (13000, at[13000], self.other(13000))
        wrong = (13100, self.other(13100), at[13100])
        long = (13200, at[13200], at[13200] + 'A' * 3000)
        longer = (13300, at[13300:13300 + 2100], at[13300])
        self.vcf([good, wrong, (13150, at[13150], '<DEL>'), (13160, at[13160], '*'), long, longer,
                  (13170, at[13170], 'ACGT'[:2] + ',' + at[13170] + 'T')])
        use = ('v.vcf', *self.use[:-1], '--scorers', 'contact')
        r = self.run_it(*use, '-o', 's.tsv', code=1)
        seen = [row['variant_id'] for row in self.table('s.tsv')][::3]
        several = [(13170, at[13170], 'AC'), (13170, at[13170], at[13170] + 'T')]
        self.assertEqual(seen, ['chr1:%d:%s>%s' % (p + 1, a, b) for p, a, b in [good] + several])
        for words in ('REF is %s, the genome has %s at chr1:13101' % (wrong[1], at[13100]),
                      "unsupported allele '<DEL>'", "unsupported allele '*'",
                      'ALT of 3001 bases, more than a quarter of a window',
                      'REF of 2100 bases, more than a quarter of a window',
                      '5 of 8 records have no result'):
            self.assertIn(words, r.stderr)
        self.run_it(*use, '-o', 'x.tsv', '--strict', code=65)
        self.assertFalse(os.path.exists(self.path('x.tsv')))
        # a journal has the same
        self.run_it(*use, '-o', 'j.tsv', '--resume', code=1)
        self.assertEqual(read(self.path('j.tsv')), read(self.path('s.tsv')))

    def test_tiles(self):
        """Less memory gives the same bytes, in tiles, until one of these is too large, too."""
        variants = self.variants()
        self.vcf(variants)
        use = ('v.vcf', '--genome', 'g.fa', '--gtf', 'g.gtf', '--targets', 't.tsv',
               '--scorers', 'recommended', '--polya', 'pas.tsv')
        whole = self.run_it(*use, '-o', 'whole.tsv')
        self.assertNotIn('tiles of it', whole.stderr)
        self.assertIn(', scorers recommended, cpu', whole.stderr)
        for limit, tiles in ((10, '2 tiles of it\n'),
                             (5, '4 tiles of it, and the encoder runs twice\n')):
            tiled = self.run_it(*use, '--memory-limit', str(limit), '-o', 'tiled.tsv')
            self.assertIn(tiles, tiled.stderr)
            self.assertEqual(read(self.path('whole.tsv')), read(self.path('tiled.tsv')))
        none = self.run_it(*use, '--memory-limit', '1', '-o', 'none.tsv', code=1)
        self.assertIn('64 tokens need', none.stderr)
        self.assertIn('1.0 MiB are allowed', none.stderr)

    def test_quantiles(self):
        self.vcf([self.variants()[0]])
        scorer = CENTER % ('CHIP_TF', 501, 'DIFF_LOG2_SUM')
        use = ('v.vcf', *self.use, '--scorers', 'center')
        self.run_it(*use, '-o', 's.tsv')
        raw = [float(r['raw_score']) for r in self.table('s.tsv') if r['variant_scorer'] == scorer]
        self.write('q.tsv', 'variant_scorer\ttrack_name\ttrack_strand\t-1\t0\t1\n'
                   '%s\tT0\t.\t%.17g\t%.17g\t%.17g\n%s\tT1\t.\t5\t6\t7\n' %
                   (scorer, raw[0] - 1, raw[0] + 1, raw[0] + 2, scorer))
        self.run_it(*use, '--quantiles', 'q.tsv', '-o', 'q.out.tsv')
        lines = [line.split('\t') for line in read(self.path('q.out.tsv')).decode().splitlines()]
        self.assertEqual(lines[0][-1], 'quantile_score')
        got = [line[-1] for line in lines if line[9] == scorer]
        self.assertAlmostEqual(float(got[0]), -0.5, delta=1e-6)
        self.assertEqual(got[1:], ['-1', 'nan'])

    def test_refusals(self):
        self.vcf([self.variants()[0]])
        self.write('i.bed', 'chr1\t100\t110\n')
        self.write('other.gtf', self.gtf().replace('chr1\t', '1\t'))
        self.write('bare.gtf', self.gtf().replace('gene_type', 'gene_kind'))
        self.write('cut.gtf.gz', gzip.compress(self.gtf().encode())[:200])
        self.write('few.tsv', 'head\tidentifier\tname\tstrand\natac\tA\tA\t.\n')
        self.write('old.tsv', 'head\tidentifier\natac\tA\natac\tB\n')
        self.write('bad.tsv', 'gene_id\tpas_strand\tStart\tEnd\nG1\t+\tx\t9\n')
        self.write('wide.tsv', 'gene_id\tpas_strand\tStart\tEnd\nG1\t+\t8\t9\t\n')
        quantiles = 'variant_scorer\ttrack_name\ttrack_strand\t0\t1\n'
        self.write('short.tsv', quantiles + 'S\tT\t.\t0\n')
        self.write('none.tsv', quantiles)
        # tables of others would leave rows out, or give nan, without a word
        sites = 'gene_id\tpas_strand\tStart\tEnd\nENSG9\t+\t8\t9\n'
        self.write('foreign.tsv', sites + 'G1x.2\t+\t8\t9\n')
        self.write('turned.tsv', sites + 'G1.9\t-\t8\t9\n')
        lfc = 'GeneMaskLFCScorer(requested_output=RNA_SEQ)'
        self.write('strange.tsv', quantiles + 'S\tR0\t+\t0\t1\n%s\tR0\t.\t0\t1\n' % lfc)
        given = {'--genome': 'g.fa', '--gtf': 'g.gtf', '--targets': 't.tsv', '--scorers': 'gene',
                 '-o': 'x.tsv'}
        for change, code, words in (
                ({'--scorers': 'gene,all'}, 64, "'all': expected recommended, center, gene"),
                ({'--scorers': 'junction', '--gtf': None}, 64,
                 'the scorer junction needs genes: a GTF file (gtf)'),
                ({'--scorers': 'polya'}, 64, 'polya needs a table of sites (polya)'),
                ({'--gtf': None}, 64, 'the scorer gene needs genes: a GTF file (gtf)'),
                # the table that comes with bioinfer has the tracks of released weights
                ({'--targets': None}, 65, 'tracks_human.tsv: 667 tracks of human.rna_seq.1, '),
                ({'--stats': 'SAR'}, 64, '--scorers does not go with --stats'),
                ({'--tracks': '*K562*'}, 64, 'or no track of it is chosen'),
                ({'-o': 'x.npz'}, 64, '--scorers makes a table'),
                ({'input': 'i.bed'}, 64, 'i.bed holds intervals, and --scorers takes variants'),
                ({'--organism': 'rat'}, 64, "the weights have no such output of 'rat'"),
                ({'--outputs': 'atac'}, 64, '--scorers does not go with --outputs'),
                ({'--gtf': 'other.gtf'}, 65,
                 "genes are on '1' ..., the genome has 'chr1' ..."),
                ({'--gtf': 'bare.gtf'}, 65, 'bare.gtf: line 1: no gene_type: '),
                ({'--gtf': 'cut.gtf.gz'}, 65, 'cut.gtf.gz: '),
                ({'--gtf': 'none.gtf'}, 66, 'none.gtf'),
                ({'--targets': 'few.tsv', '--scorers': 'center'}, 65,
                 'few.tsv: 1 tracks of human.atac.1, the head has 2'),
                ({'--targets': 'old.tsv', '--scorers': 'center'}, 65, "no column 'name'"),
                ({'--scorers': 'polya', '--polya': 'bad.tsv'}, 65,
                 'bad.tsv: line 2: Start and End: expected a place'),
                ({'--quantiles': 'few.tsv'}, 65,
                 "few.tsv: line 1: the header has no column 'variant_"),
                ({'--scorers': 'polya', '--polya': 'wide.tsv'}, 65,
                 'wide.tsv: line 2: 5 fields, the header has 4'),
                ({'--quantiles': 'short.tsv'}, 65, 'short.tsv: line 2: 4 fields, the header has 5'),
                ({'--quantiles': 'none.tsv'}, 65, 'none.tsv: no row below the header'),
                ({'--scorers': 'polya', '--polya': 'foreign.tsv'}, 65,
                 "foreign.tsv has no site of a gene and a strand of g.gtf: its first gene is "
                 "'ENSG9'"),
                ({'--scorers': 'polya', '--polya': 'turned.tsv'}, 65, 'turned.tsv has no site'),
                ({'--quantiles': 'strange.tsv'}, 65,
                 "strange.tsv has no line of a scorer and a track that are asked for, such as "
                 "'GeneMask")):
            use = {**given, **change}
            words_of = [w for k, v in use.items() if v and k != 'input' for w in (k, v)]
            r = self.run_it(use.get('input', 'v.vcf'), *words_of, '-q', code=code)
            self.assertIn(words, r.stderr)
            self.assertFalse(os.path.exists(self.path('x.tsv')))

    def test_chosen_tracks(self):
        """--tracks leaves out rows of others, and changes none."""
        self.vcf(self.variants()[:2])
        use = ('v.vcf', *self.use, '--scorers', 'recommended')
        self.run_it(*use, '-o', 'all.tsv')
        self.run_it(*use, '--tracks', 'T1,a*,U*,R0-', '-o', 'some.tsv')
        wanted = [r for r in self.table('all.tsv') if re.match('T1$|A|U|a', r['track_name']) or
                  (r['track_name'], r['track_strand']) == ('R0', '-')]
        self.assertEqual(self.table('some.tsv'), wanted)
        self.assertGreater(len(wanted), 20)

    def test_mouse(self):
        """Scorers of the other organism: no polyadenylation, and its own heads."""
        self.vcf([self.variants()[0]])
        self.write('m.tsv', read(self.path('t.tsv')).replace(b'human.', b'mouse.'))
        self.run_it('v.vcf', '--genome', 'g.fa', '--gtf', 'g.gtf', '--targets', 'm.tsv', '-q',
                    '--organism', 'mouse', '--scorers', 'recommended', '--polya', 'pas.tsv', '-o',
                    'm.out.tsv')
        mouse = self.table('m.out.tsv')
        scorers = [s for _, _, s in SCORERS if 'Poly' not in s]
        self.assertEqual(list(dict.fromkeys(r['variant_scorer'] for r in mouse)),
                         scorers[:11] + ['SpliceJunctionScorer()'] + scorers[11:])


if __name__ == '__main__':
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
