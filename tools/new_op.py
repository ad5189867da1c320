#!/usr/bin/env python3
"""new_op.py STEM [ROOT] - begins an op: writes its files and its line of ops/ops.inc.

The files are an elementary op that works, y = x^2 in float32, with a kernel for CPUs and one for
GPUs and with its cases; change them into the op that is wanted. They are ops/STEM.c,
kernels/STEM.h, kernels/gpu/STEM.cu, kernels/gpu/STEM.h, kernels/cpu/STEM.c and tests/ops/STEM.c. No
other file has to change. Nothing is written where one of them exists.
"""
import re

import begin

FILES = {
    'ops.c.in': 'ops/%s.c',
    'kernel.h.in': 'kernels/%s.h',
    'kernel.cu.in': 'kernels/gpu/%s.cu',
    'gpu.h.in': 'kernels/gpu/%s.h',
    'cpu.c.in': 'kernels/cpu/%s.c',
    'cases.c.in': 'tests/ops/%s.c',
}
BEFORE = '\n/* ---- in place'  # the line of the new op stands above this one


def main():
    op = begin.Begun('new_op', __doc__, 'op')
    op.make(FILES)
    if re.search(r'^\w+\(%s,' % op.stem.upper(), op.text_of('ops/ops.inc'), re.M):
        op.refuse('ops/ops.inc has the op already')
    op.insert('ops/ops.inc', 'CORE(%s, %s, 1, 1, %s, bi_value_id x)\n' %
              (op.stem.upper(), op.stem, op.stem), BEFORE)
    op.write()


if __name__ == '__main__':
    main()
