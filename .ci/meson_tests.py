#!/usr/bin/env python3
"""What meson knows about tests of a build folder.

    meson_tests.py slowest FOLDER          the ten slowest tests of the last run, in seconds
    meson_tests.py skipped FOLDER          the tests of the last run that were skipped, and why
    meson_tests.py targets FOLDER SUITE    the targets that the tests of a suite need
"""
import json
import os
import re
import subprocess
import sys

MOST = 120  # seconds that a test may take on two idle cores


# What unittest prints of a skipped test: its name, its description on the next line, and the reason.
INSIDE = re.compile(r"""^(?:(\w+) \(.*\)\n)?(.*) \.\.\. skipped (['"])(.*)\3$""", re.M)


def log_of(folder):
    """The tests of the last run, as meson logs them; None where none ran."""
    try:
        with open(os.path.join(folder, 'meson-logs', 'testlog.json'), encoding='utf-8') as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return None


def skipped(folder):
    """Print a line for each skipped test, and for each one inside a test of Python."""
    for test in log_of(folder) or []:
        name = test['name'].split(' / ')[-1]
        out, err = test.get('stdout') or '', test.get('stderr') or ''
        if test['result'] == 'SKIP':
            lines = [line for line in (out + '\n' + err).splitlines() if line.strip()]
            print('%s: %s' % (name, lines[-1].strip() if lines else 'NO REASON IS GIVEN'))
        for inner, line, _, why in INSIDE.findall(out + '\n' + err):
            print('%s, %s: %s' % (name, inner or line.split(' ')[0], why))


def slowest(folder):
    """Print the ten slowest tests of meson's log; those over MOST seconds are marked."""
    tests = [(test['duration'], test['name'].split(' / ')[-1], test['result'])
             for test in log_of(folder) or []]
    if not tests:
        print('no tests ran')
        return
    tests.sort(reverse=True)
    total = sum(duration for duration, _, _ in tests)
    print('slowest of %d tests, %.0f s in all:' % (len(tests), total))
    for duration, name, result in tests[:10]:
        print('  %6.1f s  %s%s%s' % (duration, name, '' if result in ('OK', 'SKIP') else ': ' + result,
                                     '  (over %d s)' % MOST if duration > MOST else ''))


def targets(folder, suite):
    """Print the files that the tests of a suite need, as ninja names them."""
    def introspect(what):
        return json.loads(subprocess.run(['meson', 'introspect', folder, what], check=True,
                                         stdout=subprocess.PIPE).stdout)

    tests = [test for test in introspect('--tests')
             if suite in [name.split(':')[-1] for name in test['suite']]]
    if not tests:
        sys.exit('%s: no test of suite %s' % (folder, suite))
    needed = {target for test in tests for target in test['depends']}
    folder = os.path.abspath(folder)
    for target in introspect('--targets'):
        if target['id'] in needed:
            for name in target['filename']:
                print(os.path.relpath(name, folder))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == 'slowest':
        slowest(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == 'skipped':
        skipped(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == 'targets':
        targets(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
