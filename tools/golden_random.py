#!/usr/bin/env python3
"""Golden random numbers: what this build of PyTorch draws on the CPU.

    golden_random.py OUT      writes OUT/torch-VERSION.txt; OUT: tests/golden/random

Lines: "rng NAME" says which --rng this build is, "seed N" starts a generator, and
"normal|exponential64|exponential32 N VALUE..." are the N numbers of one call, in the order of the
calls. Which --rng a build is was not guessed from its version: the two ways to draw an exponential
number use up different amounts of the generator, so the number behind one tells.
"""
import os
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import torch

CALLS = [('normal', 93), ('exponential64', 21), ('exponential64', 21), ('normal', 5), ('normal', 4),
         ('exponential32', 20), ('exponential32', 20), ('exponential64', 63), ('normal', 16),
         ('exponential32', 40), ('normal', 131)]


def draw(kind, n):
    if kind == 'normal':
        return torch.randn(1, n)[0]
    dtype = torch.float64 if kind == 'exponential64' else torch.float32
    return torch.empty(n, dtype=dtype).exponential_()


def rng_name():
    """torch-mkl seeds MKL's generator with one number of its own for a whole call."""
    torch.manual_seed(1)
    torch.empty(8, dtype=torch.float32).exponential_()
    behind = torch.rand(1)
    torch.manual_seed(1)
    stream = torch.rand(17)
    return {1: 'torch-mkl', 16: 'torch'}[stream.tolist().index(behind.item())]


def main():
    with open(os.path.join(sys.argv[1], 'torch-%s.txt' % torch.__version__), 'w') as f:
        f.write('rng %s\n' % rng_name())
        for seed in (0, 37, 111, 2**32 + 5):
            torch.manual_seed(seed)
            f.write('seed %d\n' % seed)
            for kind, n in CALLS:
                digits = '%.17g' if kind == 'exponential64' else '%.9g'
                f.write('%s %d %s\n' %
                        (kind, n, ' '.join(digits % v for v in draw(kind, n).tolist())))


if __name__ == '__main__':
    main()
