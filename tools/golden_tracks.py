#!/usr/bin/env python3
"""Goldens of the families from DNA to tracks, by their reference packages.

    golden_tracks.py enformer OUT_FOLDER                   needs torch, enformer-pytorch

Random weights of trained-like scale (every norm, bias and projection away from its initial
value) in small configurations, float32 on the CPU, written in both published containers:

    enformer/half/      safetensors, float16 weights, 7 halvings, 40 tokens, cropped to 16 bins
    enformer/odd/       pytorch_model.bin with the aliases, 4 halvings, 37 tokens, not cropped

    enformer/table/     safetensors, float16 weights, 3 halvings, 1,536 tokens, gamma by the table

Each folder: weights, config.json, window.fa, <head>.npy.
"""
import json
import os
import sys
import types

import numpy as np
import torch


def fill(model, seed):
    """Parameters and statistics as training leaves them: none at 0 or 1, sums of order 1."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() >= 2 and 'rel_' not in name.split('.')[-1]:
                fan = p[0].numel()
                p.copy_(torch.randn(p.shape, generator=g) * (1.6 / fan ** 0.5))
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
    if len(sys.argv) != 3 or sys.argv[1] != 'enformer':
        sys.exit(__doc__)
    enformer(sys.argv[2])
