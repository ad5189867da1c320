#!/usr/bin/env python3
"""Goldens of AlphaGenome by the PyTorch port, in reduced configurations with random weights.

    golden_alphagenome.py PORT OUT_FOLDER [small|eighth|full]   needs torch, safetensors
    golden_alphagenome.py PORT OUT_FOLDER tanh                  the same

PORT: the folder of the package alphagenome_pytorch of genomicsxai/alphagenome-pytorch (the package
of that name on PyPI is another one). Its widths are constants of its source: a copy of the source
with other constants is imported. small: tests/golden/alphagenome; eighth: all widths divided by 8;
full: as published, with a window of 16,384 bases.

tanh: with the weights and the window of OUT_FOLDER, which are small, and the tanh form of gelu in
the tower, as JAX has it; writes gelu_tanh.human.contact_maps.2048.npy.

OUT_FOLDER gets model.safetensors, config.json, window.fa, and ORGANISM.OUTPUT.RESOLUTION.npy for
each head: [bins, tracks] in float32, of contact maps [bins bins, tracks], of splice junctions
[sites sites, tracks] and, in ORGANISM.sites.npy, the sites [4, sites].
"""
import importlib
import json
import os
import re
import sys
import tempfile

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np

from golden_tracks import one_hot, sequence, write_window

FULL = dict(base=768, step=128, heads=8, key=128, value=192, grid=128, grid_heads=32, blocks=9,
            atac=256, dnase=384, procap=128, cage=640, rna_seq=768, chip_tf=1664,
            chip_histone=1152, contacts=28, tissues=367, hidden=768, sites=512, window=16384)
SIZES = {
    'full': FULL,
    'eighth': dict(FULL, base=96, step=16, heads=4, key=16, value=24, grid=16, atac=33, dnase=48,
                   procap=17, cage=80, rna_seq=96, chip_tf=208, chip_histone=144, contacts=27,
                   tissues=46, hidden=96, sites=64),
    'small': dict(FULL, base=16, step=4, heads=2, key=8, value=12, grid=8, grid_heads=16, blocks=3,
                  atac=3, dnase=2, procap=2, cage=2, rna_seq=3, chip_tf=4, chip_histone=3,
                  contacts=3, tissues=2, hidden=16, sites=16, window=8192)}


def replace(text, *pairs):
    for old, new in pairs:
        text, n = re.subn(old, new, text)
        if not n:
            sys.exit('golden_alphagenome.py: the source of the port has no %s' % old)
    return text


