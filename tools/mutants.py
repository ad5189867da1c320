#!/usr/bin/env python3
"""mutants.py - do the tests notice small faults in the code?

    tools/mutants.py [--only PATTERN]... [--jobs N] [--folder FOLDER] [--list]

tools/mutants.txt lists the faults: a file, the old text and the new one, and the tests that must
fail with it. The tree is copied to FOLDER (build-mutants; one copy for each of --jobs), built once,
and each fault is applied there alone. Ninja rebuilds what the named tests need, and these tests
run. They first run on the code without faults, where they must pass.

A line is printed for each fault: "noticed", "survived", or "kept" for a survivor whose reason the
list gives. The last lines count them for each folder. Exit status: 0, 1 when fewer than 85 % are
noticed or a fault survives without a reason, 2 when a fault could not be tried.

  --only PATTERN   faults whose file or test has this text
  --list           print the faults, run nothing
"""

import argparse
import concurrent.futures
import json
import os
import queue
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, 'tools', 'mutants.txt')
ENOUGH = 0.85  # the least share of faults that is noticed
SETUP = ['-Dgpu=disabled', '-Dc_args=-g0', '-Dcpp_args=-g0']
LONGEST = 300  # seconds of a test, after which it has noticed
SKIPPED = 77


class Broken(Exception):
    """The list is not as it should be, or the code without faults fails."""


class Fault:
    """One fault of the list."""

    def __init__(self, line):
        self.line, self.file, self.tests, self.old, self.new, self.why = line, '', [], [], [], ''

    def name(self):
        return '%s:%d %s' % (os.path.basename(LIST), self.line, self.file)

    def text(self):
        return ' -> '.join(' '.join('\n'.join(words).split()) for words in (self.old, self.new))

    def apply(self, code):
        """The file's text with the fault."""
        old, new = '\n'.join(self.old), '\n'.join(self.new)
        if code.count(old) != 1:
            raise Broken('%s: found %d times, expected once: %s' %
                         (self.name(), code.count(old), old))
        return code.replace(old, new)


def read(lines):
    """The faults of a list. Blocks of lines "file F", "test NAME", "- old", "+ new", "kept WHY"."""
    faults, fault = [], None
    for number, line in enumerate(lines, 1):
        line = line.rstrip('\n')
        word, _, rest = line.partition(' ')
        if not line.strip() or word == '#':
            fault = None if not line.strip() else fault
        elif word == 'file' and not fault:
            fault = Fault(number)
            fault.file = rest
            faults.append(fault)
        elif fault and word == 'test':
            fault.tests.append(rest)
        elif fault and word in '-+':
            (fault.old if word == '-' else fault.new).append(rest)
        elif fault and word == 'kept' and rest:
            fault.why = rest
        else:
            raise Broken('%s:%d: not a line of a fault: %s' %
                         (os.path.basename(LIST), number, line))
    for fault in faults:
        if not fault.tests or not any(fault.old) or fault.old == fault.new:
            raise Broken('%s: needs a test, an old text and another new one' % fault.name())
    return faults


def load():
    with open(LIST, encoding='utf-8') as file:
        return read(file)


