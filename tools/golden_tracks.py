#!/usr/bin/env python3
"""Goldens of the families from DNA to tracks, by their reference packages.

    golden_tracks.py enformer OUT_FOLDER                   needs torch, enformer-pytorch
    golden_tracks.py borzoi OUT_FOLDER                     the float64 statement of
                                                           borzoi_reference.py

Random weights of trained-like scale (every norm, bias and projection away from its initial
value) in small configurations, float32 on the CPU, written in both published containers:

    enformer/half/      safetensors, float16 weights, 7 halvings, 40 tokens, cropped to 16 bins
    enformer/odd/       pytorch_model.bin with the aliases, 4 halvings, 37 tokens, not cropped

    enformer/table/     safetensors, float16 weights, 3 halvings, 1,536 tokens, gamma by the table
    borzoi/final/       safetensors, 3 halvings in the tower, 24 tokens of 32 bases, final block

Each folder: weights, config.json, window.fa, <head>.npy.
"""
import json
import os
import sys
import types

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np


def borzoi(out):
    from borzoi_reference import attention, conv, gelu, one_hot as read_one_hot
    from borzoi_weights import save
    rng = np.random.RandomState(11)
    w = {}

    def make(name, *shape):
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 0
        w[name] = (rng.randn(*shape) * (1.5 / fan ** .5 if fan else .3)).astype(np.float32)
        return w[name].astype(np.float64)

    def block(name, x, n, taps):
        c = x.shape[1]
        if name != 'conv_dna':
            make(name + '.norm.bias', c)
            make(name + '.norm.running_mean', c)
            w[name + '.norm.weight'] = (1 + .2 * rng.randn(c)).astype(np.float32)
            w[name + '.norm.running_var'] = (.5 + rng.rand(c)).astype(np.float32)
            g = [w['%s.norm.%s' % (name, k)].astype(np.float64)
                 for k in ('weight', 'bias', 'running_mean', 'running_var')]
            x = gelu((x - g[2]) / np.sqrt(g[3] + 1e-3) * g[0] + g[1])
        kernel = make(name + '.conv_layer.weight', n, c, taps)
        return conv(x, kernel.transpose(2, 1, 0), make(name + '.conv_layer.bias', n))

    def norm(name, x):
        w[name + '.weight'] = (1 + .2 * rng.randn(x.shape[1])).astype(np.float32)
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3)
        return x * w[name + '.weight'].astype(np.float64) + make(name + '.bias', x.shape[1])

    def separable(name, x):
        n = x.shape[1]
        d = make(name + '.conv_layer.0.weight', n, 1, 3)[:, 0].T
        padded = np.pad(x, ((1, 1), (0, 0)))
        x = sum(padded[i:i + len(x)] * d[i] for i in range(3))
        return x @ make(name + '.conv_layer.1.weight', n, n, 1)[:, :, 0].T + \
            make(name + '.conv_layer.1.bias', n)

    folder = os.path.join(out, 'borzoi', 'final')
    os.makedirs(folder, exist_ok=True)
    write_window(os.path.join(folder, 'window.fa'), sequence(24 * 32, 3))
    x = read_one_hot(os.path.join(folder, 'window.fa'))

    def pool(y):
        return y.reshape(-1, 2, y.shape[1]).max(1)
    x = block('conv_dna', x, 8, 7)
    for i, n in enumerate((10, 12, 14)):
        x = block('res_tower.%d' % (2 * i), pool(x), n, 5)
    u0, u1 = x, block('unet1.1', pool(x), 18, 5)
    x = pool(u1)
    for i in range(2):
        to = 'transformer.%d.0.fn.1.' % i
        h = norm('transformer.%d.0.fn.0' % i, x)
        m = {'q_layer/kernel': make(to + 'to_q.weight', 10, 18).T,
             'k_layer/kernel': make(to + 'to_k.weight', 10, 18).T,
             'v_layer/kernel': make(to + 'to_v.weight', 14, 18).T,
             'r_k_layer/kernel': make(to + 'to_rel_k.weight', 10, 8).T,
             'r_w_bias': make(to + 'rel_content_bias', 1, 2, 1, 5),
             'r_r_bias': make(to + 'rel_pos_bias', 1, 2, 1, 5),
             'embedding_layer/kernel': make(to + 'to_out.weight', 18, 14).T,
             'embedding_layer/bias': make(to + 'to_out.bias', 18)}
        x = x + attention(m.get, h, 5, 7)
        to = 'transformer.%d.1.fn.' % i
        h = norm(to + '0', x)
        h = np.maximum(h @ make(to + '1.weight', 36, 18).T + make(to + '1.bias', 36), 0)
        x = x + h @ make(to + '4.weight', 18, 36).T + make(to + '4.bias', 18)
    for i, skip in ((1, u1), (0, u0)):
        x = np.repeat(block('upsampling_unet%d.0' % i, x, 18, 1), 2, 0)
        x = separable('separable%d' % i, x + block('horizontal_conv%d' % i, skip, 18, 1))
    x = gelu(block('final_joined_convs.0', x[16:-16], 22, 1))
    for head, n in (('human', 6), ('mouse', 4)):
        y = x @ make(head + '_head.weight', n, 22, 1)[:, :, 0].T + make(head + '_head.bias', n)
        np.save(os.path.join(folder, head + '.npy'), np.logaddexp(0, y).astype(np.float32))
        print('borzoi', head, y.shape, y.mean(), y.std())
    save(os.path.join(folder, 'model.safetensors'), w)
    with open(os.path.join(folder, 'config.json'), 'w') as f:
        json.dump({'model_type': 'borzoi', 'seq_length': 24 * 32, 'bins_to_return': 64}, f)