def reduced(port, folder, c):
    """Writes a copy of the port with the widths c."""
    top = c['base'] + 6 * c['step']
    levels = [c['base'] + i * c['step'] for i in range(7)]
    heads = [(r"add_head\('%s', \d+" % name, "add_head('%s', %d" % (name, c[name]))
             for name in ('atac', 'dnase', 'procap', 'cage', 'rna_seq', 'chip_tf', 'chip_histone')]
    edits = {
        'model.py': [(r'in_channels = 768 ', 'in_channels = %d ' % c['base']),
                     (r'in_channels \+= 128', 'in_channels += %d' % c['step']),
                     (r'current_channels = 1536', 'current_channels = %d' % top),
                     (r'64: 1536, 32: 1408, 16: 1280, 8: 1152, 4: 1024, 2: 896, 1: 768',
                      ', '.join('%d: %d' % (1 << i, levels[i]) for i in range(7))),
                     (r'range\(9\)', 'range(%d)' % c['blocks']),
                     (r'pair_dim=128', 'pair_dim=%d' % c['grid']),
                     (r'pair_update = attention.PairUpdateBlock\(d_model\)',
                      'pair_update = attention.PairUpdateBlock(d_model, %d)' % c['grid']),
                     (r'\(dim=128', '(dim=%d' % c['grid']),
                     (r'TRUNK_DIM = 1536', 'TRUNK_DIM = %d' % top),
                     (r'EMBEDDING_128BP_DIM = 3072', 'EMBEDDING_128BP_DIM = %d' % (2 * top)),
                     (r'DECODER_DIM = 768', 'DECODER_DIM = %d' % c['base']),
                     (r'\(734, 180\)', '(%d, %d)' % (2 * c['tissues'], 2 * c['tissues'])),
                     (r'\(367, 367\)', '(%d, %d)' % (c['tissues'], c['tissues'])),
                     (r'hidden_dim=DECODER_DIM', 'hidden_dim=%d' % c['hidden'])] + heads,
        'convolutions.py': [(r'in_channels \+ 128', 'in_channels + %d' % c['step']),
                            (r'0, 0, 0, 128\)\)', '0, 0, 0, %d))' % c['step']),
                            (r'Conv1d\(4, 768', 'Conv1d(4, %d' % c['base']),
                            (r'ConvBlock\(768, 768', 'ConvBlock(%d, %d' % (c['base'], c['base']))],
        'attention.py': [(r'8 \* 128, bias', '%d, bias' % (c['heads'] * c['key'])),
                         (r'norm_([qk]) = layers.LayerNorm\(128\)',
                          r'norm_\1 = layers.LayerNorm(%d)' % c['key']),
                         (r'k_proj = nn.Linear\(d_model, 128', 'k_proj = nn.Linear(d_model, %d' %
                          c['key']),
                         (r'v_proj = nn.Linear\(d_model, 192', 'v_proj = nn.Linear(d_model, %d' %
                          c['value']),
                         (r'LayerNorm\(192\)', 'LayerNorm(%d)' % c['value']),
                         (r'nn.Linear\(8 \* 192', 'nn.Linear(%d' % (c['heads'] * c['value'])),
                         (r'view\(B, S, 8, 128\)', 'view(B, S, %d, %d)' % (c['heads'], c['key'])),
                         (r'view\(B, S, 1, 128\)', 'view(B, S, 1, %d)' % c['key']),
                         (r'view\(B, S, 1, 192\)', 'view(B, S, 1, %d)' % c['value']),
                         (r'att / math.sqrt\(128.0\)', 'att / math.sqrt(%d.0)' % c['key']),
                         (r'1.0 / math.sqrt\(128.0\)', '1.0 / math.sqrt(%d.0)' % c['grid']),
                         (r'nn.Linear\(pair_dim, 8,', 'nn.Linear(pair_dim, %d,' % c['heads']),
                         (r'self.num_heads = 32', 'self.num_heads = %d' % c['grid_heads']),
                         (r'self.head_dim = 128', 'self.head_dim = %d' % c['grid'])],
        'heads.py': [(r'\nTRUNK_DIM = 1536', '\nTRUNK_DIM = %d' % top),
                     (r'\nEMBEDDING_128BP_DIM = 3072', '\nEMBEDDING_128BP_DIM = %d' % (2 * top)),
                     (r'\nPAIR_EMBEDDING_DIM = 128', '\nPAIR_EMBEDDING_DIM = %d' % c['grid']),
                     (r'_OUTPUT_TRACKS = 28', '_OUTPUT_TRACKS = %d' % c['contacts']),
                     (r'\nNUM_SPLICE_TISSUES = 367', '\nNUM_SPLICE_TISSUES = %d' % c['tissues'])]}
    package = os.path.join(folder, 'alphagenome_pytorch')
    for name in ('attention', 'config', 'convolutions', 'embeddings', 'heads', 'layers', 'model',
                 'utils/splicing'):
        with open(os.path.join(port, name + '.py'), encoding='utf-8') as f:
            text = f.read()
        if name == 'model': # the named views need packages that nothing here does
            text = text.replace('from .named_outputs import NamedOutputs, TrackMetadataCatalog',
                                'NamedOutputs = TrackMetadataCatalog = object')
        text = replace(text, *edits.get(name + '.py', ()))
        path = os.path.join(package, name + '.py')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
    for name in ('', 'utils'):
        with open(os.path.join(package, name, '__init__.py'), 'w', encoding='utf-8'):
            pass
    sys.path.insert(0, folder)
    return importlib.import_module('alphagenome_pytorch.model').AlphaGenome


def fill(model, seed, n_real):
    """Random numbers of trained-like scale: no norm, bias or scale is what it begins as. Tracks
    from n_real(n) on are padding, whose mean is 0."""
    import torch
    rng = np.random.RandomState(seed)
    state = model.state_dict()
    for name, x in state.items():
        shape = tuple(x.shape)
        y = rng.randn(*shape)
        if name.endswith('running_var'):
            y = .5 + rng.rand(*shape)
        elif name.endswith('track_means'):
            y = .1 + 2 * rng.rand(*shape)
            y[:, n_real(shape[1]):] = 0
        elif 'norm' in name and name.endswith('.weight') or name.endswith('conv.scale'):
            y = 1 + .2 * y
        elif 'residual_scale' in name:
            y = .5 + .3 * y
        elif name.endswith('bias') or 'organism_embed' in name:
            y = .3 * y
        elif 'rope_params' in name:
            y = .3 * y
        elif name == 'contact_maps_head.linear.weight':
            y = y / shape[1] ** .5
        else:
            fan = int(np.prod(shape[1:] if 'convs' not in name else shape[2:]))
            y = y / fan ** .5
        state[name] = torch.from_numpy(y.astype(np.float32))
    model.load_state_dict(state)
    return model.half().float() if n_real(10) < 10 else model


