#!/usr/bin/env python3
"""Writes a TensorNet whose numbers follow a formula: no weights of anybody.

    tensornet_weights.py FILE.ckpt [--so3]      torchmd-net's TensorNet, as a Lightning checkpoint
    tensornet_weights.py FOLDER [--rule RULE]   MatGL's, model.json and state.pt, of elements H to O

RULE is 1-dgl or 1-pyg, of version 1 of MatGL's DGL or PyG code, or 2, of version 2.

Parameters are numbered by their names in ASCII order. Element i of tensor t is a hash of both, from
-1 to 1, scaled as PyTorch scales a new layer. Needs nothing but Python.
"""
import argparse
import array
import json
import math
import os
import struct
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dualbind_weights import hashed

WIDTH, LAYERS, RADIAL, ELEMENTS = 16, 2, 8, 20
MATGL_ELEMENTS = ('H', 'C', 'N', 'O')


def representation(f, k, kinds):
    """Shape of each tensor of the network in front of its head."""
    of = {'linear.weight': [f, 3 * f], 'linear.bias': [f], 'out_norm.weight': [3 * f],
          'out_norm.bias': [3 * f]}
    embedding = 'tensor_embedding.'
    for n in '123':
        of[embedding + 'distance_proj%s.weight' % n] = [f, k]
        of[embedding + 'distance_proj%s.bias' % n] = [f]
    of.update({embedding + 'emb.weight': [kinds, f], embedding + 'emb2.weight': [f, 2 * f],
               embedding + 'emb2.bias': [f], embedding + 'init_norm.weight': [f],
               embedding + 'init_norm.bias': [f],
               embedding + 'linears_scalar.0.weight': [2 * f, f],
               embedding + 'linears_scalar.0.bias': [2 * f],
               embedding + 'linears_scalar.1.weight': [3 * f, 2 * f],
               embedding + 'linears_scalar.1.bias': [3 * f]})
    for n in range(3):
        of[embedding + 'linears_tensor.%d.weight' % n] = [f, f]
    for layer in range(LAYERS):
        name = 'layers.%d.' % layer
        for n, (rows, columns) in enumerate(((f, k), (2 * f, f), (3 * f, 2 * f))):
            of[name + 'linears_scalar.%d.weight' % n] = [rows, columns]
            of[name + 'linears_scalar.%d.bias' % n] = [rows]
        for n in range(6):
            of[name + 'linears_tensor.%d.weight' % n] = [f, f]
    return of


def values(name, shape, number):
    """float32 values of a parameter, row by row."""
    numbers = (hashed(number, i) for i in range(math.prod(shape)))
    if 'norm' in name and name.endswith('weight'):
        return array.array('f', (1 + 0.1 * u for u in numbers))
    if name.endswith('tensor_embedding.emb.weight'):
        return array.array('f', numbers)
    if len(shape) == 2:
        by = math.sqrt(3 / shape[1])
        return array.array('f', (by * u for u in numbers))
    return array.array('f', (0.1 * u for u in numbers))


def filled(shapes):
    return {name: (shapes[name], values(name, shapes[name], t))
            for t, name in enumerate(sorted(shapes))}


def scalar(x):
    return ([], array.array('f', [x]))


# ---- PyTorch's zip of tensors ----

def text(s):
    raw = s.encode()
    return b'X' + struct.pack('<I', len(raw)) + raw


def number(i):
    return b'J' + struct.pack('<i', i)


def pickled(value, storages):
    """Opcodes of a dictionary, text, number, truth value, None or tensor (shape, numbers)."""
    if isinstance(value, dict):
        items = b''.join(text(k) + pickled(v, storages) for k, v in value.items())
        return b'}(' + items + b'u'
    if value is None:
        return b'N'
    if isinstance(value, bool):
        return b'\x88' if value else b'\x89'
    if isinstance(value, int):
        return number(value)
    if isinstance(value, float):
        return b'G' + struct.pack('>d', value)
    if isinstance(value, str):
        return text(value)
    shape, numbers = value
    key = str(len(storages))
    storages.append(numbers)
    strides = [math.prod(shape[n + 1:]) for n in range(len(shape))]
    return (b'ctorch._utils\n_rebuild_tensor_v2\n((' + text('storage') + b'ctorch\nFloatStorage\n' +
            text(key) + text('cpu') + number(len(numbers)) + b'tQ' + number(0) +
            b'(' + b''.join(map(number, shape)) + b't(' + b''.join(map(number, strides)) +
            b't\x89ccollections\nOrderedDict\n)RtR')


def write_torch(path, value):
    storages = []
    raw = b'\x80\x02' + pickled(value, storages) + b'.'
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as z:
        def add(name, content):
            z.writestr(zipfile.ZipInfo('archive/' + name, (1980, 1, 1, 0, 0, 0)), content)
        add('data.pkl', raw)
        add('byteorder', 'little')
        for key, numbers in enumerate(storages):
            add('data/%d' % key, numbers.tobytes())
        add('version', '3\n')


