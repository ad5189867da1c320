#!/usr/bin/env python3
"""Goldens of Flashzoi and Borzoi Prime by the packages themselves, reduced, with random weights.

    golden_borzoi.py BORZOI_PYTORCH FLASH_ATTN OUT_FOLDER
                              needs torch, transformers, einops, pandas, safetensors

BORZOI_PYTORCH and FLASH_ATTN: folders of the sources of the packages borzoi-pytorch (0.5.1) and
flash-attn (2.7.4.post1). Widths of borzoi-pytorch are constants of its source: a copy of the source
with other constants is imported. flash-attn needs a GPU; its module MHA is made here with
use_flash_attn=False, which takes the package's own SelfAttention and CrossAttention in plain
PyTorch, and its rotation is its own apply_rotary_emb_torch.

    OUT_FOLDER/flash    rotary attention, 4 heads of 12 columns of which 8 are rotated, 2 of keys
    OUT_FOLDER/prime    three levels, relative positions, no final block, all bins but 16 a side

Each folder gets model.safetensors in float16, config.json, window.fa, <head>.npy in float32, and
contributions.npy as golden_contributions.py writes it, by automatic differentiation in float64.
"""
import importlib
import json
import os
import re
import sys
import tempfile
import types

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np
import torch

from golden_contributions import TRACKS, middle
from golden_contributions import one_hot as read_one_hot
from golden_tracks import sequence, write_window

WIDTHS = {4: 4, 512: 6, 608: 8, 736: 10, 896: 12, 1056: 14, 1280: 16, 1920: 22}
TRACKS_OF = {7611: 6, 2608: 4, 5431: 6, 1774: 4}
TOKENS = 48


def reduced(package, folder):
    """Imports a copy of borzoi-pytorch with small widths, whose positions are of TOKENS."""
    to = os.path.join(folder, 'borzoi_pytorch')
    os.makedirs(os.path.join(to, 'precomputed'))
    for name in os.listdir(package):
        if not name.endswith('.py') or name == '__init__.py':
            continue
        with open(os.path.join(package, name), encoding='utf-8') as f:
            text = f.read()
        if name == 'pytorch_borzoi_model.py':
            for old, new in {**WIDTHS, **TRACKS_OF}.items():
                text = re.sub(r'((?:in|out)_channels ?= ?)%d\b' % old, r'\g<1>%d' % new, text)
            assert not re.search(r'(?:in|out)_channels ?= ?\d{3}', text)
            text = text.replace('(x.float())', '(x)') # for automatic differentiation in float64
            text = re.sub(r'TargetLengthCrop\(\d+ - 32\)', 'TargetLengthCrop(%d - 32)' %
                          (TOKENS * 8), text)
        if name == 'pytorch_borzoi_transformer.py':
            text = text.replace('get_positional_embed(n, 4096,', 'get_positional_embed(n, n,')
            text = text.replace('self.to_rel_k(positions)', 'self.to_rel_k(positions.to(x.dtype))')
            text = text.replace('rotary_emb_dim=128', 'rotary_emb_dim=8')
            text = text.replace('use_flash_attn=True', 'use_flash_attn=False')
        with open(os.path.join(to, name), 'w', encoding='utf-8') as f:
            f.write(text)
    with open(os.path.join(to, '__init__.py'), 'w', encoding='utf-8'):
        pass
    with open(os.path.join(package, 'precomputed', 'targets.txt'), encoding='utf-8') as f:
        table = f.read()
    with open(os.path.join(to, 'precomputed', 'targets.txt'), 'w', encoding='utf-8') as f:
        f.write(table)
    sys.path.insert(0, folder)
    return importlib.import_module('borzoi_pytorch.pytorch_borzoi_model')