def fill(model, seed, gain=1.6):
    """Parameters and statistics as training leaves them: none at 0 or 1, sums of order 1."""
    import torch
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() >= 2 and 'rel_' not in name.split('.')[-1]:
                fan = p[0].numel()
                p.copy_(torch.randn(p.shape, generator=g) * (gain / fan ** 0.5))
                if 'to_attn_logits' in name:
                    n = p.shape[0]
                    p[:, :, 0, 0] += 2 * torch.eye(n)
            elif name.endswith('bias') or 'rel_' in name:
                p.copy_(torch.randn(p.shape, generator=g) * 0.3)
            else:
                p.copy_(1 + 0.2 * torch.randn(p.shape, generator=g))
        for name, b in model.named_buffers():
            if name.endswith('running_mean'):
                b.copy_(0.3 * torch.randn(b.shape, generator=g))
            elif name.endswith('running_var'):
                b.copy_(0.5 + torch.rand(b.shape, generator=g))
    return model.eval()


def sequence(n, seed):
    rng = np.random.RandomState(seed)
    s = rng.choice(list('ACGTacgtN'), n, p=[.2, .2, .2, .2, .045, .045, .045, .045, .02])
    s[5:9] = list('RYKM')
    return ''.join(s)


def write_window(path, s):
    with open(path, 'w') as f:
        f.write('>window\n')
        for i in range(0, len(s), 60):
            f.write(s[i:i + 60] + '\n')


def one_hot(s):
    import torch
    x = np.zeros((len(s), 4), np.float32)
    for i, base in enumerate('ACGT'):
        x[np.frombuffer(s.upper().encode(), np.uint8) == ord(base), i] = 1
    return torch.from_numpy(x)[None]


def import_enformer():
    """The package without what its data loaders and adapters import."""
    for name, members in (('polars', ()), ('pyfaidx', ('Fasta',)),
                          ('discrete_key_value_bottleneck_pytorch',
                           ('DiscreteKeyValueBottleneck',))):
        module = types.ModuleType(name)
        for member in members:
            setattr(module, member, object)
        sys.modules.setdefault(name, module)
    from enformer_pytorch import modeling_enformer
    return modeling_enformer


def enformer(out):
    import torch
    modeling_enformer = import_enformer()
    Enformer = modeling_enformer.Enformer
    torch.backends.mha.set_fastpath_enabled(False)
    plans = {'half': dict(dim=48, depth=2, heads=2, attn_dim_key=16, num_downsamples=7,
                          dim_divisible_by=8, target_length=16,
                          output_heads=dict(human=8, mouse=5)),
             'odd': dict(dim=24, depth=1, heads=2, attn_dim_key=10, num_downsamples=4,
                         dim_divisible_by=4, target_length=-1,
                         output_heads=dict(mouse=3, human=4)),
             'table': dict(dim=192, depth=1, heads=1, attn_dim_key=16, num_downsamples=3,
                           dim_divisible_by=96, target_length=896, output_heads=dict(human=3),
                           use_tf_gamma=True)}
    for name, config in plans.items():
        folder = os.path.join(out, 'enformer', name)
        os.makedirs(folder, exist_ok=True)
        model = fill(Enformer.from_hparams(**config), 1 + len(name))
        if name != 'odd':
            model = model.half().float()
        tokens = {'half': 40, 'odd': 37, 'table': 1536}[name]
        length = tokens << config['num_downsamples']
        with open(os.path.join(folder, 'config.json'), 'w') as f:
            json.dump(dict(config, model_type='enformer', seq_length=length), f, indent=1)
        if name != 'odd':
            from safetensors.torch import save_file
            save_file({k: v.half().contiguous() for k, v in model.state_dict().items()
                       if not k.startswith('_trunk.') and 'num_batches' not in k},
                      os.path.join(folder, 'model.safetensors'))
        else:
            torch.save(model.state_dict(), os.path.join(folder, 'pytorch_model.bin'))
        s = sequence(length, 7)
        write_window(os.path.join(folder, 'window.fa'), s)
        with torch.no_grad():
            y = model(one_hot(s))
        for head, values in y.items():
            np.save(os.path.join(folder, head + '.npy'), values[0].numpy())
            print(name, head, values.shape, float(values.mean()), float(values.std()),
                  float(values.max()))


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in ('enformer', 'borzoi'):
        sys.exit(__doc__)
    {'enformer': enformer, 'borzoi': borzoi}[sys.argv[1]](sys.argv[2])
