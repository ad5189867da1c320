#!/usr/bin/env python3
"""new_op_test.py ROOT [COMPILER] - is a new op new files and one line?

Copies the tree, adds an op with tools/new_op.py and sees that no other file differs and that the
tree still keeps its promises about ops. With COMPILER it then builds the copy, without
optimisation, and runs checkkernel on the op: on every instruction set of this machine and on the
emulated GPUs.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import begun

STEM = 'square'
NEW = ['kernels/cpu/square.c', 'kernels/gpu/square.cu', 'kernels/gpu/square.h',
       'kernels/square.h', 'ops/square.c', 'tests/ops/square.c']
TARGETS = ['tests/ops/checkkernel', 'tests/gpu/checkkernel_gpu']


def main():
    root = os.path.abspath(sys.argv[1])
    with begun.copy_of(root, len(sys.argv) > 2) as tree:
        before, after = begun.add(tree, 'new_op.py', STEM, NEW, ['ops/ops.inc'])
        lines = after['ops/ops.inc'].splitlines()
        added = [line for line in lines if line not in before['ops/ops.inc'].splitlines()]
        if len(added) != 1 or len(lines) != len(before['ops/ops.inc'].splitlines()) + 1:
            sys.exit('ops.inc: %s' % added)
        begun.promises(root, tree, 'arrows', 'op_files', 'ops_table')
        if len(sys.argv) < 3:
            return
        folder = begun.build(tree, sys.argv[2], TARGETS, '-Demulation=enabled')
        for target in TARGETS:
            text = begun.run(os.path.join(folder, target), '--op=' + STEM)
            print(text)
            if ' 0 failed' not in text.splitlines()[-1]:
                sys.exit('%s: not one check of %s' % (target, STEM))


if __name__ == '__main__':
    main()
