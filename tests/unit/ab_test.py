#!/usr/bin/env python3
"""ab_test.py SOURCE_ROOT - how bench/ab.py decides whether a build is slower than another."""
import contextlib
import io
import os
import random
import sys
import unittest

ROOT = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(ROOT, 'bench'))
import ab  # noqa: E402 pylint: disable=wrong-import-position


class Decisions(unittest.TestCase):
    def test_interval(self):
        """Six are the least that have one; of ten it is the second and the ninth."""
        self.assertIsNone(ab.interval([1.0] * 5))
        self.assertEqual(ab.interval([6, 2, 3, 1, 4, 5]), (1, 6))
        self.assertEqual(ab.interval(list(range(10))), (1, 8))

    def test_interval_holds_the_median(self):
        rng = random.Random(5)
        held = 0
        for _ in range(1000):
            low, high = ab.interval([rng.expovariate(1) for _ in range(15)])
            held += low <= 0.6931 <= high
        self.assertGreater(held, 930)
        self.assertLess(held, 999)

    def test_verdict(self):
        for ratios, want in (
            ([1.0] * 8, 'fast'),
            ([0.7] * 8, 'fast'),
            ([1.019] * 8, 'fast'),
            ([1.03] * 8, 'slower'),
            ([1.03, 1.05, 1.04, 1.01, 1.03, 1.02], 'slower'),
            ([1.03, 1.05, 0.99, 1.04, 1.03, 1.04], 'unclear'),
            ([1.5] * 5, 'unclear'),
        ):
            self.assertEqual(ab.verdict(ratios, 1.02), want, ratios)

    def test_status(self):
        for ratios, want in (
            ({'a': [1.0] * 8, 'b': [1.0] * 8}, 0),
            ({'a': [1.0] * 8, 'b': [1.1] * 8}, 1),
            ({'a': [1.1, 0.9] * 3 + [1.1], 'b': [1.0] * 8}, 3),
            ({'a': [1.1, 0.9] * 3 + [1.1], 'b': [1.1] * 8}, 1),
        ):
            text = io.StringIO()
            with contextlib.redirect_stdout(text):
                self.assertEqual(ab.report(ratios, 1.02), want)
            self.assertEqual(len(text.getvalue().splitlines()), 3)

    def test_measure(self):
        """Runs of the two builds are told apart, though both are one folder, and take turns."""
        args = ab.argparse.Namespace(old='x', new='x', device='cpu', seconds=0)
        seen, kept = [], ab.run
        ab.run = lambda build, work, *rest: seen.append((build, work)) or float(len(seen))
        try:
            ratios = ab.measure(args, [ab.Workload('w', 'p', '', None)], '')
        finally:
            ab.run = kept
        self.assertEqual(len(seen), 2 * (ab.LEAST_ROUNDS + 1))
        self.assertEqual(ratios['w'], [4 / 3, 5 / 6, 8 / 7, 9 / 10, 12 / 11, 13 / 14])

    def test_workloads(self):
        """About a dozen on either device, each of a program that bench/ab.sh builds."""
        with open(os.path.join(ROOT, 'bench', 'ab.sh'), encoding='ascii') as f:
            script = f.read()
        for workloads in ab.on_gpu(), ab.on_cpu():
            self.assertIn(len(workloads), (12, 13))
            self.assertEqual(len({w.name for w in workloads}), len(workloads))
            for w in workloads:
                self.assertIn(w.program, script)


if __name__ == '__main__':
    unittest.main(verbosity=2)