# ---- the two kinds ----

def single(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def write_torchmd(path, so3=False):
    """The network of the goldens that models of the specification have: 16 channels, 2 layers."""
    of = {'representation_model.' + name: shape
          for name, shape in representation(WIDTH, RADIAL, ELEMENTS).items()}
    head = 'output_model.output_network.layers.'
    of.update({head + '0.weight': [WIDTH // 2, WIDTH], head + '0.bias': [WIDTH // 2],
               head + '2.weight': [1, WIDTH // 2], head + '2.bias': [1]})
    tensors = filled(of)
    first = single(math.exp(single(-4.5)))
    step = single((1 - first) / (RADIAL - 1))
    means = [single(first + i * step) if i < RADIAL // 2 else single(1 - (RADIAL - 1 - i) * step)
             for i in range(RADIAL)]
    beta = single((2 / RADIAL * (1 - first)) ** -2)
    expansion = 'representation_model.distance_expansion.'
    tensors[expansion + 'means'] = ([RADIAL], array.array('f', means))
    tensors[expansion + 'betas'] = ([RADIAL], array.array('f', [beta] * RADIAL))
    tensors['representation_model.distance.box'] = ([3, 3], array.array('f', [0] * 9))
    tensors['mean'], tensors['std'] = scalar(0), scalar(1)
    write_torch(path, {
        'state_dict': {'model.' + name: tensors[name] for name in tensors},
        'hyper_parameters': {
            'model': 'tensornet', 'embedding_dimension': WIDTH, 'num_layers': LAYERS,
            'num_rbf': RADIAL, 'rbf_type': 'expnorm', 'trainable_rbf': False,
            'activation': 'silu', 'cutoff_lower': 0.0, 'cutoff_upper': 4.5, 'max_z': ELEMENTS,
            'max_num_neighbors': 64, 'output_model': 'Scalar', 'reduce_op': 'sum',
            'equivariance_invariance_group': 'SO(3)' if so3 else 'O(3)', 'derivative': True,
            'prior_model': None, 'precision': 32}})


RULES = {'1-dgl': (1, 'matgl.models._tensornet_dgl'), '1-pyg': (1, 'matgl.models._tensornet_pyg'),
         '2': (2, 'matgl.models._tensornet_pyg')}


def write_matgl(folder, rule='1-pyg', mean=0, std=1.5, references=(-3, -8.5, -7.25, -6)):
    f, k, n = WIDTH, 3, len(MATGL_ELEMENTS)
    version, module = RULES[rule]
    of = {'model.' + name: shape for name, shape in representation(f, k, n).items()}
    for part in ('layers', 'gates'):
        for i in (0, 2, 4, 6):
            name = 'model.final_layer.gated.%s.%d.' % (part, i)
            of[name + 'weight'] = [f if i < 6 else 1, f]
            of[name + 'bias'] = [f if i < 6 else 1]
    tensors = filled(of)
    if rule == '1-dgl':  # DGL's class has a product that it does not read
        for name in ('weight', 'bias'):
            of = tensors['model.tensor_embedding.distance_proj1.' + name]
            tensors['model.tensor_embedding.emb3.' + name] = of
    tensors['element_refs.property_offset'] = ([n], array.array('f', references))
    tensors['data_mean'], tensors['data_std'] = scalar(mean), scalar(std)
    os.makedirs(folder, exist_ok=True)
    write_torch(os.path.join(folder, 'state.pt'), tensors)
    args = {'element_types': MATGL_ELEMENTS, 'units': f, 'nblocks': LAYERS, 'num_rbf': 32,
            'max_n': k, 'max_l': 3, 'rbf_type': 'SphericalBessel', 'use_smooth': True,
            'activation_type': 'swish', 'cutoff': 5.0, 'width': 0.5, 'include_state': False,
            'equivariance_invariance_group': 'O(3)', 'is_intensive': False, 'ntargets': 1,
            'task_type': 'regression'}
    with open(os.path.join(folder, 'model.json'), 'w', encoding='utf-8') as file:
        json.dump({'@class': 'Potential', '@module': 'matgl.apps._pes', '@model_version': 3,
                   'kwargs': {'model': {'@class': 'TensorNet', '@module': module,
                                        '@model_version': version, 'init_args': args},
                              'calc_repuls': False}}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('path')
    parser.add_argument('--so3', action='store_true')
    parser.add_argument('--rule', choices=sorted(RULES), default='1-pyg')
    args = parser.parse_args()
    if args.path.endswith('.ckpt'):
        write_torchmd(args.path, args.so3)
    else:
        write_matgl(args.path, args.rule)


if __name__ == '__main__':
    main()
