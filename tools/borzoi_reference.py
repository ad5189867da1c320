#!/usr/bin/env python3
"""A float64 NumPy statement of Borzoi, run layer by layer as the Keras HDF5's own model_config
says, without the conversion of borzoi_weights.py.

    borzoi_reference.py MODEL.h5 SEQUENCE.fa OUT.npy       needs h5py, numpy
"""
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np

from borzoi_weights import Layers


def conv(x, kernel, bias):
    k = kernel.shape[0]
    padded = np.pad(x, ((k // 2, k // 2), (0, 0)))
    return sum(padded[i:i + len(x)] @ kernel[i] for i in range(k)) + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def attention(get, x, key_size, value_size):
    n = len(x)
    q, k, v = (x @ get('%s_layer/kernel' % c) for c in 'qkv')
    r_kernel = get('r_k_layer/kernel')
    half = r_kernel.shape[0] // 2
    at = np.arange(-n + 1, n)
    rate = np.float32(np.exp(np.log(n + 1) / half))
    widths = rate ** np.arange(1, half + 1, dtype=np.float32) - np.float32(1)
    mask = (widths[None] > np.abs(at)[:, None]).astype(np.float64)
    r = np.concatenate([mask, np.sign(at)[:, None] * mask], 1) @ r_kernel
    u, w = get('r_w_bias')[0, :, 0], get('r_r_bias')[0, :, 0]
    out = np.zeros((n, v.shape[1]))
    for h in range(u.shape[0]):
        ks, vs = slice(h * key_size, (h + 1) * key_size), slice(h * value_size,
                                                                 (h + 1) * value_size)
        qh = q[:, ks] * key_size ** -0.5
        logits = (qh + u[h]) @ k[:, ks].T
        along = (qh + w[h]) @ r[:, ks].T
        for i in range(n):
            logits[i] += along[i, n - 1 - i:2 * n - 1 - i]
        p = np.exp(logits - logits.max(1, keepdims=True))
        out[:, vs] = p / p.sum(1, keepdims=True) @ v[:, vs]
    return out @ get('embedding_layer/kernel') + get('embedding_layer/bias')


def run(path, x):
    l = Layers(path)
    of = {}
    for name, kind in l.kind.items():
        ins = [of[i] for i in l.inputs[name]]
        c = l.config[name]
        y = ins[0] if ins else x

        def get(member, layer=name):
            return l.get(layer, member).astype(np.float64)
        if kind == 'Conv1D':
            y = conv(y, get('kernel'), get('bias'))
        elif kind == 'MaxPooling1D':
            y = y.reshape(-1, 2, y.shape[1]).max(1)
        elif kind == 'BatchNormalization':
            y = (y - get('moving_mean')) / np.sqrt(get('moving_variance') + c['epsilon']) * \
                get('gamma') + get('beta')
        elif kind == 'TFOpLambda':
            y = gelu(y)
        elif kind == 'LayerNormalization':
            y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + c['epsilon'])
            y = y * get('gamma') + get('beta')
        elif kind == 'MultiheadAttention':
            y = attention(get, y, c['key_size'], c['value_size'])
        elif kind == 'Add':
            y = ins[0] + ins[1]
        elif kind == 'ReLU':
            y = np.maximum(y, 0)
        elif kind == 'Dense':
            y = y @ get('kernel') + get('bias')
            if c['activation'] == 'softplus':
                y = np.logaddexp(0, y)
        elif kind == 'UpSampling1D':
            y = np.repeat(y, 2, 0)
        elif kind == 'SeparableConv1D':
            d, padded = get('depthwise_kernel')[:, :, 0], np.pad(y, ((1, 1), (0, 0)))
            y = sum(padded[i:i + len(y)] * d[i] for i in range(3))
            y = y @ get('pointwise_kernel')[0] + get('bias')
        elif kind == 'Cropping1D':
            y = y[c['cropping'][0]:len(y) - c['cropping'][1]]
        else:
            assert kind in ('InputLayer', 'Dropout', 'SwitchReverse', 'StochasticShift',
                            'StochasticReverseComplement'), kind
        of[name] = y
    return y


def one_hot(path):
    with open(path, encoding='ascii') as f:
        s = ''.join(line.strip() for line in f if line[0] != '>').upper()
    x = np.zeros((len(s), 4))
    for i, base in enumerate('ACGT'):
        x[np.frombuffer(s.encode(), np.uint8) == ord(base), i] = 1
    return x


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    np.save(sys.argv[3], run(sys.argv[1], one_hot(sys.argv[2])).astype(np.float32))
