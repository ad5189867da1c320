#!/usr/bin/env python3
"""kernels_table_test.py TOOL - occupancies that tools/kernels_table.py prints, by hand."""
import importlib.util
import sys
import unittest

SPEC = importlib.util.spec_from_file_location('kernels_table', sys.argv.pop(1))
kernels_table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kernels_table)


class Waves(unittest.TestCase):
    def test_shared_memory(self):
        """Blocks of one and two waves that take all of it leave most of the four units empty."""
        self.assertEqual(kernels_table.waves('gfx942', 100, 45056, 64), 0.25)
        self.assertEqual(kernels_table.waves('gfx942', 100, 62208, 128), 0.5)
        self.assertEqual(kernels_table.waves('gfx90a', 128, 18432, 128), 1.5)
        self.assertEqual(kernels_table.waves('gfx1100', 100, 65536, 64), 1)

    def test_registers(self):
        self.assertEqual(kernels_table.waves('gfx942', 129, 0, 256), 3)
        self.assertEqual(kernels_table.waves('gfx908', 128, 0, 256), 2)
        self.assertEqual(kernels_table.waves('gfx1100', 240, 0, 256), 6)
        self.assertEqual(kernels_table.waves('gfx11-generic', 240, 0, 256), 4)
        self.assertEqual(kernels_table.waves('gfx942', 16, 0, 256), 8)


if __name__ == '__main__':
    unittest.main(verbosity=2)
