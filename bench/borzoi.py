#!/usr/bin/env python3
"""borzoi.py - windows of DNA to tracks: Borzoi or Flashzoi in PyTorch and bioinfer in one run.

    borzoi.py --bioinfer build/cli/bioinfer [--model flashzoi|borzoi] [--device cpu|cuda:0]
              [--precision fp32,fp16] [--cache FOLDER] [--windows N] [--variants N] [--threads N]
              [--eager] [--small]

Needs torch, numpy, safetensors. The reference is a statement of the network of borzoi-pytorch
0.5.1, which is written here, as that package imports transformers, einops, pandas and flash-attn;
attention of Flashzoi is scaled_dot_product_attention, whose kernels for fp16 are those of
flash-attn. Before anything is timed the statement is compared with results that the packages gave
(tests/golden/borzoi). Weights are random, full size (0.8 GB in --cache), as bench/enformer.py makes
them, whose measurements these are: its head says what is timed and how. Both compute 16 human
tracks, the reference as its package does by set_track_subset(). --small is a tiny configuration
that only shows that the script works.
"""
import json
import math
import os
import sys

import enformer

sys.path.insert(0, os.path.join(enformer.ROOT, 'tools'))
from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch', 'safetensors')

import torch
from torch import nn
from torch.nn import functional as F

from golden_tracks import fill, one_hot

FULL = {'taps': 15, 'tower': [512, 608, 736, 896, 1056, 1280], 'dim': 1536, 'depth': 8, 'heads': 8,
        'key': 64, 'value': 192, 'features': 32, 'rotary_emb_dim': 128, 'last': 1920,
        'human': 7611, 'mouse': 2608, 'bins_to_return': 6144, 'seq_length': 524288}
SMALL = {'taps': 15, 'tower': [6, 8, 10, 12, 14, 16], 'dim': 48, 'depth': 2, 'heads': 4, 'key': 6,
         'value': 10, 'features': 8, 'rotary_emb_dim': 8, 'last': 22, 'human': 6, 'mouse': 4,
         'bins_to_return': 64, 'seq_length': 6144}
FINAL = dict(SMALL, taps=7, tower=[8, 10, 12, 14], dim=18, heads=2, key=5, value=7, seq_length=768)
CHOSEN = 16  # tracks


class Block(nn.Module):
    """A norm, the tanh form of gelu, a convolution."""

    def __init__(self, n_in, n_out, taps):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_in, eps=1e-3)
        self.conv_layer = nn.Conv1d(n_in, n_out, taps, padding='same')

    def forward(self, x):
        return self.conv_layer(F.gelu(self.norm(x), approximate='tanh'))


