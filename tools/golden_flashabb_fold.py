#!/usr/bin/env python3
"""Golden structure of FlashABB: tests/golden/flashabb/NAME.txt.

    PYTHONPATH=ORACLE golden_flashabb_fold.py WEIGHTS GOLDEN_NPZ [--plain] > NAME.txt

WEIGHTS are flashabb-float16.safetensors; ORACLE has flashabb_oracle.py, the network in NumPy, which
runs in float64 here. The sequence is trastuzumab_sequence of GOLDEN_NPZ. The first line has both
chains, then a line has, of every third residue, its number from 0, CA, its last atom (both in
angstrom) and pLDDT. --plain leaves out the correction of norms. Needs numpy.
"""
import json
import struct
import sys

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'numpy')

import numpy


def weights(path):
    with open(path, 'rb') as file:
        size = struct.unpack('<Q', file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    kinds = {'F16': '<f2', 'F32': '<f4'}
    return {name: numpy.frombuffer(data[slice(*t['data_offsets'])], kinds[t['dtype']])
            .reshape(t['shape']).astype(numpy.float64)
            for name, t in header.items() if name != '__metadata__'}


def main():
    import flashabb_oracle
    chains = str(numpy.load(sys.argv[2])['trastuzumab_sequence']).split('|')
    out = flashabb_oracle.fold(weights(sys.argv[1]), *chains, dlc='--plain' not in sys.argv)
    print(*chains)
    for i in range(0, len(out['aa']), 3):
        atoms = out['positions'][i][out['exists'][i] > 0]
        print(i, *('%.5f' % x for x in (*atoms[1], *atoms[-1])), '%.7f' % out['plddt'][i])


if __name__ == '__main__':
    main()
