#!/usr/bin/env python3
"""mutants_test.py SOURCE_ROOT BUILD_ROOT - the list of faults fits the code and the tests.

Each old text is in its file exactly once, and each test that a fault names exists. The faults
themselves are tried by tools/mutants.py, by hand."""
import json
import os
import sys
import unittest

ROOT, BUILD = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
import mutants  # noqa: E402 pylint: disable=wrong-import-position

FOLDERS = ['base', 'graph', 'ops', 'kernels', 'loaders', 'writers', 'jobs', 'models', 'engine',
           'align', 'tasks', 'cli', 'serve', 'report', 'lib', 'python']


class List(unittest.TestCase):
    def test_texts(self):
        for fault in mutants.load():
            with self.subTest(fault.name()):
                with open(os.path.join(ROOT, fault.file), encoding='utf-8') as file:
                    code = file.read()
                self.assertNotEqual(fault.apply(code), code)

    def test_names(self):
        """Tests of parts that this build lacks (Python, HDF5, serve) are not missed."""
        with open(os.path.join(BUILD, 'meson-info', 'intro-tests.json'), encoding='utf-8') as file:
            names = {test['name'] for test in json.load(file)}
        stems = {name.split(' ')[0] for name in names}
        for fault in mutants.load():
            for name in fault.tests:
                if name.split(' ')[0] in stems or name in names:
                    self.assertIn(name, names, fault.name())

    def test_spread(self):
        faults = mutants.load()
        self.assertEqual(sorted({fault.file.partition('/')[0] for fault in faults}),
                         sorted(FOLDERS))
        texts = [(fault.file, fault.text()) for fault in faults]
        self.assertEqual(len(set(texts)), len(texts))


class Reading(unittest.TestCase):
    GOOD = ['file a.c', 'test t', '- a + b', '+ a - b', '', 'file b.c', 'test t', 'test u', '- x',
            '-   y', '+ z', 'kept no caller asks for it']

    def test_blocks(self):
        first, second = mutants.read(self.GOOD)
        self.assertEqual(first.apply('f(a + b);'), 'f(a - b);')
        self.assertEqual((second.tests, second.why), (['t', 'u'], 'no caller asks for it'))
        self.assertEqual(second.apply('x\n  y\n'), 'z\n')

    def test_once(self):
        for code in ['', 'a + b, a + b']:
            with self.assertRaisesRegex(mutants.Broken, 'expected once'):
                mutants.read(self.GOOD)[0].apply(code)

    def test_refusals(self):
        for bad in [['test t'], ['file a.c', 'test t', '- a', '+ a'], ['file a.c', '- a', '+ b'],
                    ['file a.c', 'test t', '- a', '+ b', 'kept'], ['file a.c', 'what']]:
            with self.assertRaises(mutants.Broken):
                mutants.read(bad)


if __name__ == '__main__':
    unittest.main(verbosity=2)