class Separable(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv_layer = nn.Sequential(
            nn.Conv1d(dim, dim, 3, padding='same', groups=dim, bias=False), nn.Conv1d(dim, dim, 1))

    def forward(self, x):
        return self.conv_layer(x)


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.fn = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.fn(x)


def split(x, heads):
    """[b, n, heads d] to [b, heads, n, d]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class Relative(nn.Module):
    """Attention of Borzoi: central masks of growing width, and the same times the sign."""

    def __init__(self, c, n):
        super().__init__()
        self.heads, self.scale = c['heads'], c['key'] ** -.5
        for name, size in (('to_q', 'key'), ('to_k', 'key'), ('to_v', 'value')):
            setattr(self, name, nn.Linear(c['dim'], c['heads'] * c[size], bias=False))
        self.to_out = nn.Linear(c['heads'] * c['value'], c['dim'])
        self.to_rel_k = nn.Linear(c['features'], c['heads'] * c['key'], bias=False)
        self.rel_content_bias = nn.Parameter(torch.zeros(1, c['heads'], 1, c['key']))
        self.rel_pos_bias = nn.Parameter(torch.zeros(1, c['heads'], 1, c['key']))
        half = c['features'] // 2
        widths = torch.pow(math.exp(math.log(n + 1) / half), torch.arange(1, half + 1)) - 1
        at = torch.arange(-n + 1, n)[:, None]
        masks = (widths > at.abs()).float()
        self.register_buffer('positions', torch.cat([masks, at.sign() * masks], 1),
                             persistent=False)

    def forward(self, x):
        q, k, v = (split(y, self.heads) for y in (self.to_q(x), self.to_k(x), self.to_v(x)))
        b, h, n, _ = q.shape
        q = q * self.scale
        r = self.to_rel_k(self.positions).unflatten(-1, (h, -1)).transpose(0, 1)
        along = torch.matmul(q + self.rel_pos_bias, r.transpose(1, 2)).contiguous()
        row = 2 * n - 1
        along = along.as_strided((b, h, n, n), (h * n * row, n * row, row - 1, 1), n - 1)
        p = (torch.matmul(q + self.rel_content_bias, k.transpose(2, 3)) + along).softmax(-1)
        return self.to_out(torch.matmul(p.to(v.dtype), v).transpose(1, 2).flatten(2))


class Rotary(nn.Module):
    """Attention of Flashzoi: two heads share keys and values, the first columns are turned."""

    def __init__(self, c, n):
        super().__init__()
        dim, self.heads, turned = c['dim'], c['heads'], c['rotary_emb_dim']
        self.mha = nn.ModuleDict({'Wqkv': nn.Linear(dim, 2 * dim), 'out_proj': nn.Linear(dim, dim)})
        rate = 20000. ** (-torch.arange(0, turned, 2) / turned)
        angle = torch.arange(n)[:, None] * rate
        self.register_buffer('cos', angle.cos(), persistent=False)
        self.register_buffer('sin', angle.sin(), persistent=False)

    def turn(self, x):
        half = self.cos.shape[1]
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)

    def forward(self, x):
        dim = x.shape[-1]
        q, k, v = self.mha['Wqkv'](x).split([dim, dim // 2, dim // 2], -1)
        q, k, v = split(q, self.heads), split(k, self.heads // 2), split(v, self.heads // 2)
        k, v = (y.repeat_interleave(2, 1) for y in (self.turn(k), v))
        y = F.scaled_dot_product_attention(self.turn(q), k, v)
        return self.mha['out_proj'](y.transpose(1, 2).flatten(2))


class Borzoi(nn.Module):
    """Modules have the names of the package; chosen: tracks of the head that are computed."""

    def __init__(self, c, rotary, chosen):
        super().__init__()
        dim, tower, n = c['dim'], c['tower'], c['seq_length'] >> len(c['tower']) + 1
        self.chosen, self.bins, self.pool = chosen, c['bins_to_return'], nn.MaxPool1d(2)
        self.conv_dna = nn.ModuleDict(
            {'conv_layer': nn.Conv1d(4, tower[0], c['taps'], padding='same')})
        blocks = [Block(a, b, 5) for a, b in zip(tower, tower[1:])]
        self.res_tower = nn.Sequential(*(m for b in blocks for m in (b, self.pool)))[:-1]
        self.unet1 = nn.Sequential(self.pool, Block(tower[-1], dim, 5))
        self.transformer = nn.Sequential(*(nn.Sequential(
            Residual(nn.LayerNorm(dim, eps=1e-3), (Rotary if rotary else Relative)(c, n)),
            Residual(nn.LayerNorm(dim, eps=1e-3), nn.Linear(dim, 2 * dim), nn.Identity(), nn.ReLU(),
                     nn.Linear(2 * dim, dim))) for _ in range(c['depth'])))
        self.horizontal_conv0 = Block(tower[-1], dim, 1)
        self.horizontal_conv1 = Block(dim, dim, 1)
        self.upsampling_unet0 = nn.Sequential(Block(dim, dim, 1), nn.Upsample(scale_factor=2))
        self.upsampling_unet1 = nn.Sequential(Block(dim, dim, 1), nn.Upsample(scale_factor=2))
        self.separable0, self.separable1 = Separable(dim), Separable(dim)
        self.final_joined_convs = nn.Sequential(Block(dim, c['last'], 1))
        self.human_head = nn.Conv1d(c['last'], c['human'], 1)
        self.mouse_head = nn.Conv1d(c['last'], c['mouse'], 1)

    def forward(self, x):
        u0 = self.res_tower(self.pool(self.conv_dna['conv_layer'](x.transpose(1, 2))))
        u1 = self.unet1(u0)
        x = self.transformer(self.pool(u1).transpose(1, 2)).transpose(1, 2)
        x = self.separable1(self.upsampling_unet1(x) + self.horizontal_conv1(u1))
        x = self.separable0(self.upsampling_unet0(x) + self.horizontal_conv0(u0))
        cut = (x.shape[-1] - self.bins) // 2
        x = self.final_joined_convs(x[..., cut:x.shape[-1] - cut])
        x = F.gelu(x, approximate='tanh')
        head = self.human_head
        with torch.autocast(x.device.type, enabled=False):  # as the package has it
            y = F.conv1d(x.to(head.weight.dtype), head.weight[:self.chosen],
                         head.bias[:self.chosen])
            return {'human': F.softplus(y).transpose(1, 2)}


def check(name, config, rotary):
    """Compares the statement with the golden that the package, or a statement in float64, gave."""
    import numpy as np
    from safetensors.torch import load_file
    folder = os.path.join(enformer.ROOT, 'tests', 'golden', 'borzoi', name)
    model = Borzoi(config, rotary, config['human'])
    missing, more = model.load_state_dict(load_file(os.path.join(folder, 'model.safetensors')),
                                          strict=False)
    if more or any('num_batches' not in m for m in missing):
        sys.exit('%s: other tensors: %s %s' % (folder, missing, more))
    with open(os.path.join(folder, 'window.fa'), encoding='ascii') as f:
        x = one_hot(f.read().split('\n', 1)[1].replace('\n', ''))
    with torch.inference_mode():
        y = model.eval()(x)['human'][0].numpy()
    want = np.load(os.path.join(folder, 'human.npy'))
    off = np.linalg.norm(y - want) / np.linalg.norm(want)
    print('statement against golden borzoi/%s: relative L2 %.1e' % (name, off))
    if not off < 1e-5:
        sys.exit('the statement is not the network')


def write_model(o, model, config):
    """Weights under the package's names, and config.json, into --cache."""
    from safetensors.torch import save_file
    save_file({k: v.contiguous() for k, v in model.state_dict().items() if 'num_batches' not in k},
              os.path.join(o.cache, 'model.safetensors'))
    with open(os.path.join(o.cache, 'config.json'), 'w', encoding='ascii') as f:
        json.dump({'model_type': 'borzoi', 'flashed': o.model == 'flashzoi',
                   **{k: config[k] for k in ('seq_length', 'bins_to_return', 'heads',
                                             'rotary_emb_dim')}}, f)


def main():
    p = enformer.options('borzoi')
    p.add_argument('--model', choices=('flashzoi', 'borzoi'), default='flashzoi')
    o = enformer.finish(p, 32, 0)
    rotary, config = o.model == 'flashzoi', SMALL if o.small else FULL
    check(*(('flash', SMALL, True) if rotary else ('final', FINAL, False)))
    model = fill(Borzoi(config, rotary, min(CHOSEN, config['human'])), 1, 1.0)
    write_model(o, model, config)
    enformer.measure(o, model, config['seq_length'], config['human'])


if __name__ == '__main__':
    main()
