#!/usr/bin/env python3
"""Golden rows of alignments of several chains: FOLDER/pairs.txt and files of A3M beside it.

    golden_esmfold2_pairs.py FOLDER ESM

Rows are put side by side by construct_paired_msa() of ESM, a checkout of Biohub/esm at b6b0e88, of
which esm/models/esmfold2/paired_msa.py and constants.py are read and no other module. Files are
random: letters, gaps, insertions and "key=N" in headers. A case has a line "case ID CHAINS ROWS",
chains with ':' between. Then each row has a line of its letters and a line of numbers: residues
that it has before each letter and the query has not. Needs numpy.
"""
import importlib.util
import os
import sys
import types

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'numpy')

import numpy

CASES = (('lone', 'MKWGHE', (9,), 0.7), ('dimer', 'MKWGHE:MKWGHE', (12,), 0.5),
         ('hetero', 'MKWGH:ACDEFG', (14, 9), 0.6), ('three', 'MKW:ACDEFG:HH', (25, 12, 7), 0.8),
         ('mixed', 'MKWG:ACDE:MKWG:LLV', (18, 1, 11), 0.7), ('keyless', 'MKWG:ACDE', (6, 9), 0))
LETTERS = 'ACDEFGHIKLMNPQRSTVWYX'


def published(folder):
    """The module; it takes no more of MSA than its entries and their number."""
    def module(name, path=None, **more):
        made = types.ModuleType(name)
        if path:
            spec = importlib.util.spec_from_file_location(name, os.path.join(folder, path))
            made = importlib.util.module_from_spec(spec)
        made.__dict__.update(more)
        sys.modules[name] = made
        if path:
            spec.loader.exec_module(made)
        return made
    for name in ('esm', 'esm.models', 'esm.models.esmfold2', 'esm.utils', 'esm.utils.msa'):
        module(name)
    module('esm.utils.msa.msa', MSA=object)
    module('esm.models.esmfold2.constants', 'esm/models/esmfold2/constants.py')
    return module('esm.models.esmfold2.paired_msa', 'esm/models/esmfold2/paired_msa.py')


def draw_file(draws, query, depth, share):
    """Headers and rows; the first one is the query."""
    rows = [('query key=7', query)]
    for number in range(1, depth):
        text = ''
        for _ in query:
            if draws.random() < 0.15:
                text += ''.join(draws.choice(list('acdefw.'), draws.integers(1, 6)))
            text += draws.choice(list(LETTERS + '------'))
        header = 'row%d' % number
        if draws.random() < share:
            header += ' OX=3 key=%d n=1' % draws.choice([-1, 0, 1, 2, 3, 4, 5, -12, 2000000000])
        rows.append((header, text + 'q' * int(draws.integers(0, 2))))
    return rows


def entries(rows):
    found = [types.SimpleNamespace(header=header, sequence=text) for header, text in rows]
    return types.SimpleNamespace(entries=found, depth=len(found))


def main():
    pairs = published(sys.argv[2])
    draws = numpy.random.default_rng(6)
    names = {kind: letter for letter, kind in pairs.protein_letter_to_res_type().items()
             if letter in LETTERS + '-'}
    letter_of = {pairs.protein_letter_to_res_type()[c]: c for c in LETTERS + '-'}
    assert names == letter_of
    with open(sys.argv[1] + '/pairs.txt', 'w', encoding='ascii') as out:
        for name, text, depths, share in CASES:
            chains, depths = text.split(':'), iter(depths)
            files = {}
            for number, chain in enumerate(chains):
                if chain in files:
                    continue
                files[chain] = draw_file(draws, chain, next(depths), share)
                end = '_' + 'ABCD'[number] if len(chains) > 1 else ''
                with open('%s/%s%s.a3m' % (sys.argv[1], name, end), 'w', encoding='ascii') as file:
                    file.writelines('>%s\n%s\n' % row for row in files[chain])
            asym = numpy.concatenate([[k] * len(chain) for k, chain in enumerate(chains)])
            place = numpy.concatenate([numpy.arange(len(chain)) for chain in chains])
            rows, deleted, _ = pairs.construct_paired_msa(
                {k: entries(files[chain]) for k, chain in enumerate(chains)}, {}, asym, place)
            print('case', name, text, len(rows), file=out)
            for kinds, counts in zip(rows, deleted):
                print(''.join(letter_of[int(kind)] for kind in kinds), file=out)
                print(*(int(count) for count in counts), file=out)


if __name__ == '__main__':
    main()