def import_flash(package):
    """The package without its compiled parts: only its modules in Python are found."""
    from transformers import PreTrainedModel # looks for the package on its own, so it comes first
    assert PreTrainedModel
    for name in ('flash_attn', 'flash_attn.ops', 'flash_attn.ops.triton'):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(package, *name.split('.')[1:])]
        sys.modules[name] = module
    rotary = types.ModuleType('flash_attn.ops.triton.rotary')

    def apply_rotary(x, cos, sin, interleaved=False, inplace=False, **_):
        y = importlib.import_module('flash_attn.layers.rotary').apply_rotary_emb_torch(
            x, cos, sin, interleaved)
        return x.copy_(y) if inplace else y
    rotary.apply_rotary = apply_rotary
    sys.modules[rotary.__name__] = rotary
    layers = importlib.import_module('flash_attn.layers.rotary')
    importlib.import_module('flash_attn.modules.mha')
    # automatic differentiation passes through the plain form; kernels have derivatives of their own
    layers.ApplyRotaryEmb.apply = lambda x, cos, sin, interleaved=False, *_: \
        layers.apply_rotary_emb_torch(x, cos, sin, interleaved)
    layers.ApplyRotaryEmbKV_.apply = lambda kv, cos, sin, interleaved=False, *_: torch.stack(
        [layers.apply_rotary_emb_torch(kv[:, :, 0], cos, sin, interleaved), kv[:, :, 1]], 2)
    layers.apply_rotary_emb_func = lambda x, cos, sin, interleaved=False, **_: \
        layers.apply_rotary_emb_torch(x, cos, sin, interleaved)
    layers.apply_rotary_emb_kv_ = lambda kv, cos, sin, interleaved=False, **_: \
        layers.ApplyRotaryEmbKV_.apply(kv, cos, sin, interleaved)


def fill(model, seed):
    """Random numbers of trained-like scale: no norm, bias or projection is what it begins as."""
    rng = np.random.RandomState(seed)
    state = model.state_dict()
    for name, x in state.items():
        shape = tuple(x.shape)
        y = rng.randn(*shape)
        if name.endswith('num_batches_tracked'):
            continue
        if name.endswith('running_var'):
            y = .5 + rng.rand(*shape)
        elif len(shape) == 1 and name.endswith('weight'):
            y = 1 + .2 * y
        elif len(shape) == 1 or 'rel_' in name and 'rel_k' not in name:
            y = .3 * y
        else:
            y = y * 1.5 / np.prod(shape[1:]) ** .5
        state[name] = torch.from_numpy(y.astype(np.float16).astype(np.float32))
    model.load_state_dict(state)
    return model.eval()


def make(model, folder, config, seed):
    from safetensors.torch import save_file
    os.makedirs(folder, exist_ok=True)
    fill(model, seed)
    save_file({k: v.half().contiguous() for k, v in model.state_dict().items()
               if 'num_batches' not in k}, os.path.join(folder, 'model.safetensors'))
    write_window(os.path.join(folder, 'window.fa'), sequence(TOKENS * 128, seed))
    with open(os.path.join(folder, 'config.json'), 'w', encoding='utf-8') as f:
        json.dump(dict(config, seq_length=TOKENS * 128), f)
    x = read_one_hot(folder)
    with torch.no_grad():
        for head, human in (('human', True), ('mouse', False)):
            y = model(x.detach().T[None].float(), human)[0].T.contiguous()
            np.save(os.path.join(folder, head + '.npy'), y.numpy())
            print(folder, head, y.shape, float(y.mean()), float(y.std()))
    y = model.double()(x.T[None])[0].T
    bin_size = 16 if hasattr(model, 'unet2') else 32
    y[middle(len(y), bin_size)][:, TRACKS].mean().backward()
    np.save(os.path.join(folder, 'contributions.npy'), x.grad.numpy().astype(np.float32))
    print(folder, x.grad.shape, float(x.grad.abs().max()))


def main(borzoi, flash, out):
    torch.manual_seed(1)
    import_flash(os.path.join(flash, 'flash_attn'))
    with tempfile.TemporaryDirectory() as folder:
        port = reduced(os.path.join(borzoi, 'borzoi_pytorch'), folder)
        sizes = dict(dim=48, depth=2, heads=4, attn_dim_key=6, attn_dim_value=10,
                     enable_mouse_head=True)
        config = dict(sizes, bins_to_return=64, flashed=True)
        make(port.Borzoi.from_hparams(**config), os.path.join(out, 'flash'),
             dict(config, model_type='borzoi', rotary_emb_dim=8), 17)
        config = dict(sizes, return_center_bins_only=False)
        make(port.Prime.from_hparams(**config), os.path.join(out, 'prime'),
             dict(config, model_type='prime'), 19)


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
