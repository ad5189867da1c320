#!/usr/bin/env python3
"""hip_faults.py BIOINFER SOURCE_ROOT - the command over a runtime that ends the process when a kernel faults, as AMD's does
(fake_driver.c, in LD_LIBRARY_PATH): the worker is replaced, and the output has the same bytes."""
import os
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
WEIGHTS = os.path.join(ROOT, 'tests', 'golden', 'esm2', 'hf-d16')


class Faults(unittest.TestCase):
    def embed(self, folder, name, **environment):
        path = os.path.join(folder, name)
        run = subprocess.run([EXE, 'esm2', os.path.join(folder, 'in.fasta'), '--weights', WEIGHTS, '--device', 'hip:0',
                              '--batch-tokens', '16', '-o', path], capture_output=True, text=True, check=False,
                             env=dict(os.environ, **environment))
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, 'rb') as f:
            return f.read(), run.stderr

    def test_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'in.fasta'), 'w', encoding='ascii') as f:
                f.write(''.join('>r%d\n%s\n' % (i, 'MKTAYIAKQRQISFVK'[:4 + i]) for i in range(8)))
            want, words = self.embed(folder, 'whole.npz')
            self.assertNotIn('replaced', words)
            for at in 60, 150, 250:
                ended = os.path.join(folder, 'ended.%d' % at)
                got, words = self.embed(folder, 'o%d.npz' % at, FAKE_DRIVER_ABORT_AT=str(at), FAKE_DRIVER_ABORTED=ended)
                self.assertTrue(os.path.exists(ended), 'the run has fewer than %d calls' % at)
                self.assertIn('replaced', words)
                self.assertEqual(got, want)


if __name__ == '__main__':
    unittest.main()