class Copy:
    """A copy of the tree and its build folder."""

    def __init__(self, folder, jobs):
        self.tree = os.path.join(folder, 'tree')
        # in the tree: a compiler cache knows the names of its files
        self.build = os.path.join(self.tree, 'build')
        self.log, self.jobs = os.path.join(folder, 'log.txt'), jobs
        self.copy()
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            self.call(['meson', 'setup', self.build, self.tree] + SETUP)
        info = os.path.join(self.build, 'meson-info')
        self.call(['ninja', '-C', self.build, '-j%d' % jobs, 'build.ninja'])
        with open(os.path.join(info, 'intro-tests.json'), encoding='utf-8') as file:
            self.tests = {test['name']: test for test in json.load(file)}
        with open(os.path.join(info, 'intro-targets.json'), encoding='utf-8') as file:
            self.targets = {target['id']: [os.path.relpath(name, self.build)
                                           for name in target['filename']]
                            for target in json.load(file)}

    def copy(self):
        """Bring the copy to the state of the tree; files that are the same keep their times."""
        names = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '-co', '--exclude-standard'],
                               check=True, stdout=subprocess.PIPE).stdout.decode().split('\0')
        for name in filter(None, names):
            source, to = os.path.join(ROOT, name), os.path.join(self.tree, name)
            if not os.path.isfile(source):
                continue
            with open(source, 'rb') as file:
                content = file.read()
            if os.path.exists(to):
                with open(to, 'rb') as file:
                    if file.read() == content:
                        continue
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(source, to)
            shutil.copymode(source, to)

    def call(self, words):
        if not self.try_call(words):
            raise Broken('%s: failed, see %s' % (' '.join(words), self.log))

    def try_call(self, words):
        os.makedirs(os.path.dirname(self.log), exist_ok=True)
        with open(self.log, 'ab') as log:
            return not subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log,
                                      stderr=subprocess.STDOUT, check=False).returncode

    def make(self, names):
        """Build what these tests need. False: it does not build."""
        needed = {target for name in names for target in self.tests[name]['depends']}
        return self.try_call(['ninja', '-C', self.build, '-j%d' % self.jobs] +
                             sorted(file for target in needed for file in self.targets[target]))

    def passes(self, name):
        """Whether a test passes; one that takes too long does not."""
        test = self.tests[name]
        with open(self.log, 'ab') as log:
            with subprocess.Popen(test['cmd'], cwd=test['workdir'] or self.build,
                                  env={**os.environ, **test['env']}, stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=subprocess.STDOUT,
                                  start_new_session=True) as child:
                try:
                    status = child.wait(LONGEST)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, 9)
                    return False
        if status == SKIPPED:
            raise Broken('test "%s" is skipped here' % name)
        return not status

    def check(self, faults):
        """The tests of these faults pass on the code without faults."""
        names = sorted({name for fault in faults for name in fault.tests})
        for name in names:
            if name not in self.tests:
                raise Broken('no test "%s"' % name)
        if not self.make(names):
            raise Broken('the tree does not build, see %s' % self.log)
        for name in names:
            if not self.passes(name):
                raise Broken('test "%s" fails without a fault, see %s' % (name, self.log))

    def attempt(self, fault):
        """How a fault fares: noticed, survived, kept or broken."""
        path = os.path.join(self.tree, fault.file)
        with open(path, encoding='utf-8') as file:
            code = file.read()
        try:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(fault.apply(code))
            if not self.make(fault.tests):
                return 'broken'
            if any(not self.passes(name) for name in fault.tests):
                return 'noticed'
            return 'kept' if fault.why else 'survived'
        finally:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(code)


def run(faults, folder, jobs):
    """Try all faults on copies side by side; returns (fault, outcome)s in order."""
    copies, done = queue.Queue(), {}
    first = Copy(os.path.join(folder, '0'), jobs)
    first.check(faults)
    copies.put(first)
    for i in range(1, min(jobs, len(faults))):
        copies.put(Copy(os.path.join(folder, str(i)), jobs))

    def one(fault):
        copy = copies.get()
        try:
            done[fault] = copy.attempt(fault)
        finally:
            copies.put(copy)
        print('%-8s  %s: %s' % (done[fault], fault.name(), fault.text()), flush=True)
        if done[fault] == 'kept':
            print('          %s' % fault.why, flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(one, fault) for fault in faults]:
            future.result()
    return [(fault, done[fault]) for fault in faults]


def summary(results):
    """Print a table of folders; returns the exit status."""
    folders = {}
    for fault, outcome in results:
        folders.setdefault(fault.file.partition('/')[0], []).append(outcome)
    print('\n%-12s %7s %7s %8s' % ('folder', 'faults', 'noticed', 'survived'))
    for name, outcomes in sorted(folders.items()) + [('all', [how for _, how in results])]:
        noticed = outcomes.count('noticed')
        print('%-12s %7d %7d %8d' % (name, len(outcomes), noticed, len(outcomes) - noticed))
    outcomes = [how for _, how in results]
    print('%.1f %% noticed' % (100 * outcomes.count('noticed') / len(outcomes)))
    if 'broken' in outcomes:
        return 2
    return int('survived' in outcomes or outcomes.count('noticed') < ENOUGH * len(outcomes))


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument('-h', '--help', action='store_true')
    parser.add_argument('--only', action='append', default=[])
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--folder', default=os.path.join(ROOT, 'build-mutants'))
    parser.add_argument('--list', action='store_true')
    args = parser.parse_args()
    if args.help:
        print(__doc__.strip())
        return 0
    try:
        faults = [fault for fault in load()
                  if not args.only or any(word in text for word in args.only
                                          for text in [fault.file] + fault.tests)]
        if args.list or not faults:
            for fault in faults:
                print('%s [%s]: %s' % (fault.name(), ', '.join(fault.tests), fault.text()))
            return 0 if faults else 2
        return summary(run(faults, os.path.abspath(args.folder), max(args.jobs, 1)))
    except (Broken, subprocess.CalledProcessError) as error:
        print('mutants.py: %s' % error, file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
