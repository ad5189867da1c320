#!/usr/bin/env python3
"""Writes a DualBind checkpoint whose numbers follow a formula: no weights of anybody.

    dualbind_weights.py FILE.safetensors [--width D] [--member M]

The 34 tensors are numbered by their names in ASCII order. Element i of tensor t is a hash of both,
from -1 to 1, scaled as PyTorch scales a new layer. Members differ in the numbers of their tensors.
Needs nothing but Python.
"""
import argparse
import array
import json
import math
import struct

LAYER = 'encoder.encoder.'
ATOM_TYPES, RESIDUES, ATOM, BOND = 38, 21, 133, 14


def shapes(d):
    """Shape of each tensor, by name; d = 256 as published."""
    of = {'mpn.W_i.weight': [d, ATOM + BOND], 'mpn.W_h.weight': [d, d],
          'mpn.W_o.weight': [d, ATOM + d], 'mpn.W_o.bias': [d],
          'encoder.W_bind.weight': [d, d], 'encoder.W_bind.bias': [d],
          'encoder.W_tgt.weight': [d, RESIDUES], 'encoder.W_tgt.bias': [d],
          'encoder.A_bind.weight': [ATOM_TYPES, d], 'encoder.A_tgt.weight': [ATOM_TYPES, d],
          'encoder.linear.weight': [d, 3 + 2 * d], 'encoder.linear.bias': [d]}
    for name in ('wq', 'wk', 'wv', 'dense'):
        of[LAYER + 'multihead_attention.%s.weight' % name] = [d, d]
        of[LAYER + 'multihead_attention.%s.bias' % name] = [d]
    for name in ('norm1', 'norm2'):
        of[LAYER + name + '.weight'] = [d]
        of[LAYER + name + '.bias'] = [d]
    for name in (LAYER + 'linear1', LAYER + 'linear2', 'binder_output.0', 'binder_output.2',
                 'target_output.0'):
        of[name + '.weight'] = [d, d]
        of[name + '.bias'] = [d]
    return of


def hashed(t, i):
    h = ((t + 1) * 0x9E3779B1 + i * 0x85EBCA77) & 0xFFFFFFFF
    h ^= h >> 15
    h = h * 0x2C1B3C6D & 0xFFFFFFFF
    h ^= h >> 12
    h = h * 0x297A2D39 & 0xFFFFFFFF
    h ^= h >> 15
    return (h >> 8) * 2.0 ** -23 - 1


def tensor(name, shape, number):
    """float32 values of a tensor, row by row."""
    n = math.prod(shape)
    values = (hashed(number, i) for i in range(n))
    if 'norm' in name and name.endswith('.weight'):
        return array.array('f', (1 + 0.1 * u for u in values))
    if len(shape) == 1:
        return array.array('f', (0.1 * u for u in values))
    by = 0.5 if '.A_' in name else math.sqrt(3 / shape[1])
    return array.array('f', (by * u for u in values))


def weights(width=256, member=0):
    """Name -> (shape, values), in ASCII order of the names."""
    of = shapes(width)
    return {name: (of[name], tensor(name, of[name], t + 100 * member))
            for t, name in enumerate(sorted(of))}


def write(path, width=256, member=0, leave_out=()):
    header, parts, at = {}, [], 0
    for name, (shape, values) in weights(width, member).items():
        if name in leave_out:
            continue
        data = values.tobytes()
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        file.writelines(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('file')
    parser.add_argument('--width', type=int, default=256)
    parser.add_argument('--member', type=int, default=0)
    a = parser.parse_args()
    write(a.file, a.width, a.member)


if __name__ == '__main__':
    main()
