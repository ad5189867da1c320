#!/usr/bin/env python3
"""new_op_test.py ROOT [COMPILER] - is a new op new files and one line?

Copies the tree, adds an op with tools/new_op.py and sees that no other file differs and that the
tree still keeps its promises about ops. With COMPILER it then builds the copy, without
optimisation, and runs checkkernel on the op: on every instruction set of this machine and on the
emulated GPUs.
"""
import os
import shutil
import subprocess
import sys
import tempfile

STEM = 'square'
NEW = ['kernels/cpu/square.c', 'kernels/gpu/square.cu', 'kernels/gpu/square.h', 'kernels/square.h',
       'ops/square.c', 'tests/ops/square.c']
TARGETS = ['tests/ops/checkkernel', 'tests/gpu/checkkernel_gpu']


def contents(root):
    """Path -> bytes of every file."""
    found = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            with open(path, 'rb') as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode:
        sys.exit('%s\n%s: status %d' % (done.stdout[-4000:], ' '.join(command), done.returncode))
    return done.stdout


def add(root, tree):
    """Adds the op to the copy, and says what is wrong with what that changed."""
    before = contents(tree)
    run(sys.executable, os.path.join(tree, 'tools', 'new_op.py'), STEM)
    after = contents(tree)
    new = sorted(set(after) - set(before))
    changed = sorted(path for path in before if before[path] != after.get(path))
    if new != NEW or changed != ['ops/ops.inc']:
        sys.exit('new: %s, changed: %s' % (new, changed))
    lines = after['ops/ops.inc'].splitlines()
    added = [line for line in lines if line not in before['ops/ops.inc'].splitlines()]
    if len(added) != 1 or len(lines) != len(before['ops/ops.inc'].splitlines()) + 1:
        sys.exit('ops.inc: %s' % added)
    for test in 'arrows', 'op_files', 'ops_table':
        run(sys.executable, os.path.join(root, 'tests', 'unit', 'structure.py'), tree, '-', test)
    refused = subprocess.run([sys.executable, os.path.join(tree, 'tools', 'new_op.py'), STEM],
                             capture_output=True, text=True, check=False)
    if not refused.returncode or 'is there already' not in refused.stderr:
        sys.exit('the op could be added twice: %s' % refused.stderr)


def build(tree, compiler):
    env = dict(os.environ, CC=compiler, CFLAGS='-O0 -g0', CXXFLAGS='-O0 -g0')
    folder = os.path.join(tree, 'build')
    run('meson', 'setup', folder, tree, '-Dgpu=disabled', '-Demulation=enabled', '-Dhdf5=disabled',
        '-Doptimization=0', env=env)
    run('ninja', '-C', folder, *TARGETS, env=env)
    for target in TARGETS:
        text = run(os.path.join(folder, target), '--op=' + STEM)
        print(text)
        if ' 0 failed' not in text.splitlines()[-1]:
            sys.exit('%s: not one check of %s' % (target, STEM))


def main():
    root = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, 'tree')
        left_out = ('build*', '.git', '__pycache__', '*.safetensors', '*.npz') \
            if len(sys.argv) < 3 else ('build*', '.git', '__pycache__')
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*left_out))
        add(root, tree)
        if len(sys.argv) > 2:
            build(tree, sys.argv[2])


if __name__ == '__main__':
    main()
