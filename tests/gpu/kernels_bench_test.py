#!/usr/bin/env python3
"""kernels_bench_test.py SCRIPT LIBRARY hopper|numbers - bench/kernels_gpu.py without a GPU, by the
driver in LD_LIBRARY_PATH.

hopper   the whole table over hopper/null_driver.c, which refuses launches and tensor maps that a
         GPU would refuse
numbers  small shapes over fake_driver.c, whose kernels run on the emulation, against float64
"""
import ctypes
import importlib.util
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT, LIBRARY, WHAT = (sys.argv.pop(1) for _ in range(3))
SPEC = importlib.util.spec_from_file_location('kernels_gpu', SCRIPT)
kernels_gpu = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kernels_gpu)


@unittest.skipUnless(WHAT == 'hopper', 'of the other driver')
class Hopper(unittest.TestCase):
    def table(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, 'log')
            run = subprocess.run([sys.executable, SCRIPT, '--library', LIBRARY, '--alone',
                                  *options], text=True, capture_output=True, check=False,
                                 env=dict(os.environ, NULL_DRIVER_LOG=log))
            self.assertEqual((run.returncode, run.stderr), (0, ''))
            with open(log, encoding='ascii') as f:
                return run.stdout, f.read().split()

    def test_all_rows(self):
        """Each row of the table launches one entry, as often as it should."""
        text, launched = self.table('--models', '8M,150M,650M,3B', '--rows', '1024,256', '--tokens',
                                    '4096')
        rows = [line.split() for line in text.splitlines() if re.search(r'_f(16|32)$', line)]
        self.assertEqual(len(rows), 2 * 4 * 4 + 5 + 4 * 5 + 4)
        self.assertEqual(len(launched), kernels_gpu.LAUNCHES * len(rows))
        self.assertEqual(launched[::kernels_gpu.LAUNCHES], [row[-1] for row in rows])
        for name in ('linear_sm90_', 'attention_sm90_d128', 'attention_sm90_d16',
                     'rel_attention_sm90', 'layernorm_f32'):
            self.assertTrue([n for n in launched if n.startswith(name)], name)

    def test_arguments(self):
        text, launched = self.table('--models', '8M', '--rows', '64', '--tokens', '64')
        self.assertIn('8M fc1, GELU', text)
        self.assertEqual(len([n for n in launched if n.startswith('linear')]),
                         4 * kernels_gpu.LAUNCHES)
        run = subprocess.run([sys.executable, SCRIPT, '--library', LIBRARY, '--alone', '--device',
                              'cuda:x'], text=True, capture_output=True, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn('cuda:x', run.stderr)


@unittest.skipUnless(WHAT == 'numbers', 'of the other driver')
class Numbers(unittest.TestCase):
    """Device memory of the fake driver is the host's."""

    def setUp(self):
        self.random = random.Random(1)
        self.kernels = kernels_gpu.Kernels(LIBRARY, 'cuda:0', 1)
        self.taken = []

    def tearDown(self):
        for address in self.taken:
            self.kernels.free(address)
        self.kernels.close()

    def array(self, rows, width, code='e', scale=1.0):
        """Makes an array: its address, and its numbers as the device holds them."""
        numbers = [self.random.gauss(0, scale) for _ in range(rows * width)]
        data = struct.pack(f'{len(numbers)}{code}', *numbers)
        address = self.kernels.alloc(len(data))
        self.taken.append(address)
        ctypes.memmove(address, data, len(data))
        numbers = struct.unpack(f'{len(numbers)}{code}', data)
        return address, [numbers[r * width:(r + 1) * width] for r in range(rows)]

    def expect(self, run, address, rows, code, tolerance):
        ms = run.replay()
        run.close()
        self.assertGreater(ms, 0)
        width = len(rows[0])
        size = struct.calcsize(code)
        got = struct.unpack(f'{len(rows) * width}{code}',
                            ctypes.string_at(address, len(rows) * width * size))
        error = sum((g - w) ** 2 for g, w in zip(got, sum(map(list, rows), [])))
        power = sum(w * w for row in rows for w in row)
        self.assertLess(math.sqrt(error / power), tolerance)

    def test_linear(self):
        rows, n, k = 20, 32, 48
        (x, xs), (w, ws), (bias, bs) = self.array(rows, k), self.array(n, k), self.array(1, n, 'f')
        more, ms = self.array(rows, n, 'f')
        product = [[sum(a * b for a, b in zip(row, column)) + bs[0][j]
                    for j, column in enumerate(ws)] for row in xs]
        gelu = [[v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in row] for row in product]
        added = [[v + m for v, m in zip(row, more_row)] for row, more_row in zip(product, ms)]
        for code, gelus, residual, want in ('e', 1, None, gelu), ('f', 0, more, added):
            y, _ = self.array(rows, n, code)
            run = self.kernels.linear(rows, n, k, gelus, x, w, bias, residual, y)
            self.assertEqual(run.entry, 'linear_small_f16_f' + ('32' if residual else '16'))
            self.expect(run, y, want, code, 1e-3 if code == 'e' else 1e-6)

    def test_full_linear(self):
        rows, n, k = 20, 64, 64
        (x, xs), (w, ws) = self.array(rows, k, 'f'), self.array(n, k, 'f')
        want = [[sum(a * b for a, b in zip(row, column)) for column in ws] for row in xs]
        for portable in 0, 1:
            data = self.kernels.packed(n, k, portable, w)
            self.assertEqual(len(data), 4 * n * k)  # no Hopper: the weight as it is
            y, _ = self.array(rows, n, 'f')
            run = self.kernels.full_linear(rows, n, k, portable, x, ctypes.addressof(data), y)
            self.assertRegex(run.entry, '^linear_.*f32')
            self.expect(run, y, want, 'f', 1e-5)

    def softmax(self, logits):
        weights = [math.exp(v - max(logits)) for v in logits]
        return [v / sum(weights) for v in weights]

    def test_attention(self):
        lengths, heads, width = (5, 9), 2, 16
        row, tokens = heads * width, sum(lengths)
        qkv, numbers = self.array(tokens, 3 * row)
        y, _ = self.array(tokens, row)
        want, first = [[0.0] * row for _ in range(tokens)], 0
        for length in lengths:
            own = numbers[first:first + length]
            for i, h in ((i, h) for i in range(length) for h in range(heads)):
                q, k, v = ([r[part * row + h * width:part * row + (h + 1) * width] for r in own]
                           for part in range(3))
                p = self.softmax([sum(a * b for a, b in zip(q[i], key)) / math.sqrt(width)
                                  for key in k])
                for d in range(width):
                    want[first + i][h * width + d] = sum(w * value[d] for w, value in zip(p, v))
            first += length
        self.expect(self.kernels.attention(lengths, heads, width, qkv, y), y, want, 'e', 2e-3)

    def test_rel_attention(self):
        windows, n, first, queries, heads, keys, values = 2, 12, 3, 5, 2, 16, 24
        arrays = [self.array(*shape)
                  for shape in ((windows * queries, heads * keys), (windows * n, heads * keys),
                                (windows * n, heads * values),
                                (2 * n - 1, heads * keys))] + [self.array(1, heads * keys, 'f', 0.5)
                                                               for _ in range(2)]
        q, k, v, r, u, w = (numbers for _, numbers in arrays)
        y, _ = self.array(windows * queries, heads * values)
        want = [[0.0] * (heads * values) for _ in range(windows * queries)]
        for at, i, h in ((at, i, h) for at in range(windows) for i in range(queries)
                         for h in range(heads)):
            own, one = range(h * keys, (h + 1) * keys), q[at * queries + i]
            p = self.softmax([sum((one[c] / 8 + u[0][c]) * k[at * n + j][c] +
                                  (one[c] / 8 + w[0][c]) * r[n - 1 - (first + i) + j][c]
                                  for c in own) for j in range(n)])
            for d in range(h * values, (h + 1) * values):
                want[at * queries + i][d] = sum(p[j] * v[at * n + j][d] for j in range(n))
        run = self.kernels.rel_attention(windows, n, first, queries, heads, (keys, values), 0.125,
                                         [address for address, _ in arrays], y)
        self.expect(run, y, want, 'e', 3e-3)

    def test_layernorm(self):
        rows, live, width = 9, 7, 40
        (x, xs), (w, ws), (b, bs) = (self.array(rows, width, 'f'), self.array(1, width, 'f'),
                                     self.array(1, width, 'f'))
        y, untouched = self.array(rows, width)
        want = []
        for row in xs[:live]:
            mean = sum(row) / width
            rest = 1 / math.sqrt(sum((v - mean) ** 2 for v in row) / width + 1e-5)
            want.append([(v - mean) * rest * ws[0][i] + bs[0][i] for i, v in enumerate(row)])
        run = self.kernels.layernorm(rows, live, width, x, w, b, y)
        self.expect(run, y, want, 'e', 1e-3)
        behind = struct.unpack(f'{(rows - live) * width}e',
                               ctypes.string_at(y + 2 * live * width, 2 * (rows - live) * width))
        self.assertEqual(behind, sum(untouched[live:], ()))


if __name__ == '__main__':
    unittest.main(verbosity=2)
