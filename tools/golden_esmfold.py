#!/usr/bin/env python3
"""Golden folds of a small ESMFold: tests/golden/esmfold/FOLDER.

    golden_esmfold.py FOLDER ESM

Makes EsmForProteinFolding of transformers 5.24 with random weights of a fixed seed, saves it to
FOLDER, and writes FOLDER/golden.txt and FOLDER/complexes.txt. The network runs in float64, but for
rotations, which its source keeps in float32. Every parameter is drawn, as matrices of zeros would
hide errors. A fold begins with "fold SEQUENCE JUMP PASSES": numbers of residues from JUMP on are
512 larger. Then a line each has a name, how many numbers follow, and the numbers: "s" and "z" of
the trunk (z: every seventh), "frame" (translations in angstrom), "atoms" [L, 14, 3], "plddt" [L,
37], "pae" [L, L] and "ptm". In complexes.txt it is "complex CHAINS PASSES", chains with ':'
between. ESM is a checkout of facebookresearch/esm, whose encode_sequence() joins them and numbers
residues. "atoms" [L, 37, 3], "plddt" [L] of CA and "pae" [L, L] are of residues that its mask of
linkers keeps; atoms that there are not are nan. Needs torch, transformers, numpy.
"""
import ast
import os
import sys
import typing

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch transformers numpy')

import numpy
import torch
from transformers import EsmConfig
from transformers.models.esm.modeling_esmfold import EsmForProteinFolding
from transformers.models.esm.openfold_utils import residue_constants

LETTERS = 'ARNDCQEGHILKMFPSTWYVX'
FOLDS = (('MKWYVARX', 8, 1), ('ARNDCQEGHILKMFPSTWYV', 9, 1), ('ACDXFGHIKLMNPQ', 6, 4), ('G', 1, 2))
COMPLEXES = (('ACDXFGHIKLMNPQ', 4), ('MKWYV:GGAACXV', 4), ('ACDXFGHIKLMNPQ', 1),
             ('MKWYV:GGAACXV', 1), ('A:G:MKW', 4))
WORDS = ['<cls>', '<pad>', '<eos>', '<unk>', *'LAGVSERTIDPKQNFYMHWCXBUZO.-', '<null_1>', '<mask>']
STRUCTURE = {
    'sequence_dim': 24, 'pairwise_dim': 16, 'ipa_dim': 8, 'resnet_dim': 12, 'num_heads_ipa': 3,
    'num_qk_points': 2, 'num_v_points': 3, 'num_blocks': 3, 'num_transition_layers': 1,
    'num_resnet_blocks': 2, 'num_angles': 7, 'trans_scale_factor': 10, 'epsilon': 1e-8,
    'inf': 1e5, 'dropout_rate': 0.1}
TRUNK = {
    'num_blocks': 2, 'sequence_state_dim': 32, 'pairwise_state_dim': 16, 'sequence_head_width': 8,
    'pairwise_head_width': 8, 'position_bins': 4, 'dropout': 0, 'layer_drop': 0, 'max_recycles': 4,
    'chunk_size': None, 'structure_module': STRUCTURE}


def model():
    config = EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=64, position_embedding_type='rotary',
        token_dropout=True, emb_layer_norm_before=False, is_folding_model=True, vocab_list=WORDS,
        layer_norm_eps=1e-5, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0,
        esmfold_config={'fp16_esm': False, 'embed_aa': True, 'lddt_head_hid_dim': 20,
                        'trunk': TRUNK})
    made = EsmForProteinFolding(config).eval()
    draws = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, p in made.named_parameters():
            drawn = torch.randn(p.shape, generator=draws)
            if p.ndim > 1:
                p.copy_(drawn * (0.5 if 'embedding' in name else p.shape[-1] ** -0.5))
            else:
                p.copy_(0.2 * drawn + (1 if name.endswith('weight') else 0))
    return made


def line(file, name, values):
    values = numpy.asarray(values).reshape(-1)
    print(name, len(values), *('%.8g' % v for v in values), file=file)


def published_encoding(esm):
    """encode_sequence() of a checkout, without the packages that its file imports for others."""
    with open(os.path.join(esm, 'esm', 'esmfold', 'v1', 'misc.py'), encoding='utf-8') as file:
        tree = ast.parse(file.read())
    tree.body = [node for node in tree.body if getattr(node, 'name', '') == 'encode_sequence']
    names = {'T': typing, 'torch': torch, 'residue_constants': residue_constants}
    exec(compile(tree, 'misc.py', 'exec'), names)
    return names['encode_sequence']


def fold(made, letters, places, passes):
    with torch.no_grad():
        return made(letters[None], attention_mask=torch.ones_like(letters[None]),
                    position_ids=places[None], num_recycles=passes - 1)


def write_complex(file, made, encode, chains, passes):
    letters, places, mask, _ = encode(chains)
    shown = torch.nonzero(mask)[:, 0]
    out = fold(made, letters, places, passes)
    at = out['residx_atom37_to_atom14'][0, :, :, None].expand(-1, -1, 3)
    atoms = torch.gather(out['positions'][-1, 0], 1, at).numpy()
    atoms[out['atom37_atom_exists'][0].numpy() == 0] = numpy.nan
    print('complex', chains, passes, file=file)
    line(file, 'atoms', atoms[shown])
    line(file, 'plddt', out['plddt'][0][shown, 1])
    line(file, 'pae', out['predicted_aligned_error'][0][shown][:, shown])
    line(file, 'ptm', out['ptm'])


def main():
    torch.set_num_threads(1)
    made = model()
    made.save_pretrained(sys.argv[1])
    made = made.double()
    encode = published_encoding(sys.argv[2])
    with open(sys.argv[1] + '/golden.txt', 'w', encoding='ascii') as file:
        for sequence, jump, passes in FOLDS:
            places = torch.arange(len(sequence))
            places[jump:] += 512
            out = fold(made, torch.tensor([LETTERS.index(c) for c in sequence]), places, passes)
            print('fold', sequence, jump, passes, file=file)
            line(file, 's', out['s_s'][0])
            line(file, 'z', out['s_z'][0].reshape(-1)[::7])
            line(file, 'frame', out['frames'][-1, 0])
            line(file, 'atoms', out['positions'][-1, 0])
            line(file, 'plddt', out['plddt'][0])
            line(file, 'pae', out['predicted_aligned_error'][0])
            line(file, 'ptm', out['ptm'])
    with open(sys.argv[1] + '/complexes.txt', 'w', encoding='ascii') as file:
        for chains, passes in COMPLEXES:
            write_complex(file, made, encode, chains, passes)


if __name__ == '__main__':
    main()
