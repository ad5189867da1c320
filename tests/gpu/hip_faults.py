#!/usr/bin/env python3
"""hip_faults.py BIOINFER SOURCE_ROOT - the command over a runtime that ends the process when a
kernel faults, as AMD's does (fake_driver.c, in LD_LIBRARY_PATH): the worker is replaced, and the
output has the same bytes."""
import os
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
WEIGHTS = os.path.join(ROOT, 'tests', 'golden', 'esm2', 'hf-d16')
DESIGN_WEIGHTS = os.path.join(ROOT, 'share', 'proteinmpnn', 'proteinmpnn_v_48_020.mpnn')


class Faults(unittest.TestCase):
    def run_command(self, folder, name, *words, **environment):
        """Bytes of the output, and what the command said."""
        path = os.path.join(folder, name)
        run = subprocess.run([EXE, *words, '--device', 'hip:0', '-o', path], capture_output=True,
                             text=True, check=False, env=dict(os.environ, **environment))
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, 'rb') as f:
            return f.read(), run.stderr

    def make_structures(self, folder):
        """Three structures of 12 residues."""
        os.mkdir(folder)
        source = os.path.join(ROOT, 'tests', 'golden', 'proteinmpnn', '5L33.pdb')
        with open(source, encoding='ascii') as f:
            atoms = [line for line in f if line.startswith('ATOM')]
        residues = sorted({line[21:27] for line in atoms})
        for i in range(3):
            with open(os.path.join(folder, 's%d.pdb' % i), 'w', encoding='ascii') as f:
                f.writelines(line for line in atoms if line[21:27] in residues[12 * i:12 * i + 12])

    def test_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'in.fasta'), 'w', encoding='ascii') as f:
                f.write(''.join('>r%d\n%s\n' % (i, 'MKTAYIAKQRQISFVK'[:4 + i]) for i in range(8)))
            self.make_structures(os.path.join(folder, 'in'))
            fasta = os.path.join(folder, 'in.fasta')
            for suffix, words in {
                    '.npz': ('esm2', fasta, '--weights', WEIGHTS, '--batch-tokens', '16'),
                    '.tsv': ('score', 'esm2', fasta, '--weights', WEIGHTS, '--batch-tokens', '64'),
                    '.fa': ('proteinmpnn', os.path.join(folder, 'in'), '--weights', DESIGN_WEIGHTS,
                            '--num-seq', '2', '--batch-tokens', '32')}.items():
                want, said = self.run_command(folder, 'whole' + suffix, *words)
                self.assertNotIn('replaced', said)
                for at in 60, 150, 250:
                    ended = os.path.join(folder, 'ended%d%s' % (at, suffix))
                    got, said = self.run_command(folder, 'o%d%s' % (at, suffix), *words,
                                                 FAKE_DRIVER_ABORT_AT=str(at),
                                                 FAKE_DRIVER_ABORTED=ended)
                    self.assertTrue(os.path.exists(ended), 'the run has fewer than %d calls' % at)
                    self.assertIn('replaced', said)
                    self.assertEqual(got, want)


if __name__ == '__main__':
    unittest.main(verbosity=2)
