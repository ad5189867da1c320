#!/usr/bin/env python3
"""same.py OLD NEW - are the results of two builds the same, to the bit?

    tools/same.py [--full] [--only WORD]... [--jobs N] OLD NEW
    tools/same.py [--full] [--only WORD]... --record FOLDER BUILD

OLD and NEW are build folders, commits (built in a temporary worktree) or a FOLDER that --record
wrote. Compared are

  files     outputs of the command: families x tasks x {CPU with 1 and 2 threads, generic and best
            kernels, the definitions of the ops (`reference`), four emulated GPUs}
  graph     the graphs that it writes and fuses, in a canonical form (judge/graphs.py)
  launches  what it asks a Hopper GPU to launch: entry, grid, block, shared memory, parameters
            (tests/gpu/hopper/null_driver.c)
  kernels   hashes of the PTX and of the machine code of each GPU entry (judge/kernels.py)
  job       a job of each task (--full): begun by OLD, which is killed, resumed and merged by NEW
            (judge/handover.py); its output, and NEW's without a job

A line is printed for each case that differs, with the first array and element; the last line is a
summary. Exit status: 0 the same, 1 different, 2 something could not be compared. What a build
lacks (GPU kernels, where there was no clang-19) is skipped and counted. Quick by default; --full
takes all cases and models of full size.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
from judge import (  # noqa: E402 pylint: disable=wrong-import-position
    cases,
    graphs,
    handover,
    kernels,
    read,
)

TARGETS = ['cli/bioinfer']
GPU_TARGETS = [
    'tests/mpnn_weights',
    'tests/gpu/libcuda.so.1',
    'tests/gpu/libamdhip64.so.6',
    'tests/gpu/hopper/libcuda.so.1',
]
LAUNCH_LOG = 'launches.txt'


class Skip(Exception):
    """A case that a build cannot run for want of a part."""


class Broken(Exception):
    """A case that does not run as it should, so nothing is compared."""


# ---- sides ----


class Build:
    """A build folder, whose cases are run."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.exe = os.path.join(self.path, 'cli', 'bioinfer')

    def environment(self, case, folder):
        driver, more = cases.DEVICES[case.device][1:]
        if driver and not self.has(driver, case.device):
            raise Skip('no driver in %s' % self.path)
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(('BIOINFER', 'NULL_DRIVER', 'FAKE_DRIVER', 'HF_'))
        }
        env.update(
            more,
            HF_HOME=os.path.join(folder, 'none'),
            NULL_DRIVER_LAUNCHES=os.path.join(folder, LAUNCH_LOG),
        )
        if driver:
            env['LD_LIBRARY_PATH'] = os.path.join(self.path, driver)
        return env

    def run(self, case, inputs, folder):
        """File -> bytes of a case."""
        env = self.environment(case, folder)
        out = {}
        for i, command in enumerate(case.commands):
            args = given(command, inputs)
            if any(a.startswith(inputs) and not os.path.exists(a) for a in args):
                raise Skip('inputs that this build cannot make')
            done = subprocess.run(
                [self.exe, *args],
                cwd=folder,
                env=env,
                capture_output=True,
                timeout=1800,
                check=False,
            )
            if done.returncode not in case.codes:
                raise Broken(
                    'status %d: %s'
                    % (done.returncode, done.stderr.decode(errors='replace').strip()[-300:])
                )
            out['status %d' % i] = b'%d' % done.returncode
            out['stdout %d' % i] = done.stdout
        return self.collected(case, folder, out)

    def has(self, driver, device):
        name = 'libcuda.so.1' if 'cuda:0' in cases.DEVICES[device][0] else 'libamdhip64.so.6'
        return os.path.exists(os.path.join(self.path, driver, name)) and bool(self.kernels())

    @staticmethod
    def collected(case, folder, out):
        if case.kind == 'graph':
            dump = out['stdout 0'].decode()
            return {
                'structure': '\n'.join(graphs.canonical(dump)).encode(),
                'structure and attributes': '\n'.join(graphs.canonical(dump, True)).encode(),
            }
        if case.kind == 'launches':
            path = os.path.join(folder, LAUNCH_LOG)
            if not os.path.exists(path):
                raise Broken('nothing was launched')
            with open(path, 'rb') as f:
                return {LAUNCH_LOG: f.read()}
        for at, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(at, name)
                unfinished = re.search(r'\.part(-\d+-of-\d+)?(/|$)', os.path.relpath(path, folder))
                # how a run was made has its date and its time
                if not unfinished and not name.endswith((LAUNCH_LOG, '.provenance.json')):
                    with open(path, 'rb') as f:
                        out[os.path.relpath(path, folder)] = f.read()
        if len(out) == 2 * len(case.commands):
            raise Broken('no file was written')
        return out

    def kernels(self):
        if not hasattr(self, 'hashes'):
            self.hashes = kernels.hashes(self.path)
        return self.hashes


