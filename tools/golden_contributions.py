#!/usr/bin/env python3
"""Goldens of contributions, by PyTorch's automatic differentiation in float64.

    golden_contributions.py enformer FOLDER      needs torch, enformer-pytorch, safetensors
    golden_contributions.py borzoi FOLDER        needs torch, safetensors
    golden_contributions.py alphagenome FOLDER PORT        needs torch, safetensors

FOLDER holds the weights, config.json and window.fa that golden_tracks.py wrote, and gets
contributions.npy [window, 4]: the derivative by the one-hot input of the mean of tracks 1 and 3 of
the human head over the bins of the 256 bases in the middle. Borzoi is stated here once more, in
the operations of PyTorch.

Of AlphaGenome FOLDER is what golden_alphagenome.py PORT FOLDER small wrote, and gets
contributions.fa and contributions.HEAD.npy for a few heads; tracks, or classes, are 0 and 1, and of
contact maps the bin in the middle with all others counts. The window is
another one than that of the tracks, in which two rows of a maximum are equal up to rounding. The
port runs in float64: what its source turns to float32 is turned to float64, but for positions,
widths of classes and frequencies.
"""
import importlib
import json
import os
import sys
import tempfile

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np
import torch
from torch.nn import functional as F

TRACKS = [1, 3]
MIDDLE = 256


def one_hot(folder, name='window.fa'):
    with open(os.path.join(folder, name), encoding='ascii') as f:
        s = ''.join(line.strip() for line in f if line[0] != '>').upper()
    x = torch.zeros(len(s), 4, dtype=torch.float64)
    for i, base in enumerate('ACGT'):
        x[[k for k, c in enumerate(s) if c == base], i] = 1
    return x.requires_grad_()


