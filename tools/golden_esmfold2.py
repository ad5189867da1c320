#!/usr/bin/env python3
"""Golden folds of a small ESMFold2: FOLDER/folds.txt, from letters to scores.

    golden_esmfold2.py FOLDER

FOLDER has the model that golden_esmfold2_structure.py makes, which says how it runs in float64.
Features of a chain are prepare_protein_features() of transformers 5.24; chains of a complex are
joined here, numbered as docs/design/folding.md says. A fold begins with "fold CHAINS PASSES STEPS
ATOMS", chains with ':' between. Then a line each has a name, how many numbers follow, and the
numbers. Where a fold reads an alignment, "letters" (codes of ASCII) and "deleted" (residues that a
row has before a letter and the query has not) are row by row; none of them: there is no alignment.
Draws: "state" of the loop, "keep" (0 or 1) of each pass, "start" and "turns" (a rotation
and a translation a step) of the sampler. Results: "pair" of the trunk (every third number),
"distogram" (every fifth), "places" of atoms, "level" of atoms, "pae", and "scores" (complex pLDDT
and ipLDDT, pTM, ipTM). Needs torch, transformers, numpy.
"""
import sys
import tempfile

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch transformers numpy')

import numpy
import torch
from golden_esmfold2_structure import SCORES, Draws, line, reference
from transformers.models.esmfold2.protein_utils import prepare_protein_features

FOLDS = (('MKXGWHRVCE', 2, 14), ('MKXGA:WH:MKXGA', 3, 14), ('ACDEFGHIKLMNPQRSTVWYBZ', 1, 6))


GAP = 1


def aligned(res_type, rows):
    """Features of an alignment; without rows, of the sequence alone, as the published program's."""
    kinds, deleted = [res_type], [[0] * len(res_type)]
    if rows:
        kinds = [torch.tensor([GAP if letter == '-' else
                               int(prepare_protein_features(letter)['res_type'][0, 0])
                               for letter in letters]) for letters, _ in rows]
        deleted = [counts for _, counts in rows]
    deleted = torch.tensor(deleted, dtype=torch.float64)
    value = torch.pi / 2 * torch.arctan(deleted / 3)
    return {'msa': torch.stack(kinds)[None], 'has_deletion': (deleted > 0)[None],
            'deletion_value': value[None], 'deletion_mean': value.mean(0)[None],
            'msa_attention_mask': torch.ones(1, *deleted.shape, dtype=torch.bool)}


def joined(text, rows):
    """Features of a complex: one batch of all chains, without padding."""
    chains = text.split(':')
    parts = []
    tokens = 0
    for number, chain in enumerate(chains):
        f = {name: value[0] for name, value in prepare_protein_features(chain).items()}
        real = f['atom_attention_mask']
        for name in ('ref_pos', 'ref_element', 'ref_charge', 'ref_atom_name_chars',
                     'ref_space_uid', 'atom_to_token', 'atom_attention_mask'):
            f[name] = f[name][real]
        f['distogram_atom_idx'] = f['distogram_atom_idx'] + sum(len(p['ref_pos']) for p in parts)
        for name in ('token_index', 'ref_space_uid', 'atom_to_token'):
            f[name] = f[name] + tokens
        f['asym_id'] = f['asym_id'] + number
        f['entity_id'] = torch.full_like(f['entity_id'], chains.index(chain))
        f['sym_id'] = torch.full_like(f['sym_id'], chains[:number].count(chain))
        tokens += len(chain)
        parts.append(f)
    made = {name: torch.cat([p[name] for p in parts])[None]
            for name in parts[0] if not name.startswith(('msa', 'has_', 'deletion', 'token_bonds'))}
    made['token_bonds'] = torch.zeros(1, tokens, tokens, 1)
    for name in ('ref_pos', 'ref_charge'):
        made[name] = made[name].double()
    if rows is not None:
        made.update(aligned(made['res_type'][0], rows))
    return made, tokens


def write_fold(file, generation, network, made, draws, fold, rows=None):
    """rows: letters and deletions of an alignment; None where the model reads none."""
    text, passes, points = fold
    f, n = joined(text, rows)
    c = made.config.pairwise_hidden_size
    state = draws.normal(size=(n, n, c)).astype(numpy.float32).astype(float)
    keep = draws.random((passes, n, n, c)) >= made.config.lm_encoder.lm_dropout
    left = iter(keep)
    seen = Draws(generation, made, draws)
    made._init_pair_state = lambda _: torch.tensor(state)[None]
    dropout = network.F.dropout
    network.F.dropout = (lambda x, p, training: x * torch.tensor(next(left) / (1 - p))[None]
                         if training else x)
    with torch.no_grad():
        out = made.fold(num_diffusion_samples=1, num_sampling_steps=points, num_loops=passes - 1,
                        **f)
    network.F.dropout = dropout
    steps = len(made._build_noise_schedule(points, torch.device('cpu'))[0]) - 1
    print('fold', text, passes, points, steps, f['ref_pos'].shape[1], file=file)
    if rows is not None:
        line(file, 'letters', [ord(letter) for letters, _ in rows for letter in letters])
        line(file, 'deleted', [count for _, counts in rows for count in counts])
    line(file, 'state', state)
    line(file, 'keep', keep)
    line(file, 'start', seen.start)
    line(file, 'turns', numpy.stack(seen.turns))
    line(file, 'pair', seen.trunk.pair_states.reshape(-1)[::3])
    line(file, 'distogram', out.distogram_logits.reshape(-1)[::5])
    line(file, 'places', out.sample_atom_coords)
    line(file, 'level', out.plddt_per_atom)
    line(file, 'pae', out.pae)
    line(file, 'scores', [float(getattr(out, score)) for score in SCORES])


def main():
    torch.set_num_threads(1)
    generation, network = reference(tempfile.mkdtemp())
    made = network.EsmFold2Model.from_pretrained(sys.argv[1], attn_implementation='eager')
    made = made.eval().double()
    made.config.structure_head.noise_scale, made.config.structure_head.step_scale = 0.0, 1.0
    torch.set_default_dtype(torch.float64)
    draws = numpy.random.default_rng(4)
    forward = made.forward
    with open(sys.argv[1] + '/folds.txt', 'w', encoding='ascii') as file:
        for fold in FOLDS:
            made.forward = forward
            write_fold(file, generation, network, made, draws, fold)


if __name__ == '__main__':
    main()