class Record:
    """A folder that --record wrote, with one folder for each case."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def run(self, case, _inputs, _folder):
        at = os.path.join(self.path, folder_name(case))
        if not os.path.isdir(at):
            raise Skip('not in the record')
        return load(at)

    def kernels(self):
        path = os.path.join(self.path, 'kernels.txt')
        if not os.path.exists(path):
            return []
        with open(path, encoding='ascii') as f:
            return f.read().splitlines()


def given(command, inputs):
    return [a.replace('{in}', inputs).replace('{root}', ROOT) for a in command]


def folder_name(case):
    return case.name.replace('/', '-').replace(' ', '_')


def load(folder):
    out = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), 'rb') as f:
                out[os.path.relpath(os.path.join(at, name), folder)] = f.read()
    return out


def save(folder, files):
    for name, data in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as f:
            f.write(data)


def side(name, scratch, gpu):
    """A build folder, a record, or the build of a commit."""
    if os.path.exists(os.path.join(name, 'cli', 'bioinfer')):
        return Build(name)
    if os.path.exists(os.path.join(name, 'same.txt')):
        return Record(name)
    git = ['git', '-C', ROOT]
    commit, why = '', ''
    if shutil.which('git'):
        commit = subprocess.run(
            [*git, 'rev-parse', '--verify', '--quiet', name + '^{commit}'],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    else:
        why = ' that could be asked for: git is not installed'
    if not commit:
        sys.exit(
            'same.py: %s: no build folder with cli/bioinfer in it, no record, no commit%s'
            % (name, why)
        )
    return Build(build_commit(git, commit, scratch, gpu))


def build_commit(git, commit, scratch, gpu):
    tree = os.path.join(scratch, 'tree-' + commit[:12])
    if os.path.isdir(tree):
        return os.path.join(tree, 'build')
    print('building %s' % commit[:12], flush=True)
    subprocess.run([*git, 'worktree', 'add', '--quiet', '--detach', tree, commit], check=True)
    env = dict(os.environ)
    if shutil.which('ccache'):
        env.update(CC='ccache gcc', CXX='ccache g++')
    build = os.path.join(tree, 'build')
    steps = [
        ['meson', 'setup', build, tree, '-Dgpu=' + ('auto' if gpu else 'disabled')],
        ['ninja', '-C', build, *TARGETS, *(GPU_TARGETS if gpu else GPU_TARGETS[:1])],
    ]
    for step in steps:
        done = subprocess.run(step, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(
                'same.py: %s does not build:\n%s'
                % (commit, done.stdout[-3000:] + done.stderr[-2000:])
            )
    return build


def remove_trees(scratch):
    for name in os.listdir(scratch):
        if name.startswith('tree-'):
            subprocess.run(
                ['git', '-C', ROOT, 'worktree', 'remove', '--force', os.path.join(scratch, name)],
                check=False,
            )


# ---- comparing ----


class Tally:
    """Counts outcomes and prints those that somebody has to see."""

    def __init__(self, verbose):
        self.same = self.differ = self.broken = self.skipped = 0
        self.verbose = verbose

    def tell(self, word, name, lines):
        print('%-9s %s' % (word, name), *lines, sep='\n          ' if lines else '', flush=True)

    def add(self, name, lines):
        self.differ += bool(lines)
        self.same += not lines
        if lines:
            self.tell('DIFFERS', name, lines)
        elif self.verbose:
            self.tell('same', name, [])


def compare_job(case, old, new, inputs, scratch, ignore):
    if not isinstance(old, Build) or not isinstance(new, Build):
        raise Skip('a record begins no job')
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        words = given(case.commands[0], inputs)
        env = new.environment(case, folder)
        try:
            found = handover.run(old.exe, new.exe, words, folder, env, case.codes)
        except handover.Failed as e:
            return [str(e)]
    if not found:
        raise Broken('OLD ended before it could be killed')
    name = handover.output_of(words)
    return read.compare(*({name: data} for data in found), ignore)


def compare_case(case, old, new, inputs, scratch, ignore):
    if case.kind == 'job':
        return compare_job(case, old, new, inputs, scratch, ignore)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        sides = []
        for which, build in ('old', old), ('new', new):
            at = os.path.join(folder, which)
            os.mkdir(at)
            try:
                sides.append(build.run(case, inputs, at))
            except Broken as e:
                raise Broken('%s: %s' % (which.upper(), e)) from e
        return read.compare(*sides, ignore)


def record_case(case, build, inputs, scratch, target):
    if case.kind == 'job':
        raise Skip('a record begins no job')
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        save(os.path.join(target, folder_name(case)), build.run(case, inputs, folder))
    return []


def compare_kernels(old, new, tally):
    one, two = ({tuple(line.split()[:2]): line for line in s.kernels()} for s in (old, new))
    if not one or not two:
        tally.skipped += 1
        return
    modules = {}
    for module, entry in sorted(k for k in set(one) | set(two) if one.get(k) != two.get(k)):
        modules.setdefault(module, []).append(entry)
    lines = ['%s: %s' % (m, ' '.join(e)) for m, e in modules.items()]
    tally.add('kernels: %d entries' % len(two), lines)


def chosen(args):
    for case in cases.table():
        if (case.quick or args.full) and all(w in case.name or w == case.kind for w in args.only):
            yield case


def run_all(args, job, tally):
    """job(case) on --jobs threads, outcomes in the order of the table."""
    table = list(chosen(args))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, future in [(c, pool.submit(job, c)) for c in table]:
            try:
                tally.add(case.name, future.result())
            except Skip:
                tally.skipped += 1
            except (
                Broken,
                ValueError,
                KeyError,
                OSError,
                struct.error,
                zipfile.BadZipFile,
                subprocess.TimeoutExpired,
            ) as e:
                tally.broken += 1
                tally.tell('BROKEN', case.name, [str(e)])


def parse():
    parser = argparse.ArgumentParser(
        prog='same.py', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('builds', nargs='+', metavar='BUILD', help='OLD and NEW; with --record one')
    parser.add_argument('--full', action='store_true', help='all cases, and models of full size')
    parser.add_argument(
        '--only',
        action='append',
        default=[],
        metavar='WORD',
        help='cases with WORD in their names, or of a kind (files, graph, launches, job, kernels)',
    )
    parser.add_argument('--record', metavar='FOLDER', help='write what the build gives into FOLDER')
    parser.add_argument('--no-gpu', action='store_true', help='build commits without GPU kernels')
    parser.add_argument(
        '--any-fingerprint', action='store_true', help="fingerprints of models may differ"
    )
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1, help='cases at a time')
    parser.add_argument('--verbose', action='store_true', help='a line for each case')
    args = parser.parse_args()
    if len(args.builds) != (1 if args.record else 2):
        parser.error('OLD and NEW are needed, with --record one build')
    return args


def main():
    args = parse()
    tally = Tally(args.verbose)
    scratch = tempfile.mkdtemp(prefix='bioinfer-same-')
    try:
        builds = [side(name, scratch, not args.no_gpu) for name in args.builds]
        inputs = os.path.join(scratch, 'inputs')
        os.mkdir(inputs)
        cases.prepare(
            inputs,
            ROOT,
            next((b.path for b in reversed(builds) if isinstance(b, Build)), ''),
            args.full,
        )
        if args.record:
            os.makedirs(args.record, exist_ok=True)
            run_all(args, lambda c: record_case(c, builds[0], inputs, scratch, args.record), tally)
            save(
                args.record,
                {'kernels.txt': '\n'.join(builds[0].kernels()).encode(), 'same.txt': b'1\n'},
            )
        else:
            if not args.only or 'kernels' in args.only:
                compare_kernels(*builds, tally)
            ignore = ('fingerprint',) if args.any_fingerprint else ()
            run_all(args, lambda c: compare_case(c, *builds, inputs, scratch, ignore), tally)
    finally:
        remove_trees(scratch)
        shutil.rmtree(scratch, ignore_errors=True)
    print(
        '%d cases %s, %d differ, %d could not be compared, %d skipped'
        % (
            tally.same,
            'recorded' if args.record else 'are the same',
            tally.differ,
            tally.broken,
            tally.skipped,
        )
    )
    if not tally.same + tally.differ + tally.broken:
        sys.exit('same.py: nothing was compared')
    return 2 if tally.broken else 1 if tally.differ else 0


if __name__ == '__main__':
    sys.exit(main())
