#!/usr/bin/env python3
"""new_op.py STEM [ROOT] - begins an op: writes its files and its line of ops/ops.inc.

The files are an elementary op that works, y = x^2 in float32, with a kernel for CPUs and one for
GPUs and with its cases; change them into the op that is wanted. They are ops/STEM.c,
kernels/STEM.h, kernels/gpu/STEM.cu, kernels/gpu/STEM.h, kernels/cpu/STEM.c and tests/ops/STEM.c. No
other file has to change. Nothing is written where one of them exists.
"""
import os
import re
import sys

FILES = {
    'ops.c.in': 'ops/%s.c',
    'kernel.h.in': 'kernels/%s.h',
    'kernel.cu.in': 'kernels/gpu/%s.cu',
    'gpu.h.in': 'kernels/gpu/%s.h',
    'cpu.c.in': 'kernels/cpu/%s.c',
    'cases.c.in': 'tests/ops/%s.c',
}
BEHIND = '\n/* ---- in place'  # the line of the new op stands above this one


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith('-'):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (['--help'], ['-h']) else 2
    stem = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(here)
    if not re.fullmatch(r'[a-z][a-z0-9_]*', stem):
        sys.exit('new_op.py: %s: expected lower case letters, digits and _' % stem)
    for path in FILES.values():
        if os.path.exists(os.path.join(root, path % stem)):
            sys.exit('new_op.py: %s is there already' % (path % stem))
    listed = os.path.join(root, 'ops', 'ops.inc')
    with open(listed, encoding='utf-8') as file:
        text = file.read()
    if re.search(r'^\w+\(%s,' % stem.upper(), text, re.M) or text.count(BEHIND) != 1:
        sys.exit('new_op.py: %s has the op already, or no line "%s"' % (listed, BEHIND.strip()))
    for template, path in FILES.items():
        with open(os.path.join(here, 'new_op', template), encoding='utf-8') as file:
            made = file.read().replace('@op@', stem).replace('@OP@', stem.upper())
        with open(os.path.join(root, path % stem), 'w', encoding='utf-8') as file:
            file.write(made)
    line = 'CORE(%s, %s, 1, 1, %s, bi_value_id x)\n' % (stem.upper(), stem, stem)
    with open(listed, 'w', encoding='utf-8') as file:
        file.write(text.replace(BEHIND, line + BEHIND))
    return 0


if __name__ == '__main__':
    sys.exit(main())