def middle(n_bins, bin_size):
    n = min(max(1, MIDDLE // bin_size), n_bins)
    return slice((n_bins - n) // 2, (n_bins - n) // 2 + n)


def load(folder):
    path = os.path.join(folder, 'model.safetensors')
    if os.path.exists(path):
        from safetensors.torch import load_file
        return load_file(path)
    return torch.load(os.path.join(folder, 'pytorch_model.bin'))


def enformer(folder, config, x):
    from golden_tracks import import_enformer
    model = import_enformer().Enformer.from_hparams(
        **{k: v for k, v in config.items() if k not in ('model_type', 'seq_length')})
    missing, _ = model.load_state_dict(load(folder), strict=False)
    assert all(name.startswith('_trunk.') or 'num_batches' in name for name in missing), missing
    return model.eval().double()(x[None])['human'][0], 1 << config['num_downsamples']


def borzoi(folder, config, x):
    w = {k: v.double() for k, v in load(folder).items()}

    def norm(name, y):
        scale = w[name + '.norm.weight'] / (w[name + '.norm.running_var'] + 1e-3).sqrt()
        return (y - w[name + '.norm.running_mean']) * scale + w[name + '.norm.bias']

    def block(name, y):
        if name != 'conv_dna':
            y = F.gelu(norm(name, y), approximate='tanh')
        kernel = w[name + '.conv_layer.weight']
        y = F.conv1d(y.T[None], kernel, w[name + '.conv_layer.bias'], padding=kernel.shape[2] // 2)
        return y[0].T

    def pool(y):
        return F.max_pool1d(y.T[None], 2)[0].T

    def layer_norm(name, y):
        return F.layer_norm(y, y.shape[1:], w[name + '.weight'], w[name + '.bias'], 1e-3)

    def attention(to, y):
        u, along = (w[to + name][0, :, 0] for name in ('rel_content_bias', 'rel_pos_bias'))
        n, (heads, key) = len(y), u.shape
        r = w[to + 'to_rel_k.weight']
        half = r.shape[1] // 2
        at = np.arange(-n + 1, n)
        rate = np.float32(np.exp(np.log(n + 1) / half))
        widths = rate ** np.arange(1, half + 1, dtype=np.float32) - np.float32(1)
        mask = (widths[None] > np.abs(at)[:, None]).astype(np.float64)
        r = torch.from_numpy(np.concatenate([mask, np.sign(at)[:, None] * mask], 1)) @ r.T
        q, k, v, r = ((z.reshape(len(z), heads, -1).transpose(0, 1))
                      for z in (y @ w[to + 'to_q.weight'].T, y @ w[to + 'to_k.weight'].T,
                                y @ w[to + 'to_v.weight'].T, r))
        q = q * key ** -0.5
        places = torch.arange(n)
        shift = n - 1 - places[:, None] + places[None]
        logits = (q + u[:, None]) @ k.transpose(1, 2)
        logits = logits + ((q + along[:, None]) @ r.transpose(1, 2)).gather(
            2, shift[None].expand(heads, n, n))
        mixed = (logits.softmax(2) @ v).transpose(0, 1).reshape(n, -1)
        return mixed @ w[to + 'to_out.weight'].T + w[to + 'to_out.bias']

    def separable(name, y):
        taps = w[name + '.conv_layer.0.weight']
        y = F.conv1d(y.T[None], taps, padding=1, groups=len(taps))
        y = F.conv1d(y, w[name + '.conv_layer.1.weight'], w[name + '.conv_layer.1.bias'])
        return y[0].T

    y = block('conv_dna', x)
    for i in range(sum(name.endswith('.conv_layer.weight') and name.startswith('res_tower.')
                       for name in w)):
        y = block('res_tower.%d' % (2 * i), pool(y))
    skips = y, block('unet1.1', pool(y))
    y = pool(skips[1])
    for i in range(sum(name.endswith('mha.to_q.weight') or name.endswith('.1.to_q.weight')
                       for name in w)):
        to = 'transformer.%d.' % i
        y = y + attention(to + '0.fn.1.', layer_norm(to + '0.fn.0', y))
        h = layer_norm(to + '1.fn.0', y)
        h = F.relu(h @ w[to + '1.fn.1.weight'].T + w[to + '1.fn.1.bias'])
        y = y + h @ w[to + '1.fn.4.weight'].T + w[to + '1.fn.4.bias']
    for i in (1, 0):
        y = block('upsampling_unet%d.0' % i, y).repeat_interleave(2, 0)
        y = separable('separable%d' % i, y + block('horizontal_conv%d' % i, skips[i]))
    cut = (len(y) - config['bins_to_return']) // 2
    y = F.gelu(block('final_joined_convs.0', y[cut:len(y) - cut]), approximate='tanh')
    y = F.softplus(y @ w['human_head.weight'][:, :, 0].T + w['human_head.bias'])
    return y, config['seq_length'] // (config['bins_to_return'] + 2 * cut)


SEED = 13
HEADS = ('human.chip_tf.128', 'human.rna_seq.1', 'human.splice_site_usage.1',
         'human.splice_sites.1', 'human.contact_maps.2048')


def double_port(port, folder):
    """The model of the port in the small configuration, which computes in float64."""
    import golden_alphagenome as golden
    with tempfile.TemporaryDirectory() as copy:
        sources = os.path.join(copy, 'port')
        for name in ('attention', 'config', 'convolutions', 'embeddings', 'heads', 'layers',
                     'model', os.path.join('utils', 'splicing')):
            with open(os.path.join(port, name + '.py'), encoding='utf-8') as f:
                text = f.read()
            path = os.path.join(sources, name + '.py')
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text.replace('.float()', '.double()'))
        make = golden.reduced(sources, os.path.join(copy, 'reduced'), golden.SIZES['small'])
        config = importlib.import_module('alphagenome_pytorch.config')
    policy = config.DtypePolicy(*3 * [torch.float64])
    model = make(dtype_policy=policy)
    model.load_state_dict({k: v.double() for k, v in load(folder).items()})
    return model.eval().double()


def alphagenome(folder, port):
    from golden_tracks import sequence, write_window
    write_window(os.path.join(folder, 'contributions.fa'), sequence(8192, SEED))
    model, x = double_port(port, folder), one_hot(folder, 'contributions.fa')
    for name in HEADS:
        organism, output, resolution = name.split('.')
        index = torch.tensor([('human', 'mouse').index(organism)])
        e1, e128, grid, _ = model._compute_embeddings_ncl(x[None], index)
        if output == 'contact_maps': # a bin is a row of the map
            y = model.contact_maps_head(grid, index)[0]
        elif output == 'splice_sites':
            y = model.splice_sites_classification_head(e1, index)['probs'][0]
        elif output == 'splice_site_usage':
            y = model.splice_sites_usage_head(e1, index)['predictions'][0]
        else:
            y = model.heads[output]({1: e1, 128: e128}, index)[int(resolution)][0]
        x.grad = None
        y[middle(len(y), int(resolution))][..., :2].mean().backward()
        np.save(os.path.join(folder, 'contributions.%s.npy' % name),
                x.grad.numpy().astype(np.float32))
        print(name, x.grad.shape, float(x.grad.abs().max()))


def main(family, folder):
    with open(os.path.join(folder, 'config.json'), encoding='utf-8') as f:
        config = json.load(f)
    x = one_hot(folder)
    y, bin_size = {'enformer': enformer, 'borzoi': borzoi}[family](folder, config, x)
    known = np.load(os.path.join(folder, 'human.npy'))
    print(family, 'tracks differ by', float(np.abs(y.detach().numpy() - known).max()))
    y[middle(len(y), bin_size)][:, TRACKS].mean().backward()
    np.save(os.path.join(folder, 'contributions.npy'), x.grad.numpy().astype(np.float32))
    print(family, x.grad.shape, float(x.grad.abs().max()))


if __name__ == '__main__':
    if len(sys.argv) == 4 and sys.argv[1] == 'alphagenome':
        alphagenome(*sys.argv[2:])
    elif len(sys.argv) == 3 and sys.argv[1] in ('enformer', 'borzoi'):
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
