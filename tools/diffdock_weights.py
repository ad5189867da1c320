#!/usr/bin/env python3
"""Writes small networks of DiffDock whose numbers follow a formula: no weights of anybody.

    diffdock_weights.py FOLDER [--release v1.0|v1.1] [--lm N] [--nan]

FOLDER gets score.safetensors and confidence.safetensors, their settings score.yml and
confidence.yml, and a complex to try them with: receptor.pdb, of eight residues, and butane.sdf.
Names and shapes come from tests/golden/diffdock. N columns of a language model are read (0:
none). --nan: scores are not finite. Needs nothing but Python.
"""
import argparse
import array
import json
import math
import os
import struct

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
COMMON = {'max_radius': 5.0, 'receptor_radius': 15.0, 'c_alpha_max_neighbors': 24,
          'cross_max_distance': 80, 'dynamic_max_cross': True, 'remove_hs': True,
          'embedding_type': 'sinusoidal', 'dropout': 0.1, 'batch_size': 16, 'lr': 0.001}
NOISE = {'tr_sigma_min': 0.1, 'tr_sigma_max': 3.0, 'rot_sigma_min': 0.03, 'rot_sigma_max': 1.55,
         'tor_sigma_min': 0.0314, 'tor_sigma_max': 3.14}
SETTINGS = {
    'score_v10': {'ns': 8, 'nv': 4, 'num_conv_layers': 4, 'sigma_embed_dim': 8,
                  'distance_embed_dim': 8, 'cross_distance_embed_dim': 12, 'embedding_scale': 10000,
                  'scale_by_sigma': True, 'all_atoms': False,
                  'cache_ids_to_combine': None, **NOISE},
    'score_v11': {'ns': 8, 'nv': 4, 'num_conv_layers': 3, 'num_prot_emb_layers': 2,
                  'sigma_embed_dim': 8, 'distance_embed_dim': 8, 'cross_distance_embed_dim': 12,
                  'embedding_scale': 1000, 'scale_by_sigma': True, 'all_atoms': False,
                  'embed_also_ligand': True, 'sh_lmax': 2, 'not_fixed_center_conv': False, **NOISE},
    'confidence': {'ns': 6, 'nv': 3, 'num_conv_layers': 4, 'sigma_embed_dim': 6,
                   'distance_embed_dim': 6, 'cross_distance_embed_dim': 7,
                   'embedding_scale': 10000, 'all_atoms': True, 'atom_radius': 5,
                   'atom_max_neighbors': 8, 'rmsd_classification_cutoff': [2.0]}}


def shapes(name, lm):
    """Shape of each tensor, by name."""
    found = {}
    with open(os.path.join(ROOT, 'tests/golden/diffdock', name + '.txt'), encoding='ascii') as file:
        for line in file:
            key, *shape = line.split()
            shape = [int(n) for n in shape]
            if key.startswith('rec_node_embedding.') and ('lm_emb' in key or 'additional' in key):
                if not lm:
                    continue
                if len(shape) == 2:
                    shape[1] += lm - 1280
            found[key] = shape
    return found


def hashed(t, i):
    h = ((t + 1) * 0x9E3779B1 + i * 0x85EBCA77) & 0xFFFFFFFF
    h = (h ^ h >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    h = (h ^ h >> 12) * 0x297A2D39 & 0xFFFFFFFF
    return ((h ^ h >> 15) >> 8) * 2.0 ** -23 - 1


def tensor(name, shape, number):
    values = (hashed(number, i) for i in range(math.prod(shape)))
    if name.endswith('.running_var'):
        return array.array('f', (1 + 0.5 * u for u in values))
    if 'batch_norm.weight' in name or (len(shape) == 1 and name.endswith('.weight')):
        return array.array('f', (1 + 0.3 * u for u in values))
    if len(shape) == 1:
        return array.array('f', (0.1 * u for u in values))
    by = 0.5 if 'atom_embedding_list' in name else 1.5 / math.sqrt(shape[1])
    return array.array('f', (by * u for u in values))


def save(path, of, bad=None):
    head, body = {}, []
    at = 0
    for number, (name, shape) in enumerate(sorted(of.items())):
        values = tensor(name, shape, number)
        if name == bad:
            values[0] = 3e38
        head[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + 4 * len(values)]}
        at += 4 * len(values)
        body.append(values.tobytes())
    text = json.dumps(head).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(body))


def settings(path, of, lm):
    of = {**COMMON, **of, 'esm_embeddings_path': 'data/esm2_3billion_embeddings.pt' if lm else None}
    with open(path, 'w', encoding='ascii') as file:
        for key, value in sorted(of.items()):
            if isinstance(value, list):
                file.write('%s:\n%s' % (key, ''.join('- %s\n' % item for item in value)))
            else:
                text = {True: 'true', False: 'false', None: 'null'}.get(value, value) \
                    if value is None or isinstance(value, bool) else value
                file.write('%s: %s\n' % (key, text))


RESIDUE = (('N', -1.2, 0.8), ('CA', 0, 0), ('C', 1.2, 0.8), ('O', 1.2, 2.0), ('CB', 0, -1.5))
BUTANE = ((0, 0, 0.1), (1.5, 0, 0), (2.1, 1.4, 0), (3.6, 1.4, 0.3))


def save_complex(folder):
    with open(os.path.join(folder, 'receptor.pdb'), 'w', encoding='ascii') as file:
        for i in range(8):
            for name, x, y in RESIDUE:
                file.write('ATOM  %5d  %-3s ALA A%4d    %8.3f%8.3f%8.3f  1.00  0.00          %2s\n'
                           % (1, name, i + 1, 3.8 * i + x, y + 2 * (i % 3), i % 2, name[0]))
    with open(os.path.join(folder, 'butane.sdf'), 'w', encoding='ascii') as file:
        file.write('butane\n\n\n  4  3  0  0  0  0  0  0  0  0999 V2000\n')
        file.writelines('%10.4f%10.4f%10.4f C   0  0\n' % atom for atom in BUTANE)
        file.writelines('%3d%3d  1  0\n' % (i, i + 1) for i in (1, 2, 3))
        file.write('M  END\n$$$$\n')


def write(folder, release='v1.0', lm=0, nan=False):
    os.makedirs(folder, exist_ok=True)
    for file, name in (('score', 'score_' + release.replace('.', '')),
                       ('confidence', 'confidence')):
        path = os.path.join(folder, file)
        save(path + '.safetensors', shapes(name, lm), 'tr_final_layer.0.weight' if nan else None)
        settings(path + '.yml', SETTINGS[name], lm)
    save_complex(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('folder')
    parser.add_argument('--release', choices=('v1.0', 'v1.1'), default='v1.0')
    parser.add_argument('--lm', type=int, default=0)
    parser.add_argument('--nan', action='store_true')
    args = parser.parse_args()
    write(args.folder, args.release, args.lm, args.nan)


if __name__ == '__main__':
    main()
