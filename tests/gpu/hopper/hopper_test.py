#!/usr/bin/env python3
"""hopper_test.py BIOINFER SOURCE_ROOT - what the command launches on a Hopper GPU.

The driver is null_driver.c (in LD_LIBRARY_PATH): it computes nothing, so no numbers are looked at,
but finds every kernel in its code and checks what a launch and a tensor map ask for. Each case
names entries that must be among those launched, and ones that must not.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

EXE, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
GOLDEN = os.path.join(ROOT, 'tests', 'golden')


SEQUENCES = ''.join('>s%d\n%s\n' % (n, ('MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPIL' * 30)[:n])
                    for n in (1, 37, 90))


class Hopper(unittest.TestCase):
    def launched(self, *args, code=0, output=None):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, 'log')
            with open(os.path.join(folder, 'sequences.fasta'), 'w', encoding='ascii') as f:
                f.write(SEQUENCES)
            command = [EXE, *args, '--device', 'cuda:0', '--progress', 'off', '-o',
                       output or os.path.join(folder, 'o.npz')]
            r = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder,
                               env=dict(os.environ, NULL_DRIVER_LOG=log))
            self.assertEqual(r.returncode, code, r.stderr)
            with open(log, encoding='ascii') as f:
                return f.read().split()

    def check(self, args, some, none=()):
        names = self.launched(*args)
        for pattern in some:
            self.assertTrue([n for n in names if re.fullmatch(pattern, n)],
                            (pattern, sorted(set(names))))
        for pattern in none:
            self.assertEqual([n for n in names if re.fullmatch(pattern, n)], [])

    def model(self, family, name, *args):
        return [family, 'sequences.fasta', '--weights', os.path.join(GOLDEN, family, name), *args]

    def test_esm2(self):
        for name, heads in (('hf-d16', 'd16'), ('hf-d128', 'd128'), ('hf-d64-bin-legacy', 'd64')):
            self.check(self.model('esm2', name, '--include', 'mean,per-residue,logits'),
                       ['linear_sm90_.*f16', 'linear_sm90_.*f32', f'attention_sm90_{heads}_f16',
                        'layernorm_f32_f16'], ['linear_f32', 'attention_d.*'])
        self.check(self.model('esm2', 'hf-d16', '--include', 'contacts'),
                   ['attention_contacts.*', 'then_contact.*'])

    def test_float32(self):
        """Narrow products are chains, wide ones go to the matrix unit, large ones by warpgroups.
        Heads of 16 columns and more go to the matrix unit."""
        self.check(self.model('esm2', 'hf-d16', '--precision', 'fp32'),
                   ['linear(_small|_near.*)?_f32', 'attention_near_d32_f32',
                    'layernorm_f32_f32'], ['.*sm90.*', 'attention_d.*'])
        self.check(['esm2', 'sequences.fasta', '--precision', 'fp32', '--weights',
                    os.path.join(ROOT, 'share', 'bioinfer-tiny')],
                   ['linear_sm90_terms_.*_f32'], ['linear(_small|_near.*)?_f32'])

    def test_designs(self):
        """A position of a few designs is 38 launches: three layers and a head. Their products take
        the entry of few rows: with larger tiles designs take a quarter longer
        (bench/results/proteinmpnn.md)."""
        names = self.launched('proteinmpnn', os.path.join(GOLDEN, 'proteinmpnn', '5L33.pdb'),
                              '--num-seq', '8', output='out.fa')
        step = names[names.index('draw_f32') + 1:]
        step = step[:step.index('draw_f32') + 1]
        self.assertLessEqual(len(step), 38, step)
        self.assertEqual([n for n in step if n.startswith('linear_')],
                         15 * ['linear_near_few_f32'] + ['linear_small_f32'])

    def test_other_proteins(self):
        self.check(self.model('esmc', 'split'), ['linear_sm90_.*', 'attention_sm90_.*',
                                                 'halves_f32_f16', 'layernorm_rotated_f16_f16'])
        self.check(self.model('protbert', 'trunk'), ['linear_sm90_.*', 'attention_sm90_.*'])
        self.check(self.model('prott5', 'full'), ['linear_sm90_.*', 'attention_bias_.*'])

    def test_enformer(self):
        for name in 'half', 'odd':
            folder = os.path.join(GOLDEN, 'enformer', name)
            self.check(['enformer', os.path.join(folder, 'window.fa'), '--weights', folder,
                        '--positions', 'formula-pt'], ['linear_.*f16.*', 'rel_attention.*'])

    def test_windows_together(self):
        """A program makes features of 1, 2, 4 or 8 windows, then runs its layers once for all."""
        folder = os.path.join(GOLDEN, 'enformer', 'half')
        with open(os.path.join(folder, 'window.fa'), encoding='ascii') as f:
            window = f.read().split('\n', 1)[1]
        with tempfile.TemporaryDirectory() as here:
            path = os.path.join(here, 'windows.fa')
            cases = {1: [1], 2: [2], 3: [4], 4: [4], 5: [4, 1], 8: [8], 9: [8, 1], 13: [8, 4, 1]}
            for n, made in cases.items():
                with open(path, 'w', encoding='ascii') as f:
                    f.write(''.join('>w%d\n%s' % (i, window) for i in range(n)))
                names = self.launched('enformer', path, '--weights', folder, '--positions',
                                      'formula-pt')
                self.assertEqual(names.count('embedding_windows_f16'), sum(made), n)
                layers = len([name for name in names if name.startswith('rel_attention')])
                self.assertEqual(layers, 2 * len(made), n)
                self.assertNotIn('put_rows_f32', names)
            order = ['a', 'b', 'x', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'y', 'z', 'l', 'm']
            with open(path, 'w', encoding='ascii') as f:
                f.write(''.join('>%s\n%s' % (n, 'ACGT\n' if n in 'xyz' else window) for n in order))
            output = os.path.join(here, 'o.npz')
            self.launched('enformer', path, '--weights', folder, '--positions', 'formula-pt',
                          code=1, output=output)
            with zipfile.ZipFile(output) as z:
                got = [n[0] for n in z.namelist() if re.match(r'[a-z]\b', n)]
            self.assertEqual(got, [n for n in order if n not in 'xyz'])

    def test_bases(self):
        """The first convolution reads rows of bases that overlap; a layer over rows apart does
        not."""
        for name in 'enformer/half', 'enformer/odd', 'borzoi/final':
            family, folder = name.split('/')[0], os.path.join(GOLDEN, *name.split('/'))
            more = ['--positions', 'formula-pt'] if family == 'enformer' else []
            names = self.launched(family, os.path.join(folder, 'window.fa'), '--weights', folder,
                                  *more)
            at = names.index('embedding_windows_f16')
            self.assertEqual(names[at + 1], 'overlapping_rows')
            self.assertRegex(names[at + 2], '^linear_sm90_')
        self.check(self.model('esm2', 'hf-d16'), ['linear_sm90_.*'], ['overlapping_rows'])

    def test_scorers_without_junctions(self):
        """Junctions are counted in float32: fp16 has `recommended` leave them out, in words."""
        golden = os.path.join(GOLDEN, 'alphagenome')
        model = ['--weights', os.path.join(golden, 'small')]
        r = subprocess.run([EXE, 'alphagenome', '--list-outputs', *model], capture_output=True,
                           text=True, check=True)
        outputs = re.findall(r'^(human\.\S+)(?:\t[^\t]*){3}\t(\d+)\t', r.stdout, re.M)
        outputs = [(name, int(n)) for name, n in outputs]
        self.assertIn(('human.splice_junctions.1', 4), outputs)
        with tempfile.TemporaryDirectory() as folder:
            table, genome, vcf = (os.path.join(folder, name) for name in ('t.tsv', 'g.fa', 'v.vcf'))
            with open(table, 'w', encoding='ascii') as f:
                f.write('head\tidentifier\tname\tstrand\n' + ''.join(
                    f'{name}\t{i}\t{i}\t.\n' for name, n in outputs for i in range(n)))
            with open(genome, 'w', encoding='ascii') as f:
                f.write('>chr1\n' + 'ACGT' * 5000 + '\n')
            with open(genome + '.fai', 'w', encoding='ascii') as f:
                f.write('chr1\t20000\t6\t20000\t20001\n')
            with open(vcf, 'w', encoding='ascii') as f:
                f.write('##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n'
                        'chr1\t10001\t.\tA\tG\n')
            for more in [], ['--workers', '2']:
                r = subprocess.run(
                    [EXE, 'alphagenome', vcf, *model, '--genome', genome, '--targets', table,
                     '--gtf', os.path.join(golden, 'junctions.gtf'), '--scorers', 'recommended',
                     '--precision', 'fp16', '--device', 'cuda:0',
                     '-o', os.path.join(folder, 's.tsv'), *more],
                    capture_output=True, text=True, check=False)
                said = re.findall('recommended: without SpliceJunctionScorer.*', r.stderr)
                self.assertEqual(len(said), 1, r.stderr)
                self.assertIn('fp16: human.splice_junctions.1 is computed in fp32', said[0])

    def test_launch_log(self):
        """Each launch has a line, equal from run to run wherever memory lies."""
        logs = []
        with tempfile.TemporaryDirectory() as folder:
            for n, include in enumerate(('mean', 'mean', 'mean,logits')):
                path = os.path.join(folder, str(n))
                os.environ['NULL_DRIVER_LAUNCHES'] = path
                try:
                    names = self.launched(*self.model('esm2', 'hf-d16', '--include', include))
                finally:
                    del os.environ['NULL_DRIVER_LAUNCHES']
                with open(path, encoding='ascii') as f:
                    logs.append(f.read().splitlines())
                self.assertEqual([line.split()[0] for line in logs[-1]], names)
                for line in logs[-1]:
                    self.assertRegex(line, r'^\w+ [1-9]\d* [1-9]\d* [1-9]\d* \d+ [0-9a-f]{16}$')
        self.assertEqual(logs[0], logs[1])
        self.assertNotEqual(logs[0], logs[2])


if __name__ == '__main__':
    unittest.main(verbosity=2)
