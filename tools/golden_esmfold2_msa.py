#!/usr/bin/env python3
"""Golden folds of a small ESMFold2 that reads alignments: FOLDER/folds.txt.

    golden_esmfold2_msa.py FOLDER

Makes EsmFold2Model of transformers 5.24 with its MSA encoder and random weights of a fixed seed,
and saves it to FOLDER. golden_esmfold2_structure.py says how it runs in float64, and
golden_esmfold2.py how folds are written. Rows of alignments are random letters with gaps and
deletions; the first row is the query. Needs torch, transformers, numpy.
"""
import sys
import tempfile

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch transformers numpy')

import numpy
import torch
from golden_esmfold2 import write_fold
from golden_esmfold2_structure import CONFIG, make_model, reference

ENCODER = {'hidden_size': 24, 'outer_hidden_size': 6, 'num_hidden_layers': 3,
           'num_attention_heads': 2, 'head_dim': 8, 'intermediate_size': 40}
FOLDS = (('MKXGWHRVCE', 2, 14, 0), ('MKXGWHRVCE', 2, 14, 7), ('MKWGA:WH:MKWGA', 3, 6, 19),
         ('ACDEFGHIKLMNPQRSTVWYBZ', 1, 6, 3))


def draw_rows(draws, text, depth):
    """The query, and random rows of its length; the last one of several is all gaps."""
    query = text.replace(':', '')
    rows = [(query, [0] * len(query))]
    for _ in range(depth - 1):
        letters = ''.join(draws.choice(list('ACDEFGHIKLMNPQRSTVWYXBZ-----'), len(query)))
        deleted = draws.integers(1, 40, len(query)) * (draws.random(len(query)) < 0.2)
        rows.append((letters, [int(d) for d in deleted]))
    if depth > 1:
        rows[-1] = ('-' * len(query), rows[-1][1])
    return rows


def main():
    torch.set_num_threads(1)
    generation, network = reference(tempfile.mkdtemp())
    made = make_model(network, {**CONFIG, 'msa_encoder': ENCODER})
    made.float().save_pretrained(sys.argv[1])
    made = made.double()
    made.config.structure_head.noise_scale, made.config.structure_head.step_scale = 0.0, 1.0
    torch.set_default_dtype(torch.float64)
    draws = numpy.random.default_rng(5)
    forward = made.forward
    with open(sys.argv[1] + '/folds.txt', 'w', encoding='ascii') as file:
        for *fold, depth in FOLDS:
            made.forward = forward
            write_fold(file, generation, network, made, draws, fold,
                       draw_rows(draws, fold[0], depth) if depth else [])


if __name__ == '__main__':
    main()
