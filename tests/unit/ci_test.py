#!/usr/bin/env python3
"""ci_test.py SOURCE_ROOT - what runs tests: skipped ones are named with their reasons, and no test
calls a program that a bare Debian has not without looking for it first."""
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv.pop(1))
# Programs of Debian's required packages, and of those that .ci/packages installs for a build.
BASE = {'bash', 'cat', 'meson', 'mount', 'sh', 'sha256sum', 'tar', 'unshare'}
SAME_PACKAGE = {'makeblastdb': 'blastp'}


def first_word(node):
    """The program of a call of subprocess, where it is written there; else None."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.List) and node.elts and isinstance(node.elts[0], ast.Constant):
        return node.elts[0].value
    return None


def programs(text):
    """Programs that a file in Python runs by the names of a literal list."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args and
                isinstance(node.func.value, ast.Name) and node.func.value.id == 'subprocess'):
            name = first_word(node.args[0])
            if isinstance(name, str) and '/' not in name:
                found.add(name)
    return found


def not_looked_for(text):
    asked = set(re.findall(r"""which\(['"]([\w.+-]+)['"]\)""", text))
    return {name for name in programs(text)
            if name not in BASE and SAME_PACKAGE.get(name, name) not in asked}


class Programs(unittest.TestCase):
    def test_finds_one(self):
        self.assertEqual(not_looked_for("subprocess.run(['git', 'log'], check=True)"), {'git'})
        self.assertEqual(not_looked_for("subprocess.run(['git'] + more)"), {'git'})
        self.assertEqual(not_looked_for("shutil.which('git')\nsubprocess.run(['git'])"), set())
        self.assertEqual(not_looked_for("subprocess.run([sys.executable, 'x'])"), set())

    def test_tests(self):
        n = 0
        for top in ('tests', 'tools/judge', 'tools/same.py', '.ci'):
            path = os.path.join(ROOT, top)
            files = [path] if os.path.isfile(path) else [
                os.path.join(at, name) for at, _, names in os.walk(path) for name in names
                if name.endswith('.py')]
            for file in files:
                with open(file, encoding='utf-8') as f:
                    text = f.read()
                n += bool(programs(text))
                # this file is an example of itself; the other one needs to be asked for
                if os.path.basename(file) not in ('ci_test.py', 'test_bare_root.py'):
                    self.assertFalse(not_looked_for(text), file)
        self.assertGreater(n, 10)


class Skips(unittest.TestCase):
    def test_names_and_reasons(self):
        log = [
            {'name': 'p:s / whole', 'result': 'SKIP', 'duration': 1,
             'stdout': 'git is not installed: skipped\n\n'},
            {'name': 'p:s / silent', 'result': 'SKIP', 'duration': 1},
            {'name': 'p:s / fine', 'result': 'OK', 'duration': 2, 'stdout': 'skipped lines: 3\n'},
            {'name': 'p:s / inside', 'result': 'OK', 'duration': 3, 'stderr':
                "test_a (__main__.T.test_a) ... ok\n"
                "test_b (__main__.T.test_b) ... skipped 'no zsh'\n"
                "test_c (__main__.T.test_c)\nSays what it does. ... skipped \"h5py's absent\"\n"}]
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, 'meson-logs'))
            with open(os.path.join(folder, 'meson-logs', 'testlog.json'), 'w') as f:
                f.write(''.join(json.dumps(test) + '\n' for test in log))
            out = subprocess.run([sys.executable, os.path.join(ROOT, '.ci', 'meson_tests.py'),
                                  'skipped', folder], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
        self.assertEqual(out.splitlines(), [
            'whole: git is not installed: skipped', 'silent: NO REASON IS GIVEN',
            'inside, test_b: no zsh', "inside, test_c: h5py's absent"])

    def test_every_suite_of_python_names_its_tests(self):
        for at, _, names in os.walk(os.path.join(ROOT, 'tests')):
            for name in names:
                if name.endswith('.py'):
                    with open(os.path.join(at, name), encoding='utf-8') as f:
                        for line in f:
                            if 'unittest.main(' in line and name != 'ci_test.py':
                                self.assertIn('verbosity=2', line, name)


if __name__ == '__main__':
    unittest.main(verbosity=2)