def few_sites(model, x):
    """Sets biases so that about ten sites of a class pass the threshold, none of them by a hair."""
    import torch
    head = model.splice_sites_classification_head
    for i in range(2):
        with torch.no_grad():
            e1 = model._compute_embeddings_ncl(x, torch.tensor([i]))[0]
            head.conv.bias[i] = 0
            logits = head.conv(e1, torch.tensor([i]))[0].numpy().astype(np.float64)
            rest = logits[4]
            for c in range(4):
                above = np.sort(logits[c] - rest)[::-1]
                k = 6 + int(np.argmax(above[6:14] - above[7:15]))
                bias = np.log(.1 / .9) - (above[k] + above[k + 1]) / 2
                head.conv.bias[i, c] = float(np.float16(bias))


def check_margins(probabilities, k):
    """No site stands so close to the threshold, or to the last one taken, that rounding decides."""
    for c in range(4):
        p = np.sort(probabilities[:, c])[::-1]
        assert abs(p - .1).min() > 1e-5, 'a site at the threshold: choose another seed'
        assert p[k - 1] < .1 or p[k - 1] - p[k] > 1e-5, 'sites are equal: choose another seed'


def main(port, out, size='small'):
    import torch
    from safetensors.torch import save_file
    c = SIZES[size]
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        model = reduced(port, folder, c)()
        splicing = importlib.import_module('alphagenome_pytorch.utils.splicing')
    model = fill(model, 4, (lambda n: n) if size == 'full' else (lambda n: n - 1)).eval()
    bases = sequence(c['window'], 7)
    x = one_hot(bases)
    few_sites(model, x)
    save_file({k: v.half().contiguous() if size == 'small' else v.contiguous()
               for k, v in model.state_dict().items()}, os.path.join(out, 'model.safetensors'))
    with open(os.path.join(out, 'config.json'), 'w', encoding='utf-8') as f:
        json.dump({'model_type': 'alphagenome', 'seq_length': c['window'],
                   'max_splice_sites': c['sites']}, f)
    write_window(os.path.join(out, 'window.fa'), bases)

    def save(name, values, real=None):
        values = values[0].numpy().astype(np.float32)
        values = values.reshape(-1, values.shape[-1])[:, :real]
        np.save(os.path.join(out, name + '.npy'), np.ascontiguousarray(values))
        print(name, values.shape, float(values.mean()), float(values.std()), float(values.max()))

    for i, organism in enumerate(('human', 'mouse')):
        index = torch.tensor([i])
        with torch.no_grad():
            e1, e128, grid, _ = model._compute_embeddings_ncl(x, index)
            for name, head in model.heads.items():
                for r, y in head({1: e1, 128: e128}, index).items():
                    save('%s.%s.%d' % (organism, name, r), y, head.num_tracks - 1)
            save(organism + '.contact_maps.2048', model.contact_maps_head(grid, index))
            sites = model.splice_sites_classification_head(e1, index)
            probabilities = sites['probs']
            save(organism + '.splice_sites.1', probabilities)
            save(organism + '.splice_site_usage.1',
                 model.splice_sites_usage_head(e1, index)['predictions'])
            check_margins(probabilities[0].numpy(), c['sites'])
            places = splicing.generate_splice_site_positions(
                probabilities, None, None, k=c['sites'], pad_to_length=c['sites'], threshold=.1)
            counts = model.splice_sites_junction_head(e1, index, splice_site_positions=places)
            save(organism + '.splice_junctions.1', counts['pred_counts'])
            np.save(os.path.join(out, organism + '.sites.npy'),
                    np.ascontiguousarray(places[0].numpy().astype(np.int32)))


def with_tanh(port, out):
    import torch
    from safetensors.torch import load_file
    with tempfile.TemporaryDirectory() as folder:
        model = reduced(port, folder, SIZES['small'])()
        attention = importlib.import_module('alphagenome_pytorch.attention')
    plain = attention.F
    attention.F = type('F', (), {'__getattr__': lambda self, name: getattr(plain, name)})()
    attention.F.gelu = lambda x: plain.gelu(x, approximate='tanh')
    model.load_state_dict({k: v.float() for k, v in
                           load_file(os.path.join(out, 'model.safetensors')).items()})
    with open(os.path.join(out, 'window.fa'), encoding='ascii') as f:
        x = one_hot(''.join(line.strip() for line in f if line[0] != '>'))
    index = torch.tensor([0])
    with torch.no_grad():
        grid = model.eval()._compute_embeddings_ncl(x, index)[2]
        y = model.contact_maps_head(grid, index)[0].numpy()
    y = np.ascontiguousarray(y.reshape(-1, y.shape[-1]))
    was = np.load(os.path.join(out, 'human.contact_maps.2048.npy'))
    print('of erf it is off by', float(abs(y - was).max() / abs(was).max()))
    np.save(os.path.join(out, 'gelu_tanh.human.contact_maps.2048.npy'), y)


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4) or sys.argv[3:] and sys.argv[3] not in (*SIZES, 'tanh'):
        sys.exit(__doc__)
    if sys.argv[3:] == ['tanh']:
        with_tanh(*sys.argv[1:3])
    else:
        main(*sys.argv[1:])
